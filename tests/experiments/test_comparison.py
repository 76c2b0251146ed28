"""`uflp compare`: the same task for both kinds of access, a verdict, and what it cost."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from uflp import cli
from uflp.experiments import jobs as jobs_module
from uflp.experiments.comparison import comparison_jobs
from uflp.runs.train import train
from uflp.simulators import SIMULATORS
from uflp.simulators.costs import measure
from uflp.types import UsageError

SMALL = ["--set", "size=4", "hidden=8", "feature_size=8", "learning_batch=8", "p_init=0.3"]


def test_both_sides_have_the_same_task_budget_and_seeds(tmp_path: Path) -> None:
    jobs = comparison_jobs(
        "deep-sea",
        tmp_path,
        seeds=2,
        overrides={"size": 12, "queries": 500, "p_init": 0.3, "feature_size": 9},
    )
    assert [(job.settings.access, job.settings.seed) for job in jobs] == [
        ("local", 0),
        ("local", 1),
        ("online", 0),
        ("online", 1),
    ]
    local, online = jobs[0].settings, jobs[2].settings
    assert local.simulator == online.simulator and local.agent_config == online.agent_config
    assert local.simulator.size == 12
    assert local.evaluation.queries == online.evaluation.queries == 500
    assert (local.planning.p_init, online.planning.p_init) == (0.3, 1.0)
    # A greedy agent has no use for an uncertainty online.
    assert local.uncertainty.feature_size == 9 and online.uncertainty is None
    assert len({job.folder for job in jobs}) == 4


def test_a_bonus_is_made_of_the_same_uncertainty_on_both_sides(tmp_path: Path) -> None:
    jobs = comparison_jobs("deep-sea", tmp_path, seeds=1, agent="ddqn-bonus", uncertainty="counts")
    assert [job.settings.uncertainty_name for job in jobs] == ["counts", "counts"]


def test_a_rule_is_of_local_access_alone(tmp_path: Path) -> None:
    jobs = comparison_jobs("deep-sea", tmp_path, seeds=1, overrides={"rule": "uniform"})
    assert [job.settings.planning.rule for job in jobs] == ["uniform", "uncertainty"]


def test_bad_requests_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="unknown key"):
        comparison_jobs("deep-sea", tmp_path, seeds=1, overrides={"sizes": 3})
    with pytest.raises(UsageError, match="at least 1"):
        comparison_jobs("deep-sea", tmp_path, seeds=0)
    with pytest.raises(UsageError, match="unknown preset"):
        comparison_jobs("deep-see", tmp_path, seeds=1)


@pytest.mark.parametrize("name", ["deep-sea", "swingup"])
def test_costs_are_measured_on_the_simulator(name: str) -> None:
    simulator = SIMULATORS[name]().make(0)
    costs = measure(simulator)
    assert costs.nbytes == simulator.snapshot_width
    assert costs.save > 0 and costs.restore > 0


def test_the_command_tells_all_and_makes_no_run_twice(
    compiled_once: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    made = []

    def in_this_process(jobs):
        for job in jobs:
            made.append(job.folder.relative_to(tmp_path / "out"))
            yield train(job.settings, out=job.folder).summary

    monkeypatch.setattr(jobs_module, "run_jobs", in_this_process)

    def call(seeds: int, *more: str) -> str:
        words = ["compare", "deep-sea", *SMALL, "--queries", "40", "--seeds", str(seeds), *more]
        monkeypatch.setattr(sys, "argv", ["uflp", *words, "--out", str(tmp_path / "out")])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        assert not stop.value.code
        return capsys.readouterr().out

    out = call(1)
    assert sorted(map(str, made)) == ["local/seed-0", "online/seed-0"]
    assert "Normalised AUC, local minus online: " in out
    assert "Probability that local is better: " in out
    assert "µs a save" in out and "snapshots of 13 bytes" in out
    assert out.endswith(f"{tmp_path / 'out' / 'report.html'}\n")
    assert "Exploration" in (tmp_path / "out" / "report.html").read_text()

    assert "2 of 4 runs are there already" in call(2)
    assert sorted(map(str, made)) == [
        "local/seed-0",
        "local/seed-1",
        "online/seed-0",
        "online/seed-1",
    ]

    *lines, last = call(2, "--json").splitlines()
    outcome = json.loads(last)
    assert (outcome["preset"], outcome["agent"]) == ("deep-sea", "ddqn")
    assert outcome["verdict"] in lines
    assert outcome["local"]["seeds"] == outcome["online"]["seeds"] == 2
    assert outcome["online"]["queries_to_target"] is None
    difference = outcome["auc_difference"]["mean"]
    means = [outcome[access]["auc"]["mean"] for access in ("local", "online")]
    assert difference == pytest.approx(means[0] - means[1])
    assert outcome["report"] == str(tmp_path / "out" / "report.html")
