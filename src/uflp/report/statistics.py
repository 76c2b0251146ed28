"""Statistics over seeds. A seed is the unit of everything here.

How much can be said depends on the number of seeds, and `interval_kind` alone decides it. Fewer
than five seeds have no interval: they are shown one by one. The functions take plain arrays and
curves, and know nothing of files or pictures.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

RESAMPLES = 2000
"""Bootstrap resamples; enough to place the ends of an interval within a few per cent of it."""

LEVEL = 0.95

ALPHA = 0.05
"""The p-value up to which a difference is called significant."""

FEWEST_FOR_INTERVAL = 5
"""Seeds that an interval needs at least; fewer are shown one by one."""

FEWEST_FOR_BOOTSTRAP = 10
"""Seeds from which on the percentile bootstrap stands alone; with fewer it is too narrow."""

FEWEST_FOR_TEST = 4
"""Seeds a side with which a permutation test can be significant: three and three give 2/20."""

FEWEST_PAIRED = 6
"""Pairs that a sign-flip test needs at least: five cannot give less than 2/32."""

FINAL_EVALUATIONS = 30
"""Evaluations at the end of a run whose mean is its final score."""

MOST_ASSIGNMENTS = 200_000
"""Assignments of seeds to sides that a permutation test enumerates; of more it draws a sample."""

_DRAWS = 99_999
_BOOTSTRAP_SEED = 0
_PERMUTATION_SEED = 0

IntervalKind = Literal["none", "t", "bootstrap"]
"""Which 95 % interval a number of seeds supports."""

Statistic = Literal["mean", "iqm"]
"""Centre of several seeds: their mean, or the mean without the outer quarters."""


@dataclass(frozen=True, eq=False)
class Curve:
    """Values of one run at its evaluations.

    Attributes:
        queries: float64 [T], increasing, in simulator queries.
        values: float64 [T].
        holds: whether the last value stands for what would have come after. It does for a run
            that was stopped because it had reached its goal.
    """

    queries: np.ndarray
    values: np.ndarray
    holds: bool = False


class Interval(NamedTuple):
    """A mean, and the ends of its 95 % interval; NaN where too few seeds give none."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Band:
    """The mean of several curves, or their interquartile mean, with its interval.

    Attributes:
        queries: float64 [G], the common grid.
        mean: float64 [G].
        low: float64 [G], NaN where fewer than five runs have a value.
        high: float64 [G], likewise.
        runs: int64 [G], how many runs have a value there.
    """

    queries: np.ndarray
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray
    runs: np.ndarray


def interval_kind(seeds: int) -> IntervalKind:
    """Return which interval is shown for a number of seeds.

    Of fewer than five there is none. From five to nine it is Student's t interval: the percentile
    bootstrap cannot leave the range of the seeds, and is too narrow. From ten on it is the
    bootstrap, which does not assume a normal distribution.
    """
    if seeds < FEWEST_FOR_INTERVAL:
        return "none"
    return "t" if seeds < FEWEST_FOR_BOOTSTRAP else "bootstrap"


def mean_interval(values: npt.ArrayLike, kind: IntervalKind | None = None) -> Interval:
    """Return the mean over seeds with its 95 % interval.

    The bootstrap resamples seeds with replacement, always with the same random numbers, so a
    report is reproducible.

    Args:
        values: [n], one a seed.
        kind: of interval; None means the one that n seeds support.
    """
    column = np.asarray(values, dtype=np.float64)[:, None]
    mean, low, high = _estimate(column, kind or interval_kind(len(column)))
    return Interval(float(mean[0]), float(low[0]), float(high[0]))


def interquartile_mean(values: npt.ArrayLike) -> float:
    """Return the mean of what is left after dropping ⌊n/4⌋ values at either end."""
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    return float(ordered[_kept(len(ordered))].mean())


