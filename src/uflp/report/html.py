"""The report as one HTML page that needs nothing else: pictures and style are inside it."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from html import escape
from pathlib import Path
from typing import Any, TypeVar

from uflp.report import formatting
from uflp.report.comparisons import Comparison, compare, verdict
from uflp.report.curves import THEME, Chart, Reference, chart, drawn, ends_drawn, variable
from uflp.report.exploration_section import Records, exploration_maps, restarted_images
from uflp.report.groups import FOUND, NAMES, Group, outcome_of
from uflp.report.runs import RETURN, Skipped
from uflp.report.statistics import Interval
from uflp.report.style import colours_of, label_of, labels, measure_of

K = TypeVar("K")

HEADING = '<!doctype html>\n<html lang="en" data-page="uflp report">'
"""The first lines of every report, by which an older one is recognised."""

_MOST_CURVES = 8

_NOTES = (
    "Fewer than five seeds have no interval: pictures draw each of them, and tables give the mean "
    "with the seeds’ own values in round brackets.",
    "From five seeds on, square brackets hold 95 % intervals of the mean. Of five to nine seeds "
    "pictures draw the mean over each of them, and tables give Student’s t interval and the "
    "percentile bootstrap, which is too narrow there. From ten seeds on the bootstrap stands "
    "alone, in pictures as a band. It always has the same random numbers.",
    "IQM is the interquartile mean, in the table of final returns: the mean of what is left after "
    "dropping ⌊n/4⌋ seeds at either end. With fewer than four seeds it is the mean.",
    "Queries are steps of the training simulator; evaluation does not count.",
    "Final return is the last evaluation of runs that spent their budget or stopped at their goal; "
    "if there is none, that of the others, marked “so far”. Best is the highest evaluation of any "
    "seed.",
    "Queries to target is the median over seeds of the first evaluation to reach the target "
    "return; a seed that never did counts as infinitely many. In brackets, how many reached it.",
    "Normalised AUC is the area under the evaluation curve over the budget, divided by the budget. "
    "A run that stopped at its goal keeps its last value; one that was cut short has no area.",
    "P(local better) is the probability that a random local seed has a larger normalised AUC than "
    "a random online seed, ties counting one half. Its interval is a percentile bootstrap over the "
    "seeds of both.",
    "A difference is called significant only if a two-sided permutation test of the mean areas, "
    "over the assignments of seeds to the two sides, says so at 0.05. Of fewer than four seeds on "
    "a side nothing is said of it.",
    "Rewarded queries are those of training with a positive reward: the mean over seeds. First "
    "reward is the median over seeds of the first evaluation after one; in brackets, how many "
    "seeds found one. Cells are the different ones seen while training, by the median, where the "
    "simulator counts them or has a map. Restarts near a reward add to rewarded queries: finding "
    "is not learning.",
    "A star ends a line whose seeds have all stopped at their goal; the last value then goes on as "
    "a thin line. A bar ends a line whose runs are shorter than others.",
)


def page(
    presets: Mapping[str, Sequence[Group]],
    references: Mapping[str, Sequence[Reference]],
    records: Records,
    skipped: Sequence[Skipped],
    costs: str = "",
) -> str:
    """Return the text of the page.

    Args:
        presets: groups of runs by preset.
        references: lines to draw in the curves of each preset.
        records: of exploration, of runs of the groups.
        skipped: what was left out, and why.
        costs: what going back cost, in one sentence; empty where it was not measured.
    """
    groups = [group for members in presets.values() for group in members]
    runs = sum(len(group.runs) for group in groups)
    sections = [
        _section(number, preset, members, references[preset], records)
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
{f'<p class="faint">{escape(costs)}</p>' if costs else ""}
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


def _section(
    number: int,
    preset: str,
    groups: Sequence[Group],
    references: Sequence[Reference],
    records: Records,
) -> str:
    """Return the section as HTML.

    Args:
        number: of the section on the page.
        preset: its name.
        groups: its groups.
        references: lines to draw in the curves.
        records: of exploration, of runs of the groups.
    """
    comparisons = compare(groups)
    # A single comparison has its sentence at the top of the page.
    cards = "".join(_card(one, with_sentence=len(comparisons) > 1) for one in comparisons)
    return f"""<section>
