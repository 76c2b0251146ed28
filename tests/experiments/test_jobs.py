"""Finished runs are never run again, and what is run again says why."""

import dataclasses
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import pytest

from uflp.experiments import jobs as jobs_module
from uflp.experiments import seeds as seeds_module
from uflp.experiments.jobs import Job, KilledError, at_work, require_faithful, run_job, run_jobs
from uflp.experiments.resolve import resolve
from uflp.experiments.seeds import resume_seeds, train_seeds
from uflp.runs.checkpoints import Checkpoints
from uflp.runs.folder import LOCK, Lock
from uflp.runs.interruption import Interrupted
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
    other = Job(done.settings.changed(p_init=0.25), done.folder)
    assert other.unfinished() == "it was made with other settings: p_init was 0.1, not 0.25"


def test_a_changed_setting_is_named_before_what_follows_from_it(done):
    """Of Deep Sea the period of evaluations is ten times the size."""
    settings = resolve("deep-sea", uncertainty="counts", overrides={"size": 4, "queries": 30})
    reason = "size was 3, not 4; eval_period was 30, not 40"
    assert Job(settings, done.folder).unfinished() == f"it was made with other settings: {reason}"


def test_a_run_of_before_there_were_rules_is_a_finished_run(done):
    config = json.loads((done.folder / "config.json").read_text())
    assert config["settings"].pop("rule") == "uncertainty"
    (done.folder / "config.json").write_text(json.dumps(config))
    assert done.unfinished() is None
    names = {"uncertainty": "counts", "overrides": {"size": 3, "queries": 30, "rule": "uniform"}}
    other = Job(resolve("deep-sea", **names), done.folder)
    assert (
        other.unfinished() == "it was made with other settings: rule was uncertainty, not uniform"
    )


def test_a_record_without_settings_is_of_another_run(done):
    (done.folder / "config.json").write_text('{"settings": null}')
    assert done.unfinished().startswith("it was made with other settings")


def test_a_run_that_would_have_stopped_earlier_is_another_run(done):
    other = Job(done.settings, done.folder, stop_at_return=0.9)
    assert other.unfinished() == "it was made with other settings: stop_at_return was None, not 0.9"


def test_a_run_that_was_cut_short_goes_on_from_its_checkpoint(job):
    def at_ten(row):
        if row["queries"] == 10:
            signal.raise_signal(signal.SIGTERM)

    job = dataclasses.replace(job, settings=job.settings.changed(eval_period=10))
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
    other = Job(done.settings.changed(p_init=0.25), done.folder)
    assert not other.begun()
    list(run_jobs([other]))
    # Python, if it ended while they do, would say something of a bad file descriptor.
    assert not multiprocessing.active_children()
    assert other.unfinished() is None
    aside = done.folder.with_name(done.folder.name + ".old-1")
    assert {path.name: path.read_bytes() for path in aside.iterdir()} == held


HOLD = """
import sys, time
from pathlib import Path
from uflp.runs.folder import Lock
folder = Path(sys.argv[1])
lock = Lock(folder)
print("held", flush=True)
sys.stdin.readline()
(folder / "summary.json").write_text('{"seed": 0, "by": "the other"}')
lock.release()
"""


def test_the_outcome_of_another_process_at_work_on_the_same_run_is_waited_for(done, capfd):
    (done.folder / "summary.json").unlink()
    command = [sys.executable, "-c", HOLD, done.folder]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout.readline() == b"held\n"
        found = []
        waiting = threading.Thread(target=lambda: found.append(run_job(done)))
        waiting.start()
        told = ""
        while "waiting for it" not in told:
            assert waiting.is_alive()
            told += capfd.readouterr().err
            time.sleep(0.01)
        assert f"process {other.pid} is at work on" in told
        other.communicate(b"\n")
        waiting.join()
    assert found == [{"seed": 0, "by": "the other"}]


def test_a_run_goes_on_when_the_other_process_gives_it_up(done):
    (done.folder / "summary.json").unlink()
    command = [sys.executable, "-c", HOLD, done.folder]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout.readline() == b"held\n"
        found = []
        waiting = threading.Thread(target=lambda: found.append(run_job(done)))
        waiting.start()
        other.kill()
        waiting.join()
    assert found[0]["queries"] == 30


def test_the_second_that_makes_the_same_runs_is_refused(tmp_path):
    with at_work(tmp_path / "figure"):
        refused = pytest.raises(UsageError, match=f"process {os.getpid()} is at work on")
        with refused, at_work(tmp_path / "figure"):
            pass
        assert (tmp_path / "figure" / ".lock").exists()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(UsageError, match="cannot be written"), at_work(tmp_path / ("x" * 300)):
        pass


def test_seeds_of_which_one_is_refused_can_still_be_resumed(tmp_path, job):
    """As when a stranger's folder is in the place of a seed that has not begun."""
    out = tmp_path / "seeds"
    trained = train_seeds(job.settings, [0, 1], out)

    def refuse(jobs):
        yield {"seed": 0}
        (out / "seed-0").mkdir()
        raise UsageError("process 7 is at work on seed-1")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(seeds_module, "run_jobs", refuse)
        with pytest.raises(UsageError, match="at work on seed-1"):
            list(trained)
    assert sorted(path.name for path in out.iterdir()) == ["seed-0", "seeds.json"]
    assert len(list(resume_seeds(out))) == 2


def test_a_second_resume_of_the_same_seeds_is_refused(tmp_path, job, monkeypatch):
    out = tmp_path / "seeds"

    def look(jobs):
        with pytest.raises(UsageError, match="is at work on"):
            list(resume_seeds(out))
        yield from ({"seed": job.settings.seed} for job in jobs)

    monkeypatch.setattr(seeds_module, "run_jobs", look)
    assert len(list(train_seeds(job.settings, [0, 1], out))) == 2
    assert [path.name for path in out.iterdir()] == ["summary.json"]


def test_a_run_that_a_process_is_at_work_on_is_not_moved(done):
    other = dataclasses.replace(done, stop_at_return=0.9)
    held = Lock(done.folder)
    with pytest.raises(UsageError, match=f"process {os.getpid()} is at work on"):
        run_job(other)
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
        return SimpleNamespace(summary={})

    monkeypatch.setattr(jobs_module, "trainer", lambda cluster: trained)
    run_job(dataclasses.replace(job, checkpoint_seconds=7.0))
    assert given["checkpoint_seconds"] == 7.0


def lethal():
    """Make no environment: kill the process that asks for one."""
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_process_that_was_killed_is_told_in_a_sentence(tmp_path):
    # Without an agent's name, or with random actions, an environment is made already here.
    job = Job(resolve(f"{__name__}:lethal", agent="ddqn"), tmp_path / "run")
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
