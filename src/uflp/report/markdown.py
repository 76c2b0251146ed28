"""The report as a Markdown page: a table of groups, the pictures, and what was left out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from urllib.parse import quote

from uflp.report import formatting
from uflp.report.comparisons import compare, verdict
from uflp.report.groups import Group, outcome_of
from uflp.report.runs import Skipped
from uflp.report.style import label_of

HEADING = "# Report of runs"
"""The first line of every report, by which an older one is recognised."""

_NOTES = """\
- Of fewer than five seeds the mean is followed by the seeds' own values in round brackets, and
  there is no interval. Square brackets hold 95 % intervals of the mean: of five to nine seeds
  Student's t interval and the percentile bootstrap, which is too narrow there; from ten seeds on
  the bootstrap alone, always with the same random numbers.
- A difference is called significant only if a two-sided permutation test of the mean areas says so
  at 0.05. Of fewer than four seeds on a side nothing is said of it.
- Queries are steps of the training simulator; evaluation does not count. Of several seeds the
  range is given.
- Final return is the last evaluation of runs that spent their budget or stopped at their goal; if
  there is none, that of the others, marked *so far*. Best is the highest evaluation of any seed.
- Queries to target is the median over seeds of the first evaluation to reach the target return; a
  seed that never did counts as infinitely many. In brackets, how many seeds reached it.
- Normalised AUC is the area under the evaluation curve over the budget, divided by the budget. The
  first evaluation stands for what came before it, the last one of a run that stopped at its goal
  for the rest; a run that was cut short has no area.
- Rewarded queries, those of training with a positive reward, and queries/s are means over seeds.
  First reward is the median over seeds of the first evaluation after one, with the number of seeds
  that found one in brackets; cells are the median of the different ones that were seen while
  training, where the simulator counts them or has a map. Restarts near a reward add to rewarded
  queries.
- In the pictures every seed of a group of fewer than five has a line of its own. From five seeds
  on a line is the mean and the band around it the interval: Student's t up to nine seeds, then the
  bootstrap. A star ends a line whose seeds have all stopped at their goal, and the last value goes
  on as a thin line; a bar ends a line whose runs are shorter than others. A seed that was cut short
  counts as far as it went."""


def page(
    groups: Sequence[Group],
    pictures: Mapping[str, Mapping[str, str]],
    skipped: Sequence[Skipped],
    costs: str = "",
) -> str:
    """Return the text of the report.

    Args:
        groups: one row of the table each.
        pictures: file names by preset and kind (`png`, `svg`), beside the report.
        skipped: what was left out, and why.
        costs: what going back cost, in one sentence; empty where it was not measured.
    """
    parts = [HEADING, *([costs] if costs else []), _table(groups), _NOTES]
    for preset, files in pictures.items():
        png, svg = (quote(files[kind]) for kind in ("png", "svg"))
        name = _plain(preset)
        sentences = _sentences([group for group in groups if group.preset == preset])
        parts += [f"## {name}", *sentences, f"![Learning curves of {name}]({png})", f"[SVG]({svg})"]
    if skipped:
        lines = [f"- {_code(str(path))}: {_plain(reason)}" for path, reason in skipped]
        parts += ["## Left out", "\n".join(lines)]
    return "\n\n".join(parts) + "\n"


def _table(groups: Sequence[Group]) -> str:
    """Return a Markdown table, one row a group, without columns that are empty."""
    rows = [_row(group) for group in groups]
    shown = [
        column
        for column in rows[0]
        if column not in ("variant", "settings", "cells") or any(row[column] for row in rows)
    ]
    cells = [[row[column] for column in shown] for row in rows]
    return formatting.markdown_table(shown, cells, names=shown.index("seeds"))


def _sentences(groups: Sequence[Group]) -> list[str]:
    """Return the verdict on the groups of a preset, and the numbers of each comparison."""
    numbers = [
        f"{_plain(label_of(one.local.agent, one.local.variant))}: {_plain(text)}"
        for one in compare(groups)
        for text in (one.numbers, one.found, one.advice)
        if text
    ]
    return [_plain(verdict(groups)), *numbers]


def _row(group: Group) -> dict[str, str]:
    outcome = outcome_of(group)
    cells = outcome.found.get("cells", math.nan)
    return {
        "preset": _plain(group.preset),
        "agent": _plain(group.agent),
        "uncertainty": _plain(group.uncertainty or ""),
        "access": group.access,
        "variant": _plain(group.variant or ""),
        "settings": _plain(group.detail),
        "seeds": outcome.seeds_text,
        "queries": formatting.span(outcome.queries),
        "final return": outcome.final_text,
        "best": formatting.number(outcome.best),
        "rewarded queries": formatting.count(outcome.positive_rewards),
        "first reward": outcome.first_reward_text,
        "cells": "" if math.isnan(cells) else formatting.count(cells),
        "queries to target": outcome.target_text,
        "normalised AUC": outcome.area_text,
        "queries/s": formatting.count(outcome.queries_per_second),
    }


def _plain(text: str) -> str:
    """Return text that Markdown shows as it stands, in a table too."""
    for special in "\\|`*_<>[":
        text = text.replace(special, "\\" + special)
    return " ".join(text.split())


def _code(text: str) -> str:
    return "`" + " ".join(text.replace("`", "'").split()) + "`"
