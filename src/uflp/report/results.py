"""The committed results: runs read from the CSVs of figures, their numbers, and texts of both."""

from __future__ import annotations

import csv
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from uflp.experiments.claims import PAPER, TARGET, Measure, Scope, Where
from uflp.experiments.figures import FIGURES, SCALES
from uflp.experiments.figures.robotics import ROBOTICS_FIGURES
from uflp.report import formatting
from uflp.report.provenance import PROVENANCE
from uflp.report.statistics import (
    FEWEST_FOR_BOOTSTRAP,
    FEWEST_FOR_INTERVAL,
    FINAL_EVALUATIONS,
    Curve,
    final_score,
    mean_interval,
    normalised_auc,
    power_law_exponent,
    queries_to_target,
)
from uflp.report.style import label_of
from uflp.runs.folder import read_object

_NUMBERS = ("queries", "eval_return_mean", "positive_rewards", "cells", "max_screen_score")


@dataclass(frozen=True, eq=False)
class RecordedRun:
    """One run as a CSV has it.

    Attributes:
        names: values of the columns that name it, the swept settings among them.
        seed: of the run.
        numbers: what was measured at each evaluation, by column.
        budget: queries that it was given.
        holds: whether it stopped because it was solved, so that its last value stands for the rest.
    """

    names: Mapping[str, str]
    seed: int
    numbers: Mapping[str, np.ndarray]
    budget: float
    holds: bool

    @property
    def finished(self) -> bool:
        """Whether it was solved, or has used its budget."""
        return self.holds or bool(self.numbers["queries"][-1] >= self.budget)

    def curve(self, column: str = "eval_return_mean") -> Curve:
        """Return one column against queries."""
        return Curve(self.numbers["queries"], self.numbers[column], self.holds)


@dataclass
class Results:
    """A folder of results, read as they are needed.

    Attributes:
        root: of the checkout; the results are in its folder `results`.
    """

    root: Path
    _runs: dict[str, list[RecordedRun] | None] = field(default_factory=dict)
    _entries: dict[str, dict[str, Any]] = field(default_factory=dict)

    def path(self, figure: str) -> Path:
        """Return where a figure's CSV is, or would be."""
        return self.root / "results" / figure / f"{figure}.csv"

    def entry(self, figure: str) -> dict[str, Any]:
        """Return how a figure was made, empty where that is not recorded."""
        if figure not in self._entries:
            entries = read_object(self.path(figure).parent / PROVENANCE) or {}
            self._entries[figure] = dict(entries.get(figure, {}))
        return self._entries[figure]

    def line(self, figure: str, names: Mapping[str, str]) -> dict[str, Any]:
        """Return the recorded settings of runs with these names, empty where none are."""
        entry = self.entry(figure)
        shared = entry.get("settings") or {}
        lines = ({**shared, **line} for line in entry.get("lines", ()))
        return next((line for line in lines if _belongs(names, line)), {})

    def partial(self, figure: str) -> str:
        """Return how many of a figure's runs are finished, such as `3 of 8`; empty if all are."""
        runs = self.entry(figure).get("runs", {"finished": 0, "planned": 0})
        finished, planned = runs["finished"], runs["planned"]
        return f"{finished} of {planned}" if finished < planned else ""

    def runs(self, figure: str) -> list[RecordedRun] | None:
        """Return all runs of a figure, None where it has no CSV."""
        if figure not in self._runs:
            there = self.path(figure).exists()
            self._runs[figure] = self._read(figure) if there else None
        return self._runs[figure]

    def select(self, figure: str, where: Where) -> list[RecordedRun]:
        """Return the runs with these names, and with the paper's settings if no variant is."""
        wanted = {"variant": "", **where}
        return [
            run
            for run in self.runs(figure) or []
            if all(same_value(run.names.get(key, ""), value) for key, value in wanted.items())
        ]

    def rows(self, path: str) -> list[dict[str, str]]:
        """Return the rows of a CSV that a page cannot do without, by its path in the checkout."""
        with (self.root / path).open(newline="") as file:
            return list(csv.DictReader(file))

    def _read(self, figure: str) -> list[RecordedRun]:
        with self.path(figure).open(newline="") as file:
            reader = csv.DictReader(file)
            columns = list(reader.fieldnames or ())
            grouped: dict[tuple[str, ...], list[dict[str, str]]] = {}
            keys = [name for name in columns if name not in _NUMBERS]
            for row in reader:
                grouped.setdefault(tuple(row[key] for key in keys), []).append(row)
        runs = []
        for key, rows in grouped.items():
            names = dict(zip(keys, key, strict=True))
            seed = int(names.pop("seed"))
            line = self.line(figure, names)
            if "variant" not in names:
                # A file without the column has the paper's settings only if its record says so.
                names["variant"] = line.get("variant", "not recorded") or ""
            numbers = {
                name: np.array([float(row[name]) for row in rows])
                for name in _NUMBERS
                if name in columns
            }
            stop = line.get("stop_at_return")
            last = numbers["eval_return_mean"][-1]
            budget = float(line.get("queries", numbers["queries"][-1]))
            holds = stop is not None and last >= stop
            runs.append(RecordedRun(names, seed, numbers, budget, holds))
        return runs


