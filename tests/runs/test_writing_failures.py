"""What a run cannot write, it says in one sentence that names the file."""

from __future__ import annotations

import errno
import io
import json
import math
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from probes import CorridorSimulator, corridor_run

from uflp import files
from uflp.runs import provenance
from uflp.runs.folder import AGENT, RunFolder, write_json, writing
from uflp.runs.policy import write_policy
from uflp.runs.train import train
from uflp.types import RunError, UsageError

FULL = Path("/dev/full")
ROW = {"queries": 50, "eval_return_mean": 0.5}
needs_full = pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full here")


class Best:
    best_score = 3.0

    def best_actions(self) -> bytes:
        return b"\1\2"


class Note:
    file, due = "note.txt", True

    def write(self, path: Path) -> None:
        with files.append(path) as file:
            file.write(b"seen")


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], None]:
    """Returns what lets a file be on a disk without room."""
    without_room: set[Path] = set()

    def on_full_disk(opened: Callable[[Path], Any]) -> Callable[[Path], Any]:
        return lambda path: io.FileIO(FULL, "r+") if path in without_room else opened(path)

    for name in ("create", "append"):
        monkeypatch.setattr(files, name, on_full_disk(getattr(files, name)))
    return without_room.add


def write_agent(folder: RunFolder) -> None:
    with writing(folder.path / AGENT) as path:
        write_policy(path, folder.identity, 5, {"leaves": [np.zeros(3)]})


WRITERS: dict[str, Callable[[RunFolder], None]] = {
    "metrics.csv": lambda folder: folder.append(ROW),
    "metrics.csv.tmp": lambda folder: folder.rewrite([ROW]),
    "note.txt": lambda folder: folder.append(ROW),
    "best-actions.npz.tmp": lambda folder: folder.keep_best(Best()),
    "summary.json.tmp": lambda folder: folder.finish({}),
    "agent.state.tmp": write_agent,
}


@pytest.fixture
def folder(tmp_path: Path) -> Any:
    with RunFolder(tmp_path / "run", corridor_run(), records=[Note()]) as made:
        yield made


@pytest.mark.parametrize("name", WRITERS)
def test_what_is_in_the_way_is_named(name: str, folder: RunFolder) -> None:
    (folder.path / name).mkdir()
    with pytest.raises(RunError, match=f"run/{name} cannot be written: Is a directory"):
        WRITERS[name](folder)


@needs_full
@pytest.mark.parametrize("name", WRITERS)
def test_what_a_full_disk_has_no_room_for_is_named(
    name: str, folder: RunFolder, full: Callable[[Path], None]
) -> None:
    full(folder.path / name)
    file = name.removesuffix(".tmp")
    with pytest.raises(RunError, match=f"run/{file} cannot be written: No space left on device"):
        WRITERS[name](folder)


def test_metrics_that_cannot_be_removed_are_named(folder: RunFolder) -> None:
    (folder.path / "metrics.csv").mkdir()
    with pytest.raises(RunError, match=r"run/metrics\.csv cannot be written"):
        folder.rewrite([])


@needs_full
def test_events_that_a_full_disk_has_no_room_for_are_named(
    folder: RunFolder, full: Callable[[Path], None]
) -> None:
    folder.append(ROW)
    (events,) = folder.path.glob("events.*")
    full(events)
    with pytest.raises(RunError, match=r"run/events\.out\.tfevents cannot be written: No space"):
        folder.append(ROW)


@needs_full
@pytest.mark.parametrize("name", ["metrics.csv", "summary.json.tmp"])
def test_a_run_that_cannot_be_written_ends_with_a_sentence(
    name: str, tmp_path: Path, full: Callable[[Path], None]
) -> None:
    out, file = tmp_path / "run", name.removesuffix(".tmp")
    with pytest.raises(RunError, match=f"run/{file} cannot be written: No space left"):
        train(corridor_run(), out=out, callback=lambda row: full(out / name))
    assert not (out / "summary.json").exists()
    assert not (out / ".lock").exists()


def test_a_folder_that_cannot_be_begun_is_given_free(tmp_path: Path) -> None:
    (tmp_path / "config.json.tmp").mkdir()
    with pytest.raises(RunError, match=r"config\.json\.tmp cannot be written: Is a directory"):
        RunFolder(tmp_path, corridor_run())
    assert not (tmp_path / ".lock").exists()
    (tmp_path / "config.json.tmp").rmdir()
    with RunFolder(tmp_path, corridor_run()):
        assert (tmp_path / ".lock").exists()


def test_a_lock_that_cannot_be_written_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_room(path: Path) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr(files, "update", no_room)
    with pytest.raises(UsageError, match="cannot be written: No space left on device"):
        RunFolder(tmp_path, corridor_run())


def test_other_json_files_are_named_too(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"nowhere/seeds\.json\.tmp cannot be written: No such"):
        write_json(tmp_path / "nowhere" / "seeds.json", {})


def test_any_number_of_a_simulator_is_in_the_summary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    metrics = {
        "nothing": math.nan,
        "endless": np.float32(-math.inf),
        "keys": np.int64(3),
        "open": np.bool_(True),
        "share": np.float64(0.25),
        "depth": np.array(7),
    }
    monkeypatch.setattr(CorridorSimulator, "metrics", lambda simulator: metrics)
    result = train(corridor_run(), out=tmp_path / "run")
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert {name: summary[name] for name in metrics} == {
        "nothing": None,
        "endless": None,
        "keys": 3,
        "open": True,
        "share": 0.25,
        "depth": 7,
    }
    assert result.summary == summary
    assert len(result.metrics["keys"]) == 4


def git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=me", "-c", "user.email=me@here"]
    command = ["git", "-C", str(folder), *who, *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_the_revision_of_a_repository_around_the_package_is_not_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = tmp_path / ".venv" / "uflp" / "provenance.py"
    code.parent.mkdir(parents=True)
    code.touch()
    monkeypatch.setattr(provenance, "__file__", str(code))
    assert provenance.provenance()["git_revision"] is None
    git(tmp_path, "init")
    git(tmp_path, "commit", "--allow-empty", "--message", "mine")
    assert provenance.provenance()["git_revision"] is None
    git(tmp_path, "add", "--force", str(code))
    git(tmp_path, "commit", "--message", "a checkout")
    assert provenance.provenance()["git_revision"] == git(tmp_path, "rev-parse", "HEAD")
