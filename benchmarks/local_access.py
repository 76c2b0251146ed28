"""What LocalAccess adds to a step of MountainCar, with counts, and to the history's saves."""

from __future__ import annotations

import statistics
import time
from typing import Any

import gymnasium

import uflp

STEPS = 2000
REPETITIONS = 9


def measure() -> dict[str, Any]:
    """Steps the bare environment and the wrapped one in turn; the median of the ratios counts."""
    bare = gymnasium.make("MountainCar-v0")
    local = uflp.LocalAccess(gymnasium.make("MountainCar-v0"), "counts", seed=0)
    pairs = [(_seconds(bare), _seconds(local)) for _ in range(REPETITIONS)]
    return {
        "bare_step_us": round(1e6 * statistics.median(pair[0] for pair in pairs), 2),
        "local_step_us": round(1e6 * statistics.median(pair[1] for pair in pairs), 2),
        "ratio": round(statistics.median(pair[1] / pair[0] for pair in pairs), 2),
    }


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
