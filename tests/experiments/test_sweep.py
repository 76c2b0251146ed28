"""Sweeps: the grid is checked before the first run, and ranked after the last."""

import sys

import pytest

from uflp import cli
from uflp.experiments.sweep import grid_jobs, parse_vary
from uflp.planning import RULES
from uflp.report.sweeps import write_ranking
from uflp.runs.folder import RunFolder, summarize
from uflp.types import UsageError


def test_the_grid_has_every_combination_and_seed(tmp_path):
    vary = parse_vary(["p_init=0,0.5", "batch=1,none"])
    jobs = grid_jobs("deep-sea", vary, seeds=2, out=tmp_path)
    points = {
        (j.settings.planning.p_init, j.settings.planning.batch, j.settings.seed) for j in jobs
    }
    assert points == {(p, b, s) for p in (0.0, 0.5) for b in (1, None) for s in (0, 1)}
    assert jobs[0].folder == tmp_path / "p_init=0,batch=1" / "seed-0"


def test_rules_are_compared_in_one_sweep(tmp_path):
    jobs = grid_jobs("deep-sea", {"rule": list(RULES)}, seeds=1, out=tmp_path, uncertainty="counts")
    assert [job.settings.planning.rule for job in jobs] == list(RULES)
    assert [type(job.settings.rule) for job in jobs] == [RULES[name] for name in RULES]
    assert jobs[1].folder == tmp_path / "rule=uniform" / "seed-0"


def test_rules_are_compared_with_one_uncertainty(tmp_path):
    """Deep Sea's own is covariance, and go-explore insists on counts."""
    vary = {"rule": ["uncertainty", "go-explore", "uniform"]}
    jobs = grid_jobs("deep-sea", vary, seeds=1, out=tmp_path)
    assert [job.settings.uncertainty_name for job in jobs] == ["counts", "counts", None]
    jobs = grid_jobs("deep-sea", vary, seeds=1, out=tmp_path, agent="ddqn-bonus")
    assert [job.settings.uncertainty_name for job in jobs] == ["counts"] * 3
    jobs = grid_jobs("deep-sea", {"rule": ["uncertainty", "uniform"]}, seeds=1, out=tmp_path)
    assert [job.settings.uncertainty_name for job in jobs] == ["covariance", None]


def test_a_ranking_says_that_the_uncertainty_differs_and_that_nobody_learned(tmp_path):
    vary = {"rule": ["uncertainty", "uniform"]}
    jobs = grid_jobs("deep-sea", vary, seeds=1, out=tmp_path)
    fabricate(jobs, lambda settings: (0.0, 0.0), lambda settings: 7 * (settings.rule.needs is None))
    ranking = write_ranking(jobs, tmp_path / "ranking.md")
    rows = [dict(zip(ranking.heads, row, strict=True)) for row in ranking.rows]
    found = [(row["settings"], row["uncertainty"], row["rewarded queries"]) for row in rows]
    assert found == [("rule=uniform", "none", "7"), ("rule=uncertainty", "covariance", "0")]
    assert ranking.notes[0].startswith("Nobody learned: the rank is by rewarded queries. To learn")
    assert ranking.notes[1] == "The uncertainty differs between the combinations."


def test_values_with_commas_are_separated_by_semicolons():
    assert parse_vary(["hidden=64,64;32"]) == {"hidden": ["64,64", "32"]}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--vary", "p_init=0.1,2"], "p_init must lie in [0, 1], not 2"),
        (["--vary", "p_int=0.1"], "did you mean 'p_init'"),
        (["--vary", "p_init"], "KEY=V1,V2"),
        (["--vary", "p_init=0.1", "--vary", "p_init=0.2"], "varied twice"),
        (["--vary", "p_init=0.1", "--set", "p_init=0.2"], "both varied and set"),
        (["--vary", "p_init=0.1,0.1"], "p_init=0.1 is the same as p_init=0.1"),
        (["--vary", "p_init=0.1,.10"], "p_init=.10 is the same as p_init=0.1"),
        (["--vary", "demonstrations=a/b,a-b"], "share the folder demonstrations=a-b"),
        (["--vary", "p_init=0.1", "--seeds", "0"], "--seeds must be at least 1"),
    ],
)
def test_a_bad_sweep_fails_before_the_first_run(words, sentence, tmp_path, monkeypatch, capsys):
    out = tmp_path / "out"
    monkeypatch.setattr(sys, "argv", ["uflp", "sweep", "deep-sea", *words, "--out", str(out)])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 2
    assert sentence in capsys.readouterr().err
    assert not out.exists()


def test_nothing_to_vary_is_an_error(tmp_path):
    with pytest.raises(UsageError, match="something to vary"):
        grid_jobs("deep-sea", {}, seeds=1, out=tmp_path)


def fabricate(jobs, returns, rewarded=lambda settings: 0):
    """Writes finished runs with two evaluations each, whose returns follow from the settings."""
    for job in jobs:
        budget = job.settings.evaluation.queries
        rows = [
            {
                "queries": query,
                "eval_return_mean": value,
                "positive_rewards": rewarded(job.settings),
            }
            for query, value in zip((budget // 2, budget), returns(job.settings), strict=True)
        ]
        folder = RunFolder(job.folder, job.settings)
        for row in rows:
            folder.append(row)
        folder.finish(summarize(job.settings, rows, 1.0, job.folder))


def test_values_with_slashes_are_combinations_of_their_own(tmp_path):
    ids = ["catch/0", "catch/1", "bandit/0"]
    jobs = grid_jobs("bsuite:catch/0", {"id": ids}, seeds=2, out=tmp_path)
    assert {job.folder.parent.parent for job in jobs} == {tmp_path}
    fabricate(jobs, lambda settings: (0.0, float(ids.index(settings.simulator.id))))
    ranking = write_ranking(jobs, tmp_path / "ranking.md")
    order = [row[1] for row in ranking.rows]
    assert order == ["id=bandit-0", "id=catch-1", "id=catch-0"]


def test_the_ranking_puts_the_largest_area_first(tmp_path):
    jobs = grid_jobs("deep-sea", {"p_init": ["0.1", "0.2", "0.3"]}, seeds=2, out=tmp_path)
    returns = {0.1: (0.0, 0.0), 0.2: (0.99, 0.99), 0.3: (0.0, 0.99)}
    fabricate(jobs, lambda settings: returns[settings.planning.p_init])
    ranking = write_ranking(jobs, tmp_path / "ranking.md")
    table = (tmp_path / "ranking.md").read_text()
    assert table == ranking.markdown()
    assert ranking.notes == [] and "uncertainty" not in ranking.heads
    order = [row[1] for row in ranking.rows]
    assert order == ["p_init=0.2", "p_init=0.3", "p_init=0.1"]
    assert "150,000 (2 of 2)" in table and "none of 2" in table
