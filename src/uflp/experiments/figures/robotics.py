"""Figures of tasks with real-valued actions, which the paper does not have."""

from __future__ import annotations

from collections.abc import Mapping

from uflp.experiments.figures.plan import Figure, Scale, lines, scales

_POINT_MAZE = {
    # One start, one goal at the other end of the maze; an episode ends there, with the only reward.
    "arguments": {"continuing_task": False},
    "options": {"reset_cell": [1, 1], "goal_cell": [7, 10]},
    "hidden": (128, 128),
    "learning_batch": 128,
    "sgd_period": 4,
    "learning_rate": 1e-3,
    "tau": 0.01,
    "n_step": 10,
    "discount": 0.995,
    "target_entropy": 0.0,
    "epsilon": 0.2,
    "repeat_probability": 0.95,
    "eval_period": 10_000,
    "eval_episodes": 10,
}
# Counted are x and y, the first two numbers of an observation.
_LOCAL = {"local": {"cells": (0, 1), "cell_size": 0.5, "p_init": 0.05, "restart_limit": 50}}
_SMOKE = {
    **_POINT_MAZE,
    "queries": 300,
    "eval_period": 150,
    "eval_episodes": 1,
    "eval_limit": 20,
    "hidden": (16, 16),
    "learning_batch": 32,
    "min_replay": 100,
}

ROBOTICS_FIGURES: Mapping[str, Figure] = {
    "point-maze": Figure(
        title="PointMaze Large, one far goal: local and online access",
        claim="",
        presets=("gym:PointMaze_Large-v3",),
        lines=lines(("sac",), "local", "online"),
        kind="curves",
        scales=scales(
            smoke=Scale(1, _SMOKE, _LOCAL),
            laptop=Scale(5, {**_POINT_MAZE, "queries": 300_000}, _LOCAL),
            paper=Scale(10, {**_POINT_MAZE, "queries": 1_000_000}, _LOCAL),
        ),
    ),
}
