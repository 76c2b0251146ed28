"""When a run is saved, and what is said about that."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Sequence
from typing import Any

from uflp.runs import checkpoints
from uflp.runs.checkpoints import Checkpoints
from uflp.runs.folder import CHECKPOINT, HISTORY, RunFolder, completed, difference
from uflp.runs.interruption import Interrupted, Interruption, resume_command
from uflp.runs.run_protocol import RunProtocol
from uflp.runs.warm_start import prepare
from uflp.state import State
from uflp.training.metrics import Row
from uflp.types import RunError, UsageError

DEFAULT_SECONDS = 600.0


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
        """Makes a saver.

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
        """Puts the run where its newest good checkpoint was; returns the metrics up to there.

        A run that was ended before its first checkpoint begins at the start.
        """
        state = self._checkpoints.newest()
        for sentence in self._checkpoints.damaged:
            warnings.warn(f"{sentence}; going on from the one before", stacklevel=2)
        if state is None:
            prepare(self._run)
            return []
        try:
            self._check(state)
            self._run.load(state["run"])
            columns = state["rows"]
            cells = zip(*columns.values(), strict=True)
            rows = [dict(zip(columns, row, strict=True)) for row in cells]
            self._count, self._spent = state["saved"]
        except UsageError:
            raise
        except Exception as error:  # whole and with its checksum, but not written by this code
            raise RunError(f"the checkpoint does not fit its run: {error!r}") from error
        return rows

    def pause(self) -> None:
        """Saves if it is time to, or if somebody asked for an end."""
        if self._interruption.signal is not None:
            self.save()
            raise Interrupted(self._interruption.signal, self.advice)
        if time.monotonic() >= self._next:
            self.save()

    @property
    def advice(self) -> str:
        """What to tell those who want to go on after an end."""
        if self._run.simulator.portable:
            return resume_command(self._folder.path)
        return "nothing was saved: snapshots of this simulator live in memory only"

    def save(self) -> None:
        """Writes a checkpoint, if the simulator's snapshots can leave the process."""
        self._next = time.monotonic() + self._seconds
        if not self._run.simulator.portable:
            return
        self._run.check_parameters()
        columns = {key: [row[key] for row in self._rows] for key in (self._rows or [{}])[0]}
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
        """Writes the history, and what led to its states, for other runs to begin with."""
        path = self._folder.path / HISTORY
        state = {"identity": self._folder.identity, "run": self._run.kept()}
        try:
            Checkpoints(path).save(state)
        except OSError as error:
            raise RunError(f"the history could not be kept in {path}: {error.strerror}") from error

    def report(self) -> dict[str, Any]:
        """Returns what the checkpoints took, for the summary."""
        return {
            "checkpoints": self._count,
            "checkpoint_seconds": round(self._spent, 3),
            "checkpoint_bytes": self._size,
        }

    def remove(self) -> None:
        """Removes the checkpoints: the run is finished."""
        checkpoints.remove(self._folder.path / CHECKPOINT)

    def _check(self, state: State) -> None:
        saved, present = (json.loads(text) for text in (state["identity"], self._folder.identity))
        saved = completed(saved, self._run.settings)
        if saved != present:
            raise UsageError(
                f"{self._folder.path} was changed since it was saved: {difference(saved, present)}"
            )
