"""What the results say of the paper's claims: numbers from CSVs, and verdicts from numbers."""

from __future__ import annotations

import csv
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from uflp.experiments.claims import (
    PAPER,
    TARGET,
    Claim,
    Evidence,
    Measure,
    Scope,
    TableCell,
    Where,
)
from uflp.experiments.recorded import read_object
from uflp.report import words
from uflp.report.looks import label_of
from uflp.report.provenance import PROVENANCE
from uflp.report.scores import EVALUATIONS
from uflp.report.statistics import (
    FEWEST_FOR_INTERVAL,
    Curve,
    mean_interval,
    normalised_auc,
    permutation_test,
    power_law_exponent,
    queries_to_target,
)

SIGNIFICANT = 0.05
FEWEST_FOR_TEST = 4
"""Seeds a side with which a permutation test can be significant: three and three give 2/20."""

Outcome = Literal["holds", "leans", "fails", "open"]
"""Of an expectation: `leans` is as expected but not significant, `open` cannot be told."""

Verdict = Literal["agrees", "partly", "disagrees", "not measured"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)

_NAMES = ("preset", "agent", "uncertainty", "access", "variant")
_NUMBERS = ("queries", "eval_return_mean", "positive_rewards", "cells", "max_screen_score")


@dataclass(frozen=True, eq=False)
class Recorded:
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
        """Returns one column against queries."""
        return Curve(self.numbers["queries"], self.numbers[column], self.holds)


class Finding(NamedTuple):
    """What the results say of one expectation.

    Attributes:
        evidence: the expectation.
        outcome: whether it holds.
        measured: the numbers in words; empty where there are none.
        reason: why it does not hold, or cannot be told.
        runs: those that were looked at.
    """

    evidence: Evidence
    outcome: Outcome
    measured: str = ""
    reason: str = ""
    runs: tuple[Recorded, ...] = ()


class Judged(NamedTuple):
    """A claim with its verdict and the findings that decided it."""

    claim: Claim
    verdict: Verdict
    reason: str
    findings: tuple[Finding, ...]


@dataclass
class Results:
    """A folder of results, read as they are needed.

    Attributes:
        root: of the checkout; the results are in its folder `results`.
    """

    root: Path
    _runs: dict[str, list[Recorded] | None] = field(default_factory=dict)

    def path(self, figure: str) -> Path:
        """Returns where a figure's CSV is, or would be."""
        return self.root / "results" / figure / f"{figure}.csv"

    def entry(self, figure: str) -> dict[str, Any]:
        """Returns how a figure was made, empty where that is not recorded."""
        entries = read_object(self.path(figure).parent / PROVENANCE) or {}
        return dict(entries.get(figure, {}))

    def partial(self, figure: str) -> str:
        """Returns how many of a figure's runs are finished, such as `3 of 8`; empty if all are."""
        runs = self.entry(figure).get("runs", {"finished": 0, "planned": 0})
        finished, planned = runs["finished"], runs["planned"]
        return f"{finished} of {planned}" if finished < planned else ""

    def runs(self, figure: str) -> list[Recorded] | None:
        """Returns all runs of a figure, None where it has no CSV."""
        if figure not in self._runs:
            there = self.path(figure).exists()
            self._runs[figure] = self._read(figure) if there else None
        return self._runs[figure]

    def select(self, figure: str, where: Where) -> list[Recorded]:
        """Returns the runs with these names, and with the paper's settings if no variant is."""
        wanted = {"variant": "", **where}
        return [
            run
            for run in self.runs(figure) or []
            if all(_same(run.names.get(key, ""), value) for key, value in wanted.items())
        ]

    def rows(self, path: str) -> list[dict[str, str]]:
        """Returns the rows of a CSV that a page cannot do without, by its path in the checkout."""
        with (self.root / path).open(newline="") as file:
            return list(csv.DictReader(file))

    def _read(self, figure: str) -> list[Recorded]:
        with self.path(figure).open(newline="") as file:
            reader = csv.DictReader(file)
            columns = list(reader.fieldnames or ())
            grouped: dict[tuple[str, ...], list[dict[str, str]]] = {}
            keys = [name for name in columns if name not in _NUMBERS]
            for row in reader:
                grouped.setdefault(tuple(row[key] for key in keys), []).append(row)
        lines = _lines(self.entry(figure))
        runs = []
        for key, rows in grouped.items():
            names = dict(zip(keys, key, strict=True))
            seed = int(names.pop("seed"))
            line = next((one for one in lines if _belongs(names, one)), {})
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
            runs.append(Recorded(names, seed, numbers, budget, holds))
        return runs


