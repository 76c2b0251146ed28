"""The section of a preset: local against online, curves, outcomes, and exploration."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

from uflp.report import words
from uflp.report.charts import chart, variable
from uflp.report.comparisons import Comparison, compare
from uflp.report.curves import Reference
from uflp.report.elements import embedded, table
from uflp.report.explored import animation, last_frame, stills
from uflp.report.groups import Group
from uflp.report.looks import colours_of, label_of, labels
from uflp.report.outcomes import outcome_of
from uflp.report.runs import RunRecord
from uflp.report.statistics import Interval, Statistic
from uflp.training.exploration import Explored

_MOST_CURVES = 8


def section(
    number: int,
    preset: str,
    groups: Sequence[Group],
    references: Sequence[Reference],
    explored: Mapping[Group, tuple[RunRecord, Explored]],
) -> str:
    """Returns the section as HTML.

    Args:
        number: of the section on the page.
        preset: its name.
        groups: its groups.
        references: lines to draw in the curves.
        explored: for groups that have one, a run and the record of its exploration.
    """
    comparisons = compare(groups)
    # A single comparison has its sentence at the top of the page.
    cards = "".join(_card(one, tell=len(comparisons) > 1) for one in comparisons)
    return f"""<section>
<h2>{escape(preset)}</h2>
{f'<div class="cards">{cards}</div>' if cards else ""}
{_curves(number, preset, groups, references)}
{_outcomes(groups)}
{_exploration(groups, explored)}
</section>
"""


def _card(comparison: Comparison, *, tell: bool) -> str:
    agent = comparison.local.agent
    colour = variable(colours_of([agent])[agent])
    variant = comparison.local.variant
    improvement = comparison.improvement
    facts = ""
    if not math.isnan(improvement.mean):
        facts = f"""<dl>
<div><dt>P(local better)</dt><dd>{_percent(improvement)}</dd></div>
{_meter(improvement)}
<div><dt>AUC difference</dt><dd>{escape(words.interval(comparison.difference))}</dd></div>
</dl>"""
    return f"""<article class="card" style="--accent: var({colour})">
<h3>{escape(label_of(agent))}{f" <small>{escape(variant)}</small>" if variant else ""}</h3>
{f"<p>{escape(comparison.sentence)}</p>" if tell else ""}
{facts}
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
    panels = _panels(groups)
    end = max(run.queries for group in groups for run in group.runs)
    statistics: dict[Statistic, str] = {"mean": "mean over seeds"}
    if any(len(group.runs) >= 4 for group in groups):
        statistics["iqm"] = "interquartile mean over seeds"
    figures, legend = "", ""
    for title, members in panels.items():
        for statistic, what in statistics.items():
            caption = f"{title}: {what}" if title else what.capitalize()
            svg, legend = chart(
                members,
                f"{statistic}-{number}-{list(panels).index(title)}",
                f"Learning curves of {preset}. {caption}: {_ends(members)}.",
                references=references,
                statistic=statistic,
                until=end,
            )
            figures += (
                f'<figure class="chart"><figcaption>{escape(caption)}</figcaption>'
                f"{legend if title else ''}{svg}</figure>"
            )
    shared = legend if len(panels) == 1 else ""
    return f'<h3>Learning curves</h3>{shared}<div class="charts">{figures}</div>'


def _panels(groups: Sequence[Group]) -> dict[str, list[Group]]:
    """Returns the groups of each picture by its title: by agent where one would be too full."""
    if len(groups) <= _MOST_CURVES:
        return {"": list(groups)}
    panels: dict[str, list[Group]] = {}
    for group in groups:
        panels.setdefault(label_of(group.agent), []).append(group)
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
                words.interval(outcome.area),
                words.count(outcome.queries_per_second),
            ]
        )
    return f"<h3>Outcomes</h3>{table('Outcomes', heads, rows)}"


def _exploration(
    groups: Sequence[Group], explored: Mapping[Group, tuple[RunRecord, Explored]]
) -> str:
    cards = [
        _explored(f"{label}, seed {explored[group][0].seed}", explored[group][1])
        for label, group in zip(labels(groups), groups, strict=True)
        if group in explored
    ]
    if not cards:
        return ""
    return f"""<h3>Exploration</h3>
<p class="faint">Brighter means more, on a logarithmic scale. In the animations, white dots are
restarts, and the bar below is time.</p>
<div class="explored">{"".join(cards)}</div>"""


def _explored(label: str, explored: Explored) -> str:
    pictures = stills(explored)
    last = pictures[-1]
    restarts = int(explored.restarts.sum())
    height, width = explored.visits.shape[1:]
    size = f'width="{width}" height="{height}"'
    told = f"{label}: {last.cells:,} cells visited in {last.queries:,} queries"
    told += f", {restarts:,} restarts" if restarts else ", no restarts"
    strips = [("visits", [still.visits for still in pictures])]
    if restarts:
        strips.append(("restarts", [still.restarts or b"" for still in pictures]))
    rows = ""
    for kind, images in strips:
        cells = "".join(
            f'<figure><img {size} src="{embedded(image, "png")}" '
            f'alt="{escape(f"{kind.capitalize()} of {label}")} after {still.queries:,} queries">'
            f"<figcaption>{still.queries:,}</figcaption></figure>"
            for still, image in zip(pictures, images, strict=True)
        )
        rows += f'<p class="kind">{kind} after … queries</p><div class="strip">{cells}</div>'
    return f"""<article class="card wide">
<h4>{escape(label)}</h4>
<p>{escape(told.removeprefix(f"{label}: ").capitalize())}.</p>
<picture><source media="(prefers-reduced-motion: reduce)"
srcset="{embedded(last_frame(explored), "png")}"><img class="film" {size}
src="{embedded(animation(explored), "gif")}" alt="{escape(f"Animation of {told}")}"></picture>
{rows}
<p class="kind">{escape(_axes(explored))}</p>
</article>"""


def _axes(explored: Explored) -> str:
    (down, across), ((top, bottom), (left, right)) = explored.axes, explored.edges.tolist()
    return f"Down: {down}, {top:.3g} to {bottom:.3g}. Across: {across}, {left:.3g} to {right:.3g}."
