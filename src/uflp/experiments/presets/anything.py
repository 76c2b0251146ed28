"""Settings for simulators that the paper does not use."""

from __future__ import annotations

from uflp.experiments.presets.preset import SMALL_RND, Case, Preset

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
        # Counts of states with real-valued actions tell no actions apart.
        Case({"restart": "state"}, ("sac", "sac-bonus", "sac-intrinsic"), ("counts",)),
    ),
)
"""For simulators that the paper does not use: moderate values that suit none best."""
