"""Writes the pages that compare the paper with the results: `python -m uflp.report.claims`.

All numbers come from files in `results/`. With `--check` nothing is written, and what differs from
the results is named.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from uflp.experiments.claims import CLAIMS, TABLE_CELLS
from uflp.experiments.figures import FIGURES, SCALES
from uflp.experiments.recorded import read_object
from uflp.report import words
from uflp.report.evidence import (
    Judged,
    JudgedCell,
    Recorded,
    Results,
    exponent_words,
    exponents,
    judge,
    judge_cell,
    measured,
    name_of,
    scope_of,
)
from uflp.report.looks import label_of, title_of
from uflp.report.provenance import PROVENANCE
from uflp.report.statistics import power_law_exponent

CLAIMS_PAGE = "results/claims.md"
EXPONENT_PAGE = "results/deep-sea-scaling/exponent.md"
README = "README.md"
PICTURES = ("deep-sea-50", "deep-sea-20", "montezuma-random")
"""Figures for the first screen of the README: the first that has results."""

_BENCH = "results/bench.json"
_SB3, _PPO = "results/sb3-deep-sea.csv", "results/sb3-frozen-lake.csv"
_FAITHFUL, _ATARI_FAITHFUL = "results/faithful.csv", "results/atari-faithful.csv"
_RESTARTS = "results/deep-sea-scaling/restarts-alone.csv"
_PRIORS = "results/deep-sea-scaling/priors-alone.csv"
_SEEKING = "results/deep-sea-scaling/seeking.csv"
SOURCES = {
    CLAIMS_PAGE: (_SB3, _PPO, _FAITHFUL, _ATARI_FAITHFUL),
    EXPONENT_PAGE: (_RESTARTS, _PRIORS, _SEEKING),
    README: (_SB3, _PPO, _BENCH),
}
"""Files that each page cannot do without; figures are quoted as they come."""

_BLOCK = re.compile(r"<!-- claims:(\w+) -->\n.*?<!-- /claims -->", re.DOTALL)
_LINK = re.compile(r"\]\(([\w./-]+\.(?:csv|json|png|svg))\)")
_VERDICTS = ("agrees", "partly", "disagrees", "not measured")


def main(arguments: Sequence[str], root: Path) -> int:
    """Write the pages, or with `--check` name what differs; return the exit code."""
    if list(arguments) not in ([], ["--check"]):
        print("usage: python -m uflp.report.claims [--check]", file=sys.stderr)
        return 2
    if arguments:
        problems = check(root)
        print("\n".join(problems) or "the pages say what the results say")
        return 1 if problems else 0
    absent = missing(root)
    if absent:
        print("\n".join(absent), file=sys.stderr)
        return 1
    for path, text in pages(root).items():
        (root / path).write_text(text)
        print(path)
    return 0


def pages(root: Path) -> dict[str, str]:
    """Return the text of each page by its path, as the results have it."""
    results = Results(root)
    readme = (root / README).read_text()
    blocks = {
        "picture": _picture(results),
        "sb3": _stable_baselines(results),
        "speed": _speed(root),
    }
    return {
        CLAIMS_PAGE: _claims_page(results),
        EXPONENT_PAGE: _exponent_page(results),
        README: _BLOCK.sub(
            lambda found: (
                f"<!-- claims:{found[1]} -->\n{blocks[found[1]].strip()}\n<!-- /claims -->"
            ),
            readme,
        ),
    }


def check(root: Path) -> list[str]:
    """Return what is wrong with the pages, or with the records of results, one line each."""
    absent = missing(root)
    problems = [*absent, *_broken_links(root)]
    if not absent:
        for path, text in pages(root).items():
            problems += _differences(path, (root / path).read_text(), text)
    return [*problems, *unrecorded(root)]


def missing(root: Path) -> list[str]:
    """Return which files are missing without which a page cannot be written."""
    return [
        f"{page} quotes {source}, which is missing"
        for page, sources in SOURCES.items()
        for source in sources
        if not (root / source).exists()
    ]


def unrecorded(root: Path) -> list[str]:
    """Return results that do not say how they were made.

    Every CSV, PNG and SVG has an entry in the `provenance.json` of its folder. The files of a run
    folder do not need one: its `config.json` says more.
    """
    problems = []
    for path in sorted((root / "results").rglob("*")):
        if path.suffix not in (".csv", ".png", ".svg") or (path.parent / "config.json").exists():
            continue
        if path.stem not in (read_object(path.parent / PROVENANCE) or {}):
            name, record = path.relative_to(root), path.parent.relative_to(root) / PROVENANCE
            problems.append(f"{name} has no entry in {record}")
    return problems


def _broken_links(root: Path) -> list[str]:
    problems = []
    for page in SOURCES:
        path = root / page
        text = path.read_text() if path.exists() else ""
        for link in dict.fromkeys(_LINK.findall(text)):
            target = Path(page).parent / link
            name = Path(*_resolved(target.parts))
            if not (root / name).exists() and str(name) not in SOURCES[page]:
                problems.append(f"{page} quotes {name}, which is missing")
    return problems


def _resolved(parts: Sequence[str]) -> list[str]:
    path: list[str] = []
    for part in parts:
        path = path[:-1] if part == ".." else [*path, part]
    return path


def _differences(path: str, there: str, right: str) -> list[str]:
    """Return the first line that differs, and the files that its numbers come from."""
    if there == right:
        return []
    old, new = there.splitlines(), right.splitlines()
    number = next(
        (i for i, pair in enumerate(zip(old, new, strict=False)) if pair[0] != pair[1]),
        min(len(old), len(new)),
    )
    has, gives = (lines[number] if number < len(lines) else "nothing" for lines in (old, new))
    folder = Path(path).parent
    links = [str(Path(*_resolved((folder / link).parts))) for link in _LINK.findall(has + gives)]
    files = [link for link in dict.fromkeys(links) if link.endswith(("csv", "json"))]
    origin = ", ".join(files or SOURCES[path])
    return [
        f"{path}, line {number + 1}, differs from what {origin} gives (`make claims` writes it anew)",
        f"  has   {has}",
        f"  gives {gives}",
    ]


def _claims_page(results: Results) -> str:
    judged = [judge(claim, results) for claim in CLAIMS]
    cells = [judge_cell(cell, results) for cell in TABLE_CELLS]
    counts = Counter(one.verdict for one in judged)
    told = ", ".join(f"{counts[verdict]} {verdict}" for verdict in _VERDICTS)
    of_cells = Counter(one.verdict for one in cells)
    parts = [
        "# What the paper claims, and what was measured here",
        "<!-- Written by `make claims` from the CSVs: do not edit. -->",
        f"**Of {len(judged)} claims: {told}.** Of the {len(cells)} numbers in the paper's tables "
        f"{of_cells['not measured']} are not measured at its budget.",
        _HOW_TO_READ,
    ]
    for section in dict.fromkeys(one.claim.section for one in judged):
        members = [one for one in judged if one.claim.section == section]
        rows = [_claim_row(one, results) for one in members]
        parts += [f"## {section}", _table(("claim", "what was run", "measured", "verdict"), rows)]
        parts += [
            f"**{one.claim.statement}** {one.claim.note}" for one in members if one.claim.note
        ]
    heads = ("table", "game", "agent and access", "the paper", "here", "verdict")
    parts += ["## The paper's tables", _table(heads, [_cell_row(one) for one in cells])]
    parts += ["## Beside the paper", _BESIDE, _table(("what", "measured"), _beside(results))]
    return "\n\n".join(parts) + "\n"


_HOW_TO_READ = """\
The paper is Yin et al. 2023. The CSVs beside the pictures hold every evaluation of every run, and
`provenance.json` beside them says how they were made. A verdict is derived from the numbers:
*agrees* if all that the claim leads one to expect holds, *partly* if some of it does, *disagrees*
if nothing does, and *not measured* where there are no runs or where they cannot decide it yet.
*Significant* is only what an exact two-sided permutation test over seeds gives at p ≤ 0.05. Three
seeds a side cannot reach that, and such a claim is *partly* true at best.
*Solved* means a mean evaluation return of 0.95, and *after* the queries up to the first evaluation
that reached it. A run that stopped once it was solved keeps its last value for the rest of its
budget. Intervals are 95 %. Where runs differ from the paper is in
[deviations](../docs/deviations.md)."""

_BESIDE = "What the paper does not claim has no verdict."


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(cell or words.NONE for cell in line)} |" for line in lines)


def _claim_row(one: Judged, results: Results) -> list[str]:
    claim = one.claim
    measured_text = "; ".join(
        f"{name_of(found.evidence)}: {found.measured}" for found in one.findings if found.measured
    )
    verdict = f"**{one.verdict}**" + (f": {one.reason}" if one.reason else "")
    return [
        f"{claim.statement} ({claim.source})",
        _what_was_run(one, results),
        measured_text,
        verdict,
    ]


def _what_was_run(one: Judged, results: Results) -> str:
    figures: dict[str, list[Recorded]] = {}
    for found in one.findings:
        figures.setdefault(found.evidence.figure, []).extend(found.runs)
    told = []
    for figure, runs in figures.items():
        if not runs:
            told.append(f"`uflp figure {figure}`: no runs yet")
            continue
        picture, numbers = f"{figure}/{figure}.png", f"{figure}/{figure}.csv"
        told.append(
            f"[{figure}]({picture}) ([CSV]({numbers})): {_settings_words(figure, runs, results)}"
        )
    return "; ".join(told)


def _settings_words(figure: str, runs: Sequence[Recorded], results: Results) -> str:
    """Return the settings of some runs of a figure, and what is less than the paper's."""
    scope = scope_of(figure, runs[0])
    by_agent: dict[str, set[tuple[int, int]]] = {}
    for run in runs:
        group = [one for one in runs if one.names == run.names]
        seeds = len({one.seed for one in group})
        by_agent.setdefault(run.names["agent"], set()).add((seeds, int(run.budget)))
    sizes = {
        agent: _span_words(pairs, scope.seeds, scope.queries) for agent, pairs in by_agent.items()
    }
    if len(set(sizes.values())) == 1:
        size = next(iter(sizes.values()))
    else:
        size = ", ".join(f"{label_of(agent)} {text}" for agent, text in sizes.items())
    variants = sorted({run.names["variant"] for run in runs})
    which = "the paper's settings" if variants == [""] else f"variant {', '.join(variants)}"
    other = _other_settings(figure, results.entry(figure))
    return ", ".join([which + (f" but {other}" if other else ""), size])


