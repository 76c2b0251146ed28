"""Checkpoints of a run: the files, when they are written, and what goes on from them.

A run keeps its last two checkpoints, each complete in a folder of its own: `a` and `b`, written in
turn. A folder holds the file `state` and, because buffers grow large, files of rows that were new
at one of its checkpoints. `state` comes last and names the others with their checksums, so a
checkpoint is there as a whole or not at all. The two folders share nothing: damage to one leaves
the other good.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from uflp import state_file
from uflp.files import NotOrdinaryError, require_folder, sync_folder
from uflp.planning import Lineage
from uflp.planning.history import saved_entries
from uflp.planning.lineage import Segment
from uflp.runs.folder import (
    AGENT,
    CHECKPOINT,
    CONFIG,
    HISTORY,
    METRICS,
    RunFolder,
    completed,
    difference,
)
from uflp.runs.hub import is_hub_folder, read_hub_agent, read_hub_history
from uflp.runs.interruption import Interrupted, Interruption, resume_command
from uflp.runs.run_protocol import RunProtocol
from uflp.state import LARGEST, Block, Rows, State, StateError, number
from uflp.state_file import DamagedError, Extension, Written
from uflp.training.metrics import COLUMNS, Row
from uflp.types import RunError, Snapshot, UsageError

DEFAULT_SECONDS = 600.0
"""From one checkpoint to the next."""

STATE = "state"
_NEW = ".new"
_OURS = re.compile(r"(state|[a-z][a-z0-9_.-]*-\d+-\d+\.rows)(\.tmp)?")
"""Names of the files that a checkpoint is made of: no others are ever removed."""


class Saved(NamedTuple):
    """Costs of one checkpoint.

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
        self._folder = folder
        self._slots = [_Slot(folder / name) for name in ("a", "b")]
        self._number = 0

    def newest(self, aside: bool = True) -> State | None:
        """Return the newest good state, None where none was ever saved.

        Args:
            aside: whether damaged checkpoints are moved aside; for those who only read, they are
                not.

        Raises:
            RunError: if there are checkpoints, and none of them is good.
            UsageError: if a folder of them is a link.
        """
        found = []
        for slot in self._slots:
            try:
                self._refuse_links(slot)
                state = slot.open()
            except (DamagedError, OSError) as damage:
                self.damaged.append(f"{slot.folder} is damaged ({damage})")
                slot.forget()
                if aside:
                    self.damaged[-1] += f" and was moved to {_moved(slot.folder)}"
            else:
                if state is not None:
                    found.append((slot.number, state))
        if not found:
            self._require_none()
            return None
        self._number, state = max(found, key=lambda one: one[0])
        # The older one is the next to be written.
        self._slots.sort(key=lambda slot: slot.number)
        return state

    def save(self, state: State) -> Saved:
        """Write a checkpoint in the place of the older of the two."""
        started = time.perf_counter()
        require_folder(self._folder)
        slot = self._slots[0]
        slot_bytes = slot.save(state, self._number + 1)
        self._number += 1
        self._slots.reverse()
        return Saved(time.perf_counter() - started, *slot_bytes)

    def remove(self) -> None:
        """Remove the checkpoints; what is not part of one stays, and so do damaged ones."""
        with contextlib.suppress(OSError):
            require_folder(self._folder)
            for slot in self._slots:
                slot.remove()
            self._folder.rmdir()

    def _refuse_links(self, slot: _Slot) -> None:
        for folder in (self._folder, slot.folder):
            if folder.is_symlink():
                raise UsageError(f"{folder} is a link: a checkpoint is a folder of its own")

    def _require_none(self) -> None:
        """Raise an error if there has ever been a checkpoint."""
        earlier = sorted(self._folder.glob("[ab].damaged-*")) if self._folder.is_dir() else []
        if self.damaged:
            raise RunError(f"no checkpoint is good: {'; '.join(self.damaged)}")
        if earlier:
            raise RunError(
                f"no checkpoint is good: {', '.join(map(str, earlier))} are damaged; to begin at "
                f"the start, remove {self._folder}"
            )


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
        """Take the folder for empty."""
        self.number = 0
        self._segments: dict[str, list[_Segment]] = {}

    def open(self) -> State | None:
        """Return what was saved, once every file of it was found good."""
        if not os.path.lexists(self.folder):
            return None
        self.forget()
        try:
            require_folder(self.folder)
            state = state_file.read(self.folder / STATE, Extension(Rows, list, self._rows))
            self.number = number(state, "number")
            saved: State = state["state"]
        except NotOrdinaryError as error:
            raise DamagedError(str(error.strerror)) from error
        except (TypeError, KeyError, StateError) as error:
            raise DamagedError(f"{STATE} is not a checkpoint: {error!r}") from error
        for segment in (segment for held in self._segments.values() for segment in held):
            self._columns(segment)
        return saved

    def save(self, state: State, count: int) -> tuple[int, int]:
        """Write a state; return the bytes written and the bytes of the whole checkpoint."""
        require_folder(self.folder)
        folder, is_new = self.folder, not self.folder.exists()
        if is_new:
            self.forget()
            # The folder has its name only with a whole checkpoint in it: one without `state` has
            # lost it.
            folder = self.folder.with_name(self.folder.name + _NEW)
            require_folder(folder)
            folder.mkdir(parents=True, exist_ok=True)
        kept = {name: list(segments) for name, segments in self._segments.items()}
        new: list[Written] = []

        def pack(rows: Rows) -> list[Any]:
            segments = [part for part in kept.get(rows.name, []) if part.stop > rows.first]
            start = segments[-1].stop if segments else rows.first
            for first, stop, columns in rows.blocks(start):
                path = folder / _segment_name(rows.name, first, stop)
                new.append(state_file.write(path, columns))
                segments.append(_Segment(first, stop, new[-1]))
            kept[rows.name] = segments
            return [rows.name, rows.first, rows.stop, segments]

        content = {"number": count, "state": state}
        new.append(state_file.write(folder / STATE, content, Extension(Rows, pack, self._rows)))
        files = [segment.file for segments in kept.values() for segment in segments]
        _remove_ours(folder, {STATE, *(file.name for file in files)})
        if is_new:
            folder.rename(self.folder)
            sync_folder(self.folder.parent)
        self.number, self._segments = count, kept
        return sum(file.size for file in new), sum(file.size for file in [*files, new[-1]])

    def remove(self) -> None:
        """Remove the checkpoint, and one that was never finished."""
        for folder in (self.folder, self.folder.with_name(self.folder.name + _NEW)):
            if folder.is_dir() and not folder.is_symlink():
                _remove_ours(folder, set())
                with contextlib.suppress(OSError):  # Something of somebody else's is in it.
                    folder.rmdir()

    def _rows(self, packed: list[Any]) -> Rows:
        """Make the rows again that `pack` took apart."""
        name, first, stop, parts = packed
        segments = [_Segment(start, end, Written(*file)) for start, end, file in parts]
        starts = [segment.first for segment in segments] or [first]
        ends = [segment.stop for segment in segments] or [first]
        for count in (first, stop, *starts, *ends):
            if type(count) is not int or not 0 <= count <= LARGEST:
                raise ValueError(f"{count!r} is no number of a row")
        if starts[0] > first or starts[1:] != ends[:-1] or ends[-1] != stop or stop < first:
            raise ValueError(f"the rows of {name} have gaps")
        for segment in segments:
            if segment.file.name != _segment_name(name, segment.first, segment.stop):
                raise ValueError(f"{segment.file.name!r} does not hold rows of {name}")
        self._segments[name] = segments

        def blocks(start: int) -> Iterator[Block]:
            for segment in segments:
                if segment.stop > start:
                    yield Block(segment.first, segment.stop, self._columns(segment))

        return Rows(name, first, stop, blocks)

    def _columns(self, segment: _Segment) -> dict[str, np.ndarray]:
        name, checksum, _ = segment.file
        columns = state_file.read(self.folder / name, checksum=checksum)
        if not isinstance(columns, dict) or not all(
            isinstance(column, np.ndarray) and column.ndim for column in columns.values()
        ):
            raise DamagedError(f"{name} does not hold columns")
        return columns


