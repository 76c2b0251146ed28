"""Checkpoints: whole or not at all, two of them, and what is damaged is never taken for good."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from uflp import state_file
from uflp.runs.checkpoints import Checkpoints
from uflp.state import Block, Rows
from uflp.state_file import DamagedError
from uflp.types import RunError, UsageError

VALUES = {
    "none": None,
    "numbers": [1, -2.5, True, float("inf")],
    "bytes": b"\x00\xff",
    "nested": {"text": "θ", "empty": {}},
    "matrix": np.arange(6, dtype=np.float32).reshape(2, 3),
    "transposed": np.arange(6).reshape(2, 3).T,
    "flags": np.array([True, False]),
    "zero": np.zeros((0, 4), np.uint8),
    "point": np.array(7, np.int16),
    "scalar": np.float64(0.1),
}


# One file


def test_a_file_gives_back_what_was_written(tmp_path: Path) -> None:
    state_file.write(tmp_path / "state", VALUES)
    found = state_file.read(tmp_path / "state")
    assert list(found) == list(VALUES)
    for name, value in VALUES.items():
        if isinstance(value, np.ndarray | np.generic):
            assert type(found[name]) is type(value)
            assert found[name].dtype == value.dtype
            np.testing.assert_array_equal(found[name], value, strict=True)
        else:
            assert found[name] == value


def test_no_bit_of_a_file_can_be_flipped(tmp_path: Path) -> None:
    state_file.write(tmp_path / "state", {"a": 1, "b": np.arange(3)})
    good = (tmp_path / "state").read_bytes()
    for place in range(len(good)):
        for bit in range(8):
            bad = bytearray(good)
            bad[place] ^= 1 << bit
            (tmp_path / "state").write_bytes(bad)
            with pytest.raises(DamagedError):
                state_file.read(tmp_path / "state")


def test_no_end_of_a_file_can_be_missing(tmp_path: Path) -> None:
    state_file.write(tmp_path / "state", {"a": 1, "b": np.arange(3)})
    good = (tmp_path / "state").read_bytes()
    for length in range(len(good)):
        (tmp_path / "state").write_bytes(good[:length])
        with pytest.raises(DamagedError):
            state_file.read(tmp_path / "state")


def test_another_format_is_refused_by_its_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_file, "FORMAT", 7)
    state_file.write(tmp_path / "state", {})
    monkeypatch.setattr(state_file, "FORMAT", 1)
    with pytest.raises(UsageError, match="format 7, and this version reads format 1"):
        state_file.read(tmp_path / "state")


@pytest.mark.parametrize("value", [np.array([object()]), {1, 2}, (1, 2), lambda: 0, np.array("x")])
def test_what_has_no_plain_form_is_not_written(tmp_path: Path, value: Any) -> None:
    with pytest.raises(TypeError, match="cannot be saved"):
        state_file.write(tmp_path / "state", {"value": value})
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state_file.write(tmp_path / "state", {"a": 1})

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        state_file.write(tmp_path / "state", {"a": 2})
    assert [path.name for path in tmp_path.iterdir()] == ["state"]
    assert state_file.read(tmp_path / "state") == {"a": 1}


# Two checkpoints


class Buffer:
    """The numbers from `first` to `stop`, each in a row; notes from where it was read."""

    def __init__(self) -> None:
        self.read_from: list[int] = []

    def state(self, first: int, stop: int) -> dict[str, Any]:
        def blocks(start: int) -> Iterator[Block]:
            self.read_from.append(start)
            for at in range(start, stop, 4):
                end = min(at + 4, stop)
                yield Block(at, end, {"numbers": np.arange(at, end)})

        return {"rows": Rows("buffer", first, stop, blocks), "stop": stop}


def numbers(state: dict[str, Any]) -> list[int]:
    rows = state["rows"]
    found = [number for block in rows.blocks(rows.first) for number in block.columns["numbers"]]
    return [int(number) for number in found if number >= rows.first]


def test_a_checkpoint_writes_only_rows_that_its_folder_lacks(tmp_path: Path) -> None:
    buffer, checkpoints = Buffer(), Checkpoints(tmp_path)
    for stop in (10, 12, 20, 21):
        checkpoints.save(buffer.state(0, stop))
    # Two folders in turn, so each goes on from its own last one.
    assert buffer.read_from == [0, 0, 10, 12]
    again = Checkpoints(tmp_path)
    state = again.newest()
    assert state["stop"] == 21
    assert numbers(state) == list(range(21))
    again.save(buffer.state(3, 25))
    assert buffer.read_from[-1] == 20, "the older one is written next"
    assert numbers(Checkpoints(tmp_path).newest()) == list(range(3, 25))


def test_rows_that_were_dropped_leave_the_disk(tmp_path: Path) -> None:
    buffer, checkpoints = Buffer(), Checkpoints(tmp_path)
    for stop in range(10, 200, 10):
        checkpoints.save(buffer.state(stop - 10, stop))
    held = sorted(path.name for path in tmp_path.rglob("*.rows"))
    assert len(held) <= 2 * 4
    assert numbers(Checkpoints(tmp_path).newest()) == list(range(180, 190))


def test_an_empty_buffer_is_a_buffer(tmp_path: Path) -> None:
    Checkpoints(tmp_path).save(Buffer().state(0, 0))
    assert numbers(Checkpoints(tmp_path).newest()) == []


def damage(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(data)


@pytest.mark.parametrize("name", ["state", "buffer-0-4.rows", "buffer-4-8.rows"])
@pytest.mark.parametrize("how", [damage, Path.unlink, lambda path: os.truncate(path, 5)])
def test_a_damaged_checkpoint_is_moved_aside_and_the_one_before_is_taken(
    tmp_path: Path, name: str, how: Any
) -> None:
    buffer, checkpoints = Buffer(), Checkpoints(tmp_path)
    for stop in (8, 10):
        checkpoints.save(buffer.state(0, stop))
    how(tmp_path / "b" / name)
    held = {path.name for path in (tmp_path / "b").iterdir()}
    again = Checkpoints(tmp_path)
    state = again.newest()
    assert "b.damaged-1" in again.damaged[0]
    assert {path.name for path in (tmp_path / "b.damaged-1").iterdir()} == held
    assert state["stop"] == 8
    again.save(buffer.state(0, 12))
    assert numbers(Checkpoints(tmp_path).newest()) == list(range(12))


def put_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def put_file(path: Path) -> None:
    path.parent.rename(path.parent.with_name("gone"))
    path.parent.write_text("in its place")


def put_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize("how", [put_folder, put_file, put_pipe])
def test_what_is_in_the_place_of_a_checkpoint_is_moved_aside(tmp_path: Path, how: Any) -> None:
    checkpoints = Checkpoints(tmp_path)
    for stop in (8, 10):
        checkpoints.save(Buffer().state(0, stop))
    how(tmp_path / "b" / "state")
    again = Checkpoints(tmp_path)
    assert again.newest()["stop"] == 8
    assert (tmp_path / "b.damaged-1").exists()
    again.save(Buffer().state(0, 12))
    assert numbers(Checkpoints(tmp_path).newest()) == list(range(12))


def test_a_file_that_cannot_be_read_is_not_the_end_of_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoints = Checkpoints(tmp_path)
    for stop in (8, 10):
        checkpoints.save(Buffer().state(0, stop))
    read = state_file.read_file

    def bad_sector(path: Path, most: int) -> bytes:
        if path == tmp_path / "b" / "state":
            raise OSError(errno.EIO, "Input/output error", str(path))
        return read(path, most)

    monkeypatch.setattr(state_file, "read_file", bad_sector)
    again = Checkpoints(tmp_path)
    assert again.newest()["stop"] == 8
    assert "state cannot be read: Input/output error" in again.damaged[0]


def test_lost_checkpoints_are_an_error_each_time(tmp_path: Path) -> None:
    """A second try must not take what the first one moved aside for a run that never saved."""
    Checkpoints(tmp_path).save(Buffer().state(0, 8))
    (tmp_path / "a" / "state").unlink()
    with pytest.raises(RunError, match=r"no checkpoint is good: .*state is missing.*a\.damaged-1"):
        Checkpoints(tmp_path).newest()
    with pytest.raises(RunError, match=r"no checkpoint is good: .*a\.damaged-1 are damaged"):
        Checkpoints(tmp_path).newest()


def test_a_first_checkpoint_that_was_never_finished_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ends(*words: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", ends)
        with pytest.raises(KeyboardInterrupt):
            Checkpoints(tmp_path).save(Buffer().state(0, 8))
    again = Checkpoints(tmp_path)
    assert again.newest() is None
    assert again.damaged == []
    again.save(Buffer().state(4, 10))
    assert numbers(Checkpoints(tmp_path).newest()) == list(range(4, 10))
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_checkpoint_whose_folder_vanishes_is_written_as_a_whole(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path)
    for stop in (8, 10):
        checkpoints.save(Buffer().state(0, stop))
    shutil.rmtree(tmp_path / "a")
    checkpoints.save(Buffer().state(0, 12))
    assert numbers(Checkpoints(tmp_path).newest()) == list(range(12))


def test_if_none_is_good_that_is_an_error_and_all_is_kept(tmp_path: Path) -> None:
    buffer, checkpoints = Buffer(), Checkpoints(tmp_path)
    for stop in (8, 10):
        checkpoints.save(buffer.state(0, stop))
    damage(tmp_path / "a" / "state")
    damage(tmp_path / "b" / "buffer-4-8.rows")
    with pytest.raises(RunError, match=r"no checkpoint is good.*checksum"):
        Checkpoints(tmp_path).newest()
    assert len(list(tmp_path.rglob("*.rows"))) == 5


def test_rows_of_another_checkpoint_are_not_taken_for_these(tmp_path: Path) -> None:
    """A file may be whole and still be the wrong one."""
    for folder, offset in (("one", 0), ("two", 100)):
        state = Buffer().state(0, 4)
        block = Block(0, 4, {"numbers": np.arange(4) + offset})
        state["rows"] = state["rows"]._replace(blocks=lambda start, block=block: iter([block]))
        Checkpoints(tmp_path / folder).save(state)
    (tmp_path / "two" / "a" / "buffer-0-4.rows").replace(tmp_path / "one" / "a" / "buffer-0-4.rows")
    with pytest.raises(RunError, match="no checkpoint is good"):
        Checkpoints(tmp_path / "one").newest()


def test_what_an_unfinished_checkpoint_left_is_not_in_the_way(tmp_path: Path) -> None:
    buffer, checkpoints = Buffer(), Checkpoints(tmp_path)
    for stop in (8, 10):
        checkpoints.save(buffer.state(0, stop))
    (tmp_path / "a" / "buffer-8-12.rows").write_bytes(b"half of")
    (tmp_path / "a" / "state.tmp").write_bytes(b"half of")
    again = Checkpoints(tmp_path)
    assert again.newest()["stop"] == 10
    again.save(buffer.state(0, 14))
    assert numbers(Checkpoints(tmp_path).newest()) == list(range(14))
    assert not (tmp_path / "a" / "state.tmp").exists()
