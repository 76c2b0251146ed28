"""Warm starts: a new run begins with the history that another one has left in its folder."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from uflp.planning import Lineage
from uflp.planning.history import saved_entries
from uflp.planning.lineage import Segment
from uflp.runs.checkpoints import Checkpoints
from uflp.runs.folder import CHECKPOINT, HISTORY
from uflp.runs.run_protocol import RunProtocol
from uflp.runs.state_file import DamagedError
from uflp.types import RunError, Snapshot, UsageError


def prepare(run: RunProtocol) -> None:
    """Give a run that begins what its settings let it begin with."""
    folder = run.settings.loop.history_from
    run.prepare([] if folder is None else kept_history(Path(folder), run.simulator.stamp))


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
    try:
        for entry, data, score, *_ in saved_entries(history):
            actions = None if lineage is None else lineage.segment(entry)
            yield Snapshot(stamp, data, score), actions
    except (DamagedError, OSError) as error:  # found good above, but read piece by piece
        raise UsageError(
            f"the history of {folder} cannot be read: {error}; a run that is still under way "
            "changes it"
        ) from error


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
