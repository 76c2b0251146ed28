"""Local against online: which groups are compared, and what is said of them."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from fabricated import MakeRun

from uflp.report import write_report
from uflp.report.comparisons import compare, verdict
from uflp.report.groups import Group, group_runs
from uflp.report.runs import read_runs


def groups_in(folder: Path) -> list[Group]:
    return group_runs(read_runs([folder])[0])[0]


def test_a_clear_case_by_hand(make_run: MakeRun, tmp_path: Path) -> None:
    for seed, returns in enumerate([[0, 1, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1]]):
        make_run(f"local-{seed}", returns, seed=seed)
        make_run(f"online-{seed}", [0, 0, 0, 0], seed=seed, access="online")
    groups = groups_in(tmp_path)
    (comparison,) = compare(groups)
    # Areas 250, 150 and 50 of 400.
    assert comparison.difference.mean == pytest.approx(150 / 400)
    assert comparison.difference.low == pytest.approx(50 / 400)
    assert tuple(comparison.improvement) == (1, 1, 1)
    assert comparison.sentence == (
        "Local access reached 0.95 after 300 queries (median of 3 seeds); online never did."
    )
    assert verdict(groups) == comparison.sentence


def test_what_was_found_is_told_beside_what_was_returned(make_run: MakeRun, tmp_path: Path) -> None:
    for seed, cells in enumerate([90, 70, 80]):
        make_run(f"local-{seed}", [0, 0], seed=seed, columns={"cells": [5, cells]})
        make_run(f"online-{seed}", [0, 0], seed=seed, access="online", columns={"cells": [5, 20]})
    groups = groups_in(tmp_path)
    (comparison,) = compare(groups)
    found = "At the end, by the median: cells seen 80 with local access, 20 online."
    assert comparison.found == found
    assert found in write_report([tmp_path]).path.read_text()
    assert f"DDQN: {found}" in write_report([tmp_path], tmp_path / "x.md").path.read_text()


@pytest.mark.parametrize(
    ("local", "online", "sentence"),
    [
        (
            [[0, 1]],
            [[0, 1]],
            "Local access reached 0.95 after 200 queries (one seed), online after 200.",
        ),
        (
            [[0, 1]],
            [[1, 1]],
            "Online access reached 0.95 after 100 queries (one seed), local after 200.",
        ),
        (
            [[0, 0]],
            [[0, 1]],
            "Online access reached 0.95 after 200 queries (one seed); local never did.",
        ),
        (
            [[1, 1]] * 3,
            [[0, 1], [0, 0], [0, 0]],
            "Local access reached 0.95 after 100 queries (median of 3 seeds); "
            "online did in 1 of 3.",
        ),
        (
            [[0, 1], [0, 0], [0, 0]],
            [[0, 0]] * 3,
            "Local access reached 0.95 in 1 of 3 seeds; online never did.",
        ),
        ([[0, 0.5]], [[0, 0]], "Neither reached 0.95; AUC 0.125 with local access, 0.000 online."),
    ],
)
def test_sentences(
    make_run: MakeRun,
    tmp_path: Path,
    local: list[list[float]],
    online: list[list[float]],
    sentence: str,
) -> None:
    for access, runs in (("local", local), ("online", online)):
        for seed, returns in enumerate(runs):
            make_run(f"{access}-{seed}", returns, seed=seed, access=access)
    assert verdict(groups_in(tmp_path)) == sentence


def test_without_a_target_areas_are_told(make_run: MakeRun, tmp_path: Path) -> None:
    make_run("a", [1, 1], target_return=None)
    make_run("b", [0, 0], access="online", target_return=None)
    assert verdict(groups_in(tmp_path)) == ("Normalised AUC 1.000 with local access, 0.000 online.")


def test_a_run_cut_short_gives_no_difference(make_run: MakeRun, tmp_path: Path) -> None:
    make_run("a", [0.5], budget=200, stopped=None)
    make_run("b", [0, 0], budget=200, access="online")
    groups = groups_in(tmp_path)
    (comparison,) = compare(groups)
    assert math.isnan(comparison.difference.mean) and math.isnan(comparison.improvement.mean)
    assert verdict(groups) == (
        "Neither reached 0.95; best return so far 0.500 with local access, 0.000 online."
    )


def test_only_like_is_compared_with_like(make_run: MakeRun, tmp_path: Path) -> None:
    make_run("a", [0, 1], size=10)
    make_run("b", [0, 1], size=12, access="online")
    make_run("c", [0, 1], names={"agent": "ddqn-bonus"}, access="online")
    make_run("d", [0, 1], names={"preset": "another"}, access="online")
    make_run("e", [0, 1], names={"uncertainty_name": "covariance"}, access="online")
    make_run("f", [0, 1, 1], access="online")
    assert compare(groups_in(tmp_path)) == []


def test_what_belongs_to_access_may_differ(make_run: MakeRun, tmp_path: Path) -> None:
    make_run("a", [0, 1], p_init=0.5, epsilon=0.1, names={"uncertainty_name": "counts"})
    make_run("b", [0, 1], access="online", names={"uncertainty_name": None})
    assert len(compare(groups_in(tmp_path))) == 1


def test_a_verdict_on_many(make_run: MakeRun, tmp_path: Path) -> None:
    for agent, returns in (("ddqn", [0, 1, 1]), ("ddqn-bonus", [1, 1, 1])):
        make_run(f"{agent}-local", returns, names={"agent": agent})
        make_run(f"{agent}-online", [0, 0, 0], names={"agent": agent}, access="online")
    assert verdict(groups_in(tmp_path)) == (
        "Local access did better in both comparisons: it reached the target after 100 to 200 "
        "queries, online never (medians over seeds)."
    )


def test_a_verdict_without_a_comparison(make_run: MakeRun, tmp_path: Path) -> None:
    make_run("a", [0, 0.5])
    assert verdict(groups_in(tmp_path)) == "DDQN, local had a best return of 0.500 (one seed)."
    make_run("b", [0, 1], names={"agent": "ddqn-bonus"})
    assert verdict(groups_in(tmp_path)) == (
        "Best of 2: DDQN-Bonus, local reached 0.95 after 200 queries (one seed)."
    )