def _lines(entry: Mapping[str, Any]) -> list[dict[str, Any]]:
    shared = entry.get("settings") or {}
    return [{**shared, **line} for line in entry.get("lines", ())]


def _belongs(names: Mapping[str, str], line: Mapping[str, Any]) -> bool:
    """Returns whether a run with these names is one of a recorded line."""
    for key, value in names.items():
        recorded = line.get(key, value)
        if recorded is None:
            # None is the whole history as a batch, and else that there is no such thing.
            if key == "batch" and value != "all":
                return False
        elif value and not _same(value, str(recorded)):
            return False
    return True


def _same(one: str, other: str) -> bool:
    try:
        return float(one) == float(other)
    except ValueError:
        return one == other


def scope_of(figure: str, run: Recorded | None = None) -> Scope:
    """Returns how much the paper ran where these runs stand."""
    preset = run.names.get("preset", "") if run else ""
    return PAPER.get(preset) or next(
        scope for start, scope in PAPER.items() if figure.startswith(start.partition("/")[0])
    )


def _final_return(run: Recorded) -> float:
    return float(run.numbers["eval_return_mean"][-EVALUATIONS:].mean())


_MEASURES: Mapping[Measure, Callable[[Recorded], float]] = {
    "queries_to_target": lambda run: queries_to_target(run.curve(), TARGET),
    "auc": lambda run: normalised_auc(run.curve(), run.budget),
    "auc_cells": lambda run: normalised_auc(run.curve("cells"), run.budget),
    "best_return": lambda run: float(run.numbers["eval_return_mean"].max()),
    "final_return": _final_return,
    "positive_rewards": lambda run: float(run.numbers["positive_rewards"][-1]),
    "cells": lambda run: float(run.numbers["cells"][-1]),
    "max_screen_score": lambda run: float(run.numbers["max_screen_score"].max()),
}
_TITLES: Mapping[Measure, str] = {
    "queries_to_target": "queries to 0.95",
    "auc": "normalised AUC",
    "auc_cells": "normalised AUC of the cells",
    "best_return": "best evaluation",
    "final_return": f"mean of the last {EVALUATIONS} evaluations",
    "positive_rewards": "rewarded queries",
    "cells": "cells",
    "max_screen_score": "highest screen score",
    "exponent": "exponent",
}
_OF_RETURN = ("auc", "final_return", "best_return")


def title_of_measure(measure: Measure) -> str:
    """Returns what a page calls a measure."""
    return _TITLES[measure]


def measured(runs: Sequence[Recorded], measure: Measure) -> list[float]:
    """Returns the number of each run."""
    return [_MEASURES[measure](run) for run in runs]


def exponents(runs: Sequence[Recorded]) -> tuple[list[float], int]:
    """Returns the exponent of each seed that was solved at every size, and how many were not."""
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


def judge(claim: Claim, results: Results) -> Judged:
    """Returns the verdict on a claim, derived from its evidence."""
    findings = tuple(find(one, results, final=claim.final) for one in claim.evidence)
    caps = []
    if not any(one.runs for one in findings):
        others = tuple(find(one, results) for one in claim.instead)
        if any(one.runs for one in others):
            findings, caps = others, [claim.cap]
    for figure in dict.fromkeys(one.evidence.figure for one in findings if one.runs):
        if partial := results.partial(figure):
            # Runs that are solved finish first, so that the finished ones are a biased sample.
            caps.append(f"only {partial} of its runs finished")
    return Judged(claim, *_decide(findings, claim, " and ".join(caps)), findings)


