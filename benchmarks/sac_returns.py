"""Returns of `sac`, against Stable-Baselines3's SAC with the same networks, batch and rates.

`python -m benchmarks.sac_returns` trains both online on Pendulum and HalfCheetah, 50,000 queries a
run and five seeds, and writes `results/sac-returns.csv`: the mean return of ten greedy episodes at
the end. Runs that are in the table already are left out, so it can be stopped and begun again.

Networks and batches are half as wide as those whose speed `benchmarks.sac` measures: twenty runs
take two hours of a core instead of six.
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

from benchmarks.sac import make_sb3
from uflp.report.provenance import record

TASKS = ("Pendulum-v1", "HalfCheetah-v5")
QUERIES, SEEDS, EPISODES = 50_000, 5, 10
HIDDEN, BATCH, LEARNING_STARTS = 128, 128, 1_000
RESULT = Path(__file__).parent.parent / "results" / "sac-returns.csv"


def main() -> None:
    """Train what the table does not have yet, one run after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", choices=TASKS, nargs="+", default=TASKS)
    parser.add_argument("--seeds", type=int, default=SEEDS, help="of each agent on each task")
    parser.add_argument("--out", type=Path, default=RESULT)
    asked = parser.parse_args()
    # A seed of both before the next one, so that an unfinished table compares equally many.
    for seed, task, agent in itertools.product(range(asked.seeds), asked.tasks, AGENTS):
        if (agent, task, str(seed)) in _done(asked.out):
            continue
        started = time.perf_counter()
        returned = AGENTS[agent](task, seed)
        row = [agent, task, seed, QUERIES, round(returned, 2), round(time.perf_counter() - started)]
        print(*row, flush=True)
        _append(asked.out, row)
        command = shlex.join(["python", "-m", "benchmarks.sac_returns", *sys.argv[1:]])
        record(asked.out, command, added=True)


def train_ours(task: str, seed: int) -> float:
    """Return the mean return of `sac` at the end of its budget."""
    import uflp

    result = uflp.train(
        f"gym:{task}",
        agent="sac",
        access="online",
        seed=seed,
        queries=QUERIES,
        hidden=(HIDDEN, HIDDEN),
        learning_batch=BATCH,
        learning_rate=3e-4,
        tau=0.005,
        discount=0.99,
        min_replay=LEARNING_STARTS,
        sgd_period=1,
        n_step=1,
        eval_period=QUERIES,
        eval_episodes=EPISODES,
    )
    return float(result.summary["final_return"])


def train_sb3(task: str, seed: int) -> float:
    """Return the mean return of Stable-Baselines3's SAC at the end of its budget."""
    import gymnasium
    from stable_baselines3.common.evaluation import evaluate_policy
    from stable_baselines3.common.monitor import Monitor

    agent = make_sb3(task, hidden=HIDDEN, batch=BATCH, learning_starts=LEARNING_STARTS, seed=seed)
    agent.learn(QUERIES)
    test = Monitor(gymnasium.make(task))
    test.reset(seed=1000 + seed)
    mean, _ = evaluate_policy(agent, test, n_eval_episodes=EPISODES, deterministic=True)
    return float(mean)  # type: ignore[arg-type]


AGENTS: dict[str, Callable[[str, int], float]] = {
    "sac": train_ours,
    "stable-baselines3": train_sb3,
}


def _done(path: Path) -> set[tuple[str, str, str]]:
    if not path.exists():
        return set()
    with path.open(newline="") as file:
        return {(row["agent"], row["task"], row["seed"]) for row in csv.DictReader(file)}


def _append(path: Path, row: list[Any]) -> None:
    new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if new:
            writer.writerow(["agent", "task", "seed", "queries", "mean_return", "wall_seconds"])
        writer.writerow(row)


if __name__ == "__main__":
    main()
