"""Three tasks with one goal far away, agents of others on them by one line, and a table.

`python examples/sparse_tasks.py --agents sb3-dqn --tasks mountain-car door-key` trains each agent
on each task, with local and with online access and for seeds 0 to 4, and writes one row a run to
`sparse-tasks.csv` (another file with `--out`); runs that are in the file already are left out.
Solved means: the goal in at least 18 of 20 greedy episodes from a reset, under the environment's
own limit. A run ends once it is solved, or after its budget. Needs
`pip install 'uflp[minigrid,robotics,sb3]'`.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import shlex
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from uflp.report.provenance import record

EPISODES = 20
SOLVED = 18
PERIOD = 5000
"""Queries between two evaluations."""
LAYOUT = 3
"""Seed of the one layout of DoorKey: which side the key is on, where the door is."""


def mountain_car() -> gymnasium.Env[Any, Any]:
    """Return Gymnasium's MountainCar, with its limit of 200 steps."""
    return gymnasium.make("MountainCar-v0")


def door_key() -> gymnasium.Env[Any, Any]:
    """Return MiniGrid's DoorKey 8 × 8 with one fixed layout.

    Its view (one-hot) and the agent's direction are one vector. The mission, always the same here,
    is left out.
    """
    import minigrid  # noqa: F401 (registers the environments)
    from minigrid.wrappers import OneHotPartialObsWrapper

    env = OneLayout(OneHotPartialObsWrapper(gymnasium.make("MiniGrid-DoorKey-8x8-v0")))
    seen = gymnasium.wrappers.FilterObservation(env, ["image", "direction"])
    return gymnasium.wrappers.DtypeObservation(
        gymnasium.wrappers.FlattenObservation(seen), np.uint8
    )


class OneLayout(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Draws the same layout at each reset."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        """Begin an episode."""
        return self.env.reset(seed=LAYOUT, options=options)


def point_maze() -> gymnasium.Env[Any, Any]:
    """Return PointMaze Large, from one cell to the one furthest away; the goal ends an episode."""
    import gymnasium_robotics

    gymnasium.register_envs(gymnasium_robotics)
    env = FixedEnds(gymnasium.make("PointMaze_Large-v3", continuing_task=False))
    return gymnasium.wrappers.FlattenObservation(env)


class FixedEnds(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Takes the same start and goal at each reset; noise of a fraction of a cell remains."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        """Begin an episode."""
        ends = {"reset_cell": np.array([7, 1]), "goal_cell": np.array([7, 10])}
        return self.env.reset(seed=seed, options={**ends, **(options or {})})


TASKS = {"mountain-car": mountain_car, "door-key": door_key, "point-maze": point_maze}
AGENTS = {
    "sb3-dqn": ("mountain-car", "door-key"),
    "sb3-ppo": ("mountain-car", "door-key"),
    "cleanrl-ppo": ("mountain-car", "door-key"),
    "sb3-sac": ("point-maze",),
}
"""Tasks that an agent's actions fit."""
BUDGETS = {"mountain-car": 200_000, "door-key": 200_000, "point-maze": 300_000}
LOCAL: dict[str, dict[str, Any]] = {
    # Counted are x and y alone, the first two numbers of the goal-conditioned observation.
    "point-maze": {
        "cells": (0, 1),
        "cell_size": 0.5,
        "p_init": 0.05,
        "restart_limit": 50,
        "checkpoint_period": 5,
    }
}
"""Settings of local access other than its defaults."""


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
    agent: str, task: str, access: str, seed: int, queries: int, period: int = PERIOD
) -> dict[str, Any]:
    """Train one agent; return when it solved the task, and what local access did."""
    if agent == "cleanrl-ppo":
        import cleanrl_ppo

        return cleanrl_ppo.train(access, seed, queries, make=TASKS[task], period=period)
    from sb3_agents import train_sb3

    return train_sb3(agent, task, access, seed, queries, period)


def main() -> None:
    """Train what the table does not have yet, one run after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agents", choices=list(AGENTS), nargs="+", default=list(AGENTS))
    parser.add_argument("--tasks", choices=list(TASKS), nargs="+", default=list(TASKS))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--access", choices=["local", "online"], nargs="+")
    parser.add_argument("--queries", type=int, help="the budget, if not the task's own")
    parser.add_argument("--out", type=Path, default=Path("sparse-tasks.csv"))
    asked = parser.parse_args()
    access = asked.access or ["local", "online"]
    for run in itertools.product(asked.agents, asked.tasks, asked.seeds, access):
        names = dict(zip(("agent", "task", "seed", "access"), run, strict=True))
        if names["task"] not in AGENTS[names["agent"]]:
            continue
        if any(all(row[key] == str(names[key]) for key in names) for row in _rows(asked.out)):
            continue
        started = time.perf_counter()
        budget = asked.queries or BUDGETS[names["task"]]
        outcome = train(**names, queries=budget)
        row = {**names, "budget": budget, **outcome}
        row["wall_seconds"] = round(time.perf_counter() - started)
        print(row, flush=True)
        _append(asked.out, row)
        command = shlex.join(["python", "examples/sparse_tasks.py", *sys.argv[1:]])
        record(asked.out, command, added=True)


def _rows(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def _append(path: Path, row: dict[str, Any]) -> None:
    new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(row))
        if new:
            writer.writeheader()
        writer.writerow(row)


if __name__ == "__main__":
    main()
