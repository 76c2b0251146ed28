"""The kinds of picture that a figure can be."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from uflp.experiments.figures import Figure as Plan
from uflp.report import words
from uflp.report.curves import (
    FAINT,
    SIZE,
    Reference,
    add_legend,
    add_note,
    draw,
    drawn,
    learning_curves,
    new_figure,
    tidy,
)
from uflp.report.groups import Group
from uflp.report.looks import colours_of, label_of, measure_of, scale_colours, short, title_of
from uflp.report.runs import RETURN, RunRecord
from uflp.report.series import Series, told
from uflp.report.statistics import (
    interval_kind,
    mean_interval,
    normalised_auc,
    power_law_exponent,
    queries_to_target,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def curves(plan: Plan, series: Sequence[Series]) -> Figure:
    """Draws the measure over queries."""
    groups = [one.group for one in series]
    if plan.panels is not None:
        return _panels(plan, groups)
    return learning_curves(
        groups,
        title=plan.title,
        references=_references(plan, groups),
        column=plan.measure,
        y_label=measure_of(plan.measure),
    )


def _panels(plan: Plan, groups: Sequence[Group]) -> Figure:
    """Draws the curves of each agent, or of each preset, on axes of their own."""
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
            y_label=measure_of(plan.measure),
            shades=scale_colours(len(members)) if by_agent else None,
            until=end if by_agent else None,
        )
        axes.set_title(title, loc="left")
        if by_agent:
            axes.label_outer()
            for handle, group in zip(handles, members, strict=True):
                handle.set_label(group.detail)
    add_note(grid[-1], drawn(groups, column=plan.measure))
    # One legend does for all panels: they show the same lines in the same colours.
    add_legend(picture, handles, "outside lower center")
    picture.suptitle(plan.title, x=0.01, ha="left", fontweight="bold")
    return picture


def auc(plan: Plan, series: Sequence[Series]) -> Figure:
    """Draws the area under the curves against the first swept setting, a line to the others."""
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
        label = told(dict(zip(others, values, strict=True))) if others else label_of(agent, variant)
        _draw_areas(axes, x, areas, colour)
        handles.append(Line2D([], [], marker="o", color=colour, label=label))
    axes.set_xlabel(first)
    axes.set_ylabel(f"normalised AUC, {measure_of(plan.measure)}")
    only = f" ({label_of(*own)})" if len(own) == 1 else ""
    axes.set_title(f"{plan.title}{only}", loc="left", fontweight="bold")
    tidy(axes)
    add_note(axes, words.drawn([len(one.group.runs) for one in series]))
    add_legend(picture, handles)
    return picture


def _draw_areas(
    axes: Axes, x: Sequence[Any], areas: Sequence[Sequence[float]], colour: str
) -> None:
    """Draws areas over a setting: their mean and interval, or a dot a seed where there are few.

    The dots of a seed are joined by a faint line, by which an agent's dots are told from another's.

    Args:
        axes: to draw on.
        x: the values of the setting.
        areas: for each of them, one a seed.
        colour: to draw in.
    """
    if interval_kind(min(map(len, areas))) == "none":
        for one in itertools.zip_longest(*areas, fillvalue=math.nan):
            axes.plot(x, one, "o", color=colour, alpha=0.6, markersize=6)
            axes.plot(x, one, color=colour, alpha=0.3, linewidth=1)
        return
    intervals = [mean_interval(seeds) for seeds in areas]
    axes.plot(x, [one.mean for one in intervals], marker="o", color=colour)
    low, high = [one.low for one in intervals], [one.high for one in intervals]
    axes.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0)


def scaling(plan: Plan, series: Sequence[Series]) -> Figure:
    """Draws queries to the target against size, with a power law through them."""
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
        text = f"fitted N^{exponent.mean:.2f}  {_exponent_words(exponent)}"
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
    axes.set_title(f"{plan.title} ({label_of(agent, variant)})", loc="left", fontweight="bold")
    tidy(axes)
    axes.legend(frameon=False, loc="upper left")
    return picture


class Exponent(NamedTuple):
    """How queries to the target grow with size: the exponent, with its interval over seeds.

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
        """How many seeds there are."""
        return len(self.slopes)


def fit_exponent(series: Sequence[Series]) -> Exponent | None:
    """Fits queries = c·N^k by least squares in logarithms, a seed at a time.

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


def _exponent_words(exponent: Exponent) -> str:
    """Returns the interval of the exponent and of which kind it is, or what each seed gives."""
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
    """Returns the runs' targets where returns are shown, and the scores known of their preset."""
    targets: Mapping[float | None, None] = {}
    if plan.measure == RETURN:
        targets = {run.target: None for group in groups for run in group.runs}
    return [
        *(Reference(target, f"{target:g}") for target in targets if target is not None),
        *(
            Reference(score, f"{label} {short(score)}", reach=False)
            for label, score in plan.known.get(groups[0].preset, ())
        ),
    ]
