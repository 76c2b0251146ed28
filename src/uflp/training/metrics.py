"""Rows of metrics: one builder for runs in one process and for those spread over several."""

from __future__ import annotations

from typing import Any

from uflp.training.counters import SinceLastRow
from uflp.training.evaluation import Evaluation

Row = dict[str, Any]
"""One row of metrics, by column."""


def metrics_row(
    *,
    queries: int,
    seconds: float,
    rollouts: int,
    restarts: int,
    sgd_steps: int,
    evaluation: Evaluation,
    counted: SinceLastRow,
    history_size: int,
    replay_size: int,
    simulator: dict[str, float],
) -> Row:
    """Return a row, in the order of the columns of `metrics.csv`.

    Args:
        queries: so far, with those that restores by replay have cost.
        seconds: time spent so far.
        rollouts: so far.
        restarts: how many of them began from a snapshot.
        sgd_steps: so far.
        evaluation: of the present agent.
        counted: means since the last row, and totals.
        history_size: entries.
        replay_size: rows.
        simulator: what the simulator adds.
    """
    return {
        "queries": queries,
        "wall_seconds": round(seconds, 3),
        "rollouts": rollouts,
        "restarts": restarts,
        "sgd_steps": sgd_steps,
        "eval_return_mean": evaluation.mean,
        "eval_return_std": evaluation.std,
        "eval_episodes": evaluation.episodes,
        "train_return_mean": counted.train_return_mean,
        "loss": counted.loss,
        "history_size": history_size,
        "replay_size": replay_size,
        "positive_rewards": counted.positive_rewards,
        **simulator,
    }