def _belongs(names: Mapping[str, str], line: Mapping[str, Any]) -> bool:
    """Return whether a run with these names is one of a recorded line."""
    for key, value in names.items():
        recorded = line.get(key, value)
        if recorded is None:
            # None is the whole history as a batch, and else that there is no such thing.
            if key == "batch" and value != "all":
                return False
        elif value and not same_value(value, str(recorded)):
            return False
    return True


def same_value(one: str, other: str) -> bool:
    """Return whether two cells hold the same number, or the same text."""
    try:
        return float(one) == float(other)
    except ValueError:
        return one == other


def scope_of(figure: str, run: RecordedRun | None = None) -> Scope:
    """Return how much the paper ran where these runs stand."""
    preset = run.names.get("preset", "") if run else ""
    return PAPER.get(preset) or next(
        scope for start, scope in PAPER.items() if figure.startswith(start.partition("/")[0])
    )


_MEASURES: Mapping[Measure, Callable[[RecordedRun], float]] = {
    "queries_to_target": lambda run: queries_to_target(run.curve(), TARGET),
    "auc": lambda run: normalised_auc(run.curve(), run.budget),
    "auc_cells": lambda run: normalised_auc(run.curve("cells"), run.budget),
    "best_return": lambda run: float(run.numbers["eval_return_mean"].max()),
    "final_return": lambda run: final_score(run.curve()),
    "positive_rewards": lambda run: float(run.numbers["positive_rewards"][-1]),
    "cells": lambda run: float(run.numbers["cells"][-1]),
    "max_screen_score": lambda run: float(run.numbers["max_screen_score"].max()),
}
MEASURE_TITLES: Mapping[Measure, str] = {
    "queries_to_target": "queries to 0.95",
    "auc": "normalised AUC",
    "auc_cells": "normalised AUC of the cells",
    "best_return": "best evaluation",
    "final_return": f"mean of the last {FINAL_EVALUATIONS} evaluations",
    "positive_rewards": "rewarded queries",
    "cells": "cells",
    "max_screen_score": "highest screen score",
    "exponent": "exponent",
}


def measured(runs: Sequence[RecordedRun], measure: Measure) -> list[float]:
    """Return the number of each run."""
    return [_MEASURES[measure](run) for run in runs]


def exponents(runs: Sequence[RecordedRun]) -> tuple[list[float], int]:
    """Return the exponent of each seed that was solved at every size, and how many were not."""
    points: dict[int, list[tuple[float, float]]] = {}
    for run in runs:
        needed = queries_to_target(run.curve(), TARGET)
        points.setdefault(run.seed, []).append((float(run.names["size"]), needed))
    solved = [
        pairs
        for pairs in points.values()
        if len(pairs) > 1 and all(math.isfinite(queries) for _, queries in pairs)
    ]
    fitted = [power_law_exponent(*zip(*pairs, strict=True)) for pairs in solved]
    return fitted, len(points) - len(solved)


def exponent_text(fitted: Sequence[float]) -> str:
    """Return an exponent with its interval, or with its seeds where they are few."""
    mean = f"{np.mean(fitted):.2f}"
    if len(fitted) < FEWEST_FOR_INTERVAL:
        return f"{mean} ({', '.join(f'{one:.2f}' for one in sorted(fitted))})"
    own = mean_interval(fitted)
    text = f"{mean} [{own.low:.2f}, {own.high:.2f}]"
    if len(fitted) < FEWEST_FOR_BOOTSTRAP:
        boot = mean_interval(fitted, "bootstrap")
        text += f" t, [{boot.low:.2f}, {boot.high:.2f}] bootstrap"
    return text


