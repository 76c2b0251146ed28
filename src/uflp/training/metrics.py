"""Rows of metrics: one builder for runs in one process and on a cluster."""

from __future__ import annotations

from typing import Any, NamedTuple

from uflp.training.counters import SinceLastRow
from uflp.training.evaluation import Evaluation

Row = dict[str, Any]
"""One row of metrics, by column."""


class RunCounts(NamedTuple):
    """Counts of a run at the time of a row.

    Attributes:
        queries: so far, with those that restores by replay have cost.
        seconds: time spent so far.
        rollouts: so far.
        restarts: how many of them began from a snapshot.
        sgd_steps: so far.
        counted: means since the last row, and totals.
        simulator: what the simulator adds.
    """

    queries: int
    seconds: float
    rollouts: int
    restarts: int
    sgd_steps: int
    counted: SinceLastRow
    simulator: dict[str, float]


COLUMNS = (
    "queries",
    "wall_seconds",
    "rollouts",
    "restarts",
    "sgd_steps",
    "eval_return_mean",
    "eval_return_std",
    "eval_episodes",
    "train_return_mean",
    "loss",
    "history_size",
    "replay_size",
    "positive_rewards",
)
"""Columns of every `metrics.csv`; what the simulator adds comes after them."""


def metrics_row(
    counts: RunCounts, evaluation: Evaluation, *, history_size: int, replay_size: int
) -> Row:
    """Return a row, in the order of the columns of `metrics.csv`.

    Args:
        counts: of the run.
        evaluation: of the agent at that moment.
        history_size: entries.
        replay_size: rows.
    """
    values = (
        counts.queries,
        round(counts.seconds, 3),
        counts.rollouts,
        counts.restarts,
        counts.sgd_steps,
        evaluation.mean,
        evaluation.std,
        evaluation.episodes,
        counts.counted.train_return_mean,
        counts.counted.loss,
        history_size,
        replay_size,
        counts.counted.positive_rewards,
    )
    return {**dict(zip(COLUMNS, values, strict=True)), **counts.simulator}
