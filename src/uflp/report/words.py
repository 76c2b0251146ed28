"""Numbers as the pages show them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from uflp.report.statistics import Interval

NONE = "–"


def number(value: float) -> str:
    """Returns a number with about as many digits as matter, a dash for NaN."""
    if math.isnan(value):
        return NONE
    size = abs(value)
    return f"{value:z,.{0 if size >= 1000 else 1 if size >= 10 else 3}f}"


def interval(value: Interval) -> str:
    """Returns a mean with its interval in square brackets, if it has one."""
    mean, low, high = map(number, value)
    return mean if math.isnan(value.low) else f"{mean} [{low}, {high}]"


def count(value: float) -> str:
    """Returns how many, to the nearest whole one, or to a tenth where that says more."""
    if not math.isfinite(value):
        return NONE
    return f"{value:,.{1 if value < 10 and value % 1 else 0}f}"


def span(values: Sequence[int]) -> str:
    """Returns the range of some whole numbers, or the one number that they all are."""
    low, high = min(values), max(values)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def seeds(number: int) -> str:
    """Returns how many seeds there were."""
    return "one seed" if number == 1 else f"{number} seeds"
