"""Training throughput on Cartpole Swingup, against stable-baselines3's DQN doing the same work.

Every measurement is a process of its own on one thread: `python -m benchmarks.swingup sb3 10000`
prints the seconds that one query takes. Ours is double DQN, which does one forward pass more.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from benchmarks.timing import medians
from uflp.experiments.resolve import resolve

QUERIES = 15_000
WARM_UP = 5000


def measure() -> dict[str, Any]:
    """Returns queries per second of the peer, of one seed, and of two seeds on two cores."""
    seconds = medians(
        {
            "stable-baselines3 DQN": _processes("sb3", 1),
            "ddqn, online": _processes("ddqn", 1),
            "ddqn, online, two seeds at once": _processes("ddqn", 2),
        },
        repetitions=3,
    )
    peer = seconds["stable-baselines3 DQN"]
    return {
        name: {"queries_per_second": round(1 / value, 1), "ratio": round(peer / value, 2)}
        for name, value in seconds.items()
    }


def _processes(name: str, count: int) -> Callable[[], float]:
    """Returns a measurement: the seconds a query takes `count` processes together."""

    def run() -> float:
        command = [sys.executable, "-m", "benchmarks.swingup", name, str(QUERIES)]
        children = [
            subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(count)
        ]
        rates = [1 / float(child.communicate()[0]) for child in children]
        return 1 / sum(rates)

    return run


def train_sb3(queries: int) -> float:
    """Returns seconds a query of stable-baselines3's DQN, set up as our preset is."""
    import torch
    from stable_baselines3 import DQN

    torch.set_num_threads(1)
    settings = resolve("swingup", agent="ddqn", access="online")
    learner = settings.agent_config
    agent = DQN(
        "MlpPolicy",
        settings.simulator.make(0),
        learning_rate=learner.learning_rate,
        buffer_size=settings.replay.replay_size,
        learning_starts=settings.replay.learning_batch,
        batch_size=settings.replay.learning_batch,
        gamma=settings.learning.discount,
        train_freq=settings.learning.sgd_period,
        gradient_steps=1,
        target_update_interval=learner.target_period * settings.learning.sgd_period,
        exploration_initial_eps=settings.acting.epsilon,
        exploration_final_eps=settings.acting.epsilon,
        max_grad_norm=learner.max_gradient_norm,
        policy_kwargs={"net_arch": list(learner.hidden)},
        seed=0,
    )
    agent.learn(WARM_UP)
    started = time.perf_counter()
    agent.learn(queries, reset_num_timesteps=False)
    return (time.perf_counter() - started) / queries


def train_ours(queries: int) -> float:
    """Returns seconds a query of our own, evaluations included."""
    from uflp.agents.compute import configure
    from uflp.training.run import Run

    configure()
    budget = WARM_UP + queries
    settings = {"queries": budget, "eval_period": WARM_UP, "eval_episodes": 1}
    run = Run(resolve("swingup", agent="ddqn", access="online", overrides=settings))
    seconds = {row["queries"]: row["wall_seconds"] for row in run.train()}
    return (seconds[budget] - seconds[WARM_UP]) / queries


if __name__ == "__main__":
    train = {"sb3": train_sb3, "ddqn": train_ours}[sys.argv[1]]
    print(train(int(sys.argv[2])))
