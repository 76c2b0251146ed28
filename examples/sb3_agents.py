"""Stable-Baselines3's DQN, PPO and SAC on any environment, online or with one line changed.

Both sides have the same settings; see `sparse_tasks.py` for how to run them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from sparse_tasks import LOCAL, SOLVED, TASKS, goals_of_greedy_episodes
from stable_baselines3 import DQN, PPO, SAC
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.noise import OrnsteinUhlenbeckActionNoise

import uflp
from uflp.wrappers.sb3 import LocalAccessVecEnv

DQN_SETTINGS: dict[str, Any] = {
    "learning_rate": 1e-3,
    "buffer_size": 200_000,
    "learning_starts": 1000,
    "batch_size": 128,
    "gamma": 0.99,
    "train_freq": 4,
    "gradient_steps": 1,
    "target_update_interval": 500,
    "exploration_fraction": 0.5,
    "exploration_final_eps": 0.05,
    "policy_kwargs": {"net_arch": [128, 128]},
}
DQN_OF_TASK: dict[str, dict[str, Any]] = {
    "door-key": {
        # A network that has learned for long that all is worth nothing hardly learns anything else.
        # Until then actions are random, and some of them should have found the goal.
        "learning_starts": 60_000,
        "exploration_fraction": 0.4,
        "exploration_final_eps": 0.1,
        "n_steps": 3,
        "buffer_size": 100_000,
        "batch_size": 64,
        "learning_rate": 5e-4,
        "gamma": 0.97,
        "train_freq": 2,
        "target_update_interval": 250,
        # Adam scales gradients of next to nothing up to whole steps, unless its ε is larger.
        "policy_kwargs": {"net_arch": [128, 128], "optimizer_kwargs": {"eps": 1e-4}},
    }
}
"""What differs on a task; chosen on seeds from 100 on, for both sides."""
PPO_SETTINGS: dict[str, Any] = {
    "learning_rate": 7e-4,
    "n_steps": 128,
    "batch_size": 256,
    "n_epochs": 4,
    "gamma": 0.98,
}
ENTROPY, ENTROPY_ENDS = 0.03, 0.8
"""PPO's weight of the entropy at the start, and the share of the budget after which it is zero.

Actions that do nothing cost little more than a step: while the entropy is rewarded, they stay
nearly as likely as the best one, and the most likely action may do nothing for ever."""
COPIES = 8
SAC_SETTINGS: dict[str, Any] = {
    "learning_rate": 1e-3,
    "buffer_size": 300_000,
    "learning_starts": 20_000,
    "batch_size": 128,
    "tau": 0.01,
    "gamma": 0.995,
    "train_freq": 4,
    "gradient_steps": 1,
    "n_steps": 10,
    # One that adapts pulls the policy apart while there is nothing to learn from.
    "ent_coef": 3e-4,
    "policy_kwargs": {"net_arch": [128, 128]},
}
NOISE = 0.5
"""Deviation of the noise that is added to SAC's actions, which lasts for some steps."""


def train_sb3(agent: str, task: str, access: str, seed: int, queries: int, period: int) -> Any:
    """Train `sb3-dqn` or `sb3-sac` on one environment, or `sb3-ppo` on eight with one history."""
    make: Callable[[], Any] = TASKS[task]
    torch.set_num_threads(1)  # networks this small want no more
    # Never restarting is the only difference, and queries are counted alike.
    local: dict[str, Any] = LOCAL.get(task, {}) if access == "local" else {"p_init": 1.0}
    common: dict[str, Any] = {"policy": "MlpPolicy", "seed": seed, "device": "cpu"}
    if agent == "sb3-ppo":
        env: Any = LocalAccessVecEnv(make, COPIES, processes=False, **local)
        model: Any = PPO(env=env, **common, **PPO_SETTINGS)
    else:
        env = uflp.LocalAccess(make(), **local)  # the one line
        if agent == "sb3-dqn":
            model = DQN(env=env, **common, **(DQN_SETTINGS | DQN_OF_TASK.get(task, {})))
        else:
            zeros = np.zeros(env.action_space.shape)
            noise = OrnsteinUhlenbeckActionNoise(zeros, NOISE + zeros)
            model = SAC(env=env, action_noise=noise, **common, **SAC_SETTINGS)
    watch = Watch(env, make(), queries, period)
    model.learn(queries, callback=watch)
    told = env.metrics()
    env.close()
    return {"queries_to_solve": watch.solved_at, "final_goals": watch.goals, **told}


class Watch(BaseCallback):
    """Evaluates now and then; ends the training once it is solved or the queries are spent."""

    def __init__(self, env: Any, test: Any, queries: int, period: int):
        super().__init__()
        self.solved_at: int | None = None
        self.goals = 0
        self._env = env
        self._test = test
        self._queries = queries
        self._period = period
        self._evaluated = 0

    def _on_step(self) -> bool:
        spent = self._env.queries
        if isinstance(self.model, PPO):
            self.model.ent_coef = ENTROPY * max(0.0, 1 - spent / (ENTROPY_ENDS * self._queries))
        if spent // self._period > self._evaluated or spent >= self._queries:
            self._evaluated = spent // self._period
            self.goals = goals_of_greedy_episodes(self._act, self._test)
            if self.goals >= SOLVED:
                self.solved_at = spent
        return self.solved_at is None and spent < self._queries

    def _act(self, observation: Any) -> Any:
        return self.model.predict(observation, deterministic=True)[0]
