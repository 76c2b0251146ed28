"""Training throughput on Deep Sea 50, against bsuite's own JAX agents doing the same work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.peers import SIZE, seconds_per_query
from benchmarks.timing import medians, timed
from uflp.experiments.resolve import resolve
from uflp.training.run import Run

WARM_UP = 1000


def measure() -> dict[str, Any]:
    """Returns queries per second of the peers and of our runs, and their ratios."""
    single = medians(
        {
            "bsuite dqn": seconds_per_query("dqn", 400),
            "ddqn, counts": _ours("ddqn", "counts", 2000),
            "ddqn, covariance": _ours("ddqn", "covariance", 1000),
            "ddqn-bonus, covariance": _ours("ddqn-bonus", "covariance", 1000),
        }
    )
    ensemble = medians(
        {
            "bsuite boot_dqn": seconds_per_query("boot-dqn", 50),
            "boot-ddqn": _ours("boot-ddqn", "ensemble-std", 250),
        },
        repetitions=3,
    )
    return _ratios(single, "bsuite dqn") | _ratios(ensemble, "bsuite boot_dqn")


def _ours(agent: str, uncertainty: str, queries: int) -> Callable[[], float]:
    """Trains for some more queries: whole history, one SGD step a query."""
    never = 10**9
    settings = {"size": SIZE, "queries": never, "eval_period": queries}
    run = Run(resolve("deep-sea", agent=agent, uncertainty=uncertainty, overrides=settings))
    rows = run.train()
    while run.queries < WARM_UP:
        next(rows)

    def work() -> int:
        next(rows)
        return queries

    return timed(work)


def _ratios(seconds: dict[str, float], peer: str) -> dict[str, Any]:
    return {
        name: {
            "queries_per_second": round(1 / value, 1),
            "ratio": round(seconds[peer] / value, 2),
        }
        for name, value in seconds.items()
    }