def _span_words(pairs: set[tuple[int, int]], seeds: int, queries: int | None) -> str:
    counts, budgets = sorted({pair[0] for pair in pairs}), sorted({pair[1] for pair in pairs})
    text = f"{words.span(counts)} of the paper's {seeds} seeds"
    if counts == [seeds]:
        text = f"{seeds} seeds as in the paper"
    text += f", {words.span(budgets)} queries"
    if queries is None:
        return f"{text} (the paper does not say)"
    return text if budgets == [queries] else f"{text} (the paper {queries:,})"


def _other_settings(figure: str, entry: Mapping[str, Any]) -> str:
    """Return the settings in which a scale differs from the paper's, besides seeds and queries."""
    arguments = str(entry.get("command", "")).split()
    scale = next((word for word in arguments if word in SCALES), "paper")
    plan = FIGURES[figure]
    values, paper = plan.scales[scale].values, plan.scales["paper"].values
    changed = {
        key: value
        for key, value in values.items()
        if key not in ("queries", "eval_period") and paper.get(key) != value
    }
    own = [word for flag, word in zip(arguments, arguments[1:], strict=False) if flag == "--set"]
    if figure == "deep-sea-20":
        own = ["size=20", *own]
    return ", ".join(
        [
            *(f"`{key}` {_plain(value)}" for key, value in changed.items()),
            *(f"`{word}`" for word in own),
        ]
    )


