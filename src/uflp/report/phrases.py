"""Results in words, as several pages have them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from uflp.experiments.figures import FIGURES, SCALES
from uflp.report import words
from uflp.report.evidence import Recorded, Results, measured, scope_of
from uflp.report.looks import label_of


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown, with a dash in empty cells."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(cell or words.NONE for cell in line)} |" for line in lines)


def settings_words(figure: str, runs: Sequence[Recorded], results: Results) -> str:
    """Return the settings of some runs of a figure, and what is less than the paper's."""
    scope = scope_of(figure, runs[0])
    sizes = {}
    for agent in dict.fromkeys(run.names["agent"] for run in runs):
        own = [run for run in runs if run.names["agent"] == agent]
        sizes[agent] = f"{_seeds_words(own, scope.seeds)}, {_budget_words(own, scope.queries)}"
    size = ", ".join(f"{label_of(agent)} {text}" for agent, text in sizes.items())
    if len(set(sizes.values())) == 1:
        size = next(iter(sizes.values()))
    variants = sorted({run.names["variant"] for run in runs})
    which = "the paper's settings" if variants == [""] else f"variant {', '.join(variants)}"
    other = _other_settings(figure, results.entry(figure))
    partial = results.partial(figure)
    told = [f"{which} but {other}" if other else which, size]
    return ", ".join([*told, *([f"{partial} runs finished"] if partial else [])])


def _seeds_words(runs: Sequence[Recorded], paper: int) -> str:
    """Return how many seeds each line of some runs has, and which."""
    lines: dict[tuple[str, ...], set[int]] = {}
    for run in runs:
        lines.setdefault(tuple(run.names.values()), set()).add(run.seed)
    counts = [len(seeds) for seeds in lines.values()]
    which = words.span([run.seed for run in runs])
    if set(counts) == {paper}:
        return f"{paper} seeds ({which}) as in the paper"
    return f"{words.span(counts)} of the paper's {paper} seeds ({which})"


def _budget_words(runs: Sequence[Recorded], paper: int | None) -> str:
    budgets = [int(run.budget) for run in runs]
    text = f"{words.span(budgets)} queries"
    if paper is None:
        return f"{text} (the paper does not say)"
    return text if set(budgets) == {paper} else f"{text} (the paper {paper:,})"


def _other_settings(figure: str, entry: Mapping[str, Any]) -> str:
    """Return the settings in which a scale differs from the paper's, besides seeds and queries."""
    arguments = str(entry.get("command", "")).split()
    scale = next((word for word in arguments if word in SCALES), "paper")
    values, paper = (FIGURES[figure].scales[name].values for name in (scale, "paper"))
    told = [
        f"`{key}` {value:,}" if isinstance(value, int) else f"`{key}` {value}"
        for key, value in values.items()
        if key not in ("queries", "eval_period") and paper.get(key) != value
    ]
    if figure == "deep-sea-20":  # The paper has no such figure: its N is 50.
        told.insert(0, "N = 20")
    told += [f"`{word}`" for flag, word in itertools.pairwise(arguments) if flag == "--set"]
    return ", ".join(told)


class Side(NamedTuple):
    """The runs of an agent that is not ours, with one kind of access.

    Attributes:
        solved: number of seeds that were.
        seeds: number of seeds.
        needed: queries of those that were solved.
        queries: that each seed had.
        rewarded: queries with a reward by seed, empty where they were not counted.
    """

    solved: int
    seeds: int
    needed: list[int]
    queries: int
    rewarded: list[int]


def sides_of(rows: Sequence[Mapping[str, str]]) -> dict[str, Side]:
    """Return both sides of a comparison with Stable-Baselines3 by access."""
    budget = max(int(row["queries"]) for row in rows)
    sides = {}
    for access in ("local", "online"):
        own = [row for row in rows if row["access"] == access]
        needed = [int(row["queries_to_solve"]) for row in own if row["queries_to_solve"]]
        rewarded = [int(row["rewarded_queries"]) for row in own if "rewarded_queries" in row]
        sides[access] = Side(len(needed), len(own), needed, budget, rewarded)
    return sides


def solved_words(rows: Sequence[Mapping[str, str]]) -> str:
    """Return how many seeds of either side were solved, and when."""
    sides = sides_of(rows)
    texts = []
    for access, side in sides.items():
        text = f"{access} {side.solved} of {side.seeds} seeds solved"
        texts.append(text + (f", after {words.span(side.needed)} queries" if side.needed else ""))
    return f"{'; '.join(texts)}; within {sides['online'].queries:,}"


def random_cells(results: Results) -> str:
    """Return what random actions have seen of Montezuma's Revenge, empty if there are no runs."""
    sides = {
        access: results.select("montezuma-random", {"agent": "random", "access": access})
        for access in ("local", "online")
    }
    if not all(sides.values()):
        return ""
    texts = []
    for access, runs in sides.items():
        cells = words.span([int(one) for one in measured(runs, "cells")])
        scores = words.span([int(one) for one in measured(runs, "max_screen_score")])
        texts.append(f"{access} {cells} cells and a highest screen score of {scores}")
    local = sides["local"]
    return f"{'; '.join(texts)}; {words.seeds(len(local))}, {int(local[0].budget):,} queries"
