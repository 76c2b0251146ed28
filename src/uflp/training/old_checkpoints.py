"""Checkpoints of version 0.1.0, which had no part `planner`."""

from __future__ import annotations

import numpy as np

from uflp.state import State, number
from uflp.training.settings import PlanningSettings


def with_planner(state: State, planning: PlanningSettings) -> State:
    """Return the state of a run, or of an actor, with what a planner keeps of a rollout.

    Args:
        state: of any version; one that has the part is returned as it is.
        planning: settings of the run: limits, and every how many queries a state was saved.
    """
    if "planner" in state:
        return state
    rollout = state["rollout"]
    length, period = number(rollout, "length"), planning.checkpoint_period
    limit = planning.rollout_limit
    # Runs of before there was a restart limit have none, and it makes no difference to them.
    if rollout.get("restarted", False) and planning.restart_limit is not None:
        limit = planning.restart_limit if limit is None else min(limit, planning.restart_limit)
    entries = np.empty(0, np.int64)
    if "history" in state and not rollout["over"]:
        rows = state["history"]["rows"]
        newest = rows.stop - 1
        entries = np.arange(max(newest - length // period, rows.first), newest + 1)
    planner = {
        "length": length,
        "limit": limit,
        "entries": entries,
        "unvisited": int(entries[-1]) if len(entries) and length % period == 0 else None,
        "failures": state["tally"]["failures"],
    }
    return {**state, "planner": planner}