<h2>{escape(preset)}</h2>
{f'<div class="cards">{cards}</div>' if cards else ""}
{_curves(number, preset, groups, references)}
{_outcomes(groups)}
{exploration_maps(groups, records)}
{restarted_images(groups, records)}
</section>
"""


def _card(comparison: Comparison, *, with_sentence: bool) -> str:
    agent = comparison.local.agent
    colour = variable(colours_of([agent])[agent])
    label = escape(label_of(agent, comparison.local.variant))
    detail = escape(comparison.local.detail)
    improvement = comparison.improvement
    facts = ""
    if comparison.known:
        numbers = {"AUC difference": formatting.number(comparison.difference.mean)}
        numbers |= {name: formatting.ends(ends) for name, ends in comparison.intervals.items()}
        if comparison.tested:
            numbers["permutation test"] = formatting.p_value(comparison.p_value)
        rows = "".join(
            f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>\n"
            for name, value in numbers.items()
        )
        facts = f"""<dl>
<div><dt>P(local better)</dt><dd>{_percent(improvement)}</dd></div>
{_meter(improvement)}
{rows}</dl>"""
    return f"""<article class="card" style="--accent: var({colour})">
<h3>{label}{f" <small>{detail}</small>" if detail else ""}</h3>
{f"<p>{escape(comparison.sentence)}</p>" if with_sentence else ""}
{facts}
{f"<p>{escape(comparison.significance)}</p>" if comparison.significance else ""}
{f"<p>{escape(comparison.found)}</p>" if comparison.found else ""}
{f"<p>{escape(comparison.advice)}</p>" if comparison.advice else ""}
</article>"""


def _percent(interval: Interval) -> str:
    mean, low, high = (f"{100 * value:.0f}" for value in interval)
    return f"{mean} %" if math.isnan(interval.low) else f"{mean} % [{low}, {high}]"


def _meter(interval: Interval) -> str:
    """Return a probability with its interval on a line from 0 to 1, marked in the middle."""
    low, high = (interval.mean if math.isnan(end) else end for end in interval[1:])
    places = f"--at: {interval.mean:.4f}; --low: {low:.4f}; --high: {high:.4f}"
    return f'<div class="meter" style="{places}" aria-hidden="true"><i></i><b></b></div>'


def _curves(
    number: int, preset: str, groups: Sequence[Group], references: Sequence[Reference]
) -> str:
    """Return curves of the return, and beside them of what was found while acting, if anything."""
    found = [
        name
        for name in ("positive_rewards", *FOUND)
        if any(curve.values[-1] > 0 for group in groups for curve in group.curves(name))
    ]
    end = max(run.queries for group in groups for run in group.runs)

    def picture(column: str, members: Sequence[Group], place: int, caption: str) -> Chart:
        ends = f": {_ends(members)}" if column == RETURN else ""
        return chart(
            members,
            f"{column}-{number}-{place}",
            f"Curves of {preset} over queries. {caption}{ends}.",
            references=references if column == RETURN else (),
            until=end,
            column=column,
        )

    def describe(column: str, members: Sequence[Group]) -> str:
        return f"{measure_of(column)}, {drawn(members, column=column)}"

    kinds = {name: partial(describe, name) for name in (RETURN, *found)}
    marks = ends_drawn(groups, until=end)
    note = f'<p class="faint">{escape(marks)}.</p>' if marks else ""
    heading = "Learning curves and finds" if found else "Learning curves"
    return f"<h3>{heading}</h3>{_charts(groups, kinds, picture)}{note}"


def _charts(
    groups: Sequence[Group],
    kinds: Mapping[K, Callable[[Sequence[Group]], str]],
    picture: Callable[[K, Sequence[Group], int, str], Chart],
) -> str:
    """Return pictures of each kind, in as many panels as the groups need.

    Args:
        groups: what to draw.
        kinds: what a picture of each kind shows of some groups, in formatting.
        picture: draws groups as a kind, given the number of the panel and the caption.
    """
    panels = _panels(groups)
    figures, legend = "", ""
    for place, (title, members) in enumerate(panels.items()):
        for kind, describe in kinds.items():
            what = describe(members)
            caption = f"{title}: {what}" if title else what[0].upper() + what[1:]
            svg, legend = picture(kind, members, place, caption)
            figures += (
                f'<figure class="chart"><figcaption>{escape(caption)}</figcaption>'
                f"{legend if title else ''}{svg}</figure>"
            )
    shared = legend if len(panels) == 1 else ""
    return f'{shared}<div class="charts">{figures}</div>'


def _panels(groups: Sequence[Group]) -> dict[str, list[Group]]:
    """Return the groups of each picture by its title: by agent where one would be too full."""
    if len(groups) <= _MOST_CURVES:
        return {"": list(groups)}
    panels: dict[str, list[Group]] = {}
    for group in groups:
        panels.setdefault(label_of(group.agent, group.variant), []).append(group)
    return panels


def _ends(groups: Sequence[Group]) -> str:
    return "; ".join(
        f"{label} ends at {outcome_of(group).final_text}"
        for label, group in zip(labels(groups), groups, strict=True)
    )


def _outcomes(groups: Sequence[Group]) -> str:
    rows = []
    for label, group in zip(labels(groups), groups, strict=True):
        outcome = outcome_of(group)
        rows.append(
            {
                "runs": label,
                "seeds": outcome.seeds_text,
                "queries": formatting.span(outcome.queries),
                "final return": outcome.final_text,
                "best": formatting.number(outcome.best),
                "rewarded queries": formatting.count(outcome.positive_rewards),
                "first reward": outcome.first_reward_text,
                "cells": formatting.count(outcome.found.get("cells", math.nan)),
                "queries to target": outcome.target_text,
                "normalised AUC": outcome.area_text,
                "IQM": formatting.number(outcome.final_middle),
                "queries/s": formatting.count(outcome.queries_per_second),
            }
        )
    known = any(row["cells"] != formatting.NONE for row in rows)
    heads = [head for head in rows[0] if head != "cells" or known]
    cells = [[row[head] for head in heads] for row in rows]
    return f"<h3>Outcomes</h3>{_table('Outcomes', heads, cells)}"


def _settings(groups: Sequence[Group]) -> str:
    """Return what all groups share, and before it a table of what differs, with dashes."""
    tables = [_everything(group) for group in groups]
    common = {
        key: value
        for key, value in tables[0].items()
        if all(table.get(key) == value for table in tables)
    }
    keys = [key for key in dict.fromkeys(itertools.chain(*tables)) if key not in common]
    differing = ""
    if keys:
        rows = [
            [name, *(table.get(key, formatting.NONE) for key in keys)]
            for name, table in zip(labels(groups), tables, strict=True)
        ]
        differing = f"<h3>What differs</h3>{_table('Settings that differ', ['runs', *keys], rows)}"
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


def _everything(group: Group) -> dict[str, str]:
    names = {key: getattr(group, key) for key in NAMES}
    settings = {key: value for key, value in group.runs[0].settings.items() if key not in names}
    return {key: _word(value) for key, value in (names | settings).items()}


def _word(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return json.dumps(value).replace("null", "none").strip("[]")


def _left_out(skipped: Sequence[Skipped]) -> str:
    if not skipped:
        return ""
    items = "".join(
        f"<li><code>{escape(str(path))}</code>: {escape(reason)}</li>" for path, reason in skipped
    )
    return f'<section>\n<h2>Left out</h2>\n<ul class="notes">{items}</ul>\n</section>'


def _style() -> str:
    light = "".join(f"{variable(colour)}: {colour};" for colour in THEME)
    dark = "".join(f"{variable(colour)}: {other};" for colour, other in THEME.items())
    own = Path(__file__).with_name("page.css").read_text(encoding="utf-8")
    return (
        f":root {{ {light} }}\n@media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}\n{own}"
    )


def _table(caption: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table that scrolls by itself; the first column names the rows."""
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