def _decide(findings: Sequence[Finding], claim: Claim, cap: str = "") -> tuple[Verdict, str]:
    if not findings:
        return "not measured", claim.missing or "no runs yet"
    outcomes = [one.outcome for one in findings]
    reasons = _reasons(findings)
    enough = outcomes.count("holds") > len(outcomes) / 2 if claim.most else False
    verdict: Verdict
    if all(outcome == "open" for outcome in outcomes):
        verdict = "not measured"
    elif enough or all(outcome == "holds" for outcome in outcomes):
        verdict = "agrees"
    elif any(outcome in ("holds", "leans") for outcome in outcomes):
        verdict = "partly"
    else:
        verdict = "disagrees"
    if cap and verdict == "agrees":
        return "partly", "; ".join([f"as the paper says, but with {cap}", *reasons])
    if cap and verdict != "not measured":
        reasons = [*reasons, f"with {cap}"]
    return verdict, "; ".join(reasons)


def _reasons(findings: Sequence[Finding]) -> list[str]:
    """Returns each reason once, with the runs that it is about unless it is about all."""
    about: dict[str, list[str]] = {}
    for one in findings:
        if one.reason:
            about.setdefault(one.reason, []).append(name_of(one.evidence))
    return [
        reason if len(names) == len(findings) else f"{reason} ({', '.join(dict.fromkeys(names))})"
        for reason, names in about.items()
    ]


def find(evidence: Evidence, results: Results, *, final: bool = False) -> Finding:
    """Returns what the results say of one expectation.

    Args:
        evidence: the expectation.
        results: to look at.
        final: whether fewer queries than the paper's decide nothing.
    """
    if results.runs(evidence.figure) is None:
        return Finding(evidence, "open", reason="no runs yet")
    runs = results.select(evidence.figure, evidence.where)
    theirs: list[Recorded] = []
    if evidence.against is not None:
        theirs = results.select(evidence.figure, {**evidence.where, **evidence.against})
    if not runs or (evidence.against is not None and not theirs):
        side = evidence.where if not runs else {**evidence.where, **(evidence.against or {})}
        return Finding(evidence, "open", reason=f"no runs {_told(side)}yet")
    if not all(run.finished for run in (*runs, *theirs)):
        return Finding(evidence, "open", reason="a run was cut short")
    outcome, numbers, reason = _PREDICATES[evidence.expect.predicate](
        evidence, runs, theirs, results
    )
    together = (*runs, *theirs)
    paper = scope_of(evidence.figure, runs[0]).queries
    budget = min(run.budget for run in together)
    if final and paper is not None and budget < paper:
        reason = f"only {words.count(budget)} of the paper's {words.count(paper)} queries"
        return Finding(evidence, "open", numbers, reason, together)
    return Finding(evidence, outcome, numbers, reason, together)


def name_of(evidence: Evidence) -> str:
    """Returns what a page calls the runs of an expectation."""
    return evidence.text or label_of(evidence.where["agent"])


def _told(where: Where) -> str:
    """Returns which runs are missing, for those that the agent's name does not say."""
    others = [f"{key} {value}" for key, value in where.items() if key != "agent" and value]
    return f"with {', '.join(others)} " if others else ""


_Found = tuple[Outcome, str, str]
_Judge = Callable[[Evidence, Sequence[Recorded], Sequence[Recorded], Results], _Found]


def _every_seed_solved(
    evidence: Evidence, runs: Sequence[Recorded], theirs: Sequence[Recorded], results: Results
) -> _Found:
    needed = [one for one in measured(runs, "queries_to_target") if math.isfinite(one)]
    text = f"{len(needed)} of {len(runs)} solved"
    if needed:
        text += f", after {words.span([int(one) for one in needed])}"
    if len(needed) == len(runs):
        return "holds", text, ""
    return ("leans" if needed else "fails"), text, f"{len(needed)} of {len(runs)} seeds solved"


