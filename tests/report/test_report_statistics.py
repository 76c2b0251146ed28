"""Statistics against values worked by hand, and against scipy and rliable."""

from __future__ import annotations

import importlib.util
import itertools
import math
import sys
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from uflp.report import statistics
from uflp.report.statistics import Curve

VALUES = st.lists(st.integers(-20, 20).map(float), min_size=1, max_size=12)

# Resamples of rliable, which are slow: an end is off by a fiftieth of the width, or twice that.
REPS = 1000


def curve(queries: list[float], values: list[float], holds: bool = False) -> Curve:
    return Curve(np.array(queries, float), np.array(values, float), holds)


@pytest.fixture(scope="module")
def rliable() -> ModuleType:
    """Returns `rliable.library`, which bootstraps with `arch.bootstrap`.

    The rest of arch, which its `__init__` imports, does not go with pandas 3. So the package is
    entered without running that.
    """
    spec = importlib.util.find_spec("arch")
    assert spec is not None and spec.submodule_search_locations is not None
    if "arch" not in sys.modules:
        package = ModuleType("arch")
        package.__path__ = list(spec.submodule_search_locations)
        sys.modules["arch"] = package
    import rliable.library

    return rliable.library


@pytest.mark.parametrize(
    ("seeds", "kind"),
    [(1, "none"), (4, "none"), (5, "t"), (9, "t"), (10, "bootstrap"), (40, "bootstrap")],
)
def test_the_number_of_seeds_decides_the_interval(seeds: int, kind: str) -> None:
    assert statistics.interval_kind(seeds) == kind
    values = np.random.default_rng(seeds).normal(5, 2, seeds)
    mean, low, high = statistics.mean_interval(values)
    assert mean == pytest.approx(values.mean())
    if kind == "none":
        assert math.isnan(low) and math.isnan(high)
    elif kind == "t":
        oracle = stats.ttest_1samp(values, 0).confidence_interval(0.95)
        assert (low, high) == pytest.approx(tuple(oracle))
    else:
        assert (low, high) == statistics.mean_interval(values, "bootstrap")[1:]


def test_the_t_interval_by_hand() -> None:
    # Variance 2.5, standard error √0.5, and t of four degrees of freedom is 2.776.
    assert statistics.mean_interval([1, 2, 3, 4, 5]) == pytest.approx((3, 1.0368, 4.9632), abs=1e-4)


@pytest.mark.parametrize("seeds", [5, 8, 10, 40])
def test_the_bootstrap_is_scipys_percentile_bootstrap(seeds: int) -> None:
    values = np.random.default_rng(seeds).normal(5, 2, seeds)
    ours = statistics.mean_interval(values, "bootstrap")
    oracle = stats.bootstrap(
        (values,),
        np.mean,
        n_resamples=statistics.RESAMPLES,
        method="percentile",
        rng=np.random.default_rng(statistics._BOOTSTRAP_SEED),
    ).confidence_interval
    assert ours == pytest.approx((values.mean(), oracle.low, oracle.high))


def test_the_interval_covers_the_mean_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(0)
    intervals = [statistics.mean_interval(rng.normal(0, 1, 30)) for _ in range(200)]
    covered = np.mean([low <= 0 <= high for _, low, high in intervals])
    assert 0.88 <= covered <= 0.99


def test_of_five_seeds_t_covers_the_mean_as_often_as_it_says_and_the_bootstrap_does_not() -> None:
    rng = np.random.default_rng(0)
    samples = rng.normal(0, 1, (400, 5))
    covered = {
        kind: np.mean(
            [
                low <= 0 <= high
                for _, low, high in (statistics.mean_interval(s, kind) for s in samples)
            ]
        )
        for kind in ("t", "bootstrap")
    }
    assert 0.92 <= covered["t"] <= 0.98 and covered["bootstrap"] < 0.9


def test_an_interval_is_the_same_every_time() -> None:
    values = range(12)
    assert statistics.mean_interval(values) == statistics.mean_interval(values)


