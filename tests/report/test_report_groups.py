"""Runs are pooled when they differ in their seed and in nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fabricated import MakeRun

from uflp.experiments.jobs import Job
from uflp.experiments.resolve import resolve
from uflp.report.formatting import short
from uflp.report.groups import Group, group_runs
from uflp.report.runs import Skipped, read_runs
from uflp.report.style import AGENT_STYLES, labels, markers
from uflp.runs.folder import RunFolder, summarize


def grouped(tmp_path: Path) -> tuple[list[Group], list[Skipped]]:
    runs, skipped = read_runs([tmp_path])
    assert skipped == []
    return group_runs(runs)


def test_seeds_make_a_group_in_their_order(make_run: MakeRun, tmp_path: Path) -> None:
    for seed in (10, 9, 2):
        make_run(f"seed-{seed}", [0.5], seed=seed)
    groups, skipped = grouped(tmp_path)
    assert [[run.seed for run in group.runs] for group in groups] == [[2, 9, 10]]
    assert skipped == []
    assert groups[0].detail == ""


def test_other_settings_are_another_group(make_run: MakeRun, tmp_path: Path) -> None:
    for size in (5, 10, 20):
        make_run(f"{size}", [0.5], size=size)
    groups, _ = grouped(tmp_path)
    # The evaluation period follows from the size, and need not be told.
    assert [group.detail for group in groups] == ["size=5", "size=10", "size=20"]
    assert labels(groups) == [f"DDQN, local, size={size}" for size in (5, 10, 20)]
    assert len(set(markers(groups))) == 3


def test_runs_of_before_there_were_rules_group_with_those_of_the_papers_rule(
    make_run: MakeRun, tmp_path: Path
) -> None:
    old = make_run("old", [0.5], seed=0) / "config.json"
    config = json.loads(old.read_text())
    del config["settings"]["rule"]
    old.write_text(json.dumps(config))
    make_run("new", [0.5], seed=1)
    make_run("other", [0.5], rule="uniform")
    groups, _ = grouped(tmp_path)
    assert [(group.detail, len(group.runs)) for group in groups] == [
        ("rule=uncertainty", 2),
        ("rule=uniform", 1),
    ]


@pytest.mark.parametrize(
    "names",
    [
        {"preset": "deep-sea", "agent": "boot-ddqn", "overrides": {"rule": "go-explore"}},
        {"preset": "swingup-hard", "agent": "ddqn-bonus", "uncertainty": "rnd"},
        {"preset": "atari/breakout", "access": "online"},
        {"preset": "gym:CartPole-v1"},
        {"preset": "collections:Counter", "agent": "ddqn", "uncertainty": "covariance"},
    ],
    ids=lambda names: names["preset"],
)
def test_a_run_that_is_as_good_as_a_new_one_groups_with_it(
    names: dict[str, Any], tmp_path: Path
) -> None:
    for seed in range(2):
        settings = resolve(**names, seed=seed)
        job = Job(settings, tmp_path / f"seed-{seed}")
        rows = [{"queries": 100, "eval_return_mean": 0.5, "positive_rewards": 0}]
        folder = RunFolder(job.folder, settings)
        folder.append(rows[0])
        folder.finish(summarize(settings, rows, 1.0, job.folder))
    path = job.folder / "config.json"
    config = json.loads(path.read_text())
    values = json.loads(json.dumps(settings.defaults())) | {"queries": None, "rule": None}
    for key in [key for key, value in config["settings"].items() if values.get(key) == value]:
        del config["settings"][key]
    path.write_text(json.dumps(config))
    assert job.unfinished() is None
    assert [len(group.runs) for group in grouped(tmp_path)[0]] == [2]


def test_the_evaluation_period_is_told_where_nothing_else_differs(
    make_run: MakeRun, tmp_path: Path
) -> None:
    make_run("a", [0.5], eval_period=100)
    make_run("b", [0.5], eval_period=50)
    assert [group.detail for group in grouped(tmp_path)[0]] == [
        "eval_period=50",
        "eval_period=100",
    ]


def test_a_repeated_seed_counts_once_and_the_longer_run_stays(
    make_run: MakeRun, tmp_path: Path
) -> None:
    short_run = make_run("a", [0.5], budget=300, stopped=None)
    long_run = make_run("b", [0.5, 0.6, 0.7], budget=300)
    groups, skipped = grouped(tmp_path)
    assert [run.path for run in groups[0].runs] == [long_run]
    assert [entry.path for entry in skipped] == [short_run]
    assert str(long_run) in skipped[0].reason


def test_labels_say_no_more_than_they_must(make_run: MakeRun, tmp_path: Path) -> None:
    make_run("a", [0.5])
    make_run("b", [0.5], access="online")
    make_run("c", [0.5], names={"agent": "boot-ddqn"})
    make_run("d", [0.5], names={"agent": "boot-ddqn", "uncertainty_name": "ensemble-std"})
    make_run("e", [0.5], names={"agent": "mine"})
    groups, _ = grouped(tmp_path)
    assert labels(groups) == [
        "BootDDQN, local, counts",
        "BootDDQN, local, ensemble-std",
        "DDQN, local",
        "DDQN, online",
        "mine, local",
    ]
    # Only the two that share colour and dashes need markers to be told apart.
    assert markers(groups) == [None, "o", None, None, None]


def test_a_missing_column_leaves_a_run_out(make_run: MakeRun, tmp_path: Path) -> None:
    make_run("a", [0.5])
    group = grouped(tmp_path)[0][0]
    assert len(group.curves("positive_rewards")) == 1
    assert group.curves("cells") == group.curves("loss") == []


def test_agents_have_colours_of_their_own() -> None:
    assert len({look.colour for look in AGENT_STYLES.values()}) == len(AGENT_STYLES)


def test_numbers_on_axes() -> None:
    shown = {0: "0", 0.25: "0.25", 950: "950", 2500: "2,500", 50_000: "50k", 12_500: "12.5k"}
    shown |= {1_500_000: "1.5M", 1e9: "1,000M", -20_000: "-20k"}
    assert {value: short(value) for value in shown} == shown
