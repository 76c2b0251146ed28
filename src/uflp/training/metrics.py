"""Rows of metrics: one builder for runs in one process and on a cluster."""

from __future__ import annotations

from typing import Any, NamedTuple

from uflp.training.counters import SinceLastRow
from uflp.training.evaluation import Evaluation

Row = dict[str, Any]
"""One row of metrics, by column."""


class Progress(NamedTuple):
    """What a run has counted by itself when a row is begun.

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


def metrics_row(
    progress: Progress, evaluation: Evaluation, *, history_size: int, replay_size: int
) -> Row:
    """Return a row, in the order of the columns of `metrics.csv`.

    Args:
        progress: of the run.
        evaluation: of the agent at that moment.
        history_size: entries.
        replay_size: rows.
    """
    return {
        "queries": progress.queries,
        "wall_seconds": round(progress.seconds, 3),
        "rollouts": progress.rollouts,
        "restarts": progress.restarts,
        "sgd_steps": progress.sgd_steps,
        "eval_return_mean": evaluation.mean,
        "eval_return_std": evaluation.std,
        "eval_episodes": evaluation.episodes,
        "train_return_mean": progress.counted.train_return_mean,
        "loss": progress.counted.loss,
        "history_size": history_size,
        "replay_size": replay_size,
        "positive_rewards": progress.counted.positive_rewards,
        **progress.simulator,
    }
