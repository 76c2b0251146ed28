"""What a new run may begin with: the history that another has left, and demonstrations."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from uflp.collection import Demonstrations, FailedRolloutError, Lineage, Rollout
from uflp.collection.lineage import Segment
from uflp.memory.history import saved_entries
from uflp.simulators.base import Simulator, SnapshotError
from uflp.training.checkpoints import Checkpoints
from uflp.training.records import CHECKPOINT, HISTORY
from uflp.training.settings import LoopSettings
from uflp.types import RunError, Snapshot, UsageError


def prepare(
    loop: LoopSettings,
    simulator: Simulator,
    rollout: Rollout,
    lineage: Lineage | None,
    demonstrations: Demonstrations,
) -> None:
    """Gives a run that begins what its settings let it begin with: a history, demonstrations."""
    if loop.history_from is not None:
        folder = Path(loop.history_from)
        try:
            for snapshot, actions in kept_history(folder, simulator.stamp):
                if lineage is not None and actions is not None:
                    lineage.adopt(actions)
                rollout.adopt(snapshot)
        except (SnapshotError, FailedRolloutError) as error:
            reason = error.__cause__ or error
            raise UsageError(f"the history of {folder} cannot be restored: {reason}") from error
    if loop.demonstrations is not None:
        demonstrations.read(Path(loop.demonstrations), simulator)


def kept_history(folder: Path, stamp: str) -> Iterator[tuple[Snapshot, Segment | None]]:
    """Yields the history of a run, oldest first: as it was at its end or its last checkpoint.

    Beside each snapshot are the actions that led to it, where they are known.

    Args:
        folder: of the run.
        stamp: of the simulator that the snapshots are for.
    """
    state = _newest(folder)
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
    for entry, data, score, *_ in saved_entries(history):
        actions = None if lineage is None else lineage.segment(entry)
        yield Snapshot(stamp, data, score), actions


def _newest(folder: Path) -> dict[str, Any]:
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