def _plain(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def _cell_row(one: JudgedCell) -> list[str]:
    cell = one.cell
    names = [label_of(cell.where["agent"]), cell.where["access"], cell.where["uncertainty"]]
    verdict = one.verdict + (f": {one.reason}" if one.reason else "")
    who = " ".join(name for name in names if name)
    return [str(cell.table), title_of(cell.preset), who, cell.reported, one.here, verdict]


def _beside(results: Results) -> list[tuple[str, str]]:
    rows = [
        (
            f"`LocalAccess` with Stable-Baselines3's DQN on Deep Sea 20 ([CSV]({Path(_SB3).name}))",
            _solved_words(results.rows(_SB3)) + ". It needs the forced first action",
        ),
        (
            "`LocalAccess` with Stable-Baselines3's PPO on FrozenLake 8 × 8 "
            f"([CSV]({Path(_PPO).name}))",
            _solved_words(results.rows(_PPO)) + ". Its settings were chosen on the first two seeds",
        ),
    ]
    rows += _random_row(results)
    rows.append(
        (f"environments that can go back ([CSV]({Path(_FAITHFUL).name}))", _faithful(results))
    )
    games = results.rows(_ATARI_FAITHFUL)
    restores = words.span([int(row["restores"]) for row in games])
    different = sum(int(row["different"]) for row in games)
    rows.append(
        (
            f"Atari games that go back exactly ([CSV]({Path(_ATARI_FAITHFUL).name}))",
            f"{len(games)} games, {restores} exact restores each, {different} differences",
        )
    )
    rows += _tuned_row(results)
    return rows


class Side(NamedTuple):
    """The runs of an agent that is not ours, with one kind of access."""

    solved: int
    seeds: int
    needed: list[int]
    queries: int
    rewarded: list[int]


def _sides(rows: Sequence[Mapping[str, str]]) -> dict[str, Side]:
    sides = {}
    for access in ("local", "online"):
        own = [row for row in rows if row["access"] == access]
        needed = [int(row["queries_to_solve"]) for row in own if row["queries_to_solve"]]
        rewarded = [int(row["rewarded_queries"]) for row in own if "rewarded_queries" in row]
        budget = max(int(row["queries"]) for row in rows)
        sides[access] = Side(len(needed), len(own), needed, budget, rewarded)
    return sides


def _solved_words(rows: Sequence[Mapping[str, str]]) -> str:
    sides = _sides(rows)
    texts = []
    for access, side in sides.items():
        text = f"{access} {side.solved} of {side.seeds} seeds solved"
        texts.append(text + (f", after {words.span(side.needed)} queries" if side.needed else ""))
    return f"{'; '.join(texts)}; within {sides['online'].queries:,}"


def _random_row(results: Results) -> Iterator[tuple[str, str]]:
    figure = "montezuma-random"
    local, online = (
        results.select(figure, {"agent": "random", "access": access})
        for access in ("local", "online")
    )
    if not local or not online:
        return
    texts = []
    for runs, access in ((local, "local"), (online, "online")):
        cells = words.span([int(one) for one in measured(runs, "cells")])
        scores = words.span([int(one) for one in measured(runs, "max_screen_score")])
        texts.append(f"{access} {cells} cells and a highest screen score of {scores}")
    yield (
        "Montezuma's Revenge, random actions, restarts from the rarest cell "
        f"([figure]({figure}/{figure}.png), [CSV]({figure}/{figure}.csv))",
        f"{'; '.join(texts)}; {words.seeds(len(local))}, {int(local[0].budget):,} queries",
    )


def _faithful(results: Results) -> str:
    rows = results.rows(_FAITHFUL)
    texts = []
    for kinds in (("gym", "bsuite", "minigrid"), ("gymnax",)):
        own = [row for row in rows if row["simulator"].partition(":")[0] in kinds]
        counts = Counter(row["verdict"] for row in own)
        told = ", ".join(f"{counts[verdict]} {verdict}" for verdict in sorted(counts))
        texts.append(f"of {len(own)} of {', '.join(kinds)}: {told}")
    return "; ".join(texts)


def _tuned_row(results: Results) -> Iterator[tuple[str, str]]:
    figure = "deep-sea-scaling-tuned"
    runs = results.select(figure, {"agent": "boot-ddqn", "variant": "tuned"})
    fitted, _ = exponents(runs)
    if fitted:
        yield (
            f"BootDDQN's exponent with the variant `tuned` ([figure]({figure}/{figure}.png), "
            f"[CSV]({figure}/{figure}.csv))",
            f"{exponent_words(fitted)}; {words.seeds(len(fitted))}",
        )


def _exponent_page(results: Results) -> str:
    scaling = [
        _scaling_row("the paper's settings", results, "deep-sea-scaling", ""),
        _scaling_row("variant `tuned`", results, "deep-sea-scaling-tuned", "tuned"),
    ]
    sizes = sorted({size for _, means, _ in scaling for size in means})
    rows = [
        [name, *(means.get(size, "") for size in sizes), exponent]
        for name, means, exponent in scaling
    ]
    searches = {
        name: _fitted(results.rows(path), column)
        for path, column in ((_RESTARTS, "way"), (_PRIORS, "priors"))
        for name in [path]
    }
    numbers = {
        **{name: exponent for name, (_, exponent) in searches[_RESTARTS].items()},
        **{f"{name}_priors": exponent for name, (_, exponent) in searches[_PRIORS].items()},
        **_seeking(results.rows(_SEEKING)),
    }
    all_searches = [
        *((f"{name}: {_WAYS[name]}", *found) for name, found in searches[_RESTARTS].items()),
        *((f"priors, {name}", *found) for name, found in searches[_PRIORS].items()),
    ]
    searched = sorted({size for _, means, _ in all_searches for size in means})
    table = [
        [name, *(means.get(size, "") for size in searched), exponent]
        for name, means, exponent in all_searches
    ]
    heads = [f"N = {size}" for size in sizes]
    return _EXPONENT.format(
        measured=_table(["BootDDQN, local access", *heads, "exponent"], rows),
        searches=_table(["search", *(f"N = {size}" for size in searched), "exponent"], table),
        **numbers,
    )


def _scaling_row(
    name: str, results: Results, figure: str, variant: str
) -> tuple[str, dict[int, str], str]:
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
    text = f"{name}, {words.seeds(seeds)} ([figure]({path}.png), [CSV]({path}.csv))"
    return text, means, exponent_words(fitted) if fitted else ""


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
        found[name] = (means, exponent_words(slopes))
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

_EXPONENT = """\
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
Drawn uniformly, a new one waits the longer for its turn the larger the replay is. Until then the
most uncertain pair of state and action stays what it was, and restarts go where one has been
before. The variant `tuned` takes a quarter of each batch from the newest transitions.

**How far a restart goes.** What is new lies just after a restart: the rest of the episode mostly
leads among known states, and it is longer the larger N. A search that gives a restart up after ten
queries needs N^{short} queries, and one that goes on to the end N^{member}. The variant `tuned`
gives restarts up after ten queries.

**What members do on the way.** At N = {counted_size} ([CSV](seeking.csv), one seed with a quarter of
each batch from the newest, `python -m benchmarks.seeking`) members sought what was untried in
{sought} of the choices in which only one way led there. Of an untried action beside a tried one they
made use in {took}: a prior is as often low as high, and the tried action leads to the best of many.
Seeking the nearest untried pair always would give N^{seeker}, and chance N^{random}.

**The order of restarts.** An untried pair is as uncertain in the last row as in the first. A search
that restarts at the pair whose state was seen first needs N^{oldest}, and one that restarts in the
uppermost row N^{shallowest}.

**Better learning would not lower it.** With perfect learning the exponent is {normal_priors} for
normal priors. It is {signs_priors} for priors that are signs, of which the nearest is as good as any.
"""


def _picture(results: Results) -> str:
    """Return the picture of the README's first screen and its caption."""
    figure = next(one for one in PICTURES if results.runs(one))
    plan = FIGURES[figure]
    runs = [run for run in results.runs(figure) or [] if run.names["variant"] == ""]
    seeds = sorted({run.seed for run in runs})
    lines = [f"![{plan.title}](results/{figure}/{figure}.png)", ""]
    settings = _settings_words(figure, runs, results)
    text = (
        f"*{plan.title}: {settings}. The seeds are {seeds[0]} to {seeds[-1]}, and none is left out."
    )
    if figure == "montezuma-random":
        ((_, measured_text),) = _random_row(results)
        text = (
            f"*{plan.title}: the number of different cells seen. Seeds {seeds[0]} to {seeds[-1]}, and "
            f"none is left out: {measured_text}. No agent learns here, and the paper has no such figure."
        )
    else:
        for access in ("local", "online"):
            text += f" {access.capitalize()}: " + ", ".join(_solved(runs, access)) + "."
        text += (
            " A run stops once it is solved, and its last value stands for the rest. Not shown:"
            " the queries of evaluations, which do not count."
        )
    links = f"[CSV](results/{figure}/{figure}.csv), [all claims and verdicts]({CLAIMS_PAGE})"
    return "\n".join([*lines, f"{text} ({links})*"])


def _solved(runs: Sequence[Recorded], access: str) -> Iterator[str]:
    for agent in dict.fromkeys(run.names["agent"] for run in runs):
        own = [run for run in runs if (run.names["agent"], run.names["access"]) == (agent, access)]
        needed = [one for one in measured(own, "queries_to_target") if np.isfinite(one)]
        text = f"{label_of(agent)} solved on {len(needed)} of {len(own)}"
        if needed:
            text += f" (after {words.span([int(one) for one in needed])} queries)"
        if own:
            yield text


def _stable_baselines(results: Results) -> str:
    sides = _sides(results.rows(_SB3))
    rows = []
    for access, name in (("online", "DQN"), ("local", "DQN with `LocalAccess`")):
        side = sides[access]
        needed = words.span(side.needed) if side.needed else ""
        rows.append([name, f"{side.solved} of {side.seeds}", needed, words.span(side.rewarded)])
    heads = ["", "solved", "queries to solve", "rewarded queries"]
    table = _table(heads, rows)
    ppo = _sides(results.rows(_PPO))
    return f"""\
Stable-Baselines3's DQN on Deep Sea 20, {words.seeds(sides["local"].seeds)}, {sides["online"].queries:,} queries each
([script](examples/sb3_deep_sea.py), [results]({_SB3})):

{table}

Its PPO on FrozenLake 8 × 8, {ppo["online"].queries:,} queries ([script](examples/sb3_ppo.py), [results]({_PPO})):
{ppo["local"].solved} of {ppo["local"].seeds} solved with `LocalAccess`, {ppo["online"].solved} of {ppo["online"].seeds} without."""


_SPEED = (
    (
        "training on Deep Sea 50, `ddqn` with counts, whole history",
        "bsuite's JAX `dqn`, same network, batch and SGD period",
        ("throughput", "ddqn, counts", "ratio"),
    ),
    (
        "the same with covariance, d = 1500",
        "the same peer, which computes no uncertainty",
        ("throughput", "ddqn, covariance", "ratio"),
    ),
    (
        "`boot-ddqn`, 20 members",
        "bsuite's JAX `boot_dqn`, 20 members",
        ("throughput", "boot-ddqn", "ratio"),
    ),
    (
        "training on Swingup, `ddqn`, one thread",
        "Stable-Baselines3's DQN, same network, batch and period",
        ("swingup", "ddqn, online", "ratio"),
    ),
    (
        "two seeds of it on two cores",
        "one of Stable-Baselines3's",
        ("swingup", "ddqn, online, two seeds at once", "ratio"),
    ),
    (
        "a step of MountainCar with `LocalAccess`",
        "the bare step, by its time",
        ("local_access", "ratio"),
    ),
    (
        "two actors on Ray, Montezuma with random actions",
        "one process",
        ("actors", "2 actors", "ratio"),
    ),
    (
        "save + restore of Deep Sea 50",
        "one `copy.deepcopy`",
        ("snapshots", "deep-sea 50", "ratio"),
    ),
    ("save + restore of Swingup", "one `copy.deepcopy`", ("snapshots", "swingup", "ratio")),
    (
        "`--agent random` on Montezuma: counts, history, restarts",
        "a bare loop of the emulator and the same preprocessing",
        ("atari", "random agent, of a bare loop's speed"),
    ),
)
"""What is measured, against what, and where the ratio stands in `bench.json`."""


def _speed(root: Path) -> str:
    bench = read_object(root / _BENCH) or {}
    rows = [[what, against, f"{_at(bench, keys):g}×"] for what, against, keys in _SPEED]
    whole = _at(bench, ("restarts", "counts, 2,500 ids", "|H| = 1,000,000"))
    ratio = whole["scoring all (ms)"] / whole["choice (ms)"]
    choice = "whole-history choice among 10⁶ snapshots, counts on 2,500 states"
    rows.insert(-1, [choice, "scoring every snapshot", f"{ratio:.0f}×"])
    note = f"Ratios, each measured in one run on two shared CPU cores ([{_BENCH}]({_BENCH}), `make bench`):"
    return f"{note}\n\n{_table(['what', 'against', 'ratio'], rows)}"


def _at(value: Any, keys: Sequence[str]) -> Any:
    for key in keys:
        value = value[key]
    return value


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], Path.cwd()))
