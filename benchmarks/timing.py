"""Repeated timing of alternatives side by side, so that a noisy machine is noisy for all."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping


def medians(
    alternatives: Mapping[str, Callable[[], float]], repetitions: int = 5
) -> dict[str, float]:
    """Returns the median seconds per unit of work of each alternative.

    Each says, when called, how many seconds one unit took it. They take turns, after one turn that
    is not counted.
    """
    times: dict[str, list[float]] = {name: [] for name in alternatives}
    for repetition in range(repetitions + 1):
        for name, measure in alternatives.items():
            seconds = measure()
            if repetition:
                times[name].append(seconds)
    return {name: statistics.median(values) for name, values in times.items()}


def timed(work: Callable[[], int]) -> Callable[[], float]:
    """Times work that returns how many units it did."""

    def measure() -> float:
        started = time.perf_counter()
        units = work()
        return (time.perf_counter() - started) / units

    return measure


def seconds_per_call(
    alternatives: Mapping[str, Callable[[], int]], repetitions: int = 5
) -> dict[str, float]:
    """Returns `medians` of work that is timed from outside."""
    return medians({name: timed(work) for name, work in alternatives.items()}, repetitions)
