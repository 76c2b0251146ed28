"""The report as one HTML page that needs nothing else: pictures and style are inside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

from uflp.report.charts import THEME, variable
from uflp.report.comparisons import verdict
from uflp.report.configurations import common_settings, differing_settings
from uflp.report.curves import Reference
from uflp.report.elements import table
from uflp.report.finds import Finds
from uflp.report.groups import Group
from uflp.report.looks import labels
from uflp.report.runs import Skipped
from uflp.report.sections import section

HEADING = '<!doctype html>\n<html lang="en" data-page="uflp report">'
"""The first lines of every report, by which an older one is recognised."""

_NOTES = (
    "Fewer than five seeds have no interval: pictures draw each of them, and tables give the mean "
    "with the seeds’ own values in round brackets.",
    "From five seeds on, square brackets and bands hold 95 % intervals of the mean. Of five to "
    "nine seeds bands are Student’s t intervals, and tables show the percentile bootstrap beside "
    "them, which is too narrow there. From ten seeds on the bootstrap stands alone. It always has "
    "the same random numbers.",
    "IQM is the interquartile mean: the mean of what is left after dropping ⌊n/4⌋ seeds at either "
    "end. With fewer than four seeds it is the mean. Its band is a bootstrap, from ten seeds on.",
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
    "Lines go on thinly where all their seeds have stopped at their goal.",
)


def page(
    presets: Mapping[str, Sequence[Group]],
    references: Mapping[str, Sequence[Reference]],
    finds: Finds,
    skipped: Sequence[Skipped],
) -> str:
    """Returns the text of the page.

    Args:
        presets: groups of runs by preset.
        references: lines to draw in the curves of each preset.
        finds: what runs of the groups recorded of their exploration.
        skipped: what was left out, and why.
    """
    groups = [group for members in presets.values() for group in members]
    runs = sum(len(group.runs) for group in groups)
    sections = [
        section(number, preset, members, references[preset], finds)
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


def _settings(groups: Sequence[Group]) -> str:
    common = common_settings(groups)
    keys, rows = differing_settings(groups)
    differing = ""
    if keys:
        named = [[name, *row] for name, row in zip(labels(groups), rows, strict=True)]
        differing = f"<h3>What differs</h3>{table('Settings that differ', ['runs', *keys], named)}"
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


def _style() -> str:
    light = "".join(f"{variable(colour)}: {colour};" for colour in THEME)
    dark = "".join(f"{variable(colour)}: {other};" for colour, other in THEME.items())
    own = Path(__file__).with_name("page.css").read_text(encoding="utf-8")
    return (
        f":root {{ {light} }}\n@media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}\n{own}"
    )
