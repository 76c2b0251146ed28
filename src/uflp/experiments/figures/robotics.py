"""Figures of tasks with real-valued actions, which the paper does not have."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from uflp.experiments.figures.plan import Figure, Scale, lines, scales

_SMALL_NETWORKS = {
    "hidden": (128, 128),
    "learning_batch": 128,
    "min_replay": 20_000,
    "sgd_period": 4,
    "learning_rate": 1e-3,
    "tau": 0.01,
    "n_step": 5,
    # One that adapts pulls the policy apart while there is nothing to learn from.
    "temperature": 0.01,
    "epsilon": 0.3,
    "repeat_probability": 0.9,
    "eval_period": 10_000,
    "eval_episodes": 5,
}
_POINT_MAZE = {
    **_SMALL_NETWORKS,
    # The two cells that lie furthest apart. An episode ends at the goal, with the only reward.
    "arguments": {"continuing_task": False},
    "options": {"reset_cell": [7, 1], "goal_cell": [7, 10]},
    "n_step": 10,
    "discount": 0.995,
    "temperature": 3e-4,
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
_SMALL = {
    "queries": 300,
    "eval_period": 150,
    "eval_episodes": 1,
    "eval_limit": 20,
    "hidden": (16, 16),
    "learning_batch": 32,
    "min_replay": 100,
}
_OFTEN = {"p_init": 0.2, "restart_limit": 50, "checkpoint_period": 5}


def _sparse(
    title: str,
    preset: str,
    seeds: int,
    *,
    values: Mapping[str, Any] = MappingProxyType({}),
    local: Mapping[str, Any] = MappingProxyType(_OFTEN),
    measure: str = "eval_return_mean",
) -> Figure:
    """Return the figure of one task with `sac`, for 200,000 queries.

    Args:
        title: of the picture.
        preset: the task.
        seeds: of each access.
        values: settings of both, on top of small networks.
        local: settings of local access.
        measure: what is shown.
    """
    all_ = {**_SMALL_NETWORKS, **values}
    by_access = {"local": local}
    return Figure(
        title=title,
        claim="",
        presets=(preset,),
        lines=lines(("sac",), "local", "online"),
        kind="curves",
        measure=measure,
        scales=scales(
            smoke=Scale(1, {**all_, **_SMALL}, by_access),
            laptop=Scale(seeds, {**all_, "queries": 200_000}, by_access),
            paper=Scale(10, {**all_, "queries": 1_000_000}, by_access),
        ),
    )


ROBOTICS_FIGURES: Mapping[str, Figure] = {
    "point-maze": Figure(
        title="PointMaze Large, one far goal: local and online access",
        claim="",
        presets=("gym:PointMaze_Large-v3",),
        lines=lines(("sac",), "local", "online"),
        kind="curves",
        scales=scales(
            smoke=Scale(1, {**_POINT_MAZE, **_SMALL}, _LOCAL),
            laptop=Scale(5, {**_POINT_MAZE, "queries": 300_000}, _LOCAL),
            paper=Scale(10, {**_POINT_MAZE, "queries": 1_000_000}, _LOCAL),
        ),
    ),
    "cartpole-sparse": _sparse(
        "dm_control's cartpole-swingup_sparse: local and online access",
        "dmc:cartpole-swingup_sparse",
        seeds=5,
        # Counted are cosine, sine and speed of the pole.
        local={**_OFTEN, "cells": (1, 2, 4)},
    ),
    # One seed each way: attempts at what is known to be hard. Nobody learns, so finds are shown.
    "acrobot-sparse": _sparse(
        "dm_control's acrobot-swingup_sparse: local and online access",
        "dmc:acrobot-swingup_sparse",
        seeds=1,
        measure="positive_rewards",
    ),
    "ant-maze": _sparse(
        "AntMaze, the U-shaped maze from end to end: local and online access",
        "gym:AntMaze_UMaze-v5",
        seeds=1,
        measure="positive_rewards",
        values={
            "arguments": {"continuing_task": False},
            "options": {"reset_cell": [1, 1], "goal_cell": [3, 1]},
        },
        local={**_OFTEN, "cells": (0, 1), "cell_size": 0.5},
    ),
    "adroit-door": _sparse(
        "AdroitHandDoorSparse: local and online access",
        "gym:AdroitHandDoorSparse-v1",
        seeds=1,
        measure="positive_rewards",
    ),
}
