"""Two tasks with one goal far away, one run of an agent on them by one line, and its record.

`python examples/sparse_tasks.py --agent sb3-dqn --task mountain-car --access local --seed 0` trains
one agent for 200,000 queries and writes one JSON file; it does nothing where that file is already.
Solved means: the goal in at least 18 of 20 greedy episodes from a reset, under the environment's
own limit. Needs `pip install 'uflp[minigrid,sb3]'`.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium

import uflp

EPISODES = 20
SOLVED = 18
LAYOUT = 3
"""Seed of the one layout of DoorKey: which side the key is on, where the door is."""


def mountain_car() -> gymnasium.Env[Any, Any]:
    """Return Gymnasium's MountainCar, with its limit of 200 steps."""
    return gymnasium.make("MountainCar-v0")


def door_key() -> gymnasium.Env[Any, Any]:
    """Return MiniGrid's DoorKey 8 × 8 with one fixed layout; its view is a vector."""
    import minigrid  # noqa: F401 (registers the environments)
    from minigrid.wrappers import ImgObsWrapper

    env = ImgObsWrapper(gymnasium.make("MiniGrid-DoorKey-8x8-v0"))
    return gymnasium.wrappers.FlattenObservation(OneLayout(env))


class OneLayout(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Draws the same layout at each reset."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        """Begin an episode."""
        return self.env.reset(seed=LAYOUT, options=options)


TASKS = {"mountain-car": mountain_car, "door-key": door_key}


def goals_of_greedy_episodes(act: Callable[[Any], int], env: Any) -> int:
    """Return how many of 20 episodes from a reset reach the goal, until 3 have not."""
    goals = 0
    for episode in range(EPISODES):
        if episode - goals > EPISODES - SOLVED:
            break  # the task is not solved, whatever the others would do
        observation, _ = env.reset(seed=1000 + episode)
        terminated = truncated = False
        while not (terminated or truncated):
            observation, _, terminated, truncated, _ = env.step(act(observation))
        goals += terminated
    return goals


def train(
    agent: str, task: str, access: str, seed: int, queries: int, period: int = 10_000
) -> dict[str, Any]:
    """Train one agent; return when it solved the task, and what local access did."""
    make = TASKS[task]
    if agent == "cleanrl-ppo":
        import cleanrl_ppo

        return cleanrl_ppo.train(access, seed, queries, make=make, period=period)
    from sb3_agents import train_sb3

    return train_sb3(agent, make, access, seed, queries, period)


def main() -> None:
    """Train one agent, and write its record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agent", choices=["sb3-dqn", "sb3-ppo", "cleanrl-ppo"], required=True)
    parser.add_argument("--task", choices=list(TASKS), required=True)
    parser.add_argument("--access", choices=["local", "online"], required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--queries", type=int, default=200_000)
    parser.add_argument("--out", type=Path, default=Path("sparse-tasks"))
    arguments = parser.parse_args()
    name = f"{arguments.agent}-{arguments.task}-{arguments.access}-{arguments.seed}.json"
    path = arguments.out / name
    if path.exists():
        print(path.read_text())
        return
    started = time.perf_counter()
    asked = {key: value for key, value in vars(arguments).items() if key != "out"}
    outcome = train(**asked)
    record = {
        **asked,
        **outcome,
        "wall_seconds": round(time.perf_counter() - started, 1),
        "uflp": uflp.__version__,
    }
    arguments.out.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record) + "\n")
    print(json.dumps(record))


if __name__ == "__main__":
    main()
