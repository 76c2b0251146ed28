"""Curves as SVG inside a page: they take its font, and its colours in light and dark."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

from uflp.report.curves import FAINT, Reference, draw, new_figure, render, style
from uflp.report.groups import Group
from uflp.report.looks import ON_DARK, measure_of
from uflp.report.runs import RETURN
from uflp.report.statistics import Statistic

if TYPE_CHECKING:
    from matplotlib.artist import Artist

_SIZE = (5.5, 3.6)  # Inches: text of this size is read on a phone, and not shouted on a desk.
_GLYPHS = {"o": "●", "s": "■", "^": "▲", "D": "◆", "v": "▼", "P": "✚", "X": "✖"}
THEME = {
    # Colours on a light page, and what takes their place on a dark one.
    **ON_DARK,
    FAINT: "#A3ABB5",
    "#E4E4E4": "#2B313A",
    "#FFFFFF": "#171B21",
}


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
    """Returns curves as an SVG element, and their legend as HTML.

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
        figure = new_figure(_SIZE)
        handles = draw(
            figure.add_subplot(),
            groups,
            references=references,
            column=column,
            y_label=measure_of(column),
            statistic=statistic,
            until=until,
        )
    svg = render(figure, "svg", text=True).decode()
    return Chart(_inline(svg, name, alt), _legend(handles))


def themed(text: str) -> str:
    """Returns SVG or CSS with a variable in the place of every colour of the theme."""
    names = "|".join(THEME)
    return re.sub(names, lambda found: f"var({variable(found.group())})", text, flags=re.IGNORECASE)


def variable(colour: str) -> str:
    """Returns the CSS variable of a colour: `--c-0072b2`."""
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