def _every_seed(
    evidence: Evidence,
    runs: Sequence[Recorded],
    theirs: Sequence[Recorded],
    results: Results,
    *,
    above: bool,
    some: bool = False,
) -> _Found:
    values, limit = measured(runs, evidence.measure), float(evidence.expect.value)
    good = [value > limit if above else value <= limit for value in values]
    text = f"{_TITLES[evidence.measure]} {_range(values, evidence.measure)}"
    told = f"{sum(value > limit for value in values)} of {len(values)} seeds above {limit:,g}"
    if all(good) or (some and any(good)):
        return "holds", f"{text}, {told}", ""
    return ("leans" if any(good) else "fails"), f"{text}, {told}", told


def _compared(
    evidence: Evidence, runs: Sequence[Recorded], theirs: Sequence[Recorded]
) -> tuple[list[float], list[float], str, float]:
    ours, others = measured(runs, evidence.measure), measured(theirs, evidence.measure)
    p = permutation_test(ours, others)
    shown = [_side(side, evidence.measure) for side in (ours, others)]
    text = f"{_TITLES[evidence.measure]} {shown[0]} against {shown[1]}, {words.p_value(p)}"
    return ours, others, text, p


def _significantly_higher(
    evidence: Evidence, runs: Sequence[Recorded], theirs: Sequence[Recorded], results: Results
) -> _Found:
    ours, others, text, p = _compared(evidence, runs, theirs)
    if evidence.measure in _OF_RETURN and (early := _nothing_learned(runs, theirs)):
        return "open", "", early
    few = _few(ours, others)
    higher = np.mean(ours) > np.mean(others)
    if higher and p <= SIGNIFICANT:
        return "holds", text, ""
    if higher:
        return "leans", text, few or f"higher, not significantly ({words.p_value(p)})"
    if few:
        return "open", text, f"not higher, but {few}"
    return "fails", text, f"not higher ({words.p_value(p)})"


def _not_different(
    evidence: Evidence, runs: Sequence[Recorded], theirs: Sequence[Recorded], results: Results
) -> _Found:
    ours, others, text, p = _compared(evidence, runs, theirs)
    if evidence.measure in _OF_RETURN and (early := _nothing_learned(runs, theirs)):
        return "open", "", early
    if p <= SIGNIFICANT:
        return "fails", text, f"significantly different ({words.p_value(p)})"
    few = _few(ours, others)
    return ("leans", text, few) if few else ("holds", text, "")


def _by_value(evidence: Evidence, runs: Sequence[Recorded]) -> dict[str, list[Recorded]]:
    grouped: dict[str, list[Recorded]] = {}
    for run in runs:
        grouped.setdefault(run.names[evidence.sweep], []).append(run)
    return grouped


def _swept(evidence: Evidence, grouped: Mapping[str, Sequence[Recorded]]) -> str:
    means = [
        f"{words.number(float(np.mean(measured(runs, evidence.measure))))} at {value}"
        for value, runs in grouped.items()
    ]
    key = {"batch": "B"}.get(evidence.sweep, evidence.sweep)
    return f"{_TITLES[evidence.measure]} by {key}: {', '.join(means)}"


def _none_different(
    evidence: Evidence, runs: Sequence[Recorded], theirs: Sequence[Recorded], results: Results
) -> _Found:
    wanted = evidence.expect.value
    grouped = {
        value: members
        for value, members in _by_value(evidence, runs).items()
        if any(_same(value, one) for one in wanted)
    }
    text = _swept(evidence, grouped)
    if len(grouped) < 2:
        return "open", text, "fewer than two of the values have runs"
    if evidence.measure in _OF_RETURN and (early := _nothing_learned(runs, ())):
        return "open", "", early
    sides = {value: measured(members, evidence.measure) for value, members in grouped.items()}
    tests = {
        (one, other): permutation_test(sides[one], sides[other])
        for one, other in itertools.combinations(sides, 2)
    }
    apart = [f"{one} and {other}" for (one, other), p in tests.items() if p <= SIGNIFICANT]
    if apart:
        return "fails", text, f"significantly different: {', '.join(apart)}"
    few = _few(*sides.values())
    if few:
        return "leans", text, few
    absent = len(wanted) - len(grouped)
    return ("leans", text, f"{absent} of the values not run") if absent else ("holds", text, "")


