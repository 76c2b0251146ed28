"""The last two checkpoints of a run, each complete in a folder of its own: `a` and `b`.

They are written in turn. A folder holds the file `state` and, because buffers grow large, files of
rows that were new at one of its checkpoints. `state` comes last and names the others with their
checksums, so a checkpoint is there as a whole or not at all; and since the two folders share
nothing, damage to one leaves the other good.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from uflp.runs import state_file
from uflp.runs.state_file import DamagedError, Extension, Written
from uflp.state import Block, Rows, State, StateError, number
from uflp.types import RunError

STATE = "state"


class Saved(NamedTuple):
    """What one checkpoint took.

    Attributes:
        seconds: time spent.
        written: bytes written.
        size: bytes that the checkpoint has on disk.
    """

    seconds: float
    written: int
    size: int


class Checkpoints:
    """The checkpoints in one folder.

    Attributes:
        damaged: sentences about checkpoints that were found damaged and moved aside.
    """

    def __init__(self, folder: Path):
        self.damaged: list[str] = []
        self._slots = [_Slot(folder / name) for name in ("a", "b")]
        self._number = 0

    def newest(self, aside: bool = True) -> State | None:
        """Returns the newest good state, None where none was ever saved.

        Args:
            aside: whether damaged checkpoints are moved aside; for those who only read, they are
                not.

        Raises:
            RunError: if there are checkpoints, and none of them is good.
        """
        found = []
        for slot in self._slots:
            try:
                state = slot.open()
            except DamagedError as damage:
                self.damaged.append(f"{slot.folder} is damaged ({damage})")
                slot.forget()
                if aside:
                    self.damaged[-1] += f" and was moved to {move_aside(slot.folder, 'damaged')}"
            else:
                if state is not None:
                    found.append((slot.number, state))
        if not found:
            if self.damaged:
                raise RunError(f"no checkpoint is good: {'; '.join(self.damaged)}")
            return None
        self._number, state = max(found, key=lambda one: one[0])
        # The older one is the next to be written.
        self._slots.sort(key=lambda slot: slot.number)
        return state

    def save(self, state: State) -> Saved:
        """Writes a checkpoint in the place of the older of the two."""
        started = time.perf_counter()
        slot = self._slots[0]
        slot_bytes = slot.save(state, self._number + 1)
        self._number += 1
        self._slots.reverse()
        return Saved(time.perf_counter() - started, *slot_bytes)


class _Segment(NamedTuple):
    """A file with the rows of one buffer from `first` up to `stop`."""

    first: int
    stop: int
    file: Written


class _Slot:
    """One complete checkpoint.

    Attributes:
        folder: where it is.
        number: of the checkpoint, counted over the run; 0 where there is none.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        self.forget()

    def forget(self) -> None:
        """Takes note that the folder is empty."""
        self.number = 0
        self._segments: dict[str, list[_Segment]] = {}

    def open(self) -> State | None:
        """Returns what was saved, once every file of it was found good."""
        if not (self.folder / STATE).exists():
            return None
        self.forget()
        try:
            state = state_file.read(self.folder / STATE, Extension(Rows, list, self._rows))
            self.number = number(state, "number")
            saved: State = state["state"]
        except (TypeError, KeyError, StateError) as error:
            raise DamagedError(f"{STATE} is not a checkpoint: {error!r}") from error
        for segment in (segment for held in self._segments.values() for segment in held):
            self._columns(segment)
        return saved

    def save(self, state: State, count: int) -> tuple[int, int]:
        """Writes a state; returns the bytes written and the bytes of the whole checkpoint."""
        if not self.folder.exists():
            self.folder.mkdir(parents=True)
            state_file.sync_folder(self.folder.parent)
        kept = {name: list(segments) for name, segments in self._segments.items()}
        new: list[Written] = []

        def pack(rows: Rows) -> list[Any]:
            segments = [part for part in kept.get(rows.name, []) if part.stop > rows.first]
            start = segments[-1].stop if segments else rows.first
            for first, stop, columns in rows.blocks(start):
                path = self.folder / f"{rows.name}-{first}-{stop}.rows"
                new.append(state_file.write(path, columns))
                segments.append(_Segment(first, stop, new[-1]))
            kept[rows.name] = segments
            return [rows.name, rows.first, rows.stop, segments]

        content = {"number": count, "state": state}
        new.append(
            state_file.write(self.folder / STATE, content, Extension(Rows, pack, self._rows))
        )
        self.number, self._segments = count, kept
        files = [segment.file for segments in kept.values() for segment in segments]
        self._remove_others({STATE, *(file.name for file in files)})
        return sum(file.size for file in new), sum(file.size for file in [*files, new[-1]])

    def _remove_others(self, names: set[str]) -> None:
        for path in self.folder.iterdir():
            if path.name not in names:
                path.unlink()

    def _rows(self, packed: list[Any]) -> Rows:
        """Makes the rows again that `pack` took apart."""
        name, first, stop, parts = packed
        segments = [_Segment(start, end, Written(*file)) for start, end, file in parts]
        starts = [segment.first for segment in segments] or [first]
        ends = [segment.stop for segment in segments] or [first]
        if starts[0] > first or starts[1:] != ends[:-1] or ends[-1] != stop:
            raise ValueError(f"the rows of {name} have gaps")
        self._segments[name] = segments

        def blocks(start: int) -> Iterator[Block]:
            for segment in segments:
                if segment.stop > start:
                    yield Block(segment.first, segment.stop, self._columns(segment))

        return Rows(name, first, stop, blocks)

    def _columns(self, segment: _Segment) -> dict[str, np.ndarray]:
        name, checksum, _ = segment.file
        if Path(name).name != name:
            raise DamagedError(f"{name} is not in this folder")
        columns = state_file.read(self.folder / name, checksum=checksum)
        if not isinstance(columns, dict):
            raise DamagedError(f"{name} does not hold columns")
        return columns


def move_aside(path: Path, word: str) -> Path:
    """Renames a file or folder to a name that is free; returns the new path."""
    number = 1
    while (target := path.with_name(f"{path.name}.{word}-{number}")).exists():
        number += 1
    return path.rename(target)


def remove(folder: Path) -> None:
    """Removes the checkpoints of a run that is finished."""
    shutil.rmtree(folder, ignore_errors=True)
