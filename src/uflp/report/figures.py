"""Draws the paper's figures from the runs that `uflp.experiments.figures` names."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from uflp.experiments.figures import Figure as Plan
from uflp.experiments.jobs import Job
from uflp.report.curves import (
    FAINT,
    SIZE,
    Reference,
    add_legend,
    draw,
    learning_curves,
    new_figure,
    render,
    style,
    tidy,
)
from uflp.report.groups import Group
from uflp.report.looks import colours_of, label_of, scale_colours, short
from uflp.report.runs import RETURN, RunRecord, read_runs
from uflp.report.statistics import mean_interval, queries_to_target
from uflp.report.writing import KINDS, write_files

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Series(NamedTuple):
    """The runs of one agent, with one kind of access, at one value of the figure's key."""

    agent: str
    access: str
    value: Any
    group: Group


def write_figure(name: str, plan: Plan, jobs: Sequence[Job], out: Path) -> Path:
    """Draws a figure into `out` as PNG and SVG, with its numbers as CSV; returns the PNG.

    Args:
        name: of the figure, and of the files.
        plan: what it shows.
        jobs: its runs, all finished.
        out: folder to write to.
    """
    series = gather(plan, jobs)
    with style():
        picture = {"curves": _curves, "auc": _auc, "scaling": _scaling}[plan.kind](plan, series)
    files = {out / f"{name}.{kind}": render(picture, kind) for kind in KINDS}
    files[out / f"{name}.csv"] = table(plan, series).encode()
    write_files(files, out / f"{name}.png")
    return out / f"{name}.png"


def gather(plan: Plan, jobs: Sequence[Job]) -> list[Series]:
    """Reads the runs of a figure and groups them by what its lines and points are."""
    runs, _ = read_runs([job.folder for job in jobs])
    by_path = {run.path.resolve(): run for run in runs}
    grouped: dict[tuple[str, str, Any], list[RunRecord]] = {}
    for job in jobs:
        values = job.settings.values()
        value = values[plan.key] if plan.key else None
        key = (job.settings.agent, job.settings.access, value)
        grouped.setdefault(key, []).append(by_path[job.folder.resolve()])
    return [
        Series(agent, access, value, _group(plan, agent, access, value, runs))
        for (agent, access, value), runs in grouped.items()
    ]


