"""Learning curves: a colour an agent, solid for local and dashed for online access.

`draw` puts groups of runs on axes, `learning_curves` makes a whole picture of one pair of axes, and
`chart` makes one as SVG for a page, whose font it takes, and whose colours in light and dark.
Matplotlib is imported only when something is drawn, and its global state is left alone.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from html import escape
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from uflp.report import formatting
from uflp.report.formatting import short
from uflp.report.groups import Group
from uflp.report.runs import RETURN
from uflp.report.statistics import Band, Curve, Statistic, band, interval_kind
from uflp.report.style import ON_DARK, colours, labels, markers, measure_of

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIZE, DPI = (8.0, 5.0), 150  # Inches, and 1200 × 750 pixels.
FAINT = "#595959"
# The seeds of a group that has too few for a mean lie over each other.
_ONE_OF_FEW = {"linewidth": 1.3, "alpha": 0.75, "markersize": 5.5}
_BEHIND_THE_MEAN = {"linewidth": 0.9, "alpha": 0.4, "zorder": 1.5}
_GOAL, _CUT = "*", "|"
"""Marks at the end of a line: its runs stopped at their goal, or were shorter than others."""
_COUNTS = ("positive_rewards", "cells", "rooms", "max_screen_score")
_CHART_SIZE = (5.5, 3.6)  # Inches: small, so that text is large enough on a phone.
_GLYPHS = {"o": "●", "s": "■", "^": "▲", "D": "◆", "v": "▼", "P": "✚", "X": "✖"}
THEME = {
    # Colours on a light page, and their replacements on a dark one.
    **ON_DARK,
    FAINT: "#A3ABB5",
    "#E4E4E4": "#2B313A",
    "#FFFFFF": "#171B21",
}


class Reference(NamedTuple):
    """A horizontal line to compare curves with.

    Attributes:
        value: where it is.
        label: its name.
        reach: whether the axis is to reach as far; else, where it does not, only the name is given.
    """

    value: float
    label: str
    reach: bool = True


def learning_curves(
    groups: Sequence[Group],
    *,
    title: str = "",
    references: Sequence[Reference] = (),
    column: str = RETURN,
) -> Figure:
    """Return a picture of the groups' learning curves with its legend.

    Args:
        groups: what to draw, in the order of the legend.
        title: of the picture.
        references: horizontal lines.
        column: of `metrics.csv`.
    """
    with style():
        figure = new_figure(SIZE)
        axes = figure.add_subplot()
        handles = draw(axes, groups, references=references, column=column)
        axes.set_title(title, loc="left", fontweight="bold")
        add_note(axes, note(groups, column))
        add_legend(figure, handles)
    return figure


def draw(
    axes: Axes,
    groups: Sequence[Group],
    *,
    references: Sequence[Reference] = (),
    column: str = RETURN,
    until: float | None = None,
    statistic: Statistic = "mean",
    shades: Sequence[str] | None = None,
) -> list[Artist]:
    """Draw each group: the mean and its 95 % interval, or the seeds where there are fewer than ten.

    Of five to nine seeds the mean is drawn over each of them: an interval would be so wide, and
    reach so far beyond what any return can be, that the seeds themselves say more. Of fewer there
    is no mean. Where all runs of a line stopped at their goal, a star marks the end, and the line
    goes on, thinner, to the end of the axis. A bar marks other ends before that. Counts start at
    zero.

    Args:
        axes: to draw on.
        groups: what to draw.
        references: horizontal lines, named at the right edge.
        column: of `metrics.csv`.
        until: last query shown; None means the furthest evaluation of any run.
        statistic: what the line is, and the interval is of, where seeds are not drawn one by one.
        shades: a colour a group; None means the agents' own.

    Returns:
        One handle a group for a legend, labelled; none for a group that lacks the column.
    """
    from matplotlib.lines import Line2D
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    end = until or max(run.queries for group in groups for run in group.runs)
    handles: list[Artist] = []
    looks = zip(groups, labels(groups), markers(groups), shades or colours(groups), strict=True)
    for group, label, marker, colour in looks:
        look: dict[str, Any] = {
            "color": colour,
            "linestyle": "-" if group.access == "local" else (0, (4, 1.6)),
            "marker": marker,
            "markersize": 7.5,
            "markeredgecolor": "white",
        }
        curves = group.curves(column)
        if not curves:
            continue
        # Markers go by distance along the line, and start apart where lines run together.
        spacing = 0.03 + 0.025 * (len(handles) % 4), 0.12
        kind = interval_kind(len(curves))
        if kind == "none":
            few = {**look, **_ONE_OF_FEW} if len(curves) > 1 else look
            for curve in curves:
                _draw_line(axes, [curve], end, statistic, spacing, few)
        else:
            mean = _draw_line(axes, curves, end, statistic, spacing, look)
            if kind == "bootstrap":
                low, high = mean.low, mean.high
                axes.fill_between(mean.queries, low, high, color=colour, alpha=0.18, linewidth=0)
            else:
                behind = {**look, **_BEHIND_THE_MEAN, "marker": None}
                for curve in curves:
                    axes.plot(curve.queries, curve.values, **behind)
        handles.append(Line2D([], [], label=label, **look))
    if column in _COUNTS:
        axes.update_datalim([(0, 0), (0, 1)])  # Also where nothing was counted.
        axes.autoscale_view()
    _draw_references(axes, references)
    axes.set_xlim(0, 1.01 * end)  # Room for a marker at the very end.
    axes.set_xlabel("simulator queries")
    axes.set_ylabel(measure_of(column))
    axes.xaxis.set_major_locator(MaxNLocator(nbins=7, steps=[1, 2, 2.5, 5, 10]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
    tidy(axes)
    return handles


def _draw_line(
    axes: Axes,
    curves: Sequence[Curve],
    end: float,
    statistic: Statistic,
    spacing: tuple[float, float],
    look: Mapping[str, Any],
) -> Band:
    """Draw one line through some curves, thinner where all of them hold their last value."""
    mean = band(curves, end, statistic)
    measured = mean.queries <= max(curve.queries[-1] for curve in curves)
    seen = {"marker": look["marker"], "markevery": spacing}
    if measured.sum() == 1:  # A line through one point cannot be seen.
        seen = {"marker": look["marker"] or "o", "markevery": None}
    axes.plot(mean.queries[measured], mean.mean[measured], **{**look, **seen})
    # Joined to the measured part by its last point.
    held = ~measured | (np.cumsum(measured) == measured.sum())
    thin = {"linewidth": 0.5 * look.get("linewidth", 2), "marker": None}
    mark = _end_mark(curves, end)
    if mark is not None:
        thin |= {"marker": mark, "markevery": [0], "markersize": 11, "markeredgecolor": None}
    axes.plot(mean.queries[held], mean.mean[held], **{**look, **thin})
    return mean


def _end_mark(curves: Sequence[Curve], end: float) -> str | None:
    """Return the mark where a line through some curves ends, None at the end of the axis."""
    if max(curve.queries[-1] for curve in curves) >= end:
        return None
    return _GOAL if all(curve.holds for curve in curves) else _CUT


def _draw_references(axes: Axes, references: Sequence[Reference]) -> None:
    """Draw lines and their names at the right edge, those beyond the axis at its top."""
    for value, _, reach in references:
        if reach:
            axes.axhline(value, color=FAINT, linewidth=1, linestyle=":", zorder=1)
    beyond = 0
    for value, name, reach in sorted(references, reverse=True):
        bottom, top = axes.get_ylim()
        inside = bottom <= value <= top
        if inside and not reach:
            axes.axhline(value, color=FAINT, linewidth=1, linestyle=":", zorder=1)
        axes.annotate(
            name if inside else f"{name} ↑",
            (1, value if inside else 1),
            xytext=(4, 0 if inside else -13 * beyond),
            xycoords=("axes fraction", "data" if inside else "axes fraction"),
            textcoords="offset points",
            va="center",
            fontsize="small",
            color=FAINT,
        )
        beyond += not inside


def new_figure(size: tuple[float, float]) -> Figure:
    """Return an empty picture of a size in inches, apart from pyplot's; to be used in `style`."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, dpi=DPI, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def add_note(axes: Axes, text: str) -> None:
    """Write what is drawn below the label of the axis: a title may be too long for it."""
    axes.annotate(
        text,
        (1, 0),
        (0, -40),
        xycoords="axes fraction",
        textcoords="offset points",
        ha="right",
        va="top",
        fontsize="small",
        color=FAINT,
    )


