"""Whatever happens to a run, what was saved is there, and it goes on. `tests/long` has the rest."""

from __future__ import annotations

import errno
import os
import random
from pathlib import Path
from typing import Any

import pytest
from crashing import kill_once, without_clock
from resuming import small

import uflp
from uflp import state_file
from uflp.experiments.recorded import recorded
from uflp.runs.checkpoints import Checkpoints
from uflp.runs.train import train
from uflp.types import RunError


def test_a_run_that_is_killed_twice_is_the_run_that_was_not(tmp_path: Path) -> None:
    rng = random.Random(0)
    folder = tmp_path / "killed"
    for _ in range(2):
        assert kill_once(folder, 100_000, rng, interval=0.1)
    state = Checkpoints(folder / "checkpoint").newest()
    assert state is not None
    # The rest would take long: what there is must be what a run without a kill has there.
    rows = len(state["rows"]["queries"])
    settings, _ = recorded(folder)
    train(settings, out=tmp_path / "whole", callback=lambda row: row["queries"] == 100 * rows)
    whole = without_clock(tmp_path / "whole")
    assert rows >= 1
    assert without_clock(folder)[: rows + 1] == whole


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Lets every write of a checkpoint's files fail after some; returns how many are left."""
    left = [10**9]
    replace = Path.replace

    def guarded(self: Path, target: Any) -> Path:
        if self.name.endswith(".tmp") and "checkpoint" in self.parts:
            left[0] -= 1
            if left[0] < 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", guarded)
    return left


@pytest.mark.parametrize(("files", "last"), [(4, 0), (7, 1), (8, 2)])
def test_a_full_disk_stops_the_run_and_the_last_checkpoint_is_good(
    tmp_path: Path, full_disk: list[int], files: int, last: int
) -> None:
    """The first checkpoint has two files, with an empty replay, and the others three."""
    settings = small("deep-sea", "ddqn", "counts")
    full_disk[0] = files
    with pytest.raises(RunError, match=r"at query \d+ could not be written.*No space left.*intact"):
        train(settings, out=tmp_path / "run", checkpoint_seconds=0.0)
    assert not list(tmp_path.rglob("*.tmp"))
    assert Checkpoints(tmp_path / "run" / "checkpoint").newest()["run"]["queries"] == last
    full_disk[0] = 10**9
    uflp.resume(tmp_path / "run")
    train(settings, out=tmp_path / "whole")
    assert without_clock(tmp_path / "run") == without_clock(tmp_path / "whole")


def test_a_run_whose_newest_checkpoint_is_damaged_goes_on_from_the_one_before(
    tmp_path: Path,
) -> None:
    settings = small("deep-sea", "ddqn", "counts")

    class Died(Exception):  # noqa: N818
        pass

    def dies(row: dict[str, Any]) -> None:
        if row["queries"] == 120:
            raise Died

    with pytest.raises(Died):
        train(settings, out=tmp_path / "run", checkpoint_seconds=0.0, callback=dies)
    slots = [tmp_path / "run" / "checkpoint" / name for name in "ab"]
    newest = max(slots, key=lambda slot: (slot / "state").stat().st_mtime_ns)
    data = bytearray((newest / "state").read_bytes())
    data[len(data) // 3] ^= 16
    (newest / "state").write_bytes(data)
    with pytest.warns(UserWarning, match=r"is damaged.*going on from the one before"):
        uflp.resume(tmp_path / "run")
    train(settings, out=tmp_path / "whole")
    assert without_clock(tmp_path / "run") == without_clock(tmp_path / "whole")


def test_a_checkpoint_of_another_format_is_refused_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = small("deep-sea", "ddqn", "counts")
    with pytest.raises(ZeroDivisionError), monkeypatch.context() as patch:
        patch.setattr(state_file, "FORMAT", 99)
        train(settings, out=tmp_path, checkpoint_seconds=0.0, callback=lambda row: 1 // 0)
    held = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(uflp.UsageError, match="has format 99"):
        uflp.resume(tmp_path)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == held
