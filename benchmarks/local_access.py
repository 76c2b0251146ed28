"""What LocalAccess adds to a step of MountainCar, saves included, and its vector to Gymnasium's."""

from __future__ import annotations

import statistics
import time
from typing import Any

import gymnasium
import numpy as np

import uflp

STEPS = 2000
REPETITIONS = 9
COPIES = 8


def measure() -> dict[str, Any]:
    """Steps the bare environment and the wrapped one in turn; the median of the ratios counts."""
    bare = gymnasium.make("MountainCar-v0")
    local = uflp.LocalAccess(gymnasium.make("MountainCar-v0"), seed=0)
    pairs = [(_seconds(bare), _seconds(local)) for _ in range(REPETITIONS)]
    return {
        "bare_step_us": round(1e6 * statistics.median(pair[0] for pair in pairs), 2),
        "local_step_us": round(1e6 * statistics.median(pair[1] for pair in pairs), 2),
        "ratio": round(statistics.median(pair[1] / pair[0] for pair in pairs), 2),
        "vector_rate_ratio": round(statistics.median(_vectors() for _ in range(5)), 2),
    }


def _vectors() -> float:
    """Returns the steps a second of eight copies in processes, against `AsyncVectorEnv`."""
    theirs = gymnasium.vector.AsyncVectorEnv([_mountain_car] * COPIES)
    ours = uflp.LocalAccessVector(_mountain_car, COPIES, seed=0)
    return _rate(ours) / _rate(theirs)


def _mountain_car() -> gymnasium.Env[Any, Any]:
    return gymnasium.make("MountainCar-v0")


def _rate(envs: Any) -> float:
    """Returns the steps a second, resets and restarts included."""
    actions = np.random.default_rng(0).integers(3, size=(STEPS, COPIES))
    envs.reset(seed=0)
    started = time.perf_counter()
    for several in actions:
        envs.step(several)
    rate = STEPS * COPIES / (time.perf_counter() - started)
    envs.close()
    return rate


def _seconds(env: Any) -> float:
    """Returns the mean time of a step, saves included, resets not."""
    env.reset(seed=0)
    spent = 0.0
    for number in range(STEPS):
        started = time.process_time()
        result = env.step(number % 3)
        spent += time.process_time() - started
        if result[2] or result[3]:
            env.reset()
    return spent / STEPS
