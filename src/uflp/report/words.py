"""Numbers as the pages show them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from uflp.report.statistics import (
    FEWEST_FOR_INTERVAL,
    Interval,
    IntervalKind,
    Statistic,
    interval_kind,
    mean_interval,
)

NONE = "–"


def number(value: float) -> str:
    """Returns a number with about as many digits as matter, a dash for NaN."""
    if math.isnan(value):
        return NONE
    size = abs(value)
    return f"{value:z,.{0 if size >= 1000 else 1 if size >= 10 else 3}f}"


def over_seeds(values: Sequence[float]) -> str:
    """Returns the mean over seeds with what tells how sure it is.

    That is the seeds' own values in round brackets where there are too few for an interval;
    Student's t interval and the bootstrap's where there are few; and else the bootstrap's alone.
    """
    mean = number(mean_interval(values).mean) if values else NONE
    if len(values) < FEWEST_FOR_INTERVAL:
        return f"{mean} ({', '.join(map(number, values))})" if len(values) > 1 else mean
    own = mean_interval(values)
    if interval_kind(len(values)) == "bootstrap":
        return f"{mean} {ends(own)}"
    return f"{mean} {ends(own)} t, {ends(mean_interval(values, 'bootstrap'))} bootstrap"


def interval(value: Interval) -> str:
    """Returns a mean with its interval in square brackets, if it has one."""
    mean = number(value.mean)
    return mean if math.isnan(value.low) else f"{mean} {ends(value)}"


def ends(value: Interval) -> str:
    """Returns the ends of an interval in square brackets."""
    return f"[{number(value.low)}, {number(value.high)}]"


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


def p_value(value: float) -> str:
    """Returns a p-value, `p < 0.001` where it has no other digits to show."""
    return "p < 0.001" if value < 0.001 else f"p = {value:.3f}"


def drawn(counts: Sequence[int], statistic: Statistic = "mean") -> str:
    """Returns what a picture draws of groups with these numbers of seeds.

    Such as "mean and 95 % t interval, 5 seeds" or "each of 3 seeds", and both where both are drawn.
    """
    by_kind: dict[IntervalKind, list[int]] = {}
    for count in counts:
        by_kind.setdefault(interval_kind(count), []).append(count)
    told = []
    for kind in ("bootstrap", "t"):
        if kind in by_kind:
            centre = "mean" if statistic == "mean" else "interquartile mean"
            if statistic == "mean" or kind == "bootstrap":
                centre += f" and 95 % {kind} interval"
            told.append(f"{centre}, {span(by_kind[kind])} seeds")
    if "none" in by_kind:
        few = by_kind["none"]
        told.append("one seed" if max(few) == 1 else f"each of {span(few)} seeds")
    return "; ".join(told)
