"""The paper's settings on Atari games."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from uflp.experiments.presets.preset import Case, Preset

_ATARI_DIST = Case(
    {
        "p_init": 0.3,
        "batch": 32,
        "learning_batch": 256,
        "n_step": 5,
        "reward_clip": None,
    },
    agents=("dist-ddqn",),
)
_ATARI_RND = Case({"p_init": 0.3, "batch": 32}, uncertainties=("rnd",))
_ATARI_DIST_RND = Case({"v_max": 10_000.0}, agents=("dist-ddqn",), uncertainties=("rnd",))

# Random actions lead nowhere in the long run: many short rollouts, each from the rarest cell.
_ATARI_RANDOM = (
    Case({"rollout_limit": 100}, agents=("random",), access="local"),
    Case({"batch": None}, agents=("random",), uncertainties=("counts",), access="local"),
)


def atari(summary: str, game: str, *cases: Case, **values: Any) -> Preset:
    """Return the settings of one Atari game, where those of all games are the paper's table."""
    return Preset(
        summary=summary,
        simulator="atari",
        uncertainty="counts",
        values={
            "game": game,
            "queries": 200_000_000,
            "p_init": 0.2,
            "batch": 8,
            "restart": "state",
            "hidden": (512,),
            "learning_rate": 1e-4,
            "adam_epsilon": 1e-5,
            "max_gradient_norm": 10.0,
            "target_period": 2500,
            "huber": 1.0,
            "atoms": 201,
            "v_min": -1.0,
            "v_max": 20_000.0,
            "learning_batch": 128,
            "samples_per_insert": 8.0,
            "discount": 0.99,
            "n_step": 3,
            "reward_clip": 1.0,
            "epsilon": 0.01,
            "bonus_scale": 0.1,
            "checkpoint_period": 10,
            "replay_size": 5_000_000,
            "min_replay": 50_000,
            "history_size": 1_000_000,
            "eval_period": 50_000,
            "eval_episodes": 1,
        }
        | values,
        cases=(
            _ATARI_RND,
            Case({"p_init": 0.7}, agents=("ddqn-intrinsic",)),
            _ATARI_DIST,
            _ATARI_DIST_RND,
            *cases,
            *_ATARI_RANDOM,
        ),
    )


ATARI: Mapping[str, Preset] = {
    "atari/montezuma-revenge": atari(
        "Montezuma's Revenge: rewards only after long series of specific actions",
        "montezuma-revenge",
        Case({"rollout_limit": 2000}, access="local"),
        Case({"epsilon": 0.1}, agents=("ddqn",), access="online"),
        queries=1_000_000_000,
    ),
    "atari/private-eye": atari(
        "PrivateEye: sparse rewards, far apart",
        "private-eye",
        Case({"v_max": 120_000.0}),
        discount=0.997,
    ),
    "atari/venture": atari("Venture: rewards denser than in the other three", "venture"),
    "atari/pitfall": atari("Pitfall: rewards sparse, and every mishap costs", "pitfall"),
}
