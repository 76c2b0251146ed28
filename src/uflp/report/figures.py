"""The paper's figures and tables, drawn from the runs that `uflp.experiments.figures` names."""

from __future__ import annotations

import csv
import dataclasses
import io
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from uflp.experiments.figures import Figure as Plan
from uflp.experiments.jobs import Job
from uflp.report import formatting
from uflp.report.curves import (
    FAINT,
    SIZE,
    Reference,
    add_legend,
    add_note,
    draw,
    learning_curves,
    new_figure,
    note,
    render,
    style,
    tidy,
)
from uflp.report.groups import NAMES, Group
from uflp.report.provenance import PROVENANCE, of_runs, with_entry
from uflp.report.runs import RETURN, RunRecord, read_runs
from uflp.report.statistics import (
    FINAL_EVALUATIONS,
    final_score,
    interval_kind,
    mean_interval,
    normalised_auc,
    power_law_exponent,
    queries_to_target,
)
from uflp.report.style import colours_of, label_of, measure_of, scale_colours, title_of
from uflp.report.writing import KINDS, write_files
from uflp.types import UsageError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SHORT = {"batch": "B", "size": "N"}


def write_figure(name: str, plan: Plan, jobs: Sequence[Job], out: Path, command: str) -> Path:
    """Write a figure: PNG and SVG, or Markdown for a table; its numbers as CSV; its provenance.

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
    if plan.kind in ("finals", "maxima"):
        text, numbers = (finals if plan.kind == "finals" else maxima)(plan, series)
        shown = out / f"{name}.md"
        files = {shown: text.encode()}
    else:
        files = pictures(name, plan, series, out)
        shown, numbers = out / f"{name}.png", _evaluations(plan, series)
    files[out / f"{name}.csv"] = numbers.encode()
    files[out / PROVENANCE] = with_entry(out / PROVENANCE, name, of_runs(command, jobs, finished))
    write_files(files, shown)
    return shown


def pictures(name: str, plan: Plan, series: Sequence[Series], out: Path) -> dict[Path, bytes]:
    """Return the files of a figure's picture by their paths: PNG and SVG."""
    with style():
        picture = {"curves": curves, "auc": auc, "scaling": scaling}[plan.kind](plan, series)
    return {out / f"{name}.{kind}": render(picture, kind) for kind in KINDS}


def _evaluations(plan: Plan, series: Sequence[Series]) -> str:
    """Return every evaluation of every run as CSV."""
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
            start = [*([group.preset] if several else []), *names, run.seed]
            for queries, value, *counts in zip(*(run.metrics[c] for c in columns), strict=True):
                writer.writerow([*start, int(queries), f"{value:.6g}", *map(int, counts)])
    return text.getvalue()


class Series(NamedTuple):
    """The seeds of one line on one preset, at one value of each swept setting.

    Attributes:
        values: of the swept settings, in order of the figure's keys.
        group: the runs.
    """

    values: tuple[Any, ...]
    group: Group


def gather(plan: Plan, jobs: Sequence[Job]) -> list[Series]:
    """Read the runs of a figure, all finished, and group them."""
    runs, _ = read_runs([job.folder for job in jobs])
    by_path = {run.path.resolve(): run for run in runs}
    grouped: dict[tuple[tuple[Any, ...], tuple[Any, ...]], list[RunRecord]] = {}
    for job in jobs:
        names, values = job.settings.names(), job.settings.values()
        key = tuple(names[name] for name in NAMES), tuple(values[name] for name in plan.keys)
        grouped.setdefault(key, []).append(by_path[job.folder.resolve()])
    series = []
    for (own, swept), members in grouped.items():
        detail = values_text(dict(zip(plan.keys, swept, strict=True)))
        group = Group(**dict(zip(NAMES, own, strict=True)), detail=detail, runs=tuple(members))
        series.append(Series(swept, group))
    return series


