"""The kinds of table that a figure can be: scores of agents in games, one to a row."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Sequence

import numpy as np

from uflp.experiments.figures import Figure as Plan
from uflp.report import words
from uflp.report.groups import Group
from uflp.report.looks import label_of, title_of
from uflp.report.runs import RunRecord
from uflp.report.series import Series
from uflp.report.statistics import interval_kind, mean_interval

EVALUATIONS = 30
"""Evaluations at the end of a run whose mean is its final score."""

Numbers = dict[str, float | str]
Cells = Callable[[Group], tuple[str, Numbers]]
"""What a group comes to: as a page shows it, and as numbers by name, NaN where there is none."""


def finals(plan: Plan, series: Sequence[Series]) -> tuple[str, str]:
    """Returns the mean over seeds of each seed's final score, as Markdown and as CSV."""

    def cells(group: Group) -> tuple[str, Numbers]:
        scores = [final_score(run, plan.measure) for run in group.runs]
        kind = interval_kind(len(scores))
        return words.over_seeds(scores), mean_interval(scores)._asdict() | {"interval": kind}

    note = (
        f"Mean of the last {EVALUATIONS} evaluations of each seed, or of all where there are "
        "fewer; then the mean over seeds. Of fewer than five seeds their own scores follow in "
        "round brackets; of more, the 95 % interval in square brackets: Student's t and, beside "
        "it, the percentile bootstrap up to nine seeds, the bootstrap alone from ten on."
    )
    return _tables(plan, series, cells, note)


def maxima(plan: Plan, series: Sequence[Series]) -> tuple[str, str]:
    """Returns the highest value of any seed, as Markdown and as CSV."""

    def cells(group: Group) -> tuple[str, Numbers]:
        highest = max(np.nanmax(run.metrics[plan.measure]) for run in group.runs)
        return words.count(highest), {"maximum": float(highest)}

    note = (
        "Highest sum of unclipped rewards from the initial state to a state that any seed reached "
        "while acting, across restarts."
    )
    return _tables(plan, series, cells, note)


def final_score(run: RunRecord, column: str) -> float:
    """Returns the mean of a run's last evaluations."""
    return float(run.curve(column).values[-EVALUATIONS:].mean())


def _cell(value: float | str) -> str:
    if isinstance(value, str):
        return value
    return "" if math.isnan(value) else f"{value:.6g}"


def _tables(plan: Plan, series: Sequence[Series], cells: Cells, note: str) -> tuple[str, str]:
    known = list(dict.fromkeys(one.label for level in plan.known.values() for one in level))
    heads = ["game", "agent", "access", "uncertainty", "seeds", "here", "the paper", *known]
    page = [heads, ["---"] * 4 + ["---:"] * (len(heads) - 4)]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for number, (_, group) in enumerate(series):
        shown, numbers = cells(group)
        paper = plan.reported[group.preset][number % len(plan.lines)]
        scores = dict(plan.known.get(group.preset, ()))
        names = [group.agent, group.access, group.uncertainty or "", group.variant or ""]
        if number == 0:
            columns = [
                "preset",
                "agent",
                "access",
                "uncertainty",
                "variant",
                "seeds",
                *numbers,
                "paper",
            ]
            writer.writerow([*columns, *known])
        writer.writerow(
            [group.preset, *names, len(group.runs)]
            + [_cell(value) for value in numbers.values()]
            + [paper, *(f"{scores[label]:g}" if label in scores else "" for label in known)]
        )
        page.append(
            [
                title_of(group.preset),
                label_of(group.agent, group.variant),
                *names[1:3],
                str(len(group.runs)),
            ]
            + [shown, paper]
            + [words.count(scores[label]) if label in scores else words.NONE for label in known]
        )
    table = "\n".join(f"| {' | '.join(word or words.NONE for word in row)} |" for row in page)
    return f"# {plan.title}\n\n{table}\n\n{note}\n", text.getvalue()