def _largest_at(
    evidence: Evidence, runs: Sequence[Recorded], theirs: Sequence[Recorded], results: Results
) -> _Found:
    grouped = _by_value(evidence, runs)
    text = _swept(evidence, grouped)
    if evidence.measure in _OF_RETURN and (early := _nothing_learned(runs, ())):
        return "open", "", early
    if len(grouped) < 2:
        return "open", text, "one value only"
    sides = {value: measured(members, evidence.measure) for value, members in grouped.items()}
    best = max(sides, key=lambda value: float(np.mean(sides[value])))
    few = _few(*sides.values())
    if not any(_same(best, one) for one in evidence.expect.value):
        return ("open" if few else "fails"), text, f"largest at {best}" + (few and f", but {few}")
    return ("leans", text, few) if few else ("holds", text, "")


def _interval_contains(
    evidence: Evidence, runs: Sequence[Recorded], theirs: Sequence[Recorded], results: Results
) -> _Found:
    fitted, left = exponents(runs)
    if not fitted:
        return "open", "", "no seed was solved at every size"
    text = f"{_TITLES[evidence.measure]} {exponent_words(fitted)}"
    if left:
        text += f"; {left} of {left + len(fitted)} seeds not solved at every size"
    value = float(evidence.expect.value)
    if len(fitted) < FEWEST_FOR_INTERVAL:
        inside = min(fitted) <= value <= max(fitted)
        return ("leans" if inside else "open"), text, f"{words.seeds(len(fitted))} give no interval"
    own = mean_interval(fitted)
    if own.low <= value <= own.high:
        return "holds", text, ""
    return "fails", text, f"{value} lies outside of the interval"


def _less_spread(
    evidence: Evidence, runs: Sequence[Recorded], theirs: Sequence[Recorded], results: Results
) -> _Found:
    ours, others = measured(runs, evidence.measure), measured(theirs, evidence.measure)
    if min(len(ours), len(others)) < 2:
        return "open", "", "one seed has no spread"
    one, other = (float(np.std(side, ddof=1)) for side in (ours, others))
    text = f"standard deviation over seeds {words.number(one)} against {words.number(other)}"
    few = _few(ours, others)
    if one < other:
        return ("leans", text, few) if few else ("holds", text, "")
    return "fails", text, "not less spread"


def _smaller_gain(
    evidence: Evidence, runs: Sequence[Recorded], theirs: Sequence[Recorded], results: Results
) -> _Found:
    pair = [results.select(evidence.figure, where) for where in evidence.expect.value]
    if not all(pair):
        return "open", "", "no runs to compare the gain with yet"
    sides = [measured(side, evidence.measure) for side in (runs, theirs, *pair)]
    means = [float(np.mean(side)) for side in sides]
    ours, others = means[0] - means[1], means[2] - means[3]
    text = f"{words.number(ours)} against {words.number(others)}"
    few = _few(*sides)
    if ours < others:
        return ("leans", text, few) if few else ("holds", text, "")
    return "fails", text, "not smaller"


def _above_evaluations(
    evidence: Evidence, runs: Sequence[Recorded], theirs: Sequence[Recorded], results: Results
) -> _Found:
    score = max(measured(runs, "max_screen_score"))
    best = max(measured(runs, "best_return"))
    text = f"highest screen score {words.count(score)}, best evaluation {words.number(best)}"
    return ("holds", text, "") if score > best else ("fails", text, "not higher")


_PREDICATES: Mapping[str, _Judge] = {
    "every seed solved": _every_seed_solved,
    "every seed at most": lambda *sides: _every_seed(*sides, above=False),
    "every seed above": lambda *sides: _every_seed(*sides, above=True),
    "some seed above": lambda *sides: _every_seed(*sides, above=True, some=True),
    "significantly higher": _significantly_higher,
    "not significantly different": _not_different,
    "none significantly different": _none_different,
    "largest at": _largest_at,
    "interval contains": _interval_contains,
    "less spread": _less_spread,
    "smaller gain": _smaller_gain,
    "above its evaluations": _above_evaluations,
}


