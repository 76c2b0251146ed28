"""Statistics over seeds. A seed is the unit of everything here: intervals resample seeds.

The functions take plain arrays and curves, and know nothing of files or pictures.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

RESAMPLES = 2000
"""Bootstrap resamples; enough to place the ends of an interval within a few per cent of it."""

LEVEL = 0.95

_BOOTSTRAP_SEED = 0

Statistic = Literal["mean", "iqm"]
"""What stands for several seeds: their mean, or the mean without the outer quarters."""


@dataclass(frozen=True, eq=False)
class Curve:
    """What one run measured at its evaluations.

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
    """A mean, and the ends of its 95 % interval; NaN where one seed gives none."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Band:
    """The mean of several curves, or their interquartile mean, with its interval.

    Attributes:
        queries: float64 [G], the common grid.
        mean: float64 [G].
        low: float64 [G], NaN where fewer than two runs have a value.
        high: float64 [G], likewise.
        runs: int64 [G], how many runs have a value there.
    """

    queries: np.ndarray
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray
    runs: np.ndarray


def mean_interval(values: npt.ArrayLike) -> Interval:
    """Returns the mean over seeds with its 95 % percentile bootstrap interval.

    Seeds are resampled with replacement, always with the same random numbers, so a report is
    reproducible. With few seeds such an interval is too narrow (with n = 3 it can never leave the
    range of the three values): read it as a lower bound of the doubt.

    Args:
        values: [n], one a seed.
    """
    column = np.asarray(values, dtype=np.float64)[:, None]
    mean, low, high = _bootstrap(column)
    return Interval(float(mean[0]), float(low[0]), float(high[0]))


def interquartile_mean(values: npt.ArrayLike) -> float:
    """Returns the mean of what is left after dropping ⌊n/4⌋ values at either end."""
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    return float(ordered[_kept(len(ordered))].mean())


def normalised_auc(curve: Curve, total: float) -> float:
    """Returns the area under the curve divided by the total queries.

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
    """Returns the queries at the first evaluation that reaches the target, infinity if none."""
    reached = curve.queries[curve.values >= target]
    return float(reached[0]) if len(reached) else math.inf


def improvement_interval(ours: npt.ArrayLike, theirs: npt.ArrayLike) -> Interval:
    """Returns the probability that a random seed of ours beats a random seed of theirs.

    All pairs are compared and a tie counts one half: the Mann-Whitney statistic over its maximum.
    For its 95 % interval the seeds of both are resampled.
    """
    x, y = np.asarray(ours, np.float64)[:, None], np.asarray(theirs, np.float64)[None, :]
    return _pairs_interval((x > y) + 0.5 * (x == y))


def difference_interval(ours: npt.ArrayLike, theirs: npt.ArrayLike) -> Interval:
    """Returns the difference of means with its 95 % interval, seeds of both resampled."""
    x, y = np.asarray(ours, np.float64)[:, None], np.asarray(theirs, np.float64)[None, :]
    return _pairs_interval(x - y)


def _pairs_interval(pairs: np.ndarray) -> Interval:
    """Returns the mean over all pairs of seeds [n, m]; a single seed gives no interval."""
    n, m = pairs.shape
    if min(n, m) < 2:
        return Interval(float(pairs.mean()), math.nan, math.nan)
    rng = np.random.default_rng(_BOOTSTRAP_SEED)
    ours, theirs = (_weights(_picks(rng, seeds), seeds) for seeds in (n, m))
    means = ((ours @ pairs) * theirs).sum(axis=1)
    low, high = np.percentile(means, [50 * (1 - LEVEL), 50 * (1 + LEVEL)])
    return Interval(float(pairs.mean()), float(low), float(high))


def align(curves: Sequence[Curve], until: float | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Puts curves with different evaluations and different ends on one grid.

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
    """Returns the mean of aligned curves, point by point, with its 95 % interval as above.

    Each point takes the runs that have a value there; `runs` says how many.
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
            mean[points], low[points], high[points] = _bootstrap(present, statistic)
    return Band(grid, mean, low, high, known.sum(axis=0))


def _bootstrap(
    values: np.ndarray, statistic: Statistic = "mean"
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns a statistic over axis 0 of [n, points], and the ends of its intervals.

    Both statistics weigh the seeds, the interquartile mean in their order at each point. So what a
    resample comes to is a product with its weights, where sorted ranks stand for seeds.
    """
    seeds, points = values.shape
    if statistic == "iqm":
        values = np.sort(values, axis=0)
    kept = _kept(seeds) if statistic == "iqm" else slice(None)
    centre = values[kept].mean(axis=0)
    low, high = np.full(points, np.nan), np.full(points, np.nan)
    if seeds < 2:
        return centre, low, high
    picks = _picks(np.random.default_rng(_BOOTSTRAP_SEED), seeds)
    weights = _weights(np.sort(picks, axis=1)[:, kept], seeds)
    tails = [50 * (1 - LEVEL), 50 * (1 + LEVEL)]
    for start in range(0, points, 256):  # In pieces, since a long run has thousands of points.
        piece = slice(start, start + 256)
        low[piece], high[piece] = np.percentile(weights @ values[:, piece], tails, axis=0)
    return centre, low, high


def _picks(rng: np.random.Generator, seeds: int) -> np.ndarray:
    return rng.integers(0, seeds, (RESAMPLES, seeds))


def _weights(picks: np.ndarray, seeds: int) -> np.ndarray:
    """Returns the share of each seed in each resample, [RESAMPLES, seeds]."""
    return np.stack([(picks == seed).mean(axis=1) for seed in range(seeds)], axis=1)


def _kept(seeds: int) -> slice:
    """Returns the ranks that an interquartile mean is made of."""
    return slice(seeds // 4, seeds - seeds // 4)
