"""The paper's settings on Deep Sea and Cartpole Swingup."""

from __future__ import annotations

from uflp.experiments.presets.preset import SMALL_RND, Case, Preset, Variant

DEEP_SEA = Preset(
    summary="Deep Sea N × N (--set size=N): one rewarded corner, 2^-N by chance",
    simulator="deep-sea",
    values={
        "size": 50,
        "queries": 300_000,
        "p_init": 0.1,
        "batch": None,
        "restart": "pair",
        "hidden": (64, 64),
        "learning_rate": 1e-3,
        "max_gradient_norm": 20.0,
        "target_period": 4,
        "learning_batch": 128,
        "sgd_period": 1,
        "discount": 0.99,
        "epsilon": 0.0,
        "bonus_scale": 1.0,
        "checkpoint_period": 1,
        "replay_size": 1_000_000,
        "history_size": 1_000_000,
        "feature_size": 1500,
        "regularization": 0.01,
        "eval_period": lambda simulator: 10 * simulator.size,
        "eval_episodes": 1,
        "target_return": 0.95,
    },
    cases=(
        SMALL_RND,
        Case({"epsilon": 0.1}, agents=("ddqn-bonus",)),
        Case({"members": 20, "prior_scale": 40.0}, agents=("boot-ddqn",)),
        Case({"discount": 1.0, "sgd_period": 4, "regularization": 0.1}, agents=("pi", "pi-bonus")),
    ),
    variants={
        "tuned": Variant(
            "learns what is new sooner, and ends restarts of BootDDQN early",
            (
                Case({"recent_fraction": 0.25}, agents=("boot-ddqn", "pi", "pi-bonus")),
                Case({"restart_limit": 10}, agents=("boot-ddqn",), access="local"),
            ),
        )
    },
)

_SWINGUP_VALUES = {
    "queries": 1_000_000,
    "p_init": 0.2,
    "batch": 5,
    "restart": "pair",
    "hidden": (128, 128),
    "learning_rate": 1e-3,
    "max_gradient_norm": 20.0,
    "target_period": 10,
    "learning_batch": 2048,
    "sgd_period": 25,
    "discount": 0.99,
    "epsilon": 0.2,
    "checkpoint_period": 5,
    "replay_size": 1_000_000,
    "history_size": 100_000,
    "feature_size": 500,
    "regularization": 0.1,
    "eval_period": 10_000,
    "eval_episodes": 10,
}

_SWINGUP_PI = Case(
    {
        "discount": 0.995,
        "sgd_period": 5,
        "learning_batch": 256,
        "bonus_scale": 500.0,
        "epsilon": 0.0,
    },
    agents=("pi", "pi-bonus"),
)

SWINGUP = Preset(
    summary="Cartpole Swingup: swing a pole up and keep it there",
    simulator="swingup",
    agent="ddqn-bonus",
    values=_SWINGUP_VALUES
    | {"x_reward_threshold": 1.0, "height_threshold": 0.5, "target_return": 300.0},
    cases=(
        SMALL_RND,
        Case({"members": 5, "prior_scale": 5.0, "p_init": 0.8}, agents=("boot-ddqn",)),
        Case({"bonus_scale": 10.0}, agents=("ddqn-bonus", "ddqn-intrinsic")),
        _SWINGUP_PI,
    ),
)

SWINGUP_HARD = Preset(
    summary="Cartpole Swingup with reward only in a narrow place: |x| < 0.05, cos α > 0.95",
    simulator="swingup",
    agent="ddqn-bonus",
    values=_SWINGUP_VALUES
    | {"x_reward_threshold": 0.05, "height_threshold": 0.95, "target_return": 100.0},
    cases=(
        SMALL_RND,
        Case(
            {"members": 10, "prior_scale": 5.0, "p_init": 0.4, "batch": 125}, agents=("boot-ddqn",)
        ),
        Case(
            {"bonus_scale": 100.0, "epsilon": 0.0, "batch": 25},
            agents=("ddqn-bonus", "ddqn-intrinsic"),
        ),
        _SWINGUP_PI,
    ),
)