def _nothing_learned(runs: Sequence[Recorded], theirs: Sequence[Recorded]) -> str:
    """Returns that returns say nothing yet, where no evaluation of either side was above 0.

    They only tell then how much the untrained policies pay for their actions.
    """
    together = (*runs, *theirs)
    if max(measured(together, "best_return")) > 0:
        return ""
    return (
        f"no evaluation above 0 within {words.count(max(run.budget for run in together))} queries"
    )


def _few(*sides: Sequence[float]) -> str:
    fewest = min(len(side) for side in sides)
    if fewest >= FEWEST_FOR_TEST:
        return ""
    return f"{words.seeds(fewest)} a side, with which nothing can be significant"


def _side(values: Sequence[float], measure: Measure) -> str:
    """Returns the mean of one side, or its seeds where they are few."""
    if len(values) < FEWEST_FOR_INTERVAL:
        return ", ".join(_shown(value, measure) for value in sorted(values))
    return _shown(float(np.mean(values)), measure)


def _range(values: Sequence[float], measure: Measure) -> str:
    low, high = _shown(min(values), measure), _shown(max(values), measure)
    return low if low == high else f"{low} to {high}"


def _shown(value: float, measure: Measure) -> str:
    counted = measure in ("positive_rewards", "cells", "max_screen_score")
    return words.count(value) if counted else words.number(value)


def exponent_words(fitted: Sequence[float]) -> str:
    """Returns an exponent with its interval, or with its seeds where they are few."""
    mean = f"{np.mean(fitted):.2f}"
    if len(fitted) < FEWEST_FOR_INTERVAL:
        return f"{mean} ({', '.join(f'{one:.2f}' for one in sorted(fitted))})"
    own = mean_interval(fitted)
    text = f"{mean} [{own.low:.2f}, {own.high:.2f}]"
    if len(fitted) < 10:
        boot = mean_interval(fitted, "bootstrap")
        text += f" t, [{boot.low:.2f}, {boot.high:.2f}] bootstrap"
    return text


class JudgedCell(NamedTuple):
    """A number of a table with its verdict."""

    cell: TableCell
    here: str
    verdict: Verdict
    reason: str


def judge_cell(cell: TableCell, results: Results) -> JudgedCell:
    """Returns the verdict on a number of a table; below the paper's budget there is none."""
    path = results.path(cell.figure)
    if not path.exists():
        return JudgedCell(cell, "", "not measured", "no runs yet")
    wanted = {"variant": "", "preset": cell.preset, **cell.where}
    rows = results.rows(str(path.relative_to(results.root)))
    row = next(
        (one for one in rows if all(one.get(key, "") == value for key, value in wanted.items())),
        None,
    )
    if row is None:
        return JudgedCell(cell, "", "not measured", "no runs yet")
    here = words.number(float(row.get("mean") or row["maximum"]))
    here += f" ({words.seeds(int(row['seeds']))})"
    names = {key: value for key, value in wanted.items() if key != "variant"}
    line = next((one for one in _lines(results.entry(cell.figure)) if _belongs(names, one)), {})
    paper, budget = PAPER[cell.preset].queries, float(line.get("queries", 0))
    if paper is not None and budget < paper:
        reason = f"at {words.count(budget)} of {words.count(paper)} queries"
        return JudgedCell(cell, here, "not measured", reason)
    mean, _, reach = (part.strip() for part in cell.reported.partition("±"))
    if "maximum" in row:
        reached = float(row["maximum"]) >= float(mean)
        return JudgedCell(cell, here, "agrees" if reached else "disagrees", "")
    if not row.get("low"):
        return JudgedCell(cell, here, "not measured", "too few seeds for an interval")
    apart = float(row["low"]) > float(mean) + float(reach) or float(row["high"]) < float(
        mean
    ) - float(reach)
    reason = "the intervals do not overlap" if apart else ""
    return JudgedCell(cell, here, "disagrees" if apart else "agrees", reason)
