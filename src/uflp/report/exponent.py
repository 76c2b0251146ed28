"""The page on how BootDDQN's queries grow on Deep Sea."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from uflp.report import formatting
from uflp.report.formatting import markdown_table
from uflp.report.results import Results, exponent_text, exponents, measured
from uflp.report.statistics import power_law_exponent

PAGE = "results/deep-sea-scaling/exponent.md"
RESTARTS = "results/deep-sea-scaling/restarts-alone.csv"
PRIORS = "results/deep-sea-scaling/priors-alone.csv"
SEEKING = "results/deep-sea-scaling/seeking.csv"


_Row = tuple[str, dict[int, str], str]
"""A name, mean queries by size, and the exponent."""


def page(results: Results) -> str:
    """Return the page as the results have it."""
    restarts = _fitted(results.rows(RESTARTS), "way")
    priors = _fitted(results.rows(PRIORS), "priors")
    searches = [
        *((f"{name}: {_WAYS[name]}", *found) for name, found in restarts.items()),
        *((f"perfect learning, {name} priors", *found) for name, found in priors.items()),
    ]
    runs = [
        _scaling_row("the paper's settings", results, "deep-sea-scaling", ""),
        _scaling_row("variant `tuned`", results, "deep-sea-scaling-tuned", "tuned"),
    ]
    return _TEXT.format(
        measured=_by_size("BootDDQN, local access", runs),
        searches=_by_size("search", searches),
        **{name: exponent for name, (_, exponent) in restarts.items()},
        **{f"{name}_priors": exponent for name, (_, exponent) in priors.items()},
        **_seeking(results.rows(SEEKING)),
    )


def _by_size(head: str, rows: Sequence[_Row]) -> str:
    sizes = sorted({size for _, means, _ in rows for size in means})
    return markdown_table(
        [head, *(f"N = {size}" for size in sizes), "exponent"],
        [[name, *(means.get(size, "") for size in sizes), fit] for name, means, fit in rows],
    )


def _scaling_row(name: str, results: Results, figure: str, variant: str) -> _Row:
    runs = results.select(figure, {"agent": "boot-ddqn", "variant": variant})
    if not runs:
        return f"{name}: no runs yet", {}, ""
    means = {}
    for size in sorted({int(run.names["size"]) for run in runs}):
        needed = measured(
            [run for run in runs if int(run.names["size"]) == size], "queries_to_target"
        )
        solved = [one for one in needed if np.isfinite(one)]
        means[size] = f"{np.mean(solved):,.0f}" if solved else ""
        if len(solved) < len(needed):
            means[size] += f" ({len(solved)} of {len(needed)} solved)"
    fitted, _ = exponents(runs)
    seeds = len({run.seed for run in runs})
    path = f"../{figure}/{figure}"
    partial = results.partial(figure)
    name += f", {partial} runs" if partial else ""
    text = f"{name}, {formatting.seeds(seeds)} ([figure]({path}.png), [CSV]({path}.csv))"
    return text, means, exponent_text(fitted) if fitted else ""


def _fitted(
    rows: Sequence[Mapping[str, str]], column: str
) -> dict[str, tuple[dict[int, str], str]]:
    """Return the mean queries by size, and the exponent over seeds, of each search."""
    found = {}
    for name in dict.fromkeys(row[column] for row in rows):
        own = [row for row in rows if row[column] == name]
        sizes = sorted({int(row["size"]) for row in own})
        seeds = sorted({int(row["seed"]) for row in own})
        queries = {(int(row["seed"]), int(row["size"])): int(row["queries"]) for row in own}
        means = {size: f"{np.mean([queries[seed, size] for seed in seeds]):,.0f}" for size in sizes}
        slopes = [
            power_law_exponent(sizes, [queries[seed, size] for size in sizes]) for seed in seeds
        ]
        found[name] = (means, exponent_text(slopes))
    return found


def _seeking(rows: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Return the shares of choices in the largest Deep Sea that was counted."""
    last = max(rows, key=lambda row: int(row["size"]))
    return {
        "counted_size": last["size"],
        "sought": f"{int(last['sought']) / int(last['could_seek']):.2f}",
        "took": f"{int(last['took']) / int(last['could_take']):.2f}",
    }


_WAYS = {
    "random": "acts by chance",
    "optimist": "by chance where an action is untried, else to the left",
    "seeker": "towards the nearest untried pair",
    "member": "seeks 9 times in 10 and takes 4 times in 10, as members do",
    "oldest": "as a member, restarts at the pair whose state was seen first",
    "shallowest": "as a member, restarts in the uppermost row",
    "short": "as a member, gives a restart up after ten queries",
}

_TEXT = """\
# Why BootDDQN's queries grow as they do on Deep Sea

<!-- Written by `make claims` from the CSVs: do not edit. -->

Queries up to the first evaluation of 0.95, means over seeds. The exponent is fitted to each seed,
with its 95 % interval over seeds; the [paper's](../claims.md) is 2.47.

{measured}

## Searches without learning

What learning adds is seen from searches that have nothing to learn. The first know exactly which
pairs of state and action they have tried, and restart from an untried one
([CSV](restarts-alone.csv), `python -m benchmarks.restarts_alone`). The others are BootDDQN with
perfect learning: after each rollout its members know all their values exactly
([CSV](priors-alone.csv), `python -m benchmarks.priors_alone`).

{searches}

## What decides the exponent

**How soon what is new is learned.** An ensemble grows sure of a transition by learning from it.
The larger the replay, the longer a new transition waits for its turn when it is drawn uniformly.
Until then the most uncertain pair of state and action stays what it was, and restarts go where one
has been before. The variant `tuned` takes a quarter of each batch from the newest transitions.

**How far a restart goes.** What is new lies just after a restart. The rest of the episode mostly
leads among known states, and it is longer the larger N is. The variant `tuned` gives restarts up
after ten queries. A search that does so has the exponent {short}, and one that goes on to the end
{member}.

**What members do on the way.** Where only one way led to something untried, members took it
{sought} of the time at N = {counted_size}. Of an untried action beside a tried one they made use
{took} of the time: a prior is as often low as high, and the tried action leads to the best of many
([CSV](seeking.csv), one seed, a quarter of each batch from the newest, `benchmarks.seeking`).
A search that always takes the nearest untried pair has the exponent {seeker}, and one that acts by
chance {random}.

**The order of restarts.** An untried pair is as uncertain in the last row as in the first. A search
that restarts at the pair whose state was seen first has the exponent {oldest}, and one that
restarts in the uppermost row {shallowest}.

**Perfect learning** does not give a low exponent by itself: it is {normal_priors} with normal
priors. With signs as priors, of which the nearest is as good as any, it is {signs_priors}.
"""
