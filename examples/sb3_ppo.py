"""Stable-Baselines3's PPO on FrozenLake 8 × 8, as it is and with one line changed.

The only reward lies at the far end of the lake, behind holes. PPO has no replay buffer to put what
was done inside into, so it chooses the first action of a restart itself (`first_action="free"`,
which is the default). Run as `python examples/sb3_ppo.py [--seeds 5] [--queries 16000]
[--out examples/sb3-ppo.csv]`; needs `pip install 'uflp[sb3]'`.

Five seeds, 16,000 queries each: with local access all five solve it, after 6,144 to 10,240 queries;
online one does, after 10,240. The settings were chosen on seeds 0 and 1.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
from sb3_deep_sea import Watch, tabulate
from stable_baselines3 import PPO

import uflp


def train(
    access: str, seed: int, queries: int, *, lake: str = "8x8", period: int = 1024
) -> dict[str, Any]:
    """Trains one agent until it solves the task, or has spent its queries."""

    def make() -> gymnasium.Env[Any, Any]:
        return gymnasium.make("FrozenLake-v1", map_name=lake, is_slippery=False)

    # The one line: p_init=1 never restarts, and counts queries alike.
    p_init = 0.2 if access == "local" else 1.0
    env = uflp.LocalAccess(
        make, p_init=p_init, batch=32, restart="pair", checkpoint_period=1, seed=seed
    )
    agent = PPO(
        "MlpPolicy",
        env,
        n_steps=512,
        batch_size=128,
        n_epochs=4,
        learning_rate=1e-3,
        ent_coef=0.01,
        seed=seed,
        device="cpu",
    )
    watch = Watch(env, queries, period)
    agent.learn(queries, callback=watch)
    return {
        "access": access,
        "seed": seed,
        "queries": env.queries,
        "restarts": env.restarts,
        "queries_to_solve": watch.solved_at,
        "final_return": watch.last,
    }


def main() -> None:
    """Trains both."""
    tabulate(train, __doc__, 16_000, Path("examples/sb3-ppo.csv"))


if __name__ == "__main__":
    main()