def _segment_name(name: str, first: int, stop: int) -> str:
    file = f"{name}-{first}-{stop}.rows"
    if not _OURS.fullmatch(file):
        raise ValueError(f"{name!r} is not the name of a buffer")
    return file


def _remove_ours(folder: Path, names: set[str]) -> None:
    """Remove files of earlier checkpoints, all but those that are named."""
    for path in folder.iterdir():
        if _OURS.fullmatch(path.name) and path.name not in names and not path.is_dir():
            path.unlink()


def _moved(folder: Path) -> Path:
    try:
        return move_aside(folder, "damaged")
    except OSError as error:
        raise RunError(
            f"{folder} is damaged, and cannot be moved aside: {error.strerror}"
        ) from error


def move_aside(path: Path, word: str) -> Path:
    """Rename a file or folder to a name that is free; return the new path."""
    number = 1
    while os.path.lexists(target := path.with_name(f"{path.name}.{word}-{number}")):
        number += 1
    return path.rename(target)


class Saver:
    """Saves a run into its folder: now and then, when it is interrupted, and when told to."""

    def __init__(
        self,
        run: RunProtocol,
        rows: Sequence[Row],
        folder: RunFolder,
        interruption: Interruption,
        seconds: float,
    ):
        """Make a saver.

        Args:
            run: what is saved.
            rows: the metrics so far, saved along with it.
            folder: of the run.
            interruption: what may ask for an end.
            seconds: time from one checkpoint to the next.
        """
        self._run = run
        self._rows = rows
        self._folder = folder
        self._interruption = interruption
        self._seconds = seconds
        self._checkpoints = Checkpoints(folder.path / CHECKPOINT)
        self._next = time.monotonic() + seconds
        self._count = 0
        self._spent = 0.0
        self._size = 0

    def resume(self) -> list[Row]:
        """Put the run where its newest good checkpoint was; return the metrics up to there.

        A run that was ended before its first checkpoint begins at the start.
        """
        state = self._checkpoints.newest()
        for sentence in self._checkpoints.damaged:
            warnings.warn(f"{sentence}; going on from the one before", stacklevel=2)
        if state is None:
            self._begin_again()
            return []
        try:
            self._check(state)
            self._run.load(state["run"])
            self._run.check_parameters()
            rows = _rows_of(state["rows"])
            self._count = number({"count": state["saved"][0]}, "count")
            self._spent = float(state["saved"][1])
            if not 0 <= self._spent < math.inf:
                raise StateError(f"checkpoints took {self._spent} seconds")
        except UsageError:
            raise
        except Exception as error:  # whole and with its checksum, but not written by this code
            raise RunError(f"the checkpoint does not fit its run: {error!r}") from error
        return rows

    def pause(self) -> None:
        """Save if it is time to, or if somebody asked for an end."""
        if self._interruption.signal is not None:
            self.save()
            raise Interrupted(self._interruption.signal, self.advice)
        if time.monotonic() >= self._next:
            self.save()

    @property
    def advice(self) -> str:
        """A sentence for those who want to go on after an end."""
        if self._run.simulator.portable:
            return resume_command(self._folder.path)
        return "nothing was saved: snapshots of this simulator live in memory only"

    def save(self) -> None:
        """Write a checkpoint, if the simulator's snapshots can leave the process."""
        self._next = time.monotonic() + self._seconds
        if not self._run.simulator.portable:
            return
        self._run.check_parameters()
        names = (self._rows or [{}])[0]
        columns = {name: [row.get(name, math.nan) for row in self._rows] for name in names}
        state: State = {
            "identity": self._folder.identity,
            "run": self._run.state(),
            "rows": columns,
            "saved": [self._count + 1, self._spent],
        }
        try:
            saved = self._checkpoints.save(state)
        except OSError as error:
            raise RunError(
                f"the checkpoint at query {self._run.queries} could not be written to "
                f"{self._folder.path}: {error.strerror}; the one before it is intact"
            ) from error
        self._count += 1
        self._spent += saved.seconds
        self._size = saved.size

    def keep_history(self) -> None:
        """Write the history, and what led to its states, for other runs to begin with."""
        path = self._folder.path / HISTORY
        state = {"identity": self._folder.identity, "run": self._run.kept()}
        try:
            Checkpoints(path).save(state)
        except OSError as error:
            raise RunError(f"the history could not be kept in {path}: {error.strerror}") from error

    def report(self) -> dict[str, Any]:
        """Return what the checkpoints took, for the summary."""
        return {
            "checkpoints": self._count,
            "checkpoint_seconds": round(self._spent, 3),
            "checkpoint_bytes": self._size,
        }

    def remove(self) -> None:
        """Remove the checkpoints: the run is finished."""
        self._checkpoints.remove()

    def _begin_again(self) -> None:
        """Begin at the start; rows that were written without a checkpoint are kept aside."""
        self._folder.require_unchanged()
        metrics = self._folder.path / METRICS
        if os.path.lexists(metrics):
            kept = move_aside(metrics, "old")
            warnings.warn(
                f"{self._folder.path} has no checkpoint, so that its run begins at the start; the "
                f"metrics that it had were moved to {kept}",
                stacklevel=3,
            )
        prepare(self._run)

    def _check(self, state: State) -> None:
        saved, present = (json.loads(text) for text in (state["identity"], self._folder.identity))
        saved = completed(saved, self._run.settings)
        if self._folder.is_earlier_budget(saved["settings"]["queries"]):
            saved["settings"]["queries"] = present["settings"]["queries"]
        if saved != present:
            raise UsageError(
                f"{self._folder.path} was changed since it was saved: {difference(saved, present)}"
            )


