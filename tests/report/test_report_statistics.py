"""Statistics against values worked by hand, and against scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from uflp.report import statistics
from uflp.report.statistics import Curve

VALUES = st.lists(st.integers(-20, 20).map(float), min_size=1, max_size=12)


def curve(queries: list[float], values: list[float], holds: bool = False) -> Curve:
    return Curve(np.array(queries, float), np.array(values, float), holds)


@pytest.mark.parametrize("seeds", [2, 3, 8, 40])
def test_the_interval_is_scipys_percentile_bootstrap(seeds: int) -> None:
    values = np.random.default_rng(seeds).normal(5, 2, seeds)
    ours = statistics.mean_interval(values)
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


def test_one_seed_has_a_mean_and_no_interval() -> None:
    mean, low, high = statistics.mean_interval([3.0])
    assert mean == 3 and math.isnan(low) and math.isnan(high)


def test_an_interval_is_the_same_every_time() -> None:
    assert statistics.mean_interval([1, 2, 4]) == statistics.mean_interval([1, 2, 4])


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
    curves = [curve([1, 2], [0, 4]), curve([1, 2], [2, 6]), curve([1, 2, 3], [4, 5, 9])]
    band = statistics.band(curves)
    assert band.runs.tolist() == [3, 3, 1]
    np.testing.assert_allclose(band.mean, [2, 5, 9])
    for point, values in enumerate([[0, 2, 4], [4, 6, 5]]):
        ends = statistics.mean_interval(values)[1:]
        assert (band.low[point], band.high[point]) == pytest.approx(ends)
    assert math.isnan(band.low[2]) and math.isnan(band.high[2])


def test_a_long_band_equals_its_points() -> None:
    values = np.random.default_rng(2).normal(size=(4, 700))
    queries = np.arange(1.0, 701)
    band = statistics.band([Curve(queries, row) for row in values])
    for point in (0, 255, 256, 511, 512, 699):
        expected = statistics.mean_interval(values[:, point])
        assert (band.mean[point], band.low[point], band.high[point]) == pytest.approx(expected)


def test_two_sided_intervals_by_enumeration() -> None:
    ours, theirs = [0.0, 2.0], [1.0, 1.0]
    # Four equally likely resamples of ours: means 0, 1, 1, 2; theirs is always 1.
    difference = statistics.difference_interval(ours, theirs)
    assert tuple(difference) == (0, -1, 1)
    improvement = statistics.improvement_interval(ours, theirs)
    assert tuple(improvement) == (0.5, 0, 1)
    # The other way round, only theirs has resamples that differ.
    assert tuple(statistics.difference_interval(theirs, ours)) == (0, -1, 1)
    assert tuple(statistics.improvement_interval(theirs, ours)) == (0.5, 0, 1)


@given(VALUES, VALUES)
def test_an_improvement_lies_in_its_interval(ours: list[float], theirs: list[float]) -> None:
    _, low, high = statistics.improvement_interval(ours, theirs)
    if min(len(ours), len(theirs)) > 1:
        assert 0 <= low <= high <= 1 + 1e-9
    else:
        assert math.isnan(low) and math.isnan(high)


def test_a_band_of_interquartile_means_resamples_seeds() -> None:
    values = np.random.default_rng(3).normal(size=(9, 3))
    queries = np.arange(1.0, 4)
    band = statistics.band([Curve(queries, row) for row in values], statistic="iqm")
    rng = np.random.default_rng(4)
    for point in range(3):
        column = values[:, point]
        assert band.mean[point] == pytest.approx(statistics.interquartile_mean(column))
        resamples = np.sort(rng.choice(column, (20_000, 9)), axis=1)[:, 2:7].mean(axis=1)
        expected = np.percentile(resamples, [2.5, 97.5])
        np.testing.assert_allclose([band.low[point], band.high[point]], expected, atol=0.06)
