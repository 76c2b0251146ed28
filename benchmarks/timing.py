"""Repeated timing of alternatives side by side, so that a noisy machine is noisy for all."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping


def seconds_per_call(
    alternatives: Mapping[str, Callable[[], int]], repetitions: int = 5
) -> dict[str, float]:
    """Returns the median seconds per unit of work of each alternative.

    Each alternative does some work when called and returns how many units it did. They take turns,
    after one turn that is not counted.
    """
    times: dict[str, list[float]] = {name: [] for name in alternatives}
    for repetition in range(repetitions + 1):
        for name, work in alternatives.items():
            started = time.perf_counter()
            units = work()
            elapsed = time.perf_counter() - started
            if repetition:
                times[name].append(elapsed / units)
    return {name: statistics.median(values) for name, values in times.items()}