def normalised_auc(curve: Curve, total: float) -> float:
    """Return the area under the curve divided by the total queries.

    The trapezoid rule runs from the first evaluation on. Before it the first value is taken to
    hold, so that a constant curve has its constant as its area. A curve that holds its last
    value does so up to `total`; one that was cut short has no area, and gives NaN.
    """
    queries, values = curve.queries, curve.values
    total = max(total, queries[-1])
    if queries[-1] < total and not curve.holds:
        return math.nan
    x = np.concatenate([[0.0], queries, [total]])
    y = np.concatenate([values[:1], values, values[-1:]])
    return float(np.sum(np.diff(x) * (y[1:] + y[:-1]) / 2) / total)


def queries_to_target(curve: Curve, target: float) -> float:
    """Return the queries at the first evaluation that reaches the target, infinity if none."""
    reached = curve.queries[curve.values >= target]
    return float(reached[0]) if len(reached) else math.inf


def final_score(curve: Curve) -> float:
    """Return the mean of the last evaluations."""
    return float(curve.values[-FINAL_EVALUATIONS:].mean())


def power_law_exponent(sizes: npt.ArrayLike, queries: npt.ArrayLike) -> float:
    """Return the k of queries = c·size^k, by least squares in logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(queries), 1)[0])


def improvement_interval(ours: npt.ArrayLike, theirs: npt.ArrayLike) -> Interval:
    """Return the probability that a random seed of ours beats a random seed of theirs.

    All pairs are compared and a tie counts one half: the Mann-Whitney statistic over its maximum.
    Its 95 % interval is a percentile bootstrap over the seeds of both sides, if either has five or
    more: there is no t interval of a probability. Two sides that do not overlap give [1, 1] or
    [0, 0], so below ten seeds the interval is too narrow.
    """
    x, y = np.asarray(ours, np.float64)[:, None], np.asarray(theirs, np.float64)[None, :]
    pairs = (x > y) + 0.5 * (x == y)
    if interval_kind(min(pairs.shape)) == "none":
        return Interval(float(pairs.mean()), math.nan, math.nan)
    return _pairs_bootstrap(pairs)


def difference_interval(
    ours: npt.ArrayLike, theirs: npt.ArrayLike, kind: IntervalKind | None = None
) -> Interval:
    """Return the difference of means with its 95 % interval.

    The t interval is Welch's, which lets the two sides differ in variance. The bootstrap resamples
    the seeds of both sides.

    Args:
        ours: [n], one a seed.
        theirs: [m], likewise.
        kind: of interval; None means the one that the smaller of the two sides supports.
    """
    x, y = np.asarray(ours, np.float64), np.asarray(theirs, np.float64)
    difference = float(x.mean() - y.mean())
    kind = kind or interval_kind(min(len(x), len(y)))
    if kind == "none":
        return Interval(difference, math.nan, math.nan)
    if kind == "bootstrap":
        return _pairs_bootstrap(x[:, None] - y[None, :])
    squares = np.array([side.var(ddof=1) / len(side) for side in (x, y)])
    total = float(squares.sum())
    if total == 0:
        return Interval(difference, difference, difference)
    freedom = total**2 / float((squares**2 / [len(x) - 1, len(y) - 1]).sum())
    reach = _critical(freedom) * math.sqrt(total)
    return Interval(difference, difference - reach, difference + reach)


def permutation_test(ours: npt.ArrayLike, theirs: npt.ArrayLike, *, paired: bool = False) -> float:
    """Return the two-sided p-value of a permutation test of the difference of means.

    The p-value is the share of assignments of seeds to the two sides whose difference of means is
    at least as large as the one seen, in absolute value. All assignments are enumerated, so the
    test is exact: five seeds against five can reach 2/252, three against three only 2/20. Where
    there are more than `MOST_ASSIGNMENTS` (as of twenty against twenty), a sample of 99,999 is
    drawn, always with the same random numbers, and the assignment seen is added to it: the
    p-value (1 + count) / (1 + draws) is then an estimate, and never zero.

    Args:
        ours: [n], one a seed.
        theirs: [m], likewise.
        paired: whether the i-th of ours belongs with the i-th of theirs. Then only the two of a
            pair change sides: the signs of the differences are flipped.

    Raises:
        ValueError: if pairs are fewer than six, or the sides of pairs are not of a length.
    """
    x, y = np.asarray(ours, np.float64), np.asarray(theirs, np.float64)
    if paired:
        if len(x) != len(y) or len(x) < FEWEST_PAIRED:
            raise ValueError(
                f"a paired test needs {FEWEST_PAIRED} pairs or more, not {len(x)} and {len(y)}"
            )
        values, seen = x - y, float((x - y).sum())
        sums, exact = _flipped_sums(values)
    else:
        both = np.concatenate([x, y])
        values = both - both.mean()
        # With the common mean taken away, the difference is proportional to the sum of one side.
        smaller = min(len(x), len(y))
        seen = float(values[:smaller].sum() if len(x) == smaller else values[-smaller:].sum())
        sums, exact = _side_sums(values, smaller)
    # Equal differences count as such whatever the order in which they were summed.
    slack = 1e-12 * float(np.abs(np.concatenate([x, y])).sum())
    extreme = int(np.count_nonzero(np.abs(sums) >= abs(seen) - slack))
    return extreme / len(sums) if exact else (1 + extreme) / (1 + len(sums))


def _side_sums(values: np.ndarray, size: int) -> tuple[np.ndarray, bool]:
    """Return the sums of choices of `size` values, and whether these are all choices."""
    total = math.comb(len(values), size)
    if total <= MOST_ASSIGNMENTS:
        members = itertools.chain.from_iterable(itertools.combinations(range(len(values)), size))
        chosen = np.fromiter(members, np.int64, total * size).reshape(total, size)
        return values[chosen].sum(axis=1), True
    rng = np.random.default_rng(_PERMUTATION_SEED)
    shuffled = rng.permuted(np.tile(values, (_DRAWS, 1)), axis=1)
    return shuffled[:, :size].sum(axis=1), False


def _flipped_sums(values: np.ndarray) -> tuple[np.ndarray, bool]:
    """Return the sums of the values by choices of signs, and whether these are all choices."""
    pairs = len(values)
    exact = 2**pairs <= MOST_ASSIGNMENTS
    if exact:
        flipped = (np.arange(2**pairs)[:, None] >> np.arange(pairs)) & 1
    else:
        flipped = np.random.default_rng(_PERMUTATION_SEED).integers(0, 2, (_DRAWS, pairs))
    return (1 - 2 * flipped) @ values, exact


def _pairs_bootstrap(pairs: np.ndarray) -> Interval:
    """Return the mean over all pairs of seeds [n, m], the seeds of both sides resampled."""
    rng = np.random.default_rng(_BOOTSTRAP_SEED)
    ours, theirs = (_weights(_picks(rng, seeds), seeds) for seeds in pairs.shape)
    means = ((ours @ pairs) * theirs).sum(axis=1)
    low, high = np.percentile(means, [50 * (1 - LEVEL), 50 * (1 + LEVEL)])
    return Interval(float(pairs.mean()), float(low), float(high))


def align(curves: Sequence[Curve], until: float | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Put curves with different evaluations and different ends on one grid.

    The grid is every query number at which some curve was evaluated, and `until` if all curves hold
    their values that far. Between its evaluations a curve is linear. Before its first it has no
    value. After its last it keeps the last value if it holds, because it stopped for being good
    and dropping it would bias the mean; otherwise it has none, because where a run happens to be
    cut says nothing about its return and the others stand in for it. But where none is left of
    those that do not hold, the grid ends: the good ones alone would bias the mean, too.

    Args:
        curves: at least one.
        until: end of the grid; None means the furthest evaluation.

    Returns:
        The grid [G], and values [curves, G] with NaN where a curve has none.
    """
    end = max(curve.queries[-1] for curve in curves) if until is None else until
    points = [curve.queries[curve.queries <= end] for curve in curves]
    if all(curve.holds for curve in curves):
        points.append(np.array([end]))
    grid = np.unique(np.concatenate(points))
    rows = [
        np.interp(
            grid,
            curve.queries,
            curve.values,
            left=np.nan,
            right=curve.values[-1] if curve.holds else np.nan,
        )
        for curve in curves
    ]
    return grid, np.array(rows)


