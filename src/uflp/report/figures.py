"""Makes the paper's figures and tables from the runs that `uflp.experiments.figures` names."""

from __future__ import annotations

import csv
import dataclasses
import io
from collections.abc import Sequence
from pathlib import Path

from uflp.experiments.figures import Figure as Plan
from uflp.experiments.jobs import Job
from uflp.report import pictures, scores
from uflp.report.curves import render, style
from uflp.report.provenance import PROVENANCE, of_runs, with_entry
from uflp.report.runs import RETURN
from uflp.report.series import Series, gather
from uflp.report.writing import KINDS, write_files
from uflp.types import UsageError

_PICTURES = {"curves": pictures.curves, "auc": pictures.auc, "scaling": pictures.scaling}
_TABLES = {"finals": scores.finals, "maxima": scores.maxima}


def write_figure(name: str, plan: Plan, jobs: Sequence[Job], out: Path, command: str) -> Path:
    """Writes a picture as PNG and SVG, or a table as Markdown; its numbers as CSV; how it was made.

    Args:
        name: of the figure, and of the files.
        plan: what it shows.
        jobs: its runs; those that are not finished are left out, and the title says so.
        out: folder to write to.
        command: what made the runs.

    Returns:
        The PNG, or the Markdown page.

    Raises:
        UsageError: if no run is finished; then nothing is written.
    """
    finished = [job for job in jobs if job.unfinished() is None]
    if not finished:
        raise UsageError(f"none of the {len(jobs)} runs of {name} is finished in {out}")
    if len(finished) < len(jobs):
        title = f"{plan.title} ({len(finished)} of {len(jobs)} runs)"
        plan = dataclasses.replace(plan, title=title)
    series = gather(plan, finished)
    if plan.kind in _TABLES:
        text, numbers = _TABLES[plan.kind](plan, series)
        shown = out / f"{name}.md"
        files = {shown: text.encode()}
    else:
        with style():
            picture = _PICTURES[plan.kind](plan, series)
        files = {out / f"{name}.{kind}": render(picture, kind) for kind in KINDS}
        shown, numbers = out / f"{name}.png", evaluations(plan, series)
    files[out / f"{name}.csv"] = numbers.encode()
    files[out / PROVENANCE] = with_entry(out / PROVENANCE, name, of_runs(command, jobs, finished))
    write_files(files, shown)
    return shown


def evaluations(plan: Plan, series: Sequence[Series]) -> str:
    """Returns every evaluation of every run as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    columns = ["queries", RETURN, "positive_rewards"]
    first = series[0].group.runs[0]
    columns += [name for name in ("cells", "max_screen_score") if name in first.metrics]
    several = len(plan.presets) > 1
    preset = ["preset"] if several else []
    writer.writerow(
        [*preset, "agent", "uncertainty", "access", "variant", *plan.keys, "seed", *columns]
    )
    for values, group in series:
        swept = ["all" if value is None else value for value in values]
        names = [group.agent, group.uncertainty or "", group.access, group.variant or "", *swept]
        for run in group.runs:
            told = [*([group.preset] if several else []), *names, run.seed]
            for queries, value, *counts in zip(*(run.metrics[c] for c in columns), strict=True):
                writer.writerow([*told, int(queries), f"{value:.6g}", *map(int, counts)])
    return text.getvalue()
