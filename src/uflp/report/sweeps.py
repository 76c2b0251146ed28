"""Ranking of the combinations of a sweep."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from uflp.experiments.jobs import Job
from uflp.report import formatting
from uflp.report.comparisons import advice, step_of
from uflp.report.groups import NAMES, Group, Outcome, outcome_of
from uflp.report.runs import RunRecord, read_runs
from uflp.report.writing import write_files


class Ranking(NamedTuple):
    """A ranked table.

    Attributes:
        heads: of its columns.
        rows: one a combination, best first.
        notes: sentences on the table as a whole.
    """

    heads: list[str]
    rows: list[list[str]]
    notes: list[str]

    def __str__(self) -> str:
        return self.markdown()

    def markdown(self) -> str:
        """Return the table as a page."""
        return "\n\n".join([formatting.markdown_table(self.heads, self.rows), *self.notes]) + "\n"


def write_ranking(jobs: Sequence[Job], out: Path) -> Ranking:
    """Write the ranked table as Markdown, and return it.

    Combinations rank by the mean of the normalised area under the evaluation curve, which counts
    both how soon and how well an agent learns; if nobody learned, by the mean of rewarded queries.
    """
    groups = _groups(jobs)
    outcomes = [outcome_of(group) for group in groups]
    step = step_of(groups)
    areas = [statistics.fmean(run.area for run in group.runs) for group in groups]
    by = areas if step == "learned" else [outcome.positive_rewards for outcome in outcomes]
    order = sorted(range(len(groups)), key=by.__getitem__, reverse=True)
    notes = []
    if step != "learned":
        notes.append(f"Nobody learned: the rank is by rewarded queries. {advice(step, groups[0])}")
    rows = [
        {"rank": str(rank), **_row(groups[number], outcomes[number])}
        for rank, number in enumerate(order, start=1)
    ]
    shown = [head for head in rows[0] if head != "cells" or any(row[head] for row in rows)]
    if len({group.uncertainty for group in groups}) > 1:
        notes.append("The uncertainty differs between the combinations.")
    else:
        shown.remove("uncertainty")
    ranking = Ranking(shown, [[row[head] for head in shown] for row in rows], notes)
    write_files({out: ranking.markdown().encode()}, out)
    return ranking


def _groups(jobs: Sequence[Job]) -> list[Group]:
    """Return the runs of each combination, called by its folder."""
    runs = {run.path: run for run in read_runs([job.folder for job in jobs])[0]}
    points: dict[Path, list[RunRecord]] = {}
    for job in jobs:
        if job.folder in runs:
            points.setdefault(job.folder.parent, []).append(runs[job.folder])
    return [
        Group(**{key: getattr(own[0], key) for key in NAMES}, detail=point.name, runs=tuple(own))
        for point, own in points.items()
    ]


def _row(group: Group, outcome: Outcome) -> dict[str, str]:
    best = statistics.fmean(float(run.curve().values.max()) for run in group.runs)
    reached = [
        queries for run in group.runs if (queries := (run.summary or {}).get("queries_to_target"))
    ]
    target = f"none of {outcome.runs}"
    if reached:
        target = f"{statistics.median(reached):,.0f} ({len(reached)} of {outcome.runs})"
    cells = outcome.found.get("cells", math.nan)
    return {
        "settings": group.detail,
        "uncertainty": group.uncertainty or "none",
        "area under the curve": formatting.over_seeds([run.area for run in group.runs]),
        "best return": f"{best:.3g}",
        "queries to target": target,
        "rewarded queries": formatting.count(outcome.positive_rewards),
        "first reward": outcome.first_reward_text,
        "cells": "" if math.isnan(cells) else formatting.count(cells),
    }
