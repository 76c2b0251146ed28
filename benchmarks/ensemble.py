"""BootDDQN's update on Cartpole Swingup (10 members, batch 2048), against the machine's own peak.

Operations are those of the textbook loss: three forward passes and one backward a member, and two
forward passes of its prior, which is not cached. The peak is a 1024 × 1024 float32 product in the
same process.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.peak import PRODUCT, product, updates
from benchmarks.timing import seconds_per_call
from uflp.experiments.resolve import resolve
from uflp.types import Batch

PASSES = 3 + 2 + 2  # forward, backward (twice the work of a forward pass), prior


def measure() -> dict[str, Any]:
    """Returns operations per second of the update and of the product, and their ratio."""
    settings = resolve("swingup-hard", agent="boot-ddqn")
    simulator = settings.simulator.make(0)
    actions = int(simulator.action_space.n)
    size = settings.replay.learning_batch
    (width,) = simulator.observation_space.shape
    widths = (width, *settings.agent_config.hidden, actions)
    forward = 2 * size * sum(before * after for before, after in pairwise(widths))
    agent = settings.agent_config.make(simulator.observation_space, actions)
    update = updates(agent, _batch(size, width, actions))
    seconds = seconds_per_call({"update": update, "product": product()}, repetitions=15)
    rates = {
        "update": PASSES * agent.members * forward / seconds["update"],
        "product": PRODUCT / seconds["product"],
    }
    return {
        **{f"{name} (Gflop/s)": round(rate / 1e9, 1) for name, rate in rates.items()},
        "one update (ms)": round(1e3 * seconds["update"], 1),
        "ratio": round(rates["update"] / rates["product"], 3),
    }


def _batch(size: int, width: int, actions: int) -> Batch:
    rng = np.random.default_rng(0)
    return Batch(
        observation=rng.normal(size=(size, width)).astype(np.float32),
        action=rng.integers(0, actions, size).astype(np.int32),
        reward=rng.random(size).astype(np.float32),
        discount=np.full(size, 0.99, np.float32),
        next_observation=rng.normal(size=(size, width)).astype(np.float32),
    )
