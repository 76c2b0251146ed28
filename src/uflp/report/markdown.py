"""The report as a Markdown page: a table of groups, the pictures, and what was left out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from urllib.parse import quote

import numpy as np

from uflp.report.groups import Group
from uflp.report.runs import RunRecord, Skipped
from uflp.report.statistics import Interval, mean_interval, queries_to_target

HEADING = "# Report of runs"
"""The first line of every report, by which an older one is recognised."""

_COLUMNS = (
    *("preset", "agent", "uncertainty", "access", "settings", "seeds", "queries"),
    *("final return", "best", "queries to target", "normalised AUC", "positive rewards"),
    "queries/s",
)
_NONE = "–"
_NOTES = """\
- Square brackets hold 95 % intervals of the mean: percentile bootstrap over seeds, always with the
  same random numbers. With few seeds they are too narrow.
- Queries are steps of the training simulator; evaluation does not count. Of several seeds the
  range is given.
- Final return is the last evaluation of runs that spent their budget or stopped at their goal; if
  there is none, that of the others, marked *so far*. Best is the highest evaluation of any seed.
- Queries to target is the median over seeds of the first evaluation to reach the target return; a
  seed that never did counts as infinitely many.
- Normalised AUC is the area under the evaluation curve over the budget, divided by the budget. The
  first evaluation stands for what came before it, the last one of a run that stopped at its goal
  for the rest; a run that was cut short has no area.
- Positive rewards and queries/s are means over seeds.
- In the pictures a line is the mean over seeds, the band around it the interval. It goes on thinly
  where every seed has stopped at its goal. A seed that was cut short counts as far as it went."""


def page(
    groups: Sequence[Group],
    pictures: Mapping[str, Mapping[str, str]],
    skipped: Sequence[Skipped],
) -> str:
    """Returns the text of the report.

    Args:
        groups: one row of the table each.
        pictures: file names by preset and kind (`png`, `svg`), beside the report.
        skipped: what was left out, and why.
    """
    parts = [HEADING, table(groups), _NOTES]
    for preset, files in pictures.items():
        png, svg = (quote(files[kind]) for kind in ("png", "svg"))
        name = _plain(preset)
        parts += [f"## {name}", f"![Learning curves of {name}]({png})", f"[SVG]({svg})"]
    if skipped:
        lines = [f"- {_code(str(path))}: {_plain(reason)}" for path, reason in skipped]
        parts += ["## Left out", "\n".join(lines)]
    return "\n\n".join(parts) + "\n"


def table(groups: Sequence[Group]) -> str:
    """Returns a Markdown table, one row a group; `settings` appears only where it tells."""
    rows = [_row(group) for group in groups]
    shown = [
        n
        for n, column in enumerate(_COLUMNS)
        if column != "settings" or any(group.variant for group in groups)
    ]
    lines = [
        [_COLUMNS[n] for n in shown],
        ["---" if n < _COLUMNS.index("seeds") else "---:" for n in shown],
        *[[row[n] for n in shown] for row in rows],
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def number(value: float) -> str:
    """Returns a number with about as many digits as matter, a dash for NaN."""
    if math.isnan(value):
        return _NONE
    size = abs(value)
    return f"{value:z,.{0 if size >= 1000 else 1 if size >= 10 else 3}f}"


def _row(group: Group) -> list[str]:
    runs = group.runs
    ended = [run for run in runs if run.ending != "cut"]
    final = _interval(mean_interval([run.curve().values[-1] for run in ended or runs]))
    areas = [run.area for run in ended]
    best = max(run.curve().values.max() for run in runs)
    return [
        _plain(group.preset),
        _plain(group.agent),
        _plain(group.uncertainty or _NONE),
        group.access,
        _plain(group.variant or _NONE),
        str(len(runs))
        if ended == list(runs)
        else f"{len(runs)} ({len(runs) - len(ended)} cut short)",
        _range([run.queries for run in runs]),
        final if ended else f"{final} so far",
        number(best),
        _to_target(runs),
        _interval(mean_interval(areas)) if areas else _NONE,
        _count(_mean([_last(run, "positive_rewards") for run in runs])),
        _count(_mean([_speed(run) for run in runs])),
    ]


def _to_target(runs: Sequence[RunRecord]) -> str:
    target = runs[0].target
    if target is None:
        return "no target"
    counts = [queries_to_target(run.curve(), target) for run in runs]
    median = float(np.median(counts))
    reached = sum(map(math.isfinite, counts))
    return f"{_count(median)} (reached by {reached} of {len(runs)})"


def _interval(interval: Interval) -> str:
    mean, low, high = map(number, interval)
    return mean if math.isnan(interval.low) else f"{mean} [{low}, {high}]"


def _count(value: float) -> str:
    """Returns how many, to the nearest whole one, or to a tenth where that says more."""
    if not math.isfinite(value):
        return _NONE
    return f"{value:,.{1 if value < 10 and value % 1 else 0}f}"


def _range(values: Sequence[int]) -> str:
    low, high = min(values), max(values)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _last(run: RunRecord, column: str) -> float:
    return float(run.metrics[column][-1]) if column in run.metrics else math.nan


def _speed(run: RunRecord) -> float:
    """Returns queries a second; an unfinished run has no summary, so its rows must tell."""
    told = (run.summary or {}).get("queries_per_second")
    if isinstance(told, int | float):
        return told
    seconds = _last(run, "wall_seconds")
    return run.queries / seconds if seconds > 0 else math.nan


def _mean(values: Sequence[float]) -> float:
    known = [value for value in values if not math.isnan(value)]
    return sum(known) / len(known) if known else math.nan


def _plain(text: str) -> str:
    """Returns text that Markdown shows as it stands, in a table too."""
    for special in "\\|`*_<>[":
        text = text.replace(special, "\\" + special)
    return " ".join(text.split())


def _code(text: str) -> str:
    return "`" + " ".join(text.replace("`", "'").split()) + "`"
