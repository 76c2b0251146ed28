"""History, counts and rule of local access as one file, which another process goes on from.

The file is a state file: reading it executes nothing, and a damaged one is refused as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from uflp import state_file
from uflp.planning.observers import Observer
from uflp.planning.planner import LocalPlanner
from uflp.simulators.base import Simulator
from uflp.state import Block, Rows, State, StateError
from uflp.types import UsageError
from uflp.uncertainty.counts import CellCounts, TableCounts
from uflp.wrappers.access_settings import AccessSettings, SharedParts

_KIND = "uflp planner 1"


def write_planner(
    path: Path, planner: LocalPlanner, parts: SharedParts, identity: dict[str, str]
) -> None:
    """Write what a planner knows.

    Args:
        path: of the file, which is replaced.
        planner: of one copy.
        parts: that it shares.
        identity: what must be equal in whoever reads the file.
    """
    if not parts.portable:
        raise UsageError(
            "snapshots of this environment are copies in memory (strategy copy), which cannot be "
            "written to a file"
        )
    state = {
        "kind": _KIND,
        "identity": identity,
        "planner": _without_rows(planner.state()),
        "depths": [[entry, depth] for entry, depth in parts.depths.items()],
    }
    state_file.write(path, state)


def load_planner(
    path: Path,
    planner: LocalPlanner,
    parts: SharedParts,
    identity: dict[str, str],
    access: AccessSettings,
    simulator: Simulator,
    seed: int,
) -> None:
    """Let a planner go on with what is in a file.

    Args:
        path: of the file.
        planner: of one copy.
        parts: that it shares.
        identity: what must be equal in whoever wrote the file.
        access: settings that the parts were made from.
        simulator: that they were made for.
        seed: that they were made with.

    Raises:
        UsageError: if the file is damaged or does not fit; then nothing has changed.
    """
    state, depths = _read_planner(path, identity)
    trial = access.make(simulator, seed)
    try:
        # First into parts that nobody needs: whatever is wrong shows there.
        access.planner(trial, Observer()).load(state)
        _require_counted(trial)
        planner.load(state)
    except (StateError, TypeError, KeyError, ValueError, IndexError, AttributeError) as error:
        raise UsageError(f"{path} is not a planner of this environment: {error!r}") from error
    parts.depths.clear()
    parts.depths.update(depths)


def _require_counted(parts: SharedParts) -> None:
    """Refuse a history whose keys are no numbers of states that are counted."""
    counts = parts.uncertainty
    if not isinstance(counts, TableCounts) or not len(parts.history):
        return
    known = counts.cells if isinstance(counts, CellCounts) else len(counts.visits)
    keys = parts.history.keys(parts.history.live())
    if not 0 <= keys.min() <= keys.max() < known:
        raise StateError("the history has a state that was never counted")


def _read_planner(path: Path, identity: dict[str, str]) -> tuple[State, dict[int, int]]:
    """Return the state of a planner, and the depth of each entry.

    Raises:
        UsageError: if the file is not whole, or is of another environment or other settings.
    """
    try:
        saved = state_file.read(path)
    except state_file.DamagedError as error:
        raise UsageError(f"{path} is no planner that was saved: {error}") from error
    if not isinstance(saved, dict) or saved.get("kind") != _KIND:
        raise UsageError(f"{path} is no planner that LocalAccess.save_planner wrote")
    try:
        found = {name: saved["identity"].get(name) for name in identity}
        state = _with_rows(saved["planner"])
        depths = {int(entry): int(depth) for entry, depth in saved["depths"]}
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise UsageError(f"{path} is no planner that was saved: {error!r}") from error
    for name, value in identity.items():
        if not isinstance(found[name], str) or found[name] != value:
            raise UsageError(
                f"{path} was saved with {name} {found[name]!r}, and here it is {value!r}"
            )
    return state, depths


def _without_rows(value: Any) -> Any:
    """Return a state in which lists of blocks stand for rows."""
    if isinstance(value, Rows):
        blocks = [list(block) for block in value.blocks(value.first)]
        return {"rows of": value.name, "first": value.first, "stop": value.stop, "blocks": blocks}
    if isinstance(value, dict):
        return {name: _without_rows(item) for name, item in value.items()}
    return value


def _with_rows(value: Any) -> Any:
    """Return a state as it was."""
    if not isinstance(value, dict):
        return value
    if "rows of" not in value:
        return {name: _with_rows(item) for name, item in value.items()}

    def blocks(start: int) -> Iterator[Block]:
        for block in value["blocks"]:
            if block[1] > start:
                yield Block(*block)

    return Rows(value["rows of"], value["first"], value["stop"], blocks)