def values_text(values: Mapping[str, Any]) -> str:
    """Return values of settings as a legend shows them: `p_init = 0.1, B = 8`."""
    return ", ".join(
        f"{_SHORT.get(key, key)} = {'whole history' if value is None else value}"
        for key, value in values.items()
    )


def curves(plan: Plan, series: Sequence[Series]) -> Figure:
    """Draw the measure over queries."""
    groups = [one.group for one in series]
    if plan.panels is not None:
        return _panels(plan, groups)
    return learning_curves(
        groups,
        title=plan.title,
        references=_references(plan, groups),
        column=plan.measure,
    )


def _panels(plan: Plan, groups: Sequence[Group]) -> Figure:
    """Draw the curves of each agent, or of each preset, on axes of their own."""
    by_agent = plan.panels == "agent"
    parts: dict[str, list[Group]] = {}
    for group in groups:
        title = label_of(group.agent, group.variant) if by_agent else title_of(group.preset)
        parts.setdefault(title, []).append(group)
    picture = new_figure((2 * SIZE[0] * 0.75, 2 * SIZE[1] * 0.72))
    grid = picture.subplots(2, 2, sharex=by_agent, sharey=by_agent).ravel()
    end = max(run.queries for group in groups for run in group.runs)
    for axes, (title, members) in zip(grid, parts.items(), strict=True):
        handles = draw(
            axes,
            members,
            references=_references(plan, members),
            column=plan.measure,
            shades=scale_colours(len(members)) if by_agent else None,
            until=end if by_agent else None,
        )
        axes.set_title(title, loc="left")
        if by_agent:
            axes.label_outer()
            for handle, group in zip(handles, members, strict=True):
                handle.set_label(group.detail)
    add_note(grid[-1], note(groups, plan.measure, end if by_agent else None))
    # One legend does for all panels: they show the same lines in the same colours.
    add_legend(picture, handles, "outside lower center")
    picture.suptitle(plan.title, x=0.01, ha="left", fontweight="bold")
    return picture


def auc(plan: Plan, series: Sequence[Series]) -> Figure:
    """Draw the area under the curves against the first swept setting, a line to the others."""
    from matplotlib.lines import Line2D

    picture = new_figure(SIZE)
    axes = picture.add_subplot()
    first, *others = plan.keys
    by_line: dict[tuple[str, str | None, tuple[Any, ...]], list[Series]] = {}
    for one in series:
        names = (one.group.agent, one.group.variant, one.values[1:])
        by_line.setdefault(names, []).append(one)
    own = colours_of(line.agent for line in plan.lines)
    shades = scale_colours(len(by_line))
    handles = []
    for ((agent, variant, values), members), shade in zip(by_line.items(), shades, strict=True):
        areas = [[_area(run, plan.measure) for run in one.group.runs] for one in members]
        x = [one.values[0] for one in members]
        colour = shade if others else own[agent]
        label = (
            values_text(dict(zip(others, values, strict=True)))
            if others
            else label_of(agent, variant)
        )
        _draw_areas(axes, x, areas, colour)
        handles.append(Line2D([], [], marker="o", color=colour, label=label))
    axes.update_datalim([(x[0], 0)])  # Differences are seen against the whole.
    axes.autoscale_view()
    axes.set_xlabel(first)
    axes.set_ylabel(f"normalised AUC, {measure_of(plan.measure)}")
    only = f" ({label_of(*own)})" if len(own) == 1 else ""
    axes.set_title(f"{plan.title}{only}", loc="left", fontweight="bold")
    tidy(axes)
    add_note(axes, formatting.seeds_drawn([len(one.group.runs) for one in series]))
    add_legend(picture, handles)
    return picture


