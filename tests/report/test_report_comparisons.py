"""Local against online: which groups are compared, and what is said of them."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
from fabricated import MakeRun, write_run

from uflp.report import write_report
from uflp.report.comparisons import compare, verdict
from uflp.report.groups import Group, group_runs
from uflp.report.runs import read_runs
from uflp.report.style import labels


def groups_in(folder: Path) -> list[Group]:
    return group_runs(read_runs([folder])[0])[0]


def clear_case(make_run: MakeRun, folder: Path, seeds: int) -> list[Group]:
    """Makes seeds that all have an area of a half with local access, and none online."""
    for seed in range(seeds):
        make_run(f"local-{seed}", [0.5, 0.5], seed=seed)
        make_run(f"online-{seed}", [0, 0], seed=seed, access="online")
    return groups_in(folder)


def test_a_clear_case_by_hand(make_run: MakeRun, tmp_path: Path) -> None:
    for seed, returns in enumerate([[0, 1, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1]]):
        make_run(f"local-{seed}", returns, seed=seed)
        make_run(f"online-{seed}", [0, 0, 0, 0], seed=seed, access="online")
    groups = groups_in(tmp_path)
    (comparison,) = compare(groups)
    # Areas 250, 150 and 50 of 400.
    assert comparison.difference.mean == pytest.approx(150 / 400)
    assert comparison.improvement.mean == 1
    for interval in (comparison.difference, comparison.improvement):
        assert math.isnan(interval.low) and math.isnan(interval.high)
    assert comparison.sentence == (
        "Local access reached 0.95 after 300 queries (median of 3 seeds); online never did."
    )
    assert verdict(groups) == comparison.sentence


def test_three_seeds_have_no_interval_and_say_nothing_of_significance(
    make_run: MakeRun, tmp_path: Path
) -> None:
    (comparison,) = compare(clear_case(make_run, tmp_path, 3))
    # Nothing more extreme than all of one side above all of the other: 2 of 20 assignments.
    assert comparison.p_value == pytest.approx(0.1)
    assert comparison.numbers == (
        "Normalised AUC, local minus online: 0.500. Probability that local is better: 1.000."
    )
    values = json.loads(json.dumps(comparison.values()))
    assert values["p_value"] == pytest.approx(0.1)
    assert values["auc_difference"] == {"mean": 0.5, "low": None, "high": None, "interval": None}
    assert values["probability_local_better"] == {"mean": 1, "low": None, "high": None}
    assert values["local"]["auc"] == {
        "mean": 0.5,
        "low": None,
        "high": None,
        "interval": None,
        "by_seed": [0.5, 0.5, 0.5],
    }
    for name in ("page.html", "page.md"):
        text = write_report([tmp_path], tmp_path / name).path.read_text()
        said, _, notes = text.partition("How to read this" if name == "page.html" else "- Of fewer")
        told = said if name == "page.html" else notes.partition("## deep-sea")[2]
        assert "0.500" in text and "significan" not in told and "permutation" not in told
        assert "interval" not in told and "p = " not in told
        assert re.search(r"\d \[-?\d", told) is None


def test_five_seeds_have_both_intervals_and_a_test(make_run: MakeRun, tmp_path: Path) -> None:
    (comparison,) = compare(clear_case(make_run, tmp_path, 5))
    assert comparison.p_value == pytest.approx(2 / 252)
    assert list(comparison.intervals) == ["95 % t interval", "95 % bootstrap interval"]
    assert comparison.significance == (
        "The difference of the areas is significant at 0.05 (permutation test, p = 0.008)."
    )
    assert "0.500, 95 % t interval [0.500, 0.500], 95 % bootstrap" in comparison.numbers
    assert comparison.values()["auc_difference"]["interval"] == "t"
    page = write_report([tmp_path]).path.read_text()
    assert "p = 0.008" in page
    assert comparison.significance in page
    assert comparison.significance in write_report([tmp_path], tmp_path / "x.md").path.read_text()


def test_a_difference_that_chance_may_have_made_is_not_significant(
    make_run: MakeRun, tmp_path: Path
) -> None:
    for seed, (ours, theirs) in enumerate([(1, 0), (0, 0), (0, 0), (0, 0)]):
        make_run(f"local-{seed}", [ours, ours], seed=seed)
        make_run(f"online-{seed}", [theirs, theirs], seed=seed, access="online")
    (comparison,) = compare(groups_in(tmp_path))
    # Whichever side has the one, the difference is as large.
    assert comparison.p_value == 1
    assert comparison.significance == (
        "The difference of the areas is not significant at 0.05 (permutation test, p = 1.000)."
    )


def test_ten_seeds_have_the_bootstrap_alone(make_run: MakeRun, tmp_path: Path) -> None:
    (comparison,) = compare(clear_case(make_run, tmp_path, 10))
    assert list(comparison.intervals) == ["95 % bootstrap interval"]
    assert comparison.p_value == pytest.approx(2 / 184_756)
    assert "p < 0.001" in comparison.significance
    assert comparison.values()["local"]["auc"]["interval"] == "bootstrap"


def test_what_was_found_is_told_beside_what_was_returned(make_run: MakeRun, tmp_path: Path) -> None:
    for seed, cells in enumerate([90, 70, 80]):
        make_run(f"local-{seed}", [0, 0], seed=seed, columns={"cells": [5, cells]})
        make_run(f"online-{seed}", [0, 0], seed=seed, access="online", columns={"cells": [5, 20]})
    groups = groups_in(tmp_path)
    (comparison,) = compare(groups)
    found = (
        "Found, by the median: rewarded queries 1 with local access, 1 online; "
        "first reward by query 200 with local access, by query 200 online; "
        "cells seen 80 with local access, 20 online."
    )
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
    assert verdict(groups_in(tmp_path)) == (
        "Local access learned and online access did not: "
        "normalised AUC 1.000 with local access, 0.000 online."
    )


def test_a_policy_that_was_lost_again_is_not_hidden_by_one_seed_that_learned(
    make_run: MakeRun, tmp_path: Path
) -> None:
    # Areas, of which the first evaluation stands for what came before it: (0 + 0.25) / 2 and 0.625.
    make_run("a", [0, 0, 0, 1], seed=0, target_return=None)
    make_run("b", [0, 0, 0, 0], seed=1, target_return=None)
    for seed in range(2):
        make_run(f"c{seed}", [1, 1, 0, 0], seed=seed, access="online", target_return=None)
    text = verdict(groups_in(tmp_path))
    start = "At the end local access had learned in 1 of 2 seeds and online access had not; "
    assert text.startswith(f"{start}normalised AUC ")


def test_both_that_learned_are_compared_by_their_areas(make_run: MakeRun, tmp_path: Path) -> None:
    make_run("a", [0, 2], target_return=None)
    make_run("b", [0, 1], access="online", target_return=None)
    # From the first evaluation, at half of the budget, to the last: triangles.
    assert verdict(groups_in(tmp_path)) == "Normalised AUC 0.500 with local access, 0.250 online."


def sparse(make_run: MakeRun, access: str, *rewarded: list[int], **options: Any) -> None:
    """Make one seed a list of rewarded queries, of which no policy learns anything."""
    for seed, counts in enumerate(rewarded):
        columns = {"positive_rewards": counts}
        returns = [0.0] * len(counts)
        make_run(f"{access}-{seed}", returns, seed=seed, access=access, columns=columns, **options)


@pytest.mark.parametrize("target", [None, 0.95])
def test_what_local_access_finds_and_nobody_learns_is_the_first_sentence(
    make_run: MakeRun, tmp_path: Path, target: float | None
) -> None:
    sparse(make_run, "local", [0, 3, 9], [4, 5, 6], [0, 0, 2], target_return=target)
    sparse(make_run, "online", [0, 0, 0], [0, 0, 0], [0, 0, 0], target_return=target)
    groups = groups_in(tmp_path)
    (comparison,) = compare(groups)
    # Rewarded queries 9, 6 and 2; the first by query 200, 100 and 300.
    sentence = (
        "Local access found rewards (6 rewarded queries, the first by query 200; medians of 3 "
        "seeds), online access found none, and nobody learned from them."
    )
    assert comparison.sentence == verdict(groups) == sentence
    assert comparison.step == "found" and comparison.learned == (0, 0)
    assert "n_step=5" in comparison.advice and "sgd_period" not in comparison.advice
    values = json.loads(json.dumps(comparison.values()))
    assert (values["step"], values["verdict"]) == ("found", sentence)
    assert values["next"] == comparison.advice
    assert values["local"]["queries_to_first_reward"] == 200
    assert values["online"]["queries_to_first_reward"] is None
    for name in ("page.html", "page.md"):
        text = write_report([tmp_path], tmp_path / name).path.read_text()
        assert sentence in text and "200 (3 of 3)" in text and "– (0 of 3)" in text


def test_what_both_find_and_nobody_learns(make_run: MakeRun, tmp_path: Path) -> None:
    sparse(make_run, "local", [0, 1], [0, 0], [0, 0])
    sparse(make_run, "online", [2, 8], [1, 2], [3, 3])
    (comparison,) = compare(groups_in(tmp_path))
    assert comparison.sentence == (
        "Local access found rewards (in 1 of 3 seeds), online access found rewards (3 rewarded "
        "queries, the first by query 100; medians of 3 seeds), and nobody learned from them."
    )


def test_where_nothing_is_found_it_says_what_to_try(make_run: MakeRun, tmp_path: Path) -> None:
    sparse(make_run, "local", [0, 0], p_init=0.5, batch=8)
    sparse(make_run, "online", [0, 0])
    (comparison,) = compare(groups_in(tmp_path))
    assert comparison.sentence == (
        "Neither access found a positive reward within 200 queries, and nobody learned."
    )
    assert comparison.advice == (
        "To find a reward, try more restarts (p_init=0.1), the whole history "
        "(batch=none), restarts at rare cells (rule=go-explore), or more queries."
    )


def test_noise_is_not_learning_and_rewards_at_every_step_are_no_failure(
    make_run: MakeRun, tmp_path: Path
) -> None:
    # The lowest evaluation is -200: less than -180 at the end is noise around it.
    make_run("a", [-200, -185, -190, -195], target_return=None)
    make_run("b", [-200, -200, -200, -200], target_return=None, access="online")
    (comparison,) = compare(groups_in(tmp_path))
    assert comparison.learned == (0, 0)
    other = tmp_path / "other"
    write_run(other / "a", [20, 20], target_return=None)
    write_run(other / "b", [20, 20], target_return=None, access="online")
    (comparison,) = compare(groups_in(other))
    assert comparison.learned == (1, 1)


def test_a_verdict_on_many_of_which_nobody_learned(make_run: MakeRun, tmp_path: Path) -> None:
    for agent in ("ddqn", "ddqn-bonus"):
        for access, counts in (("local", [0, 5]), ("online", [0, 0])):
            columns = {"positive_rewards": counts}
            names = {"agent": agent}
            make_run(f"{agent}-{access}", [0, 0], names=names, access=access, columns=columns)
    assert verdict(groups_in(tmp_path)) == (
        "Nobody learned in both comparisons; local access found rewards in 2, online access in "
        "none of them."
    )


def test_a_rule_belongs_to_local_access(make_run: MakeRun, tmp_path: Path) -> None:
    make_run("a", [0, 1], rule="go-explore")
    make_run("b", [0, 1], rule="uniform", names={"uncertainty_name": None})
    make_run("c", [0, 1], access="online", names={"uncertainty_name": None})
    groups = groups_in(tmp_path)
    assert len(compare(groups)) == 2
    assert labels(groups) == [
        "DDQN, local, no uncertainty, rule=uniform",
        "DDQN, local, counts, rule=go-explore",
        "DDQN, online",
    ]


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
    write_run(tmp_path / "sparse" / "c", [0, 0])
    assert verdict(groups_in(tmp_path / "sparse")) == (
        "DDQN, local found rewards (1 rewarded query, the first by query 200), and did not learn "
        "from them."
    )
    make_run("b", [0, 1], names={"agent": "ddqn-bonus"})
    assert verdict(groups_in(tmp_path / "runs")) == (
        "Best of 2: DDQN-Bonus, local reached 0.95 after 200 queries (one seed)."
    )


def test_a_variant_is_compared_with_its_own_kind(make_run: MakeRun, tmp_path: Path) -> None:
    """Or with the preset as it is, which a variant may leave alone online."""
    for access, variant in (("local", None), ("local", "tuned"), ("online", "tuned")):
        folder = make_run(f"{access}-{variant}", [0.5, 0.5], access=access)
        config = json.loads((folder / "config.json").read_text()) | {"variant": variant}
        (folder / "config.json").write_text(json.dumps(config))
    (comparison,) = compare(groups_in(tmp_path))
    assert comparison.local.variant == comparison.online.variant == "tuned"
    assert comparison.values()["variant"] == "tuned"
