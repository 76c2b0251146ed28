"""The report as a Markdown page: a table of groups, the pictures, and what was left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import quote

from uflp.report import words
from uflp.report.comparisons import compare, verdict
from uflp.report.groups import Group
from uflp.report.looks import label_of
from uflp.report.outcomes import outcome_of
from uflp.report.runs import Skipped

HEADING = "# Report of runs"
"""The first line of every report, by which an older one is recognised."""

_COLUMNS = (
    *("preset", "agent", "uncertainty", "access", "variant", "settings", "seeds", "queries"),
    *("final return", "best", "queries to target", "normalised AUC", "positive rewards"),
    "queries/s",
)
_NOTES = """\
- Of fewer than five seeds the mean is followed by the seeds' own values in round brackets, and
  there is no interval. Square brackets hold 95 % intervals of the mean: of five to nine seeds
  Student's t interval and the percentile bootstrap, which is too narrow there; from ten seeds on
  the bootstrap alone, always with the same random numbers.
- A difference is called significant only if a two-sided permutation test of the mean areas says so
  at 0.05. Of fewer than four seeds on a side nothing is said of it.
- Queries are steps of the training simulator; evaluation does not count. Of several seeds the
  range is given.
- Final return is the last evaluation of runs that spent their budget or stopped at their goal; if
  there is none, that of the others, marked *so far*. Best is the highest evaluation of any seed.
- Queries to target is the median over seeds of the first evaluation to reach the target return; a
  seed that never did counts as infinitely many. In brackets, how many seeds reached it.
- Normalised AUC is the area under the evaluation curve over the budget, divided by the budget. The
  first evaluation stands for what came before it, the last one of a run that stopped at its goal
  for the rest; a run that was cut short has no area.
- Positive rewards and queries/s are means over seeds.
- In the pictures every seed of a group of fewer than five has a line of its own. From five seeds
  on a line is the mean and the band around it the interval: Student's t up to nine seeds, then the
  bootstrap. A line goes on thinly where all its seeds have stopped at their goal. A seed that was
  cut short counts as far as it went."""


def page(
    groups: Sequence[Group],
    pictures: Mapping[str, Mapping[str, str]],
    skipped: Sequence[Skipped],
) -> str:
    """Returns the text of the report.

    Args:
        groups: one row of the table each.
        pictures: file names by preset and kind (`png`, `svg`), beside the report.
        skipped: what was left out, and why.
    """
    parts = [HEADING, table(groups), _NOTES]
    for preset, files in pictures.items():
        png, svg = (quote(files[kind]) for kind in ("png", "svg"))
        name = _plain(preset)
        told = _told([group for group in groups if group.preset == preset])
        parts += [f"## {name}", *told, f"![Learning curves of {name}]({png})", f"[SVG]({svg})"]
    if skipped:
        lines = [f"- {_code(str(path))}: {_plain(reason)}" for path, reason in skipped]
        parts += ["## Left out", "\n".join(lines)]
    return "\n\n".join(parts) + "\n"


def table(groups: Sequence[Group]) -> str:
    """Returns a Markdown table, one row a group, without columns that tell nothing."""
    rows = [_row(group) for group in groups]
    shown = [
        n
        for n, column in enumerate(_COLUMNS)
        if (column != "settings" or any(group.detail for group in groups))
        and (column != "variant" or any(group.variant for group in groups))
    ]
    lines = [
        [_COLUMNS[n] for n in shown],
        ["---" if n < _COLUMNS.index("seeds") else "---:" for n in shown],
        *[[row[n] for n in shown] for row in rows],
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _told(groups: Sequence[Group]) -> list[str]:
    """Returns the verdict on the groups of a preset, and the numbers of each comparison."""
    told = [
        f"{_plain(label_of(one.local.agent, one.local.variant))}: {_plain(sentences)}"
        for one in compare(groups)
        for sentences in (one.numbers, one.found)
        if sentences
    ]
    return [_plain(verdict(groups)), *told]


def _row(group: Group) -> list[str]:
    outcome = outcome_of(group)
    return [
        _plain(group.preset),
        _plain(group.agent),
        _plain(group.uncertainty or words.NONE),
        group.access,
        _plain(group.variant or words.NONE),
        _plain(group.detail or words.NONE),
        outcome.seeds_words,
        words.span(outcome.queries),
        outcome.final_words,
        words.number(outcome.best),
        outcome.target_words,
        outcome.area_words,
        words.count(outcome.positive_rewards),
        words.count(outcome.queries_per_second),
    ]


def _plain(text: str) -> str:
    """Returns text that Markdown shows as it stands, in a table too."""
    for special in "\\|`*_<>[":
        text = text.replace(special, "\\" + special)
    return " ".join(text.split())


def _code(text: str) -> str:
    return "`" + " ".join(text.replace("`", "'").split()) + "`"
