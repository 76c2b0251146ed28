"""Settings for simulators that the paper does not use."""

from __future__ import annotations

from typing import Any

import gymnasium

from uflp.experiments.presets.preset import SMALL_RND, Case, Preset


def has_real_actions(simulator: Any) -> bool:
    """Return whether the actions of a simulator are real-valued, by its settings."""
    made = simulator.make(0)
    real = isinstance(made.action_space, gymnasium.spaces.Box)
    made.close()
    return real


def _restart_by_counts(simulator: Any) -> str:
    """Return what counts can score: states with real-valued actions are counted alone."""
    return "state" if has_real_actions(simulator) else "pair"


_SAC = {
    "hidden": (256, 256),
    "sgd_period": 1,
    "learning_batch": 256,
    "min_replay": 1_000,
    "epsilon": 0.0,
}

ANYTHING = Preset(
    summary="whatever simulator is named, such as gym:MountainCar-v0",
    simulator="gym",
    uncertainty="counts",
    values={
        "flatten": True,
        "queries": 100_000,
        "p_init": 0.2,
        "batch": 32,
        "hidden": (128, 128),
        "target_period": 100,
        "sgd_period": 4,
        "epsilon": 0.1,
        "checkpoint_period": 1,
        "replay_size": 100_000,
        "history_size": 100_000,
        "feature_size": 500,
        "regularization": 0.1,
        "eval_period": 2_000,
        "eval_episodes": 5,
    },
    cases=(
        SMALL_RND,
        # The most uncertain pair of the whole history is found without scoring every entry.
        Case({"batch": None}, uncertainties=("counts",)),
        Case({"members": 5}, agents=("boot-ddqn",)),
        Case(_SAC, agents=("sac", "sac-bonus", "sac-intrinsic")),
        Case({"restart": "state"}, ("sac", "sac-bonus", "sac-intrinsic"), ("counts",)),
        Case({"restart": _restart_by_counts}, ("random",), ("counts",)),
    ),
)
"""For simulators that the paper does not use: moderate values that suit none best."""
