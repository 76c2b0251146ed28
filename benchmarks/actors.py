"""Queries a second on Montezuma's Revenge with random actions: two actors against one process.

The agent's counts, history and restarts are on. Starting Python, Ray and the parts is not counted,
nor are the first queries.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from benchmarks.timing import medians
from uflp.distributed.connection import connected
from uflp.distributed.run import ClusterRun, count_workers
from uflp.distributed.settings import ClusterSettings
from uflp.experiments.resolve import resolve
from uflp.runs.run_protocol import RunProtocol
from uflp.training.run import Run

BEFORE, QUERIES = 10_000, 50_000
ACTORS = 2

Outcome = dict[str, dict[str, float]]


def measure() -> Outcome:
    """Returns queries a second of each, and the ratio."""
    overrides = {"queries": BEFORE + QUERIES, "eval_period": 10**9}
    settings = resolve("atari/montezuma-revenge", agent="random", overrides=overrides)
    cluster = ClusterSettings(actors=ACTORS)

    def alone() -> float:
        return _seconds_a_query(Run(settings))

    def together() -> float:
        with connected("local", count_workers(settings, cluster)):
            run = ClusterRun(settings, cluster)
            try:
                return _seconds_a_query(run)
            finally:
                run.close()

    names = ("one process", f"{ACTORS} actors")
    times = medians(dict(zip(names, (alone, together), strict=True)), repetitions=3)
    return {
        name: {"queries_per_second": round(1 / took, 1), "ratio": round(times[names[0]] / took, 2)}
        for name, took in times.items()
    }


def _seconds_a_query(run: RunProtocol) -> float:
    clock = _Clock(lambda: run.queries)
    rows: Iterator[object] = run.train(clock.look)
    for _ in rows:
        pass
    return clock.seconds_a_query


class _Clock:
    """Looks at the time whenever a run may be saved, from `BEFORE` queries on."""

    def __init__(self, queries: Callable[[], int]):
        self._queries = queries
        self._first: tuple[float, int] | None = None
        self._last = (0.0, 0)

    def look(self) -> None:
        """Takes note of the time and of the queries so far."""
        now = time.perf_counter(), self._queries()
        if self._first is None and now[1] >= BEFORE:
            self._first = now
        if now[1] < BEFORE + QUERIES - 1000:  # Until no actor has to wait for the others.
            self._last = now

    @property
    def seconds_a_query(self) -> float:
        """Seconds from the first look to the last, by the queries between them."""
        assert self._first is not None
        return (self._last[0] - self._first[0]) / (self._last[1] - self._first[1])