_NUMBERS = (int, float, np.integer, np.floating)


def _rows_of(columns: dict[str, list[Any]]) -> list[Row]:
    """Return the rows of metrics that a checkpoint holds as columns."""
    for name, cells in columns.items():
        if type(name) is not str or not all(isinstance(cell, _NUMBERS) for cell in cells):
            raise StateError(f"the column {name!r} of the metrics does not hold numbers")
    missing = [name for name in COLUMNS if columns and name not in columns]
    if missing:
        raise StateError(f"the metrics have no column {missing[0]!r}")
    rows = [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]
    for row in rows:
        if not math.isfinite(row["eval_return_mean"]) or not math.isfinite(row["wall_seconds"]):
            raise StateError("the metrics have a return or a time that is not finite")
    queries = [int(row["queries"]) for row in rows]
    if queries != sorted(set(queries)):
        raise StateError("the metrics have queries that do not increase")
    return rows


def prepare(run: RunProtocol) -> None:
    """Give a run that begins what its settings let it begin with."""
    folder, agent = run.settings.planning.history_from, run.settings.learning.init_from
    history = [] if folder is None else kept_history(Path(folder), run.simulator.stamp)
    try:
        learner = None if agent is None else read_agent(Path(agent))["run"]["learner"]
        run.prepare(history, learner)
    except (StateError, LookupError, TypeError) as error:
        raise UsageError(f"the agent of {agent} does not fit this run: {error}") from error


