"""The cost of a query over a long run: the last tenth against the first."""

from __future__ import annotations

from typing import Any

from uflp.experiments.resolve import resolve
from uflp.training.run import Run

QUERIES = 300_000


def measure() -> dict[str, Any]:
    """Returns microseconds a query in the first and last tenth of Deep Sea's whole budget."""
    tenth = QUERIES // 10
    outcome = {}
    for uncertainty in ("counts", "covariance"):
        settings = {"queries": QUERIES, "eval_period": tenth // 10}
        run = Run(resolve("deep-sea", uncertainty=uncertainty, overrides=settings))
        seconds = {row["queries"]: row["wall_seconds"] for row in run.train()}
        # The first hundredth compiles; it is left out of the first tenth.
        first = (seconds[tenth] - seconds[tenth // 10]) / (0.9 * tenth)
        last = (seconds[QUERIES] - seconds[QUERIES - tenth]) / tenth
        outcome[f"ddqn, {uncertainty}"] = {
            "first tenth (µs a query)": round(1e6 * first, 1),
            "last tenth (µs a query)": round(1e6 * last, 1),
            "ratio": round(last / first, 3),
        }
    return outcome