@pytest.mark.parametrize("seeds", [10, 25])
def test_intervals_are_rliables_stratified_bootstrap(rliable: ModuleType, seeds: int) -> None:
    from rliable import metrics

    values = np.random.default_rng(seeds).normal(5, 2, seeds)
    queries = np.array([1.0])
    oracles = {
        "mean": metrics.aggregate_mean,
        "iqm": metrics.aggregate_iqm,
    }
    for statistic, oracle in oracles.items():
        points, ends = rliable.get_interval_estimates(
            {"ours": values[:, None]},
            lambda scores, oracle=oracle: np.array([oracle(scores)]),
            reps=REPS,
            random_state=np.random.RandomState(1),
        )
        band = statistics.band([Curve(queries, np.array([v])) for v in values], None, statistic)
        assert band.mean[0] == pytest.approx(points["ours"][0])
        low, high = ends["ours"][:, 0]
        tolerance = (high - low) / 10
        assert (band.low[0], band.high[0]) == pytest.approx((low, high), abs=tolerance)


@pytest.mark.parametrize("sizes", [(5, 5), (7, 12)])
def test_the_probability_of_improvement_is_rliables(
    rliable: ModuleType, sizes: tuple[int, int]
) -> None:
    from rliable import metrics

    rng = np.random.default_rng(sum(sizes))
    # Rounded, so that there are ties.
    ours, theirs = (rng.normal(mean, 1, n).round() for mean, n in zip((1, 0), sizes, strict=True))
    points, ends = rliable.get_interval_estimates(
        {"pair": (ours[:, None], theirs[:, None])},
        metrics.probability_of_improvement,
        reps=REPS,
        random_state=np.random.RandomState(1),
    )
    mean, low, high = statistics.improvement_interval(ours, theirs)
    assert mean == pytest.approx(float(points["pair"]))
    expected = tuple(np.ravel(ends["pair"]))
    assert (low, high) == pytest.approx(expected, abs=(expected[1] - expected[0]) / 10)


@given(VALUES)
def test_the_interquartile_mean_is_rliables(values: list[float]) -> None:
    from rliable import metrics

    oracle = metrics.aggregate_iqm(np.array(values)[:, None])
    assert statistics.interquartile_mean(values) == pytest.approx(oracle)


@given(VALUES)
def test_the_interquartile_mean_is_scipys_trimmed_mean(values: list[float]) -> None:
    assert statistics.interquartile_mean(values) == pytest.approx(stats.trim_mean(values, 0.25))


def test_the_interquartile_mean_ignores_an_outlier() -> None:
    assert statistics.interquartile_mean([1, 2, 4, 1000]) == 3


def test_normalised_auc_by_hand() -> None:
    # 0 up to 100, a ramp to 1 at 200 (area 50), then 1 up to 400 (area 200).
    assert statistics.normalised_auc(curve([100, 200, 400], [0, 1, 1]), 400) == 250 / 400
    # The first value holds before the first evaluation: 0.5 · 100, then the ramp's 0.75 · 100.
    assert statistics.normalised_auc(curve([100, 200], [0.5, 1]), 200) == 125 / 200


def test_normalised_auc_agrees_with_scipy() -> None:
    rng = np.random.default_rng(1)
    queries, values = np.sort(rng.uniform(0, 9, 20)), rng.normal(size=20)
    area = integrate.trapezoid(values, queries) + queries[0] * values[0]
    total = queries[-1]
    assert statistics.normalised_auc(Curve(queries, values), total) == pytest.approx(area / total)


def test_normalised_auc_of_a_curve_that_ends_early() -> None:
    assert statistics.normalised_auc(curve([100], [1], holds=True), 400) == 1
    assert math.isnan(statistics.normalised_auc(curve([100], [1]), 400))


