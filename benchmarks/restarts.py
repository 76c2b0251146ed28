"""The whole-history restart choice as the history grows, against scoring every entry."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.timing import seconds_per_call
from uflp.planning.history import History
from uflp.planning.rules.uncertainty import Bounds
from uflp.simulators import SIMULATORS
from uflp.types import Snapshot
from uflp.uncertainty.base import Uncertainty
from uflp.uncertainty.counts import Counts
from uflp.uncertainty.covariance import Covariance

SIZES = (10_000, 100_000, 1_000_000)
WARM_UP = 3_000
EXTRA = WARM_UP + 10_000  # states that are queried once the history is full
SCANNED = 5_000  # entries that are scored to tell what scoring all of them would take


def measure() -> dict[str, Any]:
    """Returns the milliseconds of one choice between 25 queries, by size of the history."""
    with threadpool_limits(1):
        return {
            "counts, 2,500 ids": {f"|H| = {n:,}": _counts(n, 2_500) for n in SIZES},
            "counts, 1,000,000 ids": {f"|H| = {n:,}": _counts(n, 1_000_000) for n in SIZES},
            "covariance, d = 500, continuous": {f"|H| = {n:,}": _covariance(n) for n in SIZES},
        }


def _counts(size: int, ids: int) -> dict[str, float]:
    """States drawn uniformly from a discrete space."""
    uncertainty = Counts().make(gymnasium.spaces.Discrete(ids), 3, 0)
    rng = np.random.default_rng(0)
    return _race(uncertainty, size, rng.integers(ids, size=size + EXTRA), rng)


def _covariance(size: int) -> dict[str, float]:
    """States of Swingup under random actions."""
    simulator = SIMULATORS["swingup"]().make(seed=0)
    uncertainty = Covariance(feature_size=500, regularization=0.1).make(
        simulator.observation_space, 3, 0
    )
    rng = np.random.default_rng(0)
    states = np.zeros((size + EXTRA, 8), np.float32)
    over = True
    for row in range(len(states)):
        if over:
            states[row], _ = simulator.reset(seed=row)
            over = False
        else:
            states[row], _, terminated, truncated, _ = simulator.step(int(rng.integers(3)))
            over = terminated or truncated
    return _race(uncertainty, size, states, rng)


def _race(
    uncertainty: Uncertainty, size: int, states: np.ndarray, rng: np.random.Generator
) -> dict[str, float]:
    """Times choices in a history of `size` entries whose bounds are in their steady state."""
    history = History(
        "benchmark",
        key_shape=uncertainty.key_shape,
        key_dtype=uncertainty.key_dtype,
        width=1,
        entries=size,
    )

    def score(entries: np.ndarray) -> np.ndarray:
        return uncertainty.score(history.keys(entries), _no_ensemble).max(axis=-1)

    bounds = Bounds(history, uncertainty.ids, score)
    snapshot = Snapshot("benchmark", b"x", 0.0)

    def add(key: Any) -> None:
        bounds.added(history.add(snapshot, key), key)

    remaining = iter(states)

    def query() -> None:
        key = next(remaining)
        uncertainty.observe(key, int(rng.integers(3)))
        add(key)

    for _ in range(size):
        add(next(remaining))
    for _ in range(WARM_UP):
        query()
    for _ in range(5):
        bounds.best(rng)

    sample = history.live()[:SCANNED]

    def scan_some() -> int:
        score(sample)
        return 1

    def rollouts() -> int:
        for _ in range(40):
            for _ in range(25):
                query()
            bounds.best(rng)
        return 40

    def queries_only() -> int:
        for _ in range(40 * 25):
            query()
        return 40

    seconds = seconds_per_call(
        {"rollout": rollouts, "queries": queries_only, "scan": scan_some}, repetitions=3
    )
    everything = seconds["scan"] * size / SCANNED
    return {
        "choice (ms)": round(1e3 * max(seconds["rollout"] - seconds["queries"], 0), 3),
        "scoring all (ms)": round(1e3 * everything, 3),
    }


def _no_ensemble(observations: np.ndarray) -> np.ndarray:
    raise AssertionError("counts and covariance ask for no predictions")
