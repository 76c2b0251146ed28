"""DDQN's update on Atari's frames (batch 128), against the machine's own peak.

Operations are those of the textbook loss: three forward passes and one backward, which is two more.
The peak is a 1024 × 1024 float32 product in the same process, on the one thread that runs use.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.peak import PRODUCT, product, updates
from benchmarks.timing import seconds_per_call
from uflp.experiments.resolve import resolve
from uflp.networks.conv import TORSO, torso_width
from uflp.spaces import Frames
from uflp.types import Batch

SHAPE = (4, 84, 84)
ACTIONS = 18
PASSES = 3 + 2  # forward, backward


def measure() -> dict[str, Any]:
    """Returns operations per second of the update and of the product, and their ratio."""
    settings = resolve("atari/montezuma-revenge")
    size = settings.replay.learning_batch
    agent = settings.agent_config.make(Frames(SHAPE), ACTIONS)
    work = {"update": updates(agent, _batch(size)), "product": product()}
    seconds = seconds_per_call(work, repetitions=15)
    rates = {
        "update": PASSES * size * _forward(settings.agent_config.hidden) / seconds["update"],
        "product": PRODUCT / seconds["product"],
    }
    return {
        **{f"{name} (Gflop/s)": round(rate / 1e9, 1) for name, rate in rates.items()},
        "one update (ms)": round(1e3 * seconds["update"], 1),
        "ratio": round(rates["update"] / rates["product"], 3),
    }


def _forward(hidden: tuple[int, ...]) -> int:
    """Returns the operations of a forward pass of one observation."""
    channels, height, width = SHAPE
    products = 0
    for layer in TORSO:
        height, width = -(-height // layer.stride), -(-width // layer.stride)
        products += height * width * layer.channels * layer.side**2 * channels
        channels = layer.channels
    widths = (torso_width(*SHAPE[1:]), *hidden, ACTIONS)
    return 2 * (products + sum(before * after for before, after in pairwise(widths)))


def _batch(size: int) -> Batch:
    rng = np.random.default_rng(0)
    before, after = rng.integers(0, 256, (2, size, *SHAPE)).astype(np.uint8)
    return Batch(
        observation=before,
        action=rng.integers(0, ACTIONS, size).astype(np.int32),
        reward=rng.random(size).astype(np.float32),
        discount=np.full(size, 0.99, np.float32),
        next_observation=after,
    )
