"""Finished runs are never run again, and what is run again says why."""

import dataclasses
import json

import pytest

from uflp.experiments.jobs import Job, run_jobs
from uflp.experiments.resolve import resolve
from uflp.training.train import train


@pytest.fixture
def job(tmp_path):
    settings = resolve("deep-sea", uncertainty="counts", overrides={"size": 3, "queries": 30})
    return Job(settings, tmp_path / "run")


@pytest.fixture
def done(job):
    train(job.settings, out=job.folder, stop_at_return=job.stop_at_return)
    return job


def test_a_run_that_is_not_there_has_to_be_made(job):
    assert job.unfinished() == "it is new"
    assert job.summary() is None


def test_a_finished_run_is_left_alone(done):
    assert done.unfinished() is None
    assert done.summary()["queries"] == 30


def test_a_run_without_summary_was_interrupted(done):
    (done.folder / "summary.json").unlink()
    assert done.unfinished() == "it was interrupted"


def test_a_run_with_a_damaged_config_is_made_again(done):
    config = done.folder / "config.json"
    config.write_text(config.read_text()[:-20])
    assert done.unfinished() == "its config.json is missing or damaged"


def test_a_run_with_other_settings_names_the_first_that_differs(done):
    loop = dataclasses.replace(done.settings.loop, p_init=0.25)
    other = Job(dataclasses.replace(done.settings, loop=loop), done.folder)
    assert other.unfinished() == "it was made otherwise: p_init was 0.1, not 0.25"


def test_a_run_that_would_have_stopped_earlier_is_another_run(done):
    other = Job(done.settings, done.folder, stop_at_return=0.9)
    assert other.unfinished() == "it was made otherwise: stop_at_return was None, not 0.9"


def test_what_is_left_of_a_run_is_cleared_before_it_is_made_again(done):
    (done.folder / "summary.json").unlink()
    rows = (done.folder / "metrics.csv").read_text()
    (summary,) = run_jobs([done])
    assert done.unfinished() is None
    assert summary == json.loads((done.folder / "summary.json").read_text())
    again = (done.folder / "metrics.csv").read_text()
    assert [row.split(",")[0] for row in again.split()] == [r.split(",")[0] for r in rows.split()]


def test_no_jobs_are_no_work():
    assert list(run_jobs([])) == []
