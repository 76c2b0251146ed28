"""Ranks the combinations of a sweep."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path

from uflp.experiments.jobs import Job
from uflp.report import words
from uflp.report.runs import RunRecord, read_runs
from uflp.report.writing import write_files


def write_ranking(jobs: Sequence[Job], out: Path) -> str:
    """Writes the ranked table as Markdown, best first, and returns it.

    Combinations rank by the mean of the normalised area under the evaluation curve, which counts
    both how soon and how well an agent learns.
    """
    points = _points(jobs)
    areas = {point: [run.area for run in runs] for point, runs in points.items()}
    ranked = sorted(points, key=lambda point: statistics.fmean(areas[point]), reverse=True)
    rows = [
        "| rank | settings | area under the curve | best return | queries to target |",
        "|---|---|---|---|---|",
    ]
    for rank, point in enumerate(ranked, start=1):
        area, outcome = words.over_seeds(areas[point]), _outcome(points[point])
        rows.append(f"| {rank} | {point.name} | {area} | {outcome} |")
    text = "\n".join(rows) + "\n"
    write_files({out: text.encode()}, out)
    return text


def _points(jobs: Sequence[Job]) -> dict[Path, list[RunRecord]]:
    """Returns the runs of each combination, by its folder."""
    runs = {run.path: run for run in read_runs([job.folder for job in jobs])[0]}
    points: dict[Path, list[RunRecord]] = {}
    for job in jobs:
        if job.folder in runs:
            points.setdefault(job.folder.parent, []).append(runs[job.folder])
    return points


def _outcome(runs: Sequence[RunRecord]) -> str:
    summaries = [run.summary or {} for run in runs]
    best = statistics.mean(summary["best_return"] for summary in summaries)
    reached = [s["queries_to_target"] for s in summaries if s["queries_to_target"] is not None]
    if not reached:
        return f"{best:.3g} | none of {len(runs)}"
    return f"{best:.3g} | {statistics.median(reached):,.0f} ({len(reached)} of {len(runs)})"
