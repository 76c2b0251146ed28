"""Stable-Baselines3's PPO with local access, on MountainCar with a reward only at the top.

PPO has no replay buffer, so the agent chooses the first action itself (`first_action="free"`). Run
as `python examples/sb3_ppo.py [local|online]`; needs `pip install 'uflp[sb3]'`.
"""

from __future__ import annotations

import sys
from typing import Any

import gymnasium
from stable_baselines3 import PPO

import uflp


class TopOnly(gymnasium.RewardWrapper[Any, Any]):
    """A reward of 1 on the hill, and 0 everywhere else."""

    def reward(self, reward: Any) -> float:
        """Returns 1 where the car has reached the flag."""
        return float(self.unwrapped.state[0] >= 0.5)


def make() -> gymnasium.Env[Any, Any]:
    """Returns the task."""
    return TopOnly(gymnasium.make("MountainCar-v0"))


def train(access: str, *, seed: int = 0, queries: int = 100_000) -> dict[str, Any]:
    """Trains one agent; returns how often it was at the top while training."""
    env = uflp.LocalAccess(make, p_init=0.5 if access == "local" else 1.0, seed=seed)
    agent = PPO("MlpPolicy", env, n_steps=1024, ent_coef=0.01, seed=seed, device="cpu")
    agent.learn(queries)
    successes = sum(episode["r"] > 0 for episode in agent.ep_info_buffer)
    return {"queries": env.queries, "restarts": env.restarts, "successes_in_last_100": successes}


if __name__ == "__main__":
    print(train(sys.argv[1] if len(sys.argv) > 1 else "local"))