def settings_text(figure: str, runs: Sequence[RecordedRun], results: Results) -> str:
    """Return the settings of some runs of a figure, and what is less than the paper's."""
    if figure in ROBOTICS_FIGURES:  # The paper has no such task.
        seeds = sorted({run.seed for run in runs})
        budget = formatting.span([int(run.budget) for run in runs])
        count = formatting.seeds(len(seeds))
        return f"settings of ours, {count} ({formatting.span(seeds)}), {budget} queries"
    scope = scope_of(figure, runs[0])
    by_agent: dict[str, list[RecordedRun]] = {}
    for run in runs:
        by_agent.setdefault(run.names["agent"], []).append(run)
    of_seeds = {agent: _seeds_text(own, scope.seeds) for agent, own in by_agent.items()}
    of_budgets = {agent: _budget_text(own, scope.queries) for agent, own in by_agent.items()}
    size = f"{_by_agents(of_seeds)}; {_by_agents(of_budgets)}"
    partial = results.partial(figure)
    parts = [which_settings(figure, runs, results), size]
    return ", ".join([*parts, *([f"{partial} runs finished"] if partial else [])])


def _by_agents(texts: Mapping[str, str]) -> str:
    """Return what is said of each agent, once for those of which the same is said."""
    agents: dict[str, list[str]] = {}
    for agent, text in texts.items():
        agents.setdefault(text, []).append(label_of(agent))
    if len(agents) == 1:
        return next(iter(agents))
    return "; ".join(f"{', '.join(names)}: {text}" for text, names in agents.items())


def which_settings(figure: str, runs: Sequence[RecordedRun], results: Results) -> str:
    """Return whose settings some runs of a figure have, and what differs from the paper's."""
    variants = sorted({run.names["variant"] for run in runs})
    which = "the paper's settings" if variants == [""] else f"variant {', '.join(variants)}"
    other = _other_settings(figure, results.entry(figure))
    return f"{which} but {other}" if other else which


def _seeds_text(runs: Sequence[RecordedRun], paper: int) -> str:
    """Return how many seeds each line of some runs has, and which."""
    lines: dict[tuple[str, ...], set[int]] = {}
    for run in runs:
        lines.setdefault(tuple(run.names.values()), set()).add(run.seed)
    counts = [len(seeds) for seeds in lines.values()]
    which = formatting.span([run.seed for run in runs])
    if set(counts) == {paper}:
        return f"{paper} seeds ({which}) as in the paper"
    return f"{formatting.span(counts)} of the paper's {paper} seeds ({which})"


def _budget_text(runs: Sequence[RecordedRun], paper: int | None) -> str:
    budgets = [int(run.budget) for run in runs]
    text = f"{formatting.span(budgets)} queries"
    if paper is None:
        return f"{text} (the paper does not say)"
    return text if set(budgets) == {paper} else f"{text} (the paper {paper:,})"


def _other_settings(figure: str, entry: Mapping[str, Any]) -> str:
    """Return the settings in which a scale differs from the paper's, besides seeds and queries."""
    arguments = str(entry.get("command", "")).split()
    scale = next((word for word in arguments if word in SCALES), "paper")
    values, paper = (FIGURES[figure].scales[name].values for name in (scale, "paper"))
    texts = [
        f"`{key}` {value:,}" if isinstance(value, int) else f"`{key}` {value}"
        for key, value in values.items()
        if key not in ("queries", "eval_period") and paper.get(key) != value
    ]
    if figure == "deep-sea-20":  # The paper has no such figure: its N is 50.
        texts.insert(0, "N = 20")
    texts += [f"`{word}`" for flag, word in itertools.pairwise(arguments) if flag == "--set"]
    return ", ".join(texts)


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


def solved_text(rows: Sequence[Mapping[str, str]]) -> str:
    """Return how many seeds of either side were solved, and when."""
    sides = sides_of(rows)
    texts = []
    for access, side in sides.items():
        text = f"{access} {side.solved} of {side.seeds} seeds solved"
        texts.append(
            text + (f", after {formatting.span(side.needed)} queries" if side.needed else "")
        )
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
        cells = formatting.span([int(one) for one in measured(runs, "cells")])
        scores = formatting.span([int(one) for one in measured(runs, "max_screen_score")])
        texts.append(f"{access} {cells} cells and a highest screen score of {scores}")
    local = sides["local"]
    return f"{'; '.join(texts)}; {formatting.seeds(len(local))}, {int(local[0].budget):,} queries"
