"""The paper's figures: their data, their runs, and the numbers drawn from them."""

import csv
import json
import sys

import numpy as np
import pytest

from uflp import cli
from uflp.experiments.figures import FIGURES, SCALES
from uflp.report.figures import fit_exponent, gather
from uflp.training.records import RunFolder, summarize


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", FIGURES)
def test_every_run_of_every_figure_resolves_and_has_a_folder_of_its_own(name, scale, tmp_path):
    jobs = FIGURES[name].jobs(scale, tmp_path)
    assert len({job.folder for job in jobs}) == len(jobs) > 1


def test_deep_sea_50_has_the_paper_s_runs(tmp_path):
    jobs = FIGURES["deep-sea-50"].jobs("paper", tmp_path)
    values = [job.settings.values() for job in jobs]
    assert len(jobs) == 4 * 2 * 10
    assert {v["size"] for v in values} == {50} and {v["queries"] for v in values} == {300_000}
    assert {(j.settings.access, j.settings.loop.p_init) for j in jobs} == {
        ("local", 0.1),
        ("online", 1.0),
    }
    assert {j.settings.loop.batch for j in jobs} == {None}
    by_agent = {job.settings.agent: job.settings.values() for job in jobs}
    assert by_agent["boot-ddqn"]["members"] == 20 and by_agent["boot-ddqn"]["prior_scale"] == 40
    assert by_agent["pi-bonus"]["discount"] == 1.0 and by_agent["pi-bonus"]["sgd_period"] == 4
    assert by_agent["pi-bonus"]["regularization"] == 0.1
    assert by_agent["ddqn-bonus"]["epsilon"] == 0.1 and by_agent["ddqn"]["epsilon"] == 0.0


def fabricate(jobs, needed):
    """Writes runs that reach their target at the number of queries that `needed` gives."""
    for job in jobs:
        queries = needed(job.settings)
        rows = [
            {"queries": query, "eval_return_mean": value, "positive_rewards": 0}
            for query, value in ((queries // 2, 0.0), (queries, 0.99))
        ]
        folder = RunFolder(job.folder, job.settings, job.stop_at_return)
        for row in rows:
            folder.append(row)
        folder.finish(summarize(job.settings, rows, 1.0, job.folder))


def test_the_exponent_is_that_of_the_runs(tmp_path):
    plan = FIGURES["deep-sea-scaling"]
    jobs = plan.jobs("laptop", tmp_path)
    scale = {seed: 3 + seed for seed in range(5)}
    fabricate(jobs, lambda s: round(scale[s.seed] * s.simulator.size ** (2 + 0.1 * s.seed)))
    exponent = fit_exponent(gather(plan, jobs))
    assert exponent.seeds == 5
    assert exponent.mean == pytest.approx(2.2, abs=1e-3)
    assert 2.0 < exponent.low < 2.2 < exponent.high < 2.4


def test_runs_that_never_reach_the_target_do_not_count(tmp_path):
    plan = FIGURES["deep-sea-scaling"]
    jobs = [job for job in plan.jobs("laptop", tmp_path) if job.settings.seed < 2]
    fabricate(jobs, lambda s: s.simulator.size**2)
    for job in jobs:
        if job.settings.seed == 1:
            metrics = job.folder / "metrics.csv"
            metrics.write_text(metrics.read_text().replace("0.99", "0.5"))
    exponent = fit_exponent(gather(plan, jobs))
    assert exponent.seeds == 1 and exponent.mean == pytest.approx(2.0)


def run(monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["uflp", *map(str, words)])
    cli.main()


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_drawn_at_smoke_scale(name, tmp_path, monkeypatch, capsys):
    try:
        run(monkeypatch, "figure", name, "--scale", "smoke", "--out", tmp_path)
    except SystemExit as stop:
        assert not stop.code
    picture = tmp_path / f"{name}.png"
    assert str(picture) in capsys.readouterr().out
    assert picture.read_bytes()[:4] == b"\x89PNG"
    assert (tmp_path / f"{name}.svg").stat().st_size > 1000
    with (tmp_path / f"{name}.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["agent"] for row in rows} == set(FIGURES[name].agents)
    assert np.isfinite([float(row["eval_return_mean"]) for row in rows]).all()


def test_an_interrupted_figure_goes_on(tmp_path, monkeypatch, capsys):
    plan = FIGURES["deep-sea-scaling"]
    jobs = plan.jobs("smoke", tmp_path / "runs")
    fabricate(jobs, lambda s: 100 * s.simulator.size)
    kept = (jobs[0].folder / "metrics.csv").read_bytes()
    (jobs[1].folder / "summary.json").unlink()
    config = json.loads((jobs[2].folder / "config.json").read_text())
    config["settings"]["members"] = 3
    (jobs[2].folder / "config.json").write_text(json.dumps(config))
    try:
        words = ("figure", "deep-sea-scaling", "--scale", "smoke", "--out", tmp_path)
        run(monkeypatch, *words)
    except SystemExit as stop:
        assert not stop.code
    out = capsys.readouterr().out
    assert f"{jobs[1].folder} goes on: it was interrupted" in out
    again = f"{jobs[2].folder} is moved aside and made again"
    assert f"{again}: it was made otherwise: members was 3, not 4" in out
    assert f"{len(jobs) - 2} of {len(jobs)} runs are there already" in out
    assert (jobs[0].folder / "metrics.csv").read_bytes() == kept


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("figure", "deep-see-50"), "did you mean 'deep-sea-50'"),
        (("figure", "deep-sea-50", "--scale", "tiny"), "choose from smoke, laptop, paper"),
    ],
)
def test_an_unknown_figure_names_the_nearest(words, sentence, tmp_path, monkeypatch, capsys):
    with pytest.raises(SystemExit) as stop:
        run(monkeypatch, *words, "--out", tmp_path / "out")
    assert stop.value.code == 2
    assert sentence in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
