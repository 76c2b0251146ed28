"""Run folders are read as they were written, and damage costs no more than what it touches."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from fabricated import MakeRun

from uflp.report.runs import RunRecord, Skipped, read_runs


def only(tmp_path: Path) -> tuple[RunRecord, list[Skipped]]:
    runs, skipped = read_runs([tmp_path])
    assert len(runs) == 1
    return runs[0], skipped


def test_a_run_comes_back_as_it_was_written(make_run: MakeRun, tmp_path: Path) -> None:
    path = make_run("a", [0.0, 0.99], seed=3)
    run, skipped = only(tmp_path)
    assert skipped == []
    assert (run.path, run.preset, run.agent, run.uncertainty, run.access, run.seed) == (
        *(path, "deep-sea", "ddqn", "counts", "local", 3),
    )
    assert run.settings["size"] == 10 and run.target == 0.95
    assert run.metrics["queries"].tolist() == [100, 200]
    assert run.metrics["eval_return_mean"].tolist() == [0.0, 0.99]
    assert np.isnan(run.metrics["loss"]).all()
    assert run.summary is not None and run.summary["queries_to_target"] == 200


def test_seeds_below_one_folder_and_the_folder_itself(make_run: MakeRun, tmp_path: Path) -> None:
    for seed in range(2):
        make_run(f"three/seed-{seed}", [0.5], seed=seed)
    (tmp_path / "runs/three/summary.json").write_text("{}")
    make_run("one", [0.5], seed=2)
    runs, skipped = read_runs([tmp_path, tmp_path / "runs", tmp_path / "runs/one"])
    assert sorted(run.seed for run in runs) == [0, 1, 2]
    assert skipped == []


def test_a_cut_last_line_loses_just_that_line(make_run: MakeRun, tmp_path: Path) -> None:
    path = make_run("a", [0.1, 0.2, 0.3]) / "metrics.csv"
    # All cells are there, but the last one has lost digits for all that anybody can tell.
    path.write_bytes(path.read_bytes().rstrip())
    run, skipped = only(tmp_path)
    assert run.metrics["eval_return_mean"].tolist() == [0.1, 0.2]
    assert [entry.path for entry in skipped] == [path]
    path.write_bytes(path.read_bytes()[:-6])
    assert only(tmp_path)[0].metrics["eval_return_mean"].tolist() == [0.1, 0.2]


def test_an_unfinished_run_counts(make_run: MakeRun, tmp_path: Path) -> None:
    make_run("a", [0.1, 0.2], stopped=None)
    run, skipped = only(tmp_path)
    assert run.summary is None and skipped == []


def test_a_damaged_summary_makes_a_run_unfinished(make_run: MakeRun, tmp_path: Path) -> None:
    path = make_run("a", [0.1]) / "summary.json"
    path.write_text('{"queries": ')
    run, skipped = only(tmp_path)
    assert run.summary is None
    assert [entry.path for entry in skipped] == [path]


def change_config(key: str, value: object) -> Callable[[Path], object]:
    def change(path: Path) -> None:
        config = json.loads((path / "config.json").read_text())
        (path / "config.json").write_text(json.dumps(config | {key: value}))

    return change


def metrics(text: str) -> Callable[[Path], object]:
    return lambda path: (path / "metrics.csv").write_text(text)


def pipe(path: Path) -> None:
    (path / "metrics.csv").unlink()
    os.mkfifo(path / "metrics.csv")


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (metrics(""), "no evaluation"),
        (metrics("queries,eval_return_mean"), "no evaluation"),
        (metrics("queries,eval_return_mean\r\n"), "no evaluation"),
        (metrics("queries,eval_return_mean\r\n100,"), "no evaluation"),
        (metrics("queries,eval_return_mean\n100,\n"), "no finite"),
        (metrics("queries,eval_return_mean\n100,inf\n"), "no finite"),
        (metrics("queries,eval_return_mean\n100,0.5\n200\n300,0.5\n"), "line 3"),
        (metrics("queries,eval_return_mean\n100,0.5\n2x0,0.5\n"), "line 3"),
        (metrics("queries,eval_return_mean\n100,0.5\n100,0.5\n"), "increase"),
        (metrics("queries,eval_return_mean\n,0.5\n"), "increase"),
        (metrics("step,loss\n100,0.5\n"), "not the metrics"),
        (lambda path: (path / "metrics.csv").write_bytes(b"\xff\xfe\x00\n"), "CSV"),
        (lambda path: (path / "metrics.csv").unlink(), "no evaluation"),
        (pipe, "no evaluation"),
        (lambda path: (path / "config.json").unlink(), "missing"),
        (lambda path: (path / "config.json").write_text("{"), "JSON"),
        (lambda path: (path / "config.json").write_text("[" * 100_000), "JSON"),
        (lambda path: (path / "config.json").write_text("[]"), "object"),
        (lambda path: (path / "config.json").write_text("{}"), "not the configuration"),
        (change_config("settings", {"queries": "many"}), "not the configuration"),
        (change_config("settings", {"queries": 10**400}), "not the configuration"),
        (change_config("access", "remote"), "not the configuration"),
        (change_config("preset", "a\nb"), "not the configuration"),
        (change_config("uncertainty", 1), "not the configuration"),
        (change_config("seed", None), "not the configuration"),
    ],
)
def test_damage_is_named_and_spares_the_rest(
    make_run: MakeRun, tmp_path: Path, damage: Callable[[Path], object], reason: str
) -> None:
    make_run("good", [0.5])
    bad = make_run("bad", [0.5])
    damage(bad)
    run, skipped = only(tmp_path)
    assert run.path.name == "good"
    assert [entry.path for entry in skipped] == [bad]
    assert reason in skipped[0].reason


def test_another_programs_config_is_nobodys_business(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model": "bert"}')
    assert read_runs([tmp_path]) == ([], [])


@pytest.mark.parametrize(
    ("returns", "options", "ending"),
    [
        ([0.0, 0.99], {}, "budget"),
        ([0.0, 0.99], {"stopped": None}, "budget"),
        ([0.0, 0.5], {"budget": 1000, "stopped": "goal"}, "goal"),
        ([0.0, 0.99], {"budget": 1000, "stopped": "callback"}, "cut"),
        ([0.0, 0.99], {"budget": 1000, "stopped": None}, "cut"),
    ],
)
def test_how_a_run_ended(
    make_run: MakeRun, tmp_path: Path, returns: list[float], options: dict, ending: str
) -> None:
    make_run("a", returns, **options)
    run, _ = only(tmp_path)
    assert run.ending == ending
    assert run.curve().holds == (ending == "goal")


@pytest.mark.parametrize(
    ("returns", "options", "ending"),
    [
        ([0.0, 0.99], {}, "budget"),
        ([0.0, 0.99], {"budget": 1000}, "goal"),
        ([0.0, 0.5], {"budget": 1000}, "cut"),
        ([0.99, 0.5], {"budget": 1000}, "cut"),
        ([0.0, 0.5], {"budget": 1000, "target_return": None}, "goal"),
    ],
)
def test_how_a_run_ended_whose_summary_does_not_say(
    make_run: MakeRun, tmp_path: Path, returns: list[float], options: dict, ending: str
) -> None:
    summary = make_run("a", returns, **options) / "summary.json"
    told = json.loads(summary.read_text())
    del told["stopped"]
    summary.write_text(json.dumps(told))
    assert only(tmp_path)[0].ending == ending


def test_runs_that_were_moved_aside_do_not_count(make_run: MakeRun, tmp_path: Path) -> None:
    make_run("a", [0.1])
    make_run("a.old-1", [0.2])
    assert only(tmp_path)[0].path.name == "a"


def test_a_curve_leaves_out_empty_cells(make_run: MakeRun, tmp_path: Path) -> None:
    make_run("a", [0.1, float("nan"), 0.3])
    curve = only(tmp_path)[0].curve()
    assert curve.queries.tolist() == [100, 300]
    assert curve.values.tolist() == [0.1, 0.3]