def read_agent(path: Path) -> dict[str, Any]:
    """Return what a run folder or an exported agent holds: `identity` as JSON, and `run`.

    Of a run that is not finished, it is the newest checkpoint.
    """
    try:
        if path.is_file():
            saved = state_file.read(path)
        elif (path / AGENT).exists():
            saved = state_file.read(path / AGENT)
        elif is_hub_folder(path):
            saved = read_hub_agent(path)
        else:
            saved = Checkpoints(path / CHECKPOINT).newest(aside=False)
    except (DamagedError, RunError) as error:
        raise UsageError(f"{path} cannot be loaded: {error}") from error
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    if not isinstance(saved, dict) or not {"identity", "run"} <= saved.keys():
        runs = sorted(config.parent for config in path.glob(f"*/{CONFIG}"))
        why = f"it holds runs, such as {runs[0]}" if runs else f"neither {AGENT} nor a checkpoint"
        raise UsageError(f"{path} holds no trained agent: {why}")
    return saved


def kept_history(folder: Path, stamp: str) -> Iterator[tuple[Snapshot, Segment | None]]:
    """Yield the history of a run, oldest first: as it was at its end or its last checkpoint.

    Beside each snapshot are the actions that led to it, where they are known. A folder that was
    exported has a history if it was asked for.

    Args:
        folder: of the run.
        stamp: of the simulator that the snapshots are for.
    """
    if is_hub_folder(folder):
        yield from ((snapshot, None) for snapshot in read_hub_history(folder, stamp))
        return
    state = _newest_of_run(folder)
    try:
        identity, run = json.loads(state["identity"]), state["run"]
        found = identity["simulator"]
        history = run.get("history")
        lineage = Lineage() if "lineage" in run else None
        if lineage is not None:
            lineage.load(run["lineage"])
    except Exception as error:  # whole and with its checksum, but not written by this code
        raise UsageError(f"{folder} does not hold the history of a run: {error!r}") from error
    if history is None:
        raise UsageError(f"{folder} is a run with online access, which has no history")
    if found != stamp:
        raise UsageError(f"{folder} has a history of {found!r}, and this is {stamp!r}")
    try:
        for entry, data, score, *_ in saved_entries(history):
            actions = None if lineage is None else lineage.segment(entry)
            yield Snapshot(stamp, data, score), actions
    except (DamagedError, OSError) as error:  # found good above, but read piece by piece
        raise UsageError(
            f"the history of {folder} cannot be read: {error}; a run that is still under way "
            "changes it"
        ) from error
    except Exception as error:  # whole and with its checksum, but not written by this code
        raise UsageError(f"{folder} does not hold the history of a run: {error!r}") from error


def _newest_of_run(folder: Path) -> dict[str, Any]:
    for name in (HISTORY, CHECKPOINT):
        try:
            state = Checkpoints(folder / name).newest(aside=False)
        except (RunError, OSError) as error:
            raise UsageError(f"the history of {folder} cannot be read: {error}") from error
        if state is not None:
            return state
    raise UsageError(
        f"{folder} holds no history: it is no run, or one that has finished without keep_history"
    )
