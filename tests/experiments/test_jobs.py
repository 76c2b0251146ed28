"""Finished runs are never run again, and what is run again says why."""

import dataclasses
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time

import pytest

from uflp.experiments import jobs as jobs_module
from uflp.experiments.jobs import Job, KilledError, require_faithful, run_jobs
from uflp.experiments.resolve import resolve
from uflp.runs.checkpoints import Checkpoints
from uflp.runs.interruption import Interrupted
from uflp.runs.lock import LOCK, Lock
from uflp.runs.train import train
from uflp.types import UsageError


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


def test_a_run_of_before_there_were_rules_is_a_finished_run(done):
    config = json.loads((done.folder / "config.json").read_text())
    assert config["settings"].pop("rule") == "uncertainty"
    (done.folder / "config.json").write_text(json.dumps(config))
    assert done.unfinished() is None
    names = {"uncertainty": "counts", "overrides": {"size": 3, "queries": 30, "rule": "uniform"}}
    other = Job(resolve("deep-sea", **names), done.folder)
    assert other.unfinished() == "it was made otherwise: rule was uncertainty, not uniform"


def test_a_record_without_settings_is_of_another_run(done):
    (done.folder / "config.json").write_text('{"settings": null}')
    assert done.unfinished().startswith("it was made otherwise")


def test_a_run_that_would_have_stopped_earlier_is_another_run(done):
    other = Job(done.settings, done.folder, stop_at_return=0.9)
    assert other.unfinished() == "it was made otherwise: stop_at_return was None, not 0.9"


def test_a_run_that_was_cut_short_goes_on_from_its_checkpoint(job):
    def at_ten(row):
        if row["queries"] == 10:
            signal.raise_signal(signal.SIGTERM)

    loop = dataclasses.replace(job.settings.loop, eval_period=10)
    job = dataclasses.replace(job, settings=dataclasses.replace(job.settings, loop=loop))
    with pytest.raises(Interrupted):
        train(job.settings, out=job.folder, callback=at_ten)
    first = (job.folder / "metrics.csv").read_text()
    assert job.begun()
    (summary,) = run_jobs([job])
    assert job.unfinished() is None
    assert not job.begun()
    assert summary == json.loads((job.folder / "summary.json").read_text())
    # The clock's column shows that the first rows were not made again.
    assert (job.folder / "metrics.csv").read_text().startswith(first)
    assert summary["checkpoints"] == 1


def test_another_run_in_the_folder_is_moved_aside_and_kept(done):
    held = {path.name: path.read_bytes() for path in done.folder.iterdir()}
    loop = dataclasses.replace(done.settings.loop, p_init=0.25)
    other = Job(dataclasses.replace(done.settings, loop=loop), done.folder)
    assert not other.begun()
    list(run_jobs([other]))
    # Python, if it ended while they do, would say something of a bad file descriptor.
    assert not multiprocessing.active_children()
    assert other.unfinished() is None
    aside = done.folder.with_name(done.folder.name + ".old-1")
    assert {path.name: path.read_bytes() for path in aside.iterdir()} == held


def test_a_run_that_a_process_is_at_work_on_is_not_moved(done):
    other = dataclasses.replace(done, stop_at_return=0.9)
    held = Lock(done.folder)
    with pytest.raises(UsageError, match=f"process {os.getpid()} is at work on"):
        jobs_module._run(other)
    assert done.unfinished() is None
    held.release()
    assert [path.name for path in done.folder.parent.iterdir()] == [done.folder.name]


def test_a_lock_that_followed_its_folder_leaves_the_next_one_alone(tmp_path):
    (tmp_path / "run").mkdir()
    first = Lock(tmp_path / "run")
    first.follow((tmp_path / "run").rename(tmp_path / "aside"))
    (tmp_path / "run").mkdir()
    second = Lock(tmp_path / "run")
    first.release()
    assert not (tmp_path / "aside" / LOCK).exists()
    with pytest.raises(UsageError, match="is at work on"):
        Lock(tmp_path / "run")
    second.release()


def test_a_job_says_how_often_it_is_saved(job, monkeypatch):
    given = {}

    def trained(settings, **options):
        given.update(options)
        raise Interrupted

    monkeypatch.setattr(jobs_module, "trainer", lambda cluster: trained)
    monkeypatch.setattr(jobs_module, "_stopping", False)
    with pytest.raises(Interrupted):
        jobs_module._run(dataclasses.replace(job, checkpoint_seconds=7.0))
    assert given["checkpoint_seconds"] == 7.0


def killed(job):
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_process_that_was_killed_is_told_in_a_sentence(job, monkeypatch):
    monkeypatch.setattr(jobs_module, "_run", killed)
    with pytest.raises(KilledError, match=r"want of memory; .* the same command goes on"):
        list(run_jobs([job]))


BOTH = """
import sys
from pathlib import Path
from uflp.experiments.jobs import Job, run_jobs
from uflp.experiments.resolve import resolve

if __name__ == "__main__":
    jobs = [
        Job(resolve("deep-sea", agent="random", overrides={"queries": queries}), Path(folder))
        for queries, folder in ((30, sys.argv[1]), (10**9, sys.argv[2]))
    ]
    list(run_jobs(jobs))
"""


def test_processes_end_with_the_one_that_began_them_and_save_their_runs(tmp_path):
    """One of them has nothing left to do by then, and the other would go on for days."""
    script, short, long = tmp_path / "both.py", tmp_path / "short", tmp_path / "long"
    script.write_text(BOTH)
    with subprocess.Popen([sys.executable, script, short, long], stdout=subprocess.PIPE) as process:
        while not ((short / "summary.json").exists() and (long / "metrics.csv").exists()):
            assert process.poll() is None
            time.sleep(0.05)
        assert not (long / "checkpoint").exists()
        process.kill()
        # All of them write there, so that it ends with the last.
        assert process.communicate(timeout=120)[0] == b""
    assert Checkpoints(long / "checkpoint").newest()["run"]["queries"] > 0


def test_each_simulator_that_is_gone_back_with_is_looked_at_once(monkeypatch):
    seen = []

    def glance(simulator, *, seed):
        seen.append(simulator.size)
        return ""

    monkeypatch.setattr(jobs_module, "glance", glance)
    wanted = [(3, "local", 0), (3, "local", 1), (4, "local", 0), (5, "online", 0)]
    require_faithful(
        resolve("deep-sea", access=access, seed=seed, overrides={"size": size})
        for size, access, seed in wanted
    )
    assert seen == [3, 4]


def test_no_jobs_are_no_work():
    assert list(run_jobs([])) == []
