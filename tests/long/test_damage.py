"""Files that were damaged in every way there is, a disk that is full, one that is read-only."""

from __future__ import annotations

import contextlib
import hashlib
import random
import shutil
import subprocess
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from crashing import RUN, train, without_clock
from resuming import small

from uflp.runs.checkpoints import Checkpoints
from uflp.simulators import SIMULATORS, SnapshotError
from uflp.simulators.base import SEAL_WIDTH, seal
from uflp.training.run import Run
from uflp.types import RunError, Snapshot, UsageError

pytestmark = pytest.mark.long

FILES = 2500
"""Of each of four kinds: checkpoints and snapshots, as they are and with a right checksum."""


def mutated(data: bytes, rng: random.Random) -> bytes:
    """Returns data that differs in some way."""
    result = data
    while result == data:
        changed = bytearray(data)
        place = rng.randrange(len(data))
        kind = rng.randrange(6)
        if kind == 0:
            changed[place] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del changed[place:]
        elif kind == 2:
            changed[place : place + rng.randrange(1, 64)] = rng.randbytes(rng.randrange(64))
        elif kind == 3:
            changed += rng.randbytes(rng.randrange(1, 64))
        elif kind == 4:
            changed[place : place + 16] = bytes(16)
        else:
            other = rng.randrange(len(data))
            changed[place : place + 32] = data[other : other + 32]
        result = bytes(changed)
    return result


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Path]:
    """Returns a run's settings and the folder of a checkpoint of it."""
    settings = small("deep-sea", "pi-bonus", "counts", size=3, hidden=(4,), queries=100)
    folder = tmp_path_factory.mktemp("saved")
    run, checkpoints = Run(settings), Checkpoints(folder)

    def pause() -> None:
        if run.queries in (40, 60):
            checkpoints.save(run.state())

    list(run.train(pause))
    return settings, folder


def damaged(folder: Path, into: Path, rng: random.Random, sealed: bool) -> None:
    """Copies a checkpoint, and damages one file of its newest one."""
    shutil.copytree(folder, into)
    path = rng.choice(sorted(path for path in (into / "b").iterdir()))
    data = path.read_bytes()
    if not sealed:
        path.write_bytes(mutated(data, rng))
        return
    body = mutated(data[:-32], rng)
    path.write_bytes(body + hashlib.sha256(body).digest())


def test_damaged_checkpoints_are_never_taken_for_good(
    saved: tuple[Any, Path], tmp_path: Path
) -> None:
    _, folder = saved
    rng = random.Random(1)
    for _ in range(FILES):
        copy = tmp_path / "copy"
        damaged(folder, copy, rng, sealed=False)
        checkpoints = Checkpoints(copy)
        state = checkpoints.newest()
        assert len(checkpoints.damaged) == 1
        assert state is not None and state["queries"] == 40
        shutil.rmtree(copy)


def test_forged_checkpoints_are_at_worst_refused(saved: tuple[Any, Path], tmp_path: Path) -> None:
    """Their checksums are right, so they may load; if not, only known errors come of it."""
    settings, folder = saved
    rng = random.Random(2)
    outcomes = {"loaded": 0, "refused": 0}
    for _ in range(FILES):
        copy = tmp_path / "copy"
        damaged(folder, copy, rng, sealed=True)
        try:
            state = Checkpoints(copy).newest()
            assert state is not None
            with contextlib.suppress(RunError):
                load(Run(settings), state)
            outcomes["loaded"] += 1
        except UsageError as error:
            assert "has format" in str(error)
            outcomes["refused"] += 1
        shutil.rmtree(copy)
    print(outcomes)


def load(run: Run, state: Any) -> None:
    """As `Saver.resume` does."""
    try:
        run.load(state)
    except Exception as error:
        raise RunError from error


@pytest.mark.parametrize("sealed", [False, True])
def test_damaged_snapshots_give_only_the_documented_error(sealed: bool) -> None:
    rng = random.Random(3)
    kinds: list[Any] = [
        SIMULATORS["deep-sea"](size=5),
        SIMULATORS["deep-sea"](size=5, stochastic=True),
        SIMULATORS["swingup"](),
        SIMULATORS["bsuite"](id="catch/0"),
        SIMULATORS["bsuite"](id="cartpole_noise/0"),
    ]
    refused = 0
    for number in range(FILES):
        simulator = kinds[number % len(kinds)].make(0)
        simulator.reset(seed=number)
        simulator.step(0)
        snapshot = simulator.save()
        if sealed:
            body = mutated(snapshot.data[:-SEAL_WIDTH], rng)
            data = body + seal(body)
        else:
            data = mutated(snapshot.data, rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of numbers that no simulator would have reached
            try:
                simulator.restore(Snapshot(snapshot.simulator, data, 0.0), randomness="exact")
            except SnapshotError:
                refused += 1
    assert sealed or refused == FILES
    print(f"{refused} of {FILES} refused")


@contextlib.contextmanager
def small_disk(path: Path, size: str) -> Iterator[None]:
    path.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(path)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("only root may mount a disk")
    try:
        yield
    finally:
        subprocess.run(["umount", str(path)], check=True)


def test_a_disk_that_fills_up(tmp_path: Path) -> None:
    """The run stops with a sentence, its last checkpoint is good, and with room it goes on."""
    assert train(*RUN, 4000, "--out", tmp_path / "whole").returncode == 0
    with small_disk(tmp_path / "disk", "600k"):
        run = tmp_path / "disk" / "run"
        ended = train(*RUN, 4000, "--out", run, "--checkpoint-seconds", "0.05")
        assert ended.returncode == 1, ended
        assert "No space left on device" in ended.stderr
        assert "Traceback" not in ended.stderr
        before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
        assert not [path for path in before if path.name.endswith(".tmp")]
        assert Checkpoints(run / "checkpoint").newest() is not None
        shutil.copytree(run, tmp_path / "moved")
    ended = train("--resume", tmp_path / "moved")
    assert ended.returncode == 0, ended.stderr
    assert without_clock(tmp_path / "moved") == without_clock(tmp_path / "whole")


def test_a_disk_that_is_read_only(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "20m"):
        run = tmp_path / "disk" / "run"
        settings = small("deep-sea", "ddqn", "counts")
        from uflp.runs.train import train as train_here

        with pytest.raises(ZeroDivisionError):
            train_here(settings, out=run, checkpoint_seconds=0, callback=lambda row: 1 // 0)
        subprocess.run(["mount", "-o", "remount,ro", str(tmp_path / "disk")], check=True)
        before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
        for words in (["--resume", run], [*RUN, 100, "--out", run.with_name("new")]):
            ended = train(*words)
            assert ended.returncode == 2, ended
            assert "cannot be written: Read-only file system" in ended.stderr
        assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before