def _draw_areas(
    axes: Axes, x: Sequence[Any], areas: Sequence[Sequence[float]], colour: str
) -> None:
    """Draw areas over a setting: as in curves, the mean and its interval, or the seeds.

    The dots of a seed are joined by a faint line, which separates the dots of agents.

    Args:
        axes: to draw on.
        x: the values of the setting.
        areas: for each of them, one a seed.
        colour: to draw in.
    """
    kind = interval_kind(min(map(len, areas)))
    if kind != "bootstrap":
        for one in itertools.zip_longest(*areas, fillvalue=math.nan):
            axes.plot(x, one, "o", color=colour, alpha=0.6, markersize=6 if kind == "none" else 4)
            axes.plot(x, one, color=colour, alpha=0.3, linewidth=1)
    if kind == "none":
        return
    intervals = [mean_interval(seeds) for seeds in areas]
    axes.plot(x, [one.mean for one in intervals], marker="o", color=colour)
    if kind == "bootstrap":
        low, high = [one.low for one in intervals], [one.high for one in intervals]
        axes.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0)


def scaling(plan: Plan, series: Sequence[Series]) -> Figure:
    """Draw queries to the target against size, with a power law through them."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    picture = new_figure(SIZE)
    axes = picture.add_subplot()
    ((agent, variant),) = {(one.group.agent, one.group.variant) for one in series}
    colour = colours_of([agent])[agent]
    sizes = np.array([one.values[0] for one in series], float)
    needed = [[_needed(run) for run in one.group.runs] for one in series]
    solved = [np.array(n)[np.isfinite(n)] for n in needed]
    for size, each in zip(sizes, solved, strict=True):
        axes.plot(np.full(len(each), size), each, "o", color=colour, alpha=0.45, markersize=6)
    centres = np.array([np.exp(np.log(n).mean()) if len(n) else np.nan for n in solved])
    known = np.isfinite(centres)
    exponent = fit_exponent(series)
    if exponent is not None:
        scale = np.exp(np.mean(np.log(centres[known]) - exponent.mean * np.log(sizes[known])))
        text = f"fitted N^{exponent.mean:.2f}  {_exponent_text(exponent)}"
        axes.plot(sizes, scale * sizes**exponent.mean, color=colour, label=text)
    axes.plot(sizes, sizes * (sizes + 1), color=FAINT, linestyle=":", label="floor N(N + 1)")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.xaxis.set_major_locator(FixedLocator(list(sizes)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: formatting.short(value)))
    axes.set_xlabel("size N")
    axes.set_ylabel("queries to the target return")
    axes.set_title(f"{plan.title} ({label_of(agent, variant)})", loc="left", fontweight="bold")
    tidy(axes)
    axes.legend(frameon=False, loc="upper left")
    return picture


class Exponent(NamedTuple):
    """Exponent by which queries to the target grow with size, with its interval over seeds.

    Attributes:
        mean: over seeds.
        low: end of its interval, NaN where there are too few seeds for one.
        high: likewise.
        slopes: the exponent of each seed.
    """

    mean: float
    low: float
    high: float
    slopes: tuple[float, ...]

    @property
    def seeds(self) -> int:
        """Number of seeds."""
        return len(self.slopes)


def fit_exponent(series: Sequence[Series]) -> Exponent | None:
    """Fit queries = c·N^k by least squares in logarithms, a seed at a time.

    A seed counts if it reached the target at two sizes or more; None if no seed did.
    """
    points: dict[int, list[tuple[float, float]]] = {}
    for (size,), group in series:
        for run in group.runs:
            needed = _needed(run)
            if math.isfinite(needed):
                points.setdefault(run.seed, []).append((size, needed))
    slopes = [
        power_law_exponent(*zip(*pairs, strict=True)) for pairs in points.values() if len(pairs) > 1
    ]
    return Exponent(*mean_interval(slopes), tuple(slopes)) if slopes else None


def _exponent_text(exponent: Exponent) -> str:
    """Return the interval of the exponent and of which kind it is, or what each seed gives."""
    kind = interval_kind(exponent.seeds)
    if kind != "none":
        ends = f"[{exponent.low:.2f}, {exponent.high:.2f}]"
        return f"{ends}, 95 % {kind} interval, {exponent.seeds} seeds"
    if exponent.seeds == 1:
        return "one seed"
    return f"({', '.join(f'{slope:.2f}' for slope in exponent.slopes)}), {exponent.seeds} seeds"


def _needed(run: RunRecord) -> float:
    return queries_to_target(run.curve(), run.target if run.target is not None else math.inf)


def _area(run: RunRecord, column: str) -> float:
    return normalised_auc(run.curve(column), run.budget)


def _references(plan: Plan, groups: Sequence[Group]) -> list[Reference]:
    """Return the runs' targets where returns are shown, and the scores known of their preset."""
    targets: Mapping[float | None, None] = {}
    if plan.measure == RETURN:
        targets = {run.target: None for group in groups for run in group.runs}
    return [
        *(Reference(target, f"target {target:g}") for target in targets if target is not None),
        *(
            Reference(score, f"{label} {formatting.short(score)}", reach=False)
            for label, score in plan.known.get(groups[0].preset, ())
        ),
    ]


