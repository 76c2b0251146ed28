"""No link in a run folder leads a writer to a file elsewhere, and nothing of others is removed."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from probes import corridor_run
from resuming import signalled, small

import uflp
from uflp import files, state_file
from uflp.arrays import write_arrays
from uflp.experiments.jobs import Job, run_jobs
from uflp.experiments.seeds import train_seeds
from uflp.report.writing import write_files
from uflp.runs.checkpoints import Checkpoints
from uflp.runs.folder import Lock, RunFolder, write_json
from uflp.runs.interruption import Interrupted
from uflp.runs.train import train
from uflp.types import RunError, UsageError

ROW = {"queries": 50, "eval_return_mean": 0.5}


@pytest.fixture
def precious(tmp_path: Path) -> Any:
    """Returns a file elsewhere, which is found unchanged at the end of the test."""
    path = tmp_path / "elsewhere" / "precious"
    path.parent.mkdir()
    path.write_text("all that I have")
    yield path
    assert path.read_text() == "all that I have"
    assert [entry.name for entry in path.parent.iterdir()] == ["precious"]


def cut(folder: Path) -> Path:
    """Returns the folder of a run that was interrupted at query 120."""
    with pytest.raises(Interrupted):
        train(
            small("deep-sea", "ddqn", "counts"),
            out=folder,
            callback=signalled(signal.SIGINT, 120),
        )
    return folder


WRITERS = {
    "state.tmp": lambda folder: state_file.write(folder / "state", {"a": 1}),
    "config.json.tmp": lambda folder: write_json(folder / "config.json", {}),
    "x.npz.tmp": lambda folder: write_arrays(folder / "x.npz", {"a": np.zeros(3)}),
    f".{os.getpid()}-0.tmp": lambda folder: write_files(
        {folder / "page.md": b"page"}, folder / "page.md"
    ),
}


# The ids without numbers of processes: all workers of a parallel run must collect the same.
@pytest.mark.parametrize("name", WRITERS, ids=["state", "config", "arrays", "page"])
@pytest.mark.parametrize("target", ["precious", "missing"])
def test_a_link_in_the_place_of_a_temporary_file_is_replaced(
    tmp_path: Path, precious: Path, name: str, target: str
) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / name).symlink_to(precious.with_name(target))
    WRITERS[name](folder)
    (written,) = folder.iterdir()
    assert written.is_file() and not written.is_symlink()


def test_a_link_in_the_place_of_the_file_itself_is_replaced(tmp_path: Path, precious: Path) -> None:
    (tmp_path / "agent.state").symlink_to(precious)
    state_file.write(tmp_path / "agent.state", {"a": 1})
    assert not (tmp_path / "agent.state").is_symlink()


def test_a_failed_write_removes_nothing_elsewhere(tmp_path: Path, precious: Path) -> None:
    (tmp_path / "state.tmp").symlink_to(precious)
    with pytest.raises(TypeError):
        state_file.write(tmp_path / "state", {"a": {1, 2}})


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_a_lock_that_is_a_link_is_refused(tmp_path: Path, precious: Path, link: Any) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    link(precious, folder / ".lock")
    with pytest.raises(UsageError, match=r"\.lock cannot be written: it (is a link|has another)"):
        Lock(folder)
    with pytest.raises(UsageError, match=r"\.lock cannot be written"):
        train(corridor_run(), out=folder)


def test_a_lock_that_is_a_pipe_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".lock")
    with pytest.raises(UsageError, match=r"\.lock cannot be written: it is no file"):
        Lock(tmp_path)


def test_a_probe_that_is_a_link_makes_nothing_elsewhere(tmp_path: Path, precious: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / ".write-probe").symlink_to(precious.with_name("made"))
    train(corridor_run(), out=folder)


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_metrics_that_become_a_link_are_not_added_to(
    tmp_path: Path, precious: Path, link: Any
) -> None:
    with RunFolder(tmp_path / "run", corridor_run()) as folder:
        link(precious, folder.path / "metrics.csv")
        with pytest.raises(RunError, match=r"metrics\.csv cannot be written: it (is a|has an)"):
            folder.append(ROW)


def test_events_that_become_a_link_are_not_added_to(tmp_path: Path, precious: Path) -> None:
    with RunFolder(tmp_path / "run", corridor_run()) as folder:
        folder.append(ROW)
        (events,) = folder.path.glob("events.*")
        events.unlink()
        events.symlink_to(precious)
        with pytest.raises(RunError, match="cannot be written: it is a link"):
            folder.append(ROW)


@pytest.mark.parametrize("name", ["metrics.csv", "metrics.csv.tmp", "agent.state.tmp"])
def test_a_run_is_resumed_around_links(tmp_path: Path, precious: Path, name: str) -> None:
    folder = cut(tmp_path / "run")
    (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to(precious)
    assert uflp.resume(folder).summary["queries"] == 300


@pytest.mark.parametrize("name", ["checkpoint", "checkpoint/a", "checkpoint/b"])
@pytest.mark.parametrize("target", ["elsewhere", "missing"])
def test_checkpoints_that_are_links_are_refused(
    tmp_path: Path, precious: Path, name: str, target: str
) -> None:
    folder = cut(tmp_path / "run")
    if (folder / name).exists():
        (folder / name).rename(tmp_path / "moved")
    (folder / name).symlink_to(tmp_path / target)
    with pytest.raises(UsageError, match=f"{name} is a link"):
        uflp.resume(folder)
    assert not (tmp_path / "missing").exists()


def test_checkpoints_that_become_links_are_not_written_to(tmp_path: Path, precious: Path) -> None:
    checkpoints = Checkpoints(tmp_path / "checkpoint")
    checkpoints.save({"a": 1})
    for name in ("b.new", "b"):
        (tmp_path / "checkpoint" / name).symlink_to(precious.parent)
        with pytest.raises(OSError, match="it is a link"):
            checkpoints.save({"a": 2})
        (tmp_path / "checkpoint" / name).unlink()
    checkpoints.save({"a": 2})
    (tmp_path / "checkpoint" / "a").rename(tmp_path / "a")
    (tmp_path / "checkpoint" / "a").symlink_to(precious.parent)
    checkpoints.remove()
    assert not (tmp_path / "checkpoint" / "b").exists()


def test_only_files_of_checkpoints_are_removed_with_them(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    others = [folder / "checkpoint" / name for name in ("notes.txt", "a/notes.txt", "b/x/y.rows")]

    def add(row: dict[str, Any]) -> None:
        for path in others:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("mine")

    settings = small("deep-sea", "ddqn", "counts", queries=40, eval_period=10)
    train(settings, out=folder, checkpoint_seconds=0, callback=add)
    left = [path for path in (folder / "checkpoint").rglob("*") if path.is_file()]
    assert sorted(left) == sorted(others)


def test_a_seed_that_is_a_link_is_refused(tmp_path: Path) -> None:
    settings = small("deep-sea", "ddqn", "counts")
    folder = cut(tmp_path / "another")
    before = (folder / "metrics.csv").read_bytes()
    (tmp_path / "seeds").mkdir()
    (tmp_path / "seeds" / "seed-0").symlink_to(folder)
    with pytest.raises(UsageError, match="seed-0 is a link"):
        list(run_jobs([Job(settings, tmp_path / "seeds" / "seed-0")]))
    assert (folder / "metrics.csv").read_bytes() == before
    with pytest.raises(UsageError, match="already holds something"):
        list(train_seeds(settings, [0], tmp_path / "seeds"))


def test_what_is_read_is_an_ordinary_file_of_a_bounded_size(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"1234")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    (tmp_path / "device").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "pipe")
    assert files.read_file(tmp_path / "file", 4) == b"1234"
    assert files.read_file(tmp_path / "link", 4) == b"1234"
    with pytest.raises(OSError, match="more than 3 bytes"):
        files.read_file(tmp_path / "file", 3)
    for name in ("device", "pipe", "."):
        with pytest.raises(OSError, match=r"no file|Is a directory"):
            files.read_file(tmp_path / name)
