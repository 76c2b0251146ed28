"""A picture that is drawn again from its CSV is the one that was drawn from the runs."""

import json

import pytest

from uflp.experiments.figures import FIGURES
from uflp.report.figures import write_figure
from uflp.report.redraw import main
from uflp.runs.folder import RunFolder, summarize


def make(root, name, scale="laptop", value=0.0):
    """Makes a figure of fabricated runs, each of which spends its budget; returns its PNG."""
    plan = FIGURES[name].at(scale)
    jobs = plan.jobs(scale, root / "runs")
    for job in jobs:
        budget = job.settings.evaluation.queries
        rows = [
            {
                "queries": query,
                "eval_return_mean": value + job.settings.seed,
                "positive_rewards": job.settings.seed,
                "cells": 100 * (job.settings.seed + 1),
                "max_screen_score": 0,
            }
            for query in (budget // 2, budget)
        ]
        folder = RunFolder(job.folder, job.settings, job.stop_at_return)
        for row in rows:
            folder.append(row)
        folder.finish(summarize(job.settings, rows, 1.0, job.folder, "budget"))
    command = f"uflp figure {name} --scale {scale}"
    return write_figure(name, plan, jobs, root / "results" / name, command)


# Curves, lines of a sweep, and a figure whose lines and measure depend on its scale.
@pytest.mark.parametrize("name", ["swingup-pi", "deep-sea-batch", "montezuma-p-init-batch"])
def test_the_picture_is_the_same(name, tmp_path):
    png = make(tmp_path, name)
    drawn = png.read_bytes(), png.with_suffix(".svg").read_bytes()
    png.unlink()
    png.with_suffix(".svg").write_text("another one")
    assert main([name], tmp_path) == 0
    assert (png.read_bytes(), png.with_suffix(".svg").read_bytes()) == drawn


def test_a_record_may_name_another_measure(tmp_path):
    png = make(tmp_path, "swingup-pi")
    drawn = png.with_suffix(".svg").read_bytes()
    path = png.with_name("provenance.json")
    entries = json.loads(path.read_text())
    entries["swingup-pi"]["measure"] = "eval_return_mean"
    path.write_text(json.dumps(entries))
    assert main([], tmp_path) == 0
    assert png.with_suffix(".svg").read_bytes() != drawn


def test_a_figure_without_a_picture_is_refused(tmp_path, capsys):
    make(tmp_path, "swingup-pi")
    assert main(["eval-ddqn"], tmp_path) == 2
    assert capsys.readouterr().err == "eval-ddqn has no picture; there are swingup-pi\n"