def test_queries_to_target_is_the_first_evaluation_to_reach_it() -> None:
    measured = curve([100, 200, 300, 400], [0, 0.95, 0.2, 1])
    assert statistics.queries_to_target(measured, 0.95) == 200
    assert statistics.queries_to_target(measured, 0.96) == 400
    assert statistics.queries_to_target(measured, 2) == math.inf


def test_probability_of_improvement_by_hand() -> None:
    # 3 beats 1 and 2; 1 ties with 1 and loses to 2: two and a half of four pairs.
    assert statistics.improvement_interval([3, 1], [1, 2]).mean == 2.5 / 4


@given(VALUES, VALUES)
def test_probability_of_improvement_is_mann_whitneys(
    ours: list[float], theirs: list[float]
) -> None:
    oracle = stats.mannwhitneyu(ours, theirs).statistic / (len(ours) * len(theirs))
    assert statistics.improvement_interval(ours, theirs).mean == pytest.approx(oracle)


def test_align_holds_goals_and_does_not_extend_what_was_cut() -> None:
    goal = curve([100, 200], [0, 1], holds=True)
    cut = curve([100, 300], [0, 0.4])
    full = curve([200, 400], [0.2, 0.6])
    grid, values = statistics.align([goal, cut, full])
    nan = math.nan
    assert grid.tolist() == [100, 200, 300, 400]
    np.testing.assert_allclose(
        values, [[0, 1, 1, 1], [0, 0.2, 0.4, nan], [nan, 0.2, 0.4, 0.6]], rtol=1e-12
    )


def test_align_until_a_later_query() -> None:
    early, late = curve([100], [1], holds=True), curve([200], [2], holds=True)
    grid, values = statistics.align([early, late], until=500)
    assert grid.tolist() == [100, 200, 500]
    np.testing.assert_array_equal(values, [[1, 1, 1], [math.nan, 2, 2]])
    assert statistics.align([curve([100], [0])], until=500)[0].tolist() == [100]


def test_runs_that_reached_their_goal_do_not_stand_for_one_that_never_did() -> None:
    """Its last evaluation is the last of which a mean says something of all."""
    goal, never = curve([100], [1], holds=True), curve([100, 300], [0, 0])
    grid, values = statistics.align([goal, never], until=500)
    assert grid.tolist() == [100, 300]
    np.testing.assert_array_equal(values, [[1, 1], [0, 0]])
    assert statistics.band([goal, never], until=500).mean.tolist() == [0.5, 0.5]


def test_align_until_an_earlier_query() -> None:
    assert statistics.align([curve([100, 200, 300], [0, 1, 2])], until=200)[0].tolist() == [
        100,
        200,
    ]


def test_a_band_takes_the_runs_that_are_there() -> None:
    short, long = [[0.0, 4], [2, 6], [4, 5], [1, 1], [3, 9]], [5.0, 5, 9]
    curves = [*(curve([1, 2], values) for values in short), curve([1, 2, 3], long)]
    band = statistics.band(curves)
    assert band.runs.tolist() == [6, 6, 1]
    np.testing.assert_allclose(band.mean, [15 / 6, 30 / 6, 9])
    for point, values in enumerate([[0, 2, 4, 1, 3, 5], [4, 6, 5, 1, 9, 5]]):
        ends = stats.ttest_1samp(values, 0).confidence_interval(0.95)
        assert (band.low[point], band.high[point]) == pytest.approx(tuple(ends))
    assert math.isnan(band.low[2]) and math.isnan(band.high[2])


def test_a_band_has_no_interval_where_fewer_than_five_runs_are_left() -> None:
    ends = [1, 1, 2, 2, 2, 2]
    curves = [curve(list(range(1, end + 2)), [float(n)] * (end + 1)) for n, end in enumerate(ends)]
    band = statistics.band(curves)
    assert band.runs.tolist() == [6, 6, 4]
    assert np.isnan(band.low).tolist() == np.isnan(band.high).tolist() == [False, False, True]
    assert not np.isnan(band.mean).any()