def drawn(groups: Sequence[Group], statistic: Statistic = "mean", *, column: str = RETURN) -> str:
    """Return what `draw` makes of the groups' seeds, in words."""
    counts = [len(group.curves(column)) for group in groups]
    return formatting.seeds_drawn([count for count in counts if count], statistic)


def ends_drawn(groups: Sequence[Group], *, column: str = RETURN, until: float | None = None) -> str:
    """Return what the marks at the ends of the groups' lines mean; empty where there are none."""
    end = until or max(run.queries for group in groups for run in group.runs)
    marks = set()
    for curves in filter(None, (group.curves(column) for group in groups)):
        few = interval_kind(len(curves)) == "none"
        marks |= {_end_mark(line, end) for line in ([[one] for one in curves] if few else [curves])}
    meanings = {_GOAL: "★ goal reached, last value held", _CUT: "| end of shorter runs"}
    return "; ".join(text for mark, text in meanings.items() if mark in marks)


def note(groups: Sequence[Group], column: str, until: float | None = None) -> str:
    """Return what a picture of groups draws, a line for the seeds and one for the ends of lines."""
    parts = drawn(groups, column=column), ends_drawn(groups, column=column, until=until)
    return "\n".join(filter(None, parts))


def tidy(axes: Axes) -> None:
    """Draw a faint grid behind the data, and no frame at the top and on the right."""
    axes.grid(color="#E4E4E4", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def add_legend(
    figure: Figure,
    handles: Sequence[Artist],
    place: Literal["outside upper center", "outside lower center"] = "outside upper center",
) -> None:
    """Put a legend above or below everything else, in as many columns as fit."""
    # Two rows put local above online, agent by agent; a third is added when the labels are long.
    for rows in range(1 if len(handles) <= 3 else 2, len(handles) + 1):
        legend = figure.legend(
            handles=list(handles),
            loc=place,
            ncols=-(-len(handles) // rows),
            frameon=False,
            fontsize=11,
            handlelength=2.4,
            handletextpad=0.6,
            columnspacing=1.3,
        )
        width = legend.get_window_extent().width
        if width <= 0.98 * figure.bbox.width or rows == len(handles):
            return
        legend.remove()


def render(figure: Figure, kind: str, *, text: bool = False) -> bytes:
    """Return a picture as the bytes of a `png` or `svg` file; equal pictures give equal bytes.

    Args:
        figure: the picture.
        kind: of file.
        text: whether words in an SVG stay text, in whatever font there is, instead of shapes.
    """
    import matplotlib

    file = io.BytesIO()
    with style(), matplotlib.rc_context({"svg.fonttype": "none" if text else "path"}):
        figure.savefig(file, format=kind, metadata={"Date": None} if kind == "svg" else None)
    return file.getvalue()


def style() -> AbstractContextManager[None]:
    """Return the look of all pictures, whatever the user's own Matplotlib settings."""
    import matplotlib.style

    own = {
        "font.size": 12,
        "axes.labelsize": 13,
        "axes.titlesize": 13,
        "axes.edgecolor": FAINT,
        "lines.linewidth": 2.2,
        "svg.hashsalt": "uflp",
        # Names of presets and folders are anybody's: a dollar sign in them begins no formula.
        "text.parse_math": False,
    }
    return matplotlib.style.context(["default", own])


class Chart(NamedTuple):
    """A picture as an SVG element, and its legend as HTML."""

    svg: str
    legend: str


def chart(
    groups: Sequence[Group],
    name: str,
    alt: str,
    *,
    references: Sequence[Reference] = (),
    statistic: Statistic = "mean",
    until: float | None = None,
    column: str = RETURN,
) -> Chart:
    """Return curves as an SVG element, and their legend as HTML.

    Args:
        groups: what to draw.
        name: of the picture, unlike that of any other on the page.
        alt: what it shows, for those who do not see it.
        references: horizontal lines.
        statistic: what the lines are.
        until: last query shown.
        column: of `metrics.csv`.
    """
    with style():
        figure = new_figure(_CHART_SIZE)
        handles = draw(
            figure.add_subplot(),
            groups,
            references=references,
            column=column,
            statistic=statistic,
            until=until,
        )
    svg = render(figure, "svg", text=True).decode()
    return Chart(_inline(svg, name, alt), _legend(handles))


def themed(text: str) -> str:
    """Return SVG or CSS with a variable in the place of every colour of the theme."""
    names = "|".join(THEME)
    return re.sub(names, lambda found: f"var({variable(found.group())})", text, flags=re.IGNORECASE)


def variable(colour: str) -> str:
    """Return the CSS variable of a colour: `--c-0072b2`."""
    return f"--c-{colour[1:].lower()}"


def _inline(svg: str, name: str, alt: str) -> str:
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
    # Sized by the page; ids of several pictures must not meet.
    svg = re.sub(r'(<svg[^>]*?) (?:width|height)="[^"]*"', r"\1", svg)
    svg = re.sub(r'(<svg[^>]*?) (?:width|height)="[^"]*"', r"\1", svg)
    svg = re.sub(r'(\sid="|url\(#|href="#)', rf"\1{name}-", svg)
    svg = svg.replace("<svg", f'<svg role="img" aria-label="{escape(alt)}"', 1)
    return themed(svg)


def _legend(handles: Sequence[Artist]) -> str:
    items = []
    for handle in handles:
        line: Any = handle
        dashes = ' stroke-dasharray="7 4"' if line.get_linestyle() != "-" else ""
        glyph = _GLYPHS.get(line.get_marker(), "")
        colour = themed(line.get_color())
        items.append(
            f'<li style="--accent: {colour}"><svg viewBox="0 0 34 14" aria-hidden="true">'
            f'<line x1="1" x2="33" y1="7" y2="7"{dashes}/>'
            f'<text x="17" y="11.5" text-anchor="middle">{glyph}</text></svg>'
            f"{escape(str(line.get_label()))}</li>"
        )
    return f'<ul class="legend">{"".join(items)}</ul>'
