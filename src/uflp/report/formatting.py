"""Numbers and tables as the pages show them."""

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
    """Return a number with about as many digits as matter, a dash for NaN."""
    if math.isnan(value):
        return NONE
    size = abs(value)
    return f"{value:z,.{0 if size >= 1000 else 1 if size >= 10 else 3}f}"


def count(value: float) -> str:
    """Return a count as a whole number, or to a tenth if it is small and not whole."""
    if not math.isfinite(value):
        return NONE
    return f"{value:,.{1 if value < 10 and value % 1 else 0}f}"


def short(value: float) -> str:
    """Return a number as an axis shows it: 0.5, 2,500, 50k, 1.5M, 1,000M."""
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= max(size, 1e4):
            return f"{value / size:,.10g}{unit}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.6g}"


def span(values: Sequence[int]) -> str:
    """Return the range of some whole numbers, or the one number that they all are."""
    low, high = min(values), max(values)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def over_seeds(values: Sequence[float]) -> str:
    """Return the mean over seeds, followed by its uncertainty.

    Fewer than five seeds: their own values in round brackets. Five to nine: Student's t interval
    and the bootstrap's. Ten or more: the bootstrap's alone.
    """
    mean = number(mean_interval(values).mean) if values else NONE
    if len(values) < FEWEST_FOR_INTERVAL:
        return f"{mean} ({', '.join(map(number, values))})" if len(values) > 1 else mean
    own = mean_interval(values)
    if interval_kind(len(values)) == "bootstrap":
        return f"{mean} {ends(own)}"
    return f"{mean} {ends(own)} t, {ends(mean_interval(values, 'bootstrap'))} bootstrap"


def interval(value: Interval) -> str:
    """Return a mean with its interval in square brackets, if it has one."""
    mean = number(value.mean)
    return mean if math.isnan(value.low) else f"{mean} {ends(value)}"


def ends(value: Interval) -> str:
    """Return the ends of an interval in square brackets."""
    return f"[{number(value.low)}, {number(value.high)}]"


def p_value(value: float) -> str:
    """Return a p-value, `p < 0.001` if it is smaller than that."""
    return "p < 0.001" if value < 0.001 else f"p = {value:.3f}"


def seeds(number: int) -> str:
    """Return a number of seeds in words."""
    return "one seed" if number == 1 else f"{number} seeds"


def seeds_drawn(counts: Sequence[int], statistic: Statistic = "mean") -> str:
    """Return what a picture draws of groups with these numbers of seeds.

    Such as "mean and 95 % bootstrap interval, 10 seeds", "mean and each of 5 seeds" or "each of 3
    seeds", and all where all are drawn.
    """
    by_kind: dict[IntervalKind, list[int]] = {}
    for number in counts:
        by_kind.setdefault(interval_kind(number), []).append(number)
    centre = "mean" if statistic == "mean" else "interquartile mean"
    parts = []
    if "bootstrap" in by_kind:
        parts.append(f"{centre} and 95 % bootstrap interval, {span(by_kind['bootstrap'])} seeds")
    if "t" in by_kind:
        parts.append(f"{centre} and each of {span(by_kind['t'])} seeds")
    if "none" in by_kind:
        few = by_kind["none"]
        parts.append("one seed" if max(few) == 1 else f"each of {span(few)} seeds")
    return "; ".join(parts)


def markdown_table(heads: Sequence[str], rows: Sequence[Sequence[str]], names: int = 0) -> str:
    """Return a table in Markdown, with a dash in empty cells.

    Args:
        heads: of the columns.
        rows: of cells.
        names: number of columns that are aligned to the left; 0 aligns all of them so.
    """
    rule = ["---" if not names or n < names else "---:" for n in range(len(heads))]
    return "\n".join(
        f"| {' | '.join(cell or NONE for cell in line)} |" for line in (heads, rule, *rows)
    )
