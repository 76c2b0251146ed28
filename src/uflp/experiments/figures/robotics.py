"""Figures of tasks with real-valued actions, which the paper does not have."""

from __future__ import annotations

from collections.abc import Mapping

from uflp.experiments.figures.plan import Figure, Scale, lines, scales

_POINT_MAZE = {
    # The two cells that lie furthest apart. An episode ends at the goal, with the only reward.
    "arguments": {"continuing_task": False},
    "options": {"reset_cell": [7, 1], "goal_cell": [7, 10]},
    "hidden": (128, 128),
    "learning_batch": 128,
    "min_replay": 20_000,
    "sgd_period": 4,
    "learning_rate": 1e-3,
    "tau": 0.01,
    "n_step": 10,
    "discount": 0.995,
    # One that adapts pulls the policy apart while there is nothing to learn from.
    "temperature": 3e-4,
    "epsilon": 0.3,
    "repeat_probability": 0.9,
    "eval_period": 10_000,
    "eval_episodes": 5,
}
_LOCAL = {
    "local": {
        # Counted are x and y, the first two numbers of an observation.
        "cells": (0, 1),
        "cell_size": 0.5,
        "p_init": 0.05,
        "restart_limit": 50,
        "checkpoint_period": 5,
    }
}
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
