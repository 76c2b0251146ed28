"""The report as one HTML page that needs nothing else: pictures and style are inside it."""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

from uflp.report import words
from uflp.report.charts import THEME, chart, variable
from uflp.report.comparisons import Comparison, compare, verdict
from uflp.report.configurations import common_settings, differing_settings
from uflp.report.curves import Reference
from uflp.report.explored import animation, last_frame, stills
from uflp.report.groups import Group
from uflp.report.looks import colours_of, label_of, labels
from uflp.report.outcomes import outcome_of
from uflp.report.runs import RunRecord, Skipped
from uflp.training.exploration import Explored

HEADING = '<!doctype html>\n<html lang="en" data-page="uflp report">'
"""The first lines of every report, by which an older one is recognised."""

_NOTES = (
    "Square brackets and bands hold 95 % intervals: percentile bootstrap over seeds, always with "
    "the same random numbers. With few seeds they are too narrow.",
    "IQM is the interquartile mean: the mean of what is left after dropping ⌊n/4⌋ seeds at either "
    "end. With fewer than four seeds it is the mean.",
    "Queries are steps of the training simulator; evaluation does not count.",
    "Final return is the last evaluation of runs that spent their budget or stopped at their goal; "
    "if there is none, that of the others, marked “so far”. Best is the highest evaluation of any "
    "seed.",
    "Queries to target is the median over seeds of the first evaluation to reach the target "
    "return; a seed that never did counts as infinitely many. In brackets, how many reached it.",
    "Normalised AUC is the area under the evaluation curve over the budget, divided by the budget. "
    "A run that stopped at its goal keeps its last value; one that was cut short has no area.",
    "P(local better) is the probability that a random local seed has a larger normalised AUC than "
    "a random online seed, ties counting one half.",
    "Lines go on thinly where every seed has stopped at its goal.",
)


def page(
    presets: Mapping[str, Sequence[Group]],
    references: Mapping[str, Sequence[Reference]],
    explored: Mapping[Group, tuple[RunRecord, Explored]],
    skipped: Sequence[Skipped],
) -> str:
    """Returns the text of the page.

    Args:
        presets: groups of runs by preset.
        references: lines to draw in the curves of each preset.
        explored: for groups that have one, a run and the record of its exploration.
        skipped: what was left out, and why.
    """
    groups = [group for members in presets.values() for group in members]
    runs = sum(len(group.runs) for group in groups)
    sections = [
        _preset(number, preset, members, references[preset], explored)
        for number, (preset, members) in enumerate(presets.items())
    ]
    verdicts = [
        (f"<b>{escape(preset)}</b> " if len(presets) > 1 else "") + escape(verdict(members))
        for preset, members in presets.items()
    ]
    title = f"{', '.join(presets)}: report of runs"
    return f"""{HEADING}
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escape(title)}</title>
<style>
{_style()}
</style>
</head>
<body>
<header>
<p class="eyebrow">{escape(", ".join(presets))} · {runs} {"run" if runs == 1 else "runs"}</p>
<h1>{"<br>".join(verdicts)}</h1>
</header>
<main>
{"".join(sections)}
{_settings(groups)}
<section>
<h2>How to read this</h2>
<ul class="notes">{"".join(f"<li>{note}</li>" for note in _NOTES)}</ul>
</section>
{_left_out(skipped)}
</main>
</body>
</html>
"""


def _preset(
    number: int,
    preset: str,
    groups: Sequence[Group],
    references: Sequence[Reference],
    explored: Mapping[Group, tuple[RunRecord, Explored]],
) -> str:
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


def _percent(interval: words.Interval) -> str:
    mean, low, high = (f"{100 * value:.0f}" for value in interval)
    return f"{mean} %" if math.isnan(interval.low) else f"{mean} % [{low}, {high}]"


def _meter(interval: words.Interval) -> str:
    """Returns a probability with its interval on a line from 0 to 1, marked in the middle."""
    low, high = (interval.mean if math.isnan(end) else end for end in interval[1:])
    places = f"--at: {interval.mean:.4f}; --low: {low:.4f}; --high: {high:.4f}"
    return f'<div class="meter" style="{places}" aria-hidden="true"><i></i><b></b></div>'