def table(plan: Plan, series: Sequence[Series]) -> str:
    """Returns every evaluation of every run as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    key = [plan.key] if plan.key else []
    columns = ["queries", RETURN, "positive_rewards"]
    writer.writerow(["agent", "uncertainty", "access", *key, "seed", *columns])
    for one in series:
        for run in one.group.runs:
            value = ["all" if one.value is None else one.value] if plan.key else []
            names = [one.agent, run.uncertainty or "", one.access, *value, run.seed]
            for row in zip(*(run.metrics[column] for column in columns), strict=True):
                writer.writerow([*names, int(row[0]), f"{row[1]:.6g}", int(row[2])])
    return text.getvalue()


class Exponent(NamedTuple):
    """How queries to the target grow with size: the exponent, with its interval over seeds."""

    mean: float
    low: float
    high: float
    seeds: int


def fit_exponent(series: Sequence[Series]) -> Exponent | None:
    """Fits queries = c·N^k by least squares in logarithms, a seed at a time.

    A seed counts if it reached the target at two sizes or more; None if no seed did.
    """
    points: dict[int, list[tuple[float, float]]] = {}
    for one in series:
        for run in one.group.runs:
            needed = _needed(run)
            if math.isfinite(needed):
                points.setdefault(run.seed, []).append((math.log(one.value), math.log(needed)))
    slopes = [_slope(np.array(pairs)) for pairs in points.values() if len(pairs) > 1]
    return Exponent(*mean_interval(slopes), len(slopes)) if slopes else None


def _slope(points: np.ndarray) -> float:
    return float(np.polyfit(points[:, 0], points[:, 1], 1)[0])


def _curves(plan: Plan, series: Sequence[Series]) -> Figure:
    groups = [one.group for one in series]
    references = _targets(groups)
    if not plan.panels:
        return learning_curves(groups, title=plan.title, references=references)
    picture = new_figure((2 * SIZE[0] * 0.75, 2 * SIZE[1] * 0.72))
    grid = picture.subplots(2, 2, sharex=True, sharey=True).ravel()
    end = max(run.queries for group in groups for run in group.runs)
    for axes, agent in zip(grid, plan.agents, strict=True):
        members = [one.group for one in series if one.agent == agent]
        shades = scale_colours(len(members))
        handles = draw(axes, members, references=references, shades=shades, until=end)
        for handle, group in zip(handles, members, strict=True):
            handle.set_label(group.variant)
        axes.set_title(label_of(agent), loc="left")
        axes.label_outer()
    # One legend does for all panels: they show the same values in the same colours.
    add_legend(picture, handles, "outside lower center")
    picture.suptitle(plan.title, x=0.01, ha="left", fontweight="bold")
    return picture


def _auc(plan: Plan, series: Sequence[Series]) -> Figure:
    picture = new_figure(SIZE)
    axes = picture.add_subplot()
    colours = colours_of(plan.agents)
    handles = []
    for agent in plan.agents:
        own = [one for one in series if one.agent == agent]
        intervals = [mean_interval([run.area for run in one.group.runs]) for one in own]
        x = [one.value for one in own]
        (line,) = axes.plot(
            x, [i.mean for i in intervals], marker="o", color=colours[agent], label=label_of(agent)
        )
        axes.fill_between(
            x,
            [i.low for i in intervals],
            [i.high for i in intervals],
            color=colours[agent],
            alpha=0.18,
            linewidth=0,
        )
        handles.append(line)
    axes.set_xlabel(str(plan.key))
    axes.set_ylabel("normalised area under the curve")
    axes.set_title(plan.title, loc="left", fontweight="bold")
    tidy(axes)
    add_legend(picture, handles)
    return picture


def _scaling(plan: Plan, series: Sequence[Series]) -> Figure:
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    picture = new_figure(SIZE)
    axes = picture.add_subplot()
    colour = colours_of(plan.agents)[plan.agents[0]]
    sizes = np.array([one.value for one in series], float)
    needed = [[_needed(run) for run in one.group.runs] for one in series]
    solved = [np.array(n)[np.isfinite(n)] for n in needed]
    for size, each in zip(sizes, solved, strict=True):
        axes.plot(np.full(len(each), size), each, "o", color=colour, alpha=0.45, markersize=6)
    centres = np.array([np.exp(np.log(n).mean()) if len(n) else np.nan for n in solved])
    known = np.isfinite(centres)
    exponent = fit_exponent(series)
    if exponent is not None:
        scale = np.exp(np.mean(np.log(centres[known]) - exponent.mean * np.log(sizes[known])))
        text = f"fitted $N^{{{exponent.mean:.2f}}}$"
        if math.isfinite(exponent.low):
            text += f"  [{exponent.low:.2f}, {exponent.high:.2f}], {exponent.seeds} seeds"
        axes.plot(sizes, scale * sizes**exponent.mean, color=colour, label=text)
    axes.plot(sizes, sizes * (sizes + 1), color=FAINT, linestyle=":", label="floor N(N + 1)")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.xaxis.set_major_locator(FixedLocator(list(sizes)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
    axes.set_xlabel("size N")
    axes.set_ylabel("queries to the target return")
    axes.set_title(f"{plan.title} ({label_of(plan.agents[0])})", loc="left", fontweight="bold")
    tidy(axes)
    axes.legend(frameon=False)
    return picture


def _group(plan: Plan, agent: str, access: str, value: Any, runs: Sequence[RunRecord]) -> Group:
    names = {"batch": "B", "p_init": "p_init", "size": "N"}
    variant = ""
    if plan.key:
        shown = "whole history" if value is None else value
        variant = f"{names.get(plan.key, plan.key)} = {shown}"
    return Group(plan.preset, agent, runs[0].uncertainty, access, variant, tuple(runs))


def _needed(run: RunRecord) -> float:
    return queries_to_target(run.curve(), run.target if run.target is not None else math.inf)


def _targets(groups: Sequence[Group]) -> list[Reference]:
    targets: Mapping[float | None, None] = {run.target: None for g in groups for run in g.runs}
    return [Reference(target, f"{target:g}") for target in targets if target is not None]