def band(
    curves: Sequence[Curve], until: float | None = None, statistic: Statistic = "mean"
) -> Band:
    """Return the mean of aligned curves, point by point, with its 95 % interval.

    Each point takes the runs that have a value there; `runs` says how many, and their number
    decides the interval, as `interval_kind` says. An interquartile mean has only the bootstrap's.
    """
    grid, values = align(curves, until)
    known = ~np.isnan(values)
    # Runs end one after the other, so the points fall into few sets with the same runs.
    patterns, index = np.unique(known, axis=1, return_inverse=True)
    mean, low, high = (np.full(len(grid), np.nan) for _ in range(3))
    for number, pattern in enumerate(patterns.T):
        points = index.ravel() == number
        if pattern.any():
            present = values[pattern][:, points]
            kind = interval_kind(len(present))
            mean[points], low[points], high[points] = _estimate(present, kind, statistic)
    return Band(grid, mean, low, high, known.sum(axis=0))


def _estimate(
    values: np.ndarray, kind: IntervalKind, statistic: Statistic = "mean"
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a statistic over axis 0 of [n, points], and the ends of its intervals."""
    seeds, points = values.shape
    if statistic == "iqm":
        values = np.sort(values, axis=0)
    kept = _kept(seeds) if statistic == "iqm" else slice(None)
    centre = values[kept].mean(axis=0)
    if kind == "bootstrap":
        return centre, *_bootstrap(values, kept)
    # A t interval is one of the mean: with the outer quarters gone, too few values are left for it.
    if kind == "none" or statistic == "iqm":
        return centre, np.full(points, np.nan), np.full(points, np.nan)
    reach = _critical(seeds - 1) * values.std(axis=0, ddof=1) / math.sqrt(seeds)
    return centre, centre - reach, centre + reach


def _critical(freedom: float) -> float:
    """Return how many standard errors a t interval reaches to either side."""
    from scipy.special import stdtrit  # Slow to import, and most of the report does without.

    return float(stdtrit(freedom, (1 + LEVEL) / 2))


def _bootstrap(values: np.ndarray, kept: slice) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of percentile bootstrap intervals of [n, points].

    Both statistics weigh the seeds, the interquartile mean in their order at each point. So what a
    resample comes to is a product with its weights, where sorted ranks stand for seeds.
    """
    seeds, points = values.shape
    low, high = np.empty(points), np.empty(points)
    picks = _picks(np.random.default_rng(_BOOTSTRAP_SEED), seeds)
    weights = _weights(np.sort(picks, axis=1)[:, kept], seeds)
    tails = [50 * (1 - LEVEL), 50 * (1 + LEVEL)]
    for start in range(0, points, 256):  # In pieces, since a long run has thousands of points.
        piece = slice(start, start + 256)
        low[piece], high[piece] = np.percentile(weights @ values[:, piece], tails, axis=0)
    return low, high


def _picks(rng: np.random.Generator, seeds: int) -> np.ndarray:
    return rng.integers(0, seeds, (RESAMPLES, seeds))


def _weights(picks: np.ndarray, seeds: int) -> np.ndarray:
    """Return the share of each seed in each resample, [RESAMPLES, seeds]."""
    return np.stack([(picks == seed).mean(axis=1) for seed in range(seeds)], axis=1)


def _kept(seeds: int) -> slice:
    """Return the ranks that an interquartile mean is made of."""
    return slice(seeds // 4, seeds - seeds // 4)