@pytest.mark.parametrize("seeds", [6, 12])
def test_a_long_band_equals_its_points(seeds: int) -> None:
    values = np.random.default_rng(2).normal(size=(seeds, 700))
    queries = np.arange(1.0, 701)
    band = statistics.band([Curve(queries, row) for row in values])
    for point in (0, 255, 256, 511, 512, 699):
        expected = statistics.mean_interval(values[:, point])
        assert (band.mean[point], band.low[point], band.high[point]) == pytest.approx(expected)


def test_an_interquartile_mean_of_few_seeds_has_no_interval() -> None:
    curves = [curve([1], [value]) for value in (0, 1, 2, 3, 100)]
    band = statistics.band(curves, statistic="iqm")
    assert band.mean[0] == 2 and math.isnan(band.low[0]) and math.isnan(band.high[0])


def test_two_sided_bootstraps_by_enumeration() -> None:
    ours, theirs = [0.0, 2.0], [1.0, 1.0]
    # Four equally likely resamples of ours: means 0, 1, 1, 2; theirs is always 1.
    assert tuple(statistics.difference_interval(ours, theirs, "bootstrap")) == (0, -1, 1)
    # The other way round, only theirs has resamples that differ.
    assert tuple(statistics.difference_interval(theirs, ours, "bootstrap")) == (0, -1, 1)


@pytest.mark.parametrize("sizes", [(5, 5), (9, 6), (5, 30)])
def test_the_difference_of_few_seeds_has_welchs_interval(sizes: tuple[int, int]) -> None:
    rng = np.random.default_rng(sum(sizes))
    ours, theirs = rng.normal(3, 1, sizes[0]), rng.normal(1, 4, sizes[1])
    oracle = stats.ttest_ind(ours, theirs, equal_var=False).confidence_interval(0.95)
    mean, low, high = statistics.difference_interval(ours, theirs)
    assert mean == pytest.approx(ours.mean() - theirs.mean())
    assert (low, high) == pytest.approx(tuple(oracle))


def test_equal_seeds_have_an_interval_of_no_width() -> None:
    assert tuple(statistics.difference_interval([2.0] * 5, [1.0] * 5)) == (1, 1, 1)


@pytest.mark.parametrize(("ours", "theirs"), [(4, 4), (4, 20), (1, 7)])
def test_few_seeds_on_a_side_give_no_interval(ours: int, theirs: int) -> None:
    rng = np.random.default_rng(0)
    sides = rng.normal(size=ours), rng.normal(size=theirs)
    for interval in (statistics.difference_interval, statistics.improvement_interval):
        mean, low, high = interval(*sides)
        assert math.isfinite(mean) and math.isnan(low) and math.isnan(high)


@pytest.mark.parametrize(
    ("ours", "theirs", "p_value"),
    [
        # The two extreme assignments, of all there are.
        ([4, 5, 6], [1, 2, 3], 2 / 20),
        ([5, 6, 7, 8], [1, 2, 3, 4], 2 / 70),
        ([1, 2, 3, 4, 5], [6, 7, 8, 9, 10], 2 / 252),
        # Of ten sums of two, 1 + 2 and 4 + 5 are as far from their mean, 6, as 1 + 2 is.
        ([1, 2], [3, 4, 5], 2 / 10),
        # Of four, 10 alone is as far from 4 as it is; 2 + 3 + 1 is what stays.
        ([10], [1, 2, 3], 1 / 4),
        ([1, 1, 1, 1], [1, 1, 1, 1], 1),
        ([0.1, 0.2, 0.3, 0.6], [0.3, 0.1, 0.6, 0.2], 1),
    ],
)
def test_a_permutation_test_by_hand(ours: list[float], theirs: list[float], p_value: float) -> None:
    assert statistics.permutation_test(ours, theirs) == pytest.approx(p_value)
    assert statistics.permutation_test(theirs, ours) == pytest.approx(p_value)