def _curves(
    number: int, preset: str, groups: Sequence[Group], references: Sequence[Reference]
) -> str:
    finals = "; ".join(
        f"{label} ends at {outcome_of(group).final_words}"
        for label, group in zip(labels(groups), groups, strict=True)
    )
    mean, legend = chart(
        groups,
        f"mean-{number}",
        f"Learning curves of {preset}, mean over seeds: {finals}.",
        references=references,
    )
    figures = f'<figure class="chart"><figcaption>Mean over seeds</figcaption>{mean}</figure>'
    if any(len(group.runs) >= 4 for group in groups):
        middle, _ = chart(
            groups,
            f"iqm-{number}",
            f"Learning curves of {preset}, interquartile mean over seeds.",
            references=references,
            statistic="iqm",
        )
        figures += (
            '<figure class="chart"><figcaption>Interquartile mean over seeds</figcaption>'
            f"{middle}</figure>"
        )
    return f'<h3>Learning curves</h3>{legend}<div class="charts">{figures}</div>'


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
    return f"<h3>Outcomes</h3>{_table('Outcomes', heads, rows)}"


def _exploration(
    groups: Sequence[Group], explored: Mapping[Group, tuple[RunRecord, Explored]]
) -> str:
    cards = []
    axes = ""
    for label, group in zip(labels(groups), groups, strict=True):
        if group in explored:
            run, record = explored[group]
            cards.append(_explored(f"{label}, seed {run.seed}", record))
            axes = _axes(record)
    if not cards:
        return ""
    return f"""<h3>Exploration</h3>
<p class="faint">{escape(axes)} Brighter means more, on a logarithmic scale. In the animation, white
dots are restarts, and the bar below is time.</p>
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
            f'<figure><img {size} src="{_data(image, "png")}" '
            f'alt="{escape(f"{kind.capitalize()} of {label}")} after {still.queries:,} queries">'
            f"<figcaption>{still.queries:,}</figcaption></figure>"
            for still, image in zip(pictures, images, strict=True)
        )
        rows += f'<p class="kind">{kind} after … queries</p><div class="strip">{cells}</div>'
    return f"""<article class="card wide">
<h4>{escape(label)}</h4>
<p>{escape(told.removeprefix(f"{label}: ").capitalize())}.</p>
<picture><source media="(prefers-reduced-motion: reduce)"
srcset="{_data(last_frame(explored), "png")}"><img class="film" {size}
src="{_data(animation(explored), "gif")}" alt="{escape(f"Animation of {told}")}"></picture>
{rows}
</article>"""


def _axes(explored: Explored) -> str:
    (down, across), ((top, bottom), (left, right)) = explored.axes, explored.edges.tolist()
    return f"Down: {down}, {top:.3g} to {bottom:.3g}. Across: {across}, {left:.3g} to {right:.3g}."


def _settings(groups: Sequence[Group]) -> str:
    common = common_settings(groups)
    keys, rows = differing_settings(groups)
    names = labels(groups) if len({group.preset for group in groups}) == 1 else None
    if names is None:
        names = [
            f"{group.preset}, {label}" for group, label in zip(groups, labels(groups), strict=True)
        ]
    differing = ""
    if keys:
        table = [[name, *row] for name, row in zip(names, rows, strict=True)]
        differing = f"<h3>What differs</h3>{_table('Settings that differ', ['runs', *keys], table)}"
    shared = "".join(
        f"<div><dt>{escape(key)}</dt><dd>{escape(value)}</dd></div>"
        for key, value in common.items()
    )
    return f"""<section>
<h2>Settings</h2>
{differing}
<h3>{"What all runs share" if keys else "All settings"}</h3>
<dl class="settings">{shared}</dl>
</section>"""


def _left_out(skipped: Sequence[Skipped]) -> str:
    if not skipped:
        return ""
    items = "".join(
        f"<li><code>{escape(str(path))}</code>: {escape(reason)}</li>" for path, reason in skipped
    )
    return f'<section>\n<h2>Left out</h2>\n<ul class="notes">{items}</ul>\n</section>'


def _table(caption: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Returns a table that scrolls by itself; the first column names the rows."""
    head = "".join(f'<th scope="col">{escape(text)}</th>' for text in heads)
    body = "".join(
        f'<tr><th scope="row">{escape(row[0])}</th>'
        + "".join(f"<td>{escape(cell)}</td>" for cell in row[1:])
        + "</tr>"
        for row in rows
    )
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(caption)}"><table>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _style() -> str:
    light = "".join(f"{variable(colour)}: {colour};" for colour in THEME)
    dark = "".join(f"{variable(colour)}: {other};" for colour, other in THEME.items())
    own = Path(__file__).with_name("page.css").read_text(encoding="utf-8")
    return (
        f":root {{ {light} }}\n@media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}\n{own}"
    )


def _data(data: bytes, kind: str) -> str:
    return f"data:image/{kind};base64,{base64.b64encode(data).decode()}"
