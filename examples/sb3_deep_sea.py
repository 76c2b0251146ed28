"""Stable-Baselines3's DQN on Deep Sea 20, as it is and with one line changed.

Random actions reach the rewarded corner once in a million episodes. Run as
`python examples/sb3_deep_sea.py [--seeds 5] [--queries 6000] [--out results/sb3-deep-sea.csv]`;
needs `pip install 'uflp[sb3]'`.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
from stable_baselines3 import DQN
from stable_baselines3.common.callbacks import BaseCallback

import uflp
from uflp.simulators.deep_sea import DeepSea
from uflp.wrappers.sb3 import InjectTransitions

SOLVED = 0.95  # the best return is 0.99


def train(access: str, seed: int, queries: int, *, size: int = 20, period: int = 250) -> dict:
    """Trains one agent until it solves the task, or has spent its queries."""

    def make() -> gymnasium.Env:
        return DeepSea(size=size).make(seed)

    # The one line: everything else is what an SB3 user has anyway.
    env = uflp.LocalAccess(make, p_init=0.1, batch=None, first_action="forced", seed=seed)
    if access == "online":
        env = uflp.LocalAccess(make, p_init=1.0)  # never restarts; it counts queries alike
    agent = DQN(
        "MlpPolicy",
        env,
        learning_rate=1e-3,
        buffer_size=50_000,
        learning_starts=200,
        batch_size=64,
        train_freq=2,
        target_update_interval=50,
        exploration_fraction=0.1,
        exploration_final_eps=0.02,
        policy_kwargs={"net_arch": [64, 64]},
        seed=seed,
    )
    watch = Watch(env, queries, period)
    agent.learn(queries, callback=[InjectTransitions(), watch])
    rewarded = int((agent.replay_buffer.rewards > 0.5).sum())
    return {
        "access": access,
        "seed": seed,
        "queries": env.queries,
        "queries_to_solve": watch.solved_at,
        "final_return": round(watch.last, 3),
        "rewarded_queries": rewarded,
    }


class Watch(BaseCallback):
    """Plays a greedy episode now and then; ends training once that solves it, or at the budget."""

    def __init__(self, env: uflp.LocalAccess, queries: int, period: int):
        super().__init__()
        self.solved_at: int | None = None
        self.last = 0.0
        self._env = env
        self._queries = queries
        self._period = period

    def _on_step(self) -> bool:
        spent = self._env.queries >= self._queries
        if self.n_calls % self._period == 0 or spent:
            self.last = greedy_return(self.model, self._env.online())
            if self.last >= SOLVED:
                self.solved_at = self._env.queries
        return self.solved_at is None and not spent


def greedy_return(agent: Any, env: gymnasium.Env) -> float:
    """Returns what the agent earns in one episode without chance."""
    observation, _ = env.reset(seed=0)
    total, over = 0.0, False
    while not over:
        action, _ = agent.predict(observation, deterministic=True)
        observation, reward, terminated, truncated, _ = env.step(int(action))
        total, over = total + float(reward), terminated or truncated
    return total


def tabulate(
    train: Callable[[str, int, int], dict[str, Any]], about: str | None, queries: int, out: Path
) -> None:
    """Trains with both kinds of access, and writes the table after each agent.

    Args:
        train: gives a row of the table for an access, a seed and a budget.
        about: what the script is about.
        queries: the budget, if the command line gives none.
        out: the table, likewise.
    """
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--queries", type=int, default=queries)
    parser.add_argument("--access", nargs="*", default=["local", "online"])
    parser.add_argument("--out", type=Path, default=out)
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for access in options.access:
        for seed in range(options.seeds):
            rows.append(train(access, seed, options.queries))
            print(rows[-1], flush=True)
            with options.out.open("w", newline="") as file:
                writer = csv.DictWriter(file, fieldnames=list(rows[0]))
                writer.writeheader()
                writer.writerows(rows)


def main() -> None:
    """Trains both."""
    tabulate(train, __doc__, 6000, Path("results/sb3-deep-sea.csv"))


if __name__ == "__main__":
    main()
