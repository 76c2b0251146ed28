"""The costs of going back: time of a save and of a restore, and size of a snapshot."""

from __future__ import annotations

import statistics
import time
from typing import NamedTuple

import numpy as np

from uflp.simulators.action_script import step
from uflp.simulators.base import Simulator
from uflp.types import Snapshot

_ROUNDS, _STATES = 7, 200


class Costs(NamedTuple):
    """Costs of one save and one restore.

    Attributes:
        save: seconds.
        restore: seconds.
        nbytes: bytes of a snapshot's data, on average; 0 where it is no bytes but a copy.
    """

    save: float
    restore: float
    nbytes: float


def measure(simulator: Simulator) -> Costs:
    """Time saves and restores along random actions: the median of a few rounds of many states."""
    rng = np.random.default_rng(0)
    simulator.action_space.seed(0)
    saving, restoring, sizes = [], [], []
    for _ in range(_ROUNDS):
        snapshots, seconds = _walk(simulator, rng)
        saving.append(seconds / len(snapshots))
        started = time.perf_counter()
        for snapshot in snapshots:
            simulator.restore(snapshot)
        restoring.append((time.perf_counter() - started) / len(snapshots))
        sizes += [len(snapshot.data) if simulator.portable else 0 for snapshot in snapshots]
    return Costs(statistics.median(saving), statistics.median(restoring), statistics.mean(sizes))


def _walk(simulator: Simulator, rng: np.random.Generator) -> tuple[list[Snapshot], float]:
    """Return snapshots of the states on the way, and the seconds that saving them took."""
    snapshots = []
    seconds = 0.0
    over = True
    for _ in range(_STATES):
        if over:
            simulator.reset(seed=int(rng.integers(2**32)))
        started = time.perf_counter()
        snapshots.append(simulator.save())
        seconds += time.perf_counter() - started
        *_, terminated, truncated, _ = step(simulator, simulator.action_space.sample())
        over = terminated or truncated
    return snapshots, seconds
