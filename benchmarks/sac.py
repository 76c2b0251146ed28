"""Training throughput of `sac`, against Stable-Baselines3's SAC doing the same work.

Every measurement is a process of its own on one thread, and says how many seconds of a core one
query takes: `python -m benchmarks.sac sb3 Pendulum-v1 800`. Networks, batch, replay and learning
rates are the same, with one SGD step a query. Of our update, the share of what a matrix product
reaches in the same process is given, too.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from benchmarks.timing import medians
from uflp.experiments.resolve import resolve

TASKS = {"Pendulum-v1": (3, 1), "HalfCheetah-v5": (17, 6)}
"""Numbers of an observation and of an action."""
QUERIES = 800
WARM_UP = 300
HIDDEN = 256
BATCH = 256


def measure() -> dict[str, Any]:
    """Returns queries per second of a core of the peer and of ours, and the share of the peak."""
    outcome: dict[str, Any] = {}
    for task in TASKS:
        peer, ours = f"stable-baselines3 SAC, {task}", f"sac, online, {task}"
        work = {peer: _process("sb3", task), ours: _process("sac", task)}
        seconds = medians(work, repetitions=3)
        outcome |= {
            name: {
                "queries_per_second": round(1 / value, 1),
                "ratio": round(seconds[peer] / value, 2),
            }
            for name, value in seconds.items()
        }
        outcome[f"update of sac, {task}"] = {"share_of_peak": round(_process("peak", task)(), 2)}
    return outcome


def _process(name: str, task: str) -> Callable[[], float]:
    command = [sys.executable, "-m", "benchmarks.sac", name, task, str(QUERIES)]

    def run() -> float:
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        return float(done.stdout.splitlines()[-1])

    return run


def make_sb3(task: str, *, hidden: int, batch: int, learning_starts: int, seed: int) -> Any:
    """Returns Stable-Baselines3's SAC on one thread, with the rates that both have by default.

    Args:
        task: Gymnasium's id.
        hidden: width of each of two hidden layers.
        batch: transitions of an SGD step.
        learning_starts: queries before the first one.
        seed: of agent and environment.
    """
    import gymnasium
    import torch
    from stable_baselines3 import SAC

    torch.set_num_threads(1)
    return SAC(
        "MlpPolicy",
        gymnasium.make(task),
        learning_rate=3e-4,
        buffer_size=100_000,
        learning_starts=learning_starts,
        batch_size=batch,
        tau=0.005,
        gamma=0.99,
        policy_kwargs={"net_arch": [hidden, hidden]},
        seed=seed,
        device="cpu",
    )


def train_sb3(task: str, queries: int) -> float:
    """Returns seconds of a core that a query of Stable-Baselines3's SAC takes."""
    agent = make_sb3(task, hidden=HIDDEN, batch=BATCH, learning_starts=BATCH, seed=0)
    agent.learn(WARM_UP)
    started = time.process_time()
    agent.learn(queries, reset_num_timesteps=False)
    return (time.process_time() - started) / queries


def train_ours(task: str, queries: int) -> float:
    """Returns seconds of a core that a query of our own takes, an evaluation aside."""
    from uflp.agents.compute import configure
    from uflp.training.run import Run

    configure()
    settings = {
        "queries": WARM_UP + queries + 1,
        "eval_period": 10**9,
        "eval_limit": 1,
        "hidden": (HIDDEN, HIDDEN),
        "learning_batch": BATCH,
        "min_replay": BATCH,
    }
    run = Run(resolve(f"gym:{task}", agent="sac", access="online", overrides=settings))
    times = {}

    def pause() -> None:
        times[run.queries] = time.process_time()

    for _ in run.train(pause):
        pass
    return (times[WARM_UP + queries] - times[WARM_UP]) / queries


def share_of_peak(task: str, _: int) -> float:
    """Returns the share of a matrix product's operations a second that an update reaches."""
    import gymnasium
    import numpy as np

    from benchmarks.peak import PRODUCT, product, updates
    from benchmarks.timing import seconds_per_call
    from uflp.agents.compute import configure
    from uflp.agents.sac import SAC
    from uflp.spaces import actions
    from uflp.types import Batch

    configure()
    seen, size = TASKS[task]
    space = gymnasium.spaces.Box(-np.inf, np.inf, (seen,), np.float32)
    made = actions(gymnasium.spaces.Box(-1, 1, (size,), np.float32))
    agent = SAC(hidden=(HIDDEN, HIDDEN)).make(space, made)
    rng = np.random.default_rng(0)
    batch = Batch(
        observation=rng.normal(size=(BATCH, seen)).astype(np.float32),
        action=rng.uniform(-1, 1, (BATCH, size)).astype(np.float32),
        reward=rng.normal(size=BATCH).astype(np.float32),
        discount=np.full(BATCH, 0.99, np.float32),
        next_observation=rng.normal(size=(BATCH, seen)).astype(np.float32),
    )
    seconds = seconds_per_call({"update": updates(agent, batch), "product": product()}, 20)
    return operations(seen, size) / seconds["update"] / (PRODUCT / seconds["product"])


def operations(seen: int, size: int) -> int:
    """Returns the operations of the matrix products of one update."""

    def forward(inputs: int, outputs: int) -> int:
        return 2 * BATCH * (inputs * HIDDEN + HIDDEN * HIDDEN + HIDDEN * outputs)

    def first(inputs: int) -> int:
        return 2 * BATCH * inputs * HIDDEN

    policy, critic = forward(seen, 2 * size), 2 * forward(seen + size, 1)
    # Gradients cost a pass for the inputs of a layer, and one for its kernel. Nobody asks for that
    # of a network's own input where it is data, nor for that of the critics' kernels where the
    # policy learns.
    of_target = policy + critic
    of_critics = 3 * critic - 2 * first(seen + size)
    of_policy = 3 * policy - first(seen) + 2 * critic
    return of_target + of_critics + of_policy


if __name__ == "__main__":
    work = {"sb3": train_sb3, "sac": train_ours, "peak": share_of_peak}[sys.argv[1]]
    print(work(sys.argv[2], int(sys.argv[3])))
