"""Covariance at the paper's d = 1500: time of a query, and drift from the direct inverse."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.timing import seconds_per_call
from uflp.uncertainty.covariance import Covariance

UPDATES = 20_000


def measure() -> dict[str, Any]:
    """Returns the error after many updates, and microseconds of one observed query."""
    space = gymnasium.spaces.Discrete(2500)
    settings = Covariance(feature_size=1500, regularization=0.01)
    rng = np.random.default_rng(0)
    with threadpool_limits(1):
        table = settings.make(space, 1, 0)
        states = rng.integers(0, 2500, UPDATES).tolist()

        def observe() -> int:
            for state in states[:1000]:
                table.observe(state, 0)
            return 1000

        for state in states:
            table.observe(state, 0)
        error = _relative_error(table, settings, states)
        seconds = seconds_per_call({"table": observe}, repetitions=3)
    return {
        "d": 1500,
        "updates": UPDATES,
        "largest relative error against the direct inverse": error,
        "one update (µs)": round(1e6 * seconds["table"], 1),
    }


def _relative_error(table: Any, settings: Covariance, states: list[int]) -> float:
    from uflp.uncertainty.covariance import FEATURES

    rng = np.random.default_rng(0)
    draw = FEATURES[settings.feature_kind](2500, settings.feature_size, settings.bandwidth, rng)
    features = draw(np.arange(2500))
    weights = np.bincount(states, minlength=2500)
    covariance = (features.T * weights) @ features
    covariance += settings.regularization * np.eye(settings.feature_size)
    direct = np.sqrt(np.einsum("nd,dn->n", features, np.linalg.solve(covariance, features.T)))
    scores = table.score(np.arange(2500), None)[:, 0]
    return float(np.abs(scores / direct - 1).max())
