"""What going back cost the runs of a group, in time and in memory."""

from __future__ import annotations

from uflp.report.groups import Group
from uflp.report.runs import RunRecord
from uflp.simulators.costs import Costs


def cost_words(group: Group, costs: Costs) -> str:
    """Returns one sentence on time and memory that saves and restores took, per run on average.

    A run saves once at the start of each rollout and then every `checkpoint_period` queries.

    Args:
        group: runs with local access.
        costs: of a single save and restore, measured on their simulator.
    """
    share = sum(_seconds(run, costs) for run in group.runs) / sum(
        float(run.metrics["wall_seconds"][-1]) for run in group.runs
    )
    held = max(int(run.metrics["history_size"][-1]) for run in group.runs)
    size = f"of {costs.nbytes:,.0f} bytes, {_size(held * costs.nbytes)}"
    if not costs.nbytes:
        size = "that are copies in this process, whose size is not known"
    return (
        f"Going back took about {100 * share:.2g} % of the local runs' time "
        f"({1e6 * costs.save:.2g} µs a save, {1e6 * costs.restore:.2g} µs a restore); the history "
        f"held up to {held:,} snapshots {size}."
    )


def _seconds(run: RunRecord, costs: Costs) -> float:
    rollouts, restarts = (float(run.metrics[key][-1]) for key in ("rollouts", "restarts"))
    saves = rollouts + run.queries / int(run.settings["checkpoint_period"])
    return saves * costs.save + restarts * costs.restore


def _size(nbytes: float) -> str:
    for unit in ("bytes", "kB", "MB"):
        if nbytes < 1000:
            return f"{nbytes:.3g} {unit}"
        nbytes /= 1000
    return f"{nbytes:.3g} GB"