Numbers = dict[str, float | str]
Cells = Callable[[Group], tuple[str, Numbers]]
"""Give the cell of a group as a page shows it, and its numbers by name, NaN where unknown."""


def finals(plan: Plan, series: Sequence[Series]) -> tuple[str, str]:
    """Return the mean over seeds of each seed's final score, as Markdown and as CSV."""

    def cells(group: Group) -> tuple[str, Numbers]:
        scores = [final_score(run.curve(plan.measure)) for run in group.runs]
        kind = interval_kind(len(scores))
        return formatting.over_seeds(scores), mean_interval(scores)._asdict() | {"interval": kind}

    note = (
        f"Mean of the last {FINAL_EVALUATIONS} evaluations of each seed, or of all where there are "
        "fewer; then the mean over seeds. Of fewer than five seeds their own scores follow in "
        "round brackets; of more, the 95 % interval in square brackets: Student's t and, beside "
        "it, the percentile bootstrap up to nine seeds, the bootstrap alone from ten on."
    )
    return _tables(plan, series, cells, note)


def maxima(plan: Plan, series: Sequence[Series]) -> tuple[str, str]:
    """Return the highest value of any seed, as Markdown and as CSV."""

    def cells(group: Group) -> tuple[str, Numbers]:
        highest = max(np.nanmax(run.metrics[plan.measure]) for run in group.runs)
        return formatting.count(highest), {"maximum": float(highest)}

    note = (
        "Highest sum of unclipped rewards from the initial state to a state that any seed reached "
        "while acting, across restarts."
    )
    return _tables(plan, series, cells, note)


def _cell(value: float | str) -> str:
    if isinstance(value, str):
        return value
    return "" if math.isnan(value) else f"{value:.6g}"


def _tables(plan: Plan, series: Sequence[Series], cells: Cells, note: str) -> tuple[str, str]:
    known = list(dict.fromkeys(one.label for level in plan.known.values() for one in level))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    rows = []
    for number, (_, group) in enumerate(series):
        shown, numbers = cells(group)
        paper = plan.reported[group.preset][number % len(plan.lines)]
        scores = dict(plan.known.get(group.preset, ()))
        names = {
            "preset": group.preset,
            "agent": group.agent,
            "access": group.access,
            "uncertainty": group.uncertainty or "",
            "variant": group.variant or "",
        }
        if number == 0:
            writer.writerow([*names, "seeds", *numbers, "paper", *known])
        writer.writerow(
            [*names.values(), len(group.runs)]
            + [_cell(value) for value in numbers.values()]
            + [paper, *(f"{scores[label]:g}" if label in scores else "" for label in known)]
        )
        rows.append(
            [title_of(group.preset), label_of(group.agent, group.variant), group.access]
            + [names["uncertainty"], str(len(group.runs)), shown, paper]
            + [formatting.count(scores[label]) if label in scores else "" for label in known]
        )
    heads = ["game", "agent", "access", "uncertainty", "seeds", "here", "the paper", *known]
    table = formatting.markdown_table(heads, rows, names=4)
    return f"# {plan.title}\n\n{table}\n\n{note}\n", text.getvalue()
