"""Warm start: a run begins with the history that another has left."""

from __future__ import annotations

from collections.abc import Iterable

from uflp.planning import Lineage, LocalPlanner
from uflp.planning.lineage import Segment
from uflp.simulators.base import Simulator, SnapshotError
from uflp.types import Snapshot, UsageError


def adopt_history(
    history: Iterable[tuple[Snapshot, Segment | None]],
    folder: str,
    budget: int,
    simulator: Simulator,
    planner: LocalPlanner,
    lineage: Lineage | None,
) -> None:
    """Add the history of another run to that of a new one.

    Args:
        history: of the other run, oldest entry first, with the actions that led there.
        folder: of the other run.
        budget: queries of the new run; restoring must leave some of them.
        simulator: of the new run.
        planner: of the new run.
        lineage: of the new run, which takes the actions that led to each state.
    """
    try:
        for count, (snapshot, actions) in enumerate(history, start=1):
            if lineage is not None and actions is not None:
                lineage.adopt(actions)
            observation, _ = simulator.restore(snapshot)
            planner.resume(observation)
            planner.add(simulator.mask, simulator.save)
            if simulator.replayed >= budget:
                raise UsageError(
                    f"the budget of {budget} queries is spent before the first: restoring {count} "
                    f"snapshots of the history of {folder} by replay has cost {simulator.replayed}"
                )
    except SnapshotError as error:
        raise UsageError(f"the history of {folder} cannot be restored: {error}") from error
