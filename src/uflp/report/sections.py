"""The section of a preset: local against online, curves, outcomes, and what was found."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from html import escape
from typing import TypeVar

from uflp.report import words
from uflp.report.charts import Chart, chart, variable
from uflp.report.comparisons import Comparison, compare
from uflp.report.curves import Reference, drawn
from uflp.report.elements import table
from uflp.report.finds import Finds, exploration, sheets
from uflp.report.groups import Group
from uflp.report.looks import FOUND, colours_of, label_of, labels, measure_of
from uflp.report.outcomes import outcome_of
from uflp.report.runs import RETURN
from uflp.report.statistics import Interval, Statistic, interval_kind

K = TypeVar("K")

_MOST_CURVES = 8


def section(
    number: int,
    preset: str,
    groups: Sequence[Group],
    references: Sequence[Reference],
    finds: Finds,
) -> str:
    """Returns the section as HTML.

    Args:
        number: of the section on the page.
        preset: its name.
        groups: its groups.
        references: lines to draw in the curves.
        finds: what runs of the groups recorded of their exploration.
    """
    comparisons = compare(groups)
    # A single comparison has its sentence at the top of the page.
    cards = "".join(_card(one, tell=len(comparisons) > 1) for one in comparisons)
    return f"""<section>
<h2>{escape(preset)}</h2>
{f'<div class="cards">{cards}</div>' if cards else ""}
{_curves(number, preset, groups, references)}
{_outcomes(groups)}
{_found(number, preset, groups)}
{exploration(groups, finds)}
{sheets(groups, finds)}
</section>
"""


def _card(comparison: Comparison, *, tell: bool) -> str:
    agent = comparison.local.agent
    colour = variable(colours_of([agent])[agent])
    label = escape(label_of(agent, comparison.local.variant))
    detail = escape(comparison.local.detail)
    improvement = comparison.improvement
    facts = ""
    if comparison.known:
        told = {"AUC difference": words.number(comparison.difference.mean)}
        told |= {name: words.ends(ends) for name, ends in comparison.intervals.items()}
        if comparison.tested:
            told["permutation test"] = words.p_value(comparison.p_value)
        rows = "".join(
            f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>\n"
            for name, value in told.items()
        )
        facts = f"""<dl>
<div><dt>P(local better)</dt><dd>{_percent(improvement)}</dd></div>
{_meter(improvement)}
{rows}</dl>"""
    return f"""<article class="card" style="--accent: var({colour})">
<h3>{label}{f" <small>{detail}</small>" if detail else ""}</h3>
{f"<p>{escape(comparison.sentence)}</p>" if tell else ""}
{facts}
{f"<p>{escape(comparison.significance)}</p>" if comparison.significance else ""}
{f"<p>{escape(comparison.found)}</p>" if comparison.found else ""}
</article>"""


def _percent(interval: Interval) -> str:
    mean, low, high = (f"{100 * value:.0f}" for value in interval)
    return f"{mean} %" if math.isnan(interval.low) else f"{mean} % [{low}, {high}]"


def _meter(interval: Interval) -> str:
    """Returns a probability with its interval on a line from 0 to 1, marked in the middle."""
    low, high = (interval.mean if math.isnan(end) else end for end in interval[1:])
    places = f"--at: {interval.mean:.4f}; --low: {low:.4f}; --high: {high:.4f}"
    return f'<div class="meter" style="{places}" aria-hidden="true"><i></i><b></b></div>'


def _curves(
    number: int, preset: str, groups: Sequence[Group], references: Sequence[Reference]
) -> str:
    statistics: list[Statistic] = ["mean"]
    if any(interval_kind(len(group.runs)) != "none" for group in groups):
        statistics.append("iqm")
    end = max(run.queries for group in groups for run in group.runs)

    def picture(kind: Statistic, members: Sequence[Group], place: int, caption: str) -> Chart:
        return chart(
            members,
            f"{kind}-{number}-{place}",
            f"Learning curves of {preset}. {caption}: {_ends(members)}.",
            references=references,
            statistic=kind,
            until=end,
        )

    def tell(kind: Statistic, members: Sequence[Group]) -> str:
        return f"{measure_of(RETURN)}, {drawn(members, kind)}"

    kinds = {kind: partial(tell, kind) for kind in statistics}
    return f"<h3>Learning curves</h3>{_charts(groups, kinds, picture)}"


def _found(number: int, preset: str, groups: Sequence[Group]) -> str:
    """Returns curves of what a simulator says was found while acting, if it says anything."""
    measured = [name for name in FOUND if any(group.curves(name) for group in groups)]
    if not measured:
        return ""

    def picture(column: str, members: Sequence[Group], place: int, caption: str) -> Chart:
        alt = f"Curves of {preset} over queries. {caption}."
        return chart(members, f"{column}-{number}-{place}", alt, column=column)

    def tell(column: str, members: Sequence[Group]) -> str:
        return f"{measure_of(column)}, {drawn(members, column=column)}"

    kinds = {name: partial(tell, name) for name in measured}
    return f"<h3>Found while acting</h3>{_charts(groups, kinds, picture)}"


def _charts(
    groups: Sequence[Group],
    kinds: Mapping[K, Callable[[Sequence[Group]], str]],
    picture: Callable[[K, Sequence[Group], int, str], Chart],
) -> str:
    """Returns pictures of each kind, in as many panels as the groups need.

    Args:
        groups: what to draw.
        kinds: what a picture of each kind shows of some groups, in words.
        picture: draws groups as a kind, given the number of the panel and the caption.
    """
    panels = _panels(groups)
    figures, legend = "", ""
    for place, (title, members) in enumerate(panels.items()):
        for kind, tell in kinds.items():
            what = tell(members)
            caption = f"{title}: {what}" if title else what[0].upper() + what[1:]
            svg, legend = picture(kind, members, place, caption)
            figures += (
                f'<figure class="chart"><figcaption>{escape(caption)}</figcaption>'
                f"{legend if title else ''}{svg}</figure>"
            )
    shared = legend if len(panels) == 1 else ""
    return f'{shared}<div class="charts">{figures}</div>'


def _panels(groups: Sequence[Group]) -> dict[str, list[Group]]:
    """Returns the groups of each picture by its title: by agent where one would be too full."""
    if len(groups) <= _MOST_CURVES:
        return {"": list(groups)}
    panels: dict[str, list[Group]] = {}
    for group in groups:
        panels.setdefault(label_of(group.agent, group.variant), []).append(group)
    return panels


def _ends(groups: Sequence[Group]) -> str:
    return "; ".join(
        f"{label} ends at {outcome_of(group).final_words}"
        for label, group in zip(labels(groups), groups, strict=True)
    )


def _outcomes(groups: Sequence[Group]) -> str:
    heads = [
        *("runs", "seeds", "queries", "final return", "IQM", "best", "queries to target"),
        *("normalised AUC", "queries/s"),
    ]
    rows = []
    for label, group in zip(labels(groups), groups, strict=True):
        outcome = outcome_of(group)
        rows.append(
            [
                label,
                outcome.seeds_words,
                words.span(outcome.queries),
                outcome.final_words,
                words.number(outcome.final_middle),
                words.number(outcome.best),
                outcome.target_words,
                outcome.area_words,
                words.count(outcome.queries_per_second),
            ]
        )
    return f"<h3>Outcomes</h3>{table('Outcomes', heads, rows)}"