def distance(x: np.ndarray, y: np.ndarray, axis: int) -> np.ndarray:
    return np.abs(np.mean(x, axis=axis) - np.mean(y, axis=axis))


@pytest.mark.parametrize(("sizes", "shift"), itertools.product([(5, 5), (4, 9), (8, 6)], [0, 1.2]))
def test_the_permutation_test_is_scipys(sizes: tuple[int, int], shift: float) -> None:
    rng = np.random.default_rng(sum(sizes))
    # Rounded, so that there are ties.
    ours, theirs = (
        rng.normal(mean, 1, n).round(1) for mean, n in zip((shift, 0), sizes, strict=True)
    )
    oracle = stats.permutation_test(
        (ours, theirs), distance, alternative="greater", n_resamples=np.inf, vectorized=True
    )
    assert statistics.permutation_test(ours, theirs) == pytest.approx(oracle.pvalue)


@pytest.mark.parametrize("shift", [0, 0.6])
def test_of_many_seeds_the_permutation_test_draws(shift: float) -> None:
    rng = np.random.default_rng(3)
    ours, theirs = rng.normal(shift, 1, 20), rng.normal(0, 1, 20)
    p_value = statistics.permutation_test(ours, theirs)
    assert p_value == statistics.permutation_test(ours, theirs)
    assert p_value == pytest.approx(stats.ttest_ind(ours, theirs).pvalue, abs=0.02)
    # Nothing drawn is as extreme, but what was seen is.
    assert statistics.permutation_test(range(20), range(100, 120)) == 1 / 100_000


@pytest.mark.parametrize("pairs", [6, 9])
def test_the_paired_test_is_scipys(pairs: int) -> None:
    rng = np.random.default_rng(pairs)
    theirs = rng.normal(0, 5, pairs).round(1)
    ours = theirs + rng.normal(0.5, 1, pairs).round(1)
    oracle = stats.permutation_test(
        (ours, theirs),
        distance,
        permutation_type="samples",
        alternative="greater",
        n_resamples=np.inf,
        vectorized=True,
    )
    p_value = statistics.permutation_test(ours, theirs, paired=True)
    assert p_value == pytest.approx(oracle.pvalue)


def test_pairs_that_all_agree() -> None:
    ours = np.arange(6.0)
    assert statistics.permutation_test(ours + 1, ours, paired=True) == 2 / 64
    many = np.arange(30.0)
    assert statistics.permutation_test(many + 1, many, paired=True) == 1 / 100_000


@pytest.mark.parametrize(("ours", "theirs"), [(5, 5), (6, 7)])
def test_a_paired_test_needs_six_pairs(ours: int, theirs: int) -> None:
    with pytest.raises(ValueError, match="6 pairs or more"):
        statistics.permutation_test(range(ours), range(theirs), paired=True)


@given(VALUES, VALUES)
def test_an_improvement_lies_in_its_interval(ours: list[float], theirs: list[float]) -> None:
    _, low, high = statistics.improvement_interval(ours, theirs)
    if min(len(ours), len(theirs)) > 4:
        assert 0 <= low <= high <= 1 + 1e-9
    else:
        assert math.isnan(low) and math.isnan(high)


def test_a_band_of_interquartile_means_resamples_seeds() -> None:
    values = np.random.default_rng(3).normal(size=(11, 3))
    queries = np.arange(1.0, 4)
    band = statistics.band([Curve(queries, row) for row in values], statistic="iqm")
    rng = np.random.default_rng(4)
    for point in range(3):
        column = values[:, point]
        assert band.mean[point] == pytest.approx(statistics.interquartile_mean(column))
        resamples = np.sort(rng.choice(column, (20_000, 11)), axis=1)[:, 2:9].mean(axis=1)
        expected = np.percentile(resamples, [2.5, 97.5])
        np.testing.assert_allclose([band.low[point], band.high[point]], expected, atol=0.06)
