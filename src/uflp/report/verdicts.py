"""Verdicts on the paper's claims, derived from the numbers of the committed results."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np

from uflp.experiments.claims import PAPER, Claim, Evidence, Measure, TableCell, Where
from uflp.report import formatting
from uflp.report.results import (
    MEASURE_TITLES,
    RecordedRun,
    Results,
    exponent_text,
    exponents,
    measured,
    same_value,
    scope_of,
)
from uflp.report.statistics import (
    ALPHA,
    FEWEST_FOR_INTERVAL,
    FEWEST_FOR_TEST,
    mean_interval,
    permutation_test,
)
from uflp.report.style import label_of

Support = Literal["holds", "leans", "fails", "open"]
"""Of an expectation: `leans` is as expected but not significant, `open` is undecided."""

Verdict = Literal["agrees", "partly", "disagrees", "not measured"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)


class Finding(NamedTuple):
    """Result of looking at one expectation.

    Attributes:
        evidence: the expectation.
        support: whether it holds.
        numbers: in words; empty where there are none.
        reason: why it does not hold, or is undecided.
        runs: those that were looked at.
    """

    evidence: Evidence
    support: Support
    numbers: str = ""
    reason: str = ""
    runs: tuple[RecordedRun, ...] = ()


class Judged(NamedTuple):
    """A claim with its verdict and the findings that decided it."""

    claim: Claim
    verdict: Verdict
    reason: str
    findings: tuple[Finding, ...]


def judge(claim: Claim, results: Results) -> Judged:
    """Return the verdict on a claim, derived from its evidence."""
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
    support = [one.support for one in findings]
    reasons = _reasons(findings)
    enough = support.count("holds") > len(support) / 2 if claim.most else False
    verdict: Verdict
    if all(one == "open" for one in support):
        verdict = "not measured"
    elif enough or all(one == "holds" for one in support):
        verdict = "agrees"
    elif any(one in ("holds", "leans") for one in support):
        verdict = "partly"
    else:
        verdict = "disagrees"
    if cap and verdict == "agrees":
        return "partly", "; ".join([f"as the paper says, but with {cap}", *reasons])
    if cap and verdict != "not measured":
        reasons = [*reasons, f"with {cap}"]
    return verdict, "; ".join(reasons)


def _reasons(findings: Sequence[Finding]) -> list[str]:
    """Return each reason once, with the runs that it is about unless it is about all."""
    about: dict[str, list[str]] = {}
    for one in findings:
        if one.reason:
            about.setdefault(one.reason, []).append(name_of(one.evidence))
    return [
        reason if len(names) == len(findings) else f"{reason} ({', '.join(dict.fromkeys(names))})"
        for reason, names in about.items()
    ]


def find(evidence: Evidence, results: Results, *, final: bool = False) -> Finding:
    """Return what the results say of one expectation.

    Args:
        evidence: the expectation.
        results: to look at.
        final: whether fewer queries than the paper's decide nothing.
    """
    if results.runs(evidence.figure) is None:
        return Finding(evidence, "open", reason="no runs yet")
    runs = results.select(evidence.figure, evidence.where)
    theirs: list[RecordedRun] = []
    if evidence.against is not None:
        theirs = results.select(evidence.figure, {**evidence.where, **evidence.against})
    if not runs or (evidence.against is not None and not theirs):
        side = evidence.where if not runs else {**evidence.where, **(evidence.against or {})}
        return Finding(evidence, "open", reason=f"no runs {_other_names(side)}yet")
    if not all(run.finished for run in (*runs, *theirs)):
        return Finding(evidence, "open", reason="a run was cut short")
    case = _Case(evidence, tuple(runs), tuple(theirs), results)
    support, numbers, reason = _PREDICATES[evidence.expect.predicate](case)
    together = (*runs, *theirs)
    paper = scope_of(evidence.figure, runs[0]).queries
    budget = min(run.budget for run in together)
    if final and paper is not None and budget < paper:
        support = "open"
        reason = f"only {formatting.count(budget)} of the paper's {formatting.count(paper)} queries"
    return Finding(evidence, support, numbers, reason, together)


def name_of(evidence: Evidence) -> str:
    """Return what a page calls the runs of an expectation."""
    return evidence.text or label_of(evidence.where["agent"])


def _other_names(where: Where) -> str:
    """Return which runs are missing, except for the agent's name."""
    others = [f"{key} {value}" for key, value in where.items() if key != "agent" and value]
    return f"with {', '.join(others)} " if others else ""


@dataclass(frozen=True)
class _Case:
    """An expectation and the runs that decide it.

    Attributes:
        evidence: the expectation.
        runs: that it is about.
        theirs: that they are compared with, empty where there is no comparison.
        results: where further runs are found.
    """

    evidence: Evidence
    runs: tuple[RecordedRun, ...]
    theirs: tuple[RecordedRun, ...]
    results: Results

    @property
    def title(self) -> str:
        """Name of the measure on a page."""
        return MEASURE_TITLES[self.evidence.measure]

    def sides(self) -> tuple[list[float], list[float]]:
        """Return the numbers of both sides."""
        return self.measured(self.runs), self.measured(self.theirs)

    def measured(self, runs: Sequence[RecordedRun]) -> list[float]:
        """Return the number of each run that the expectation is about."""
        return measured(runs, self.evidence.measure)

    def by_value(self) -> dict[str, list[float]]:
        """Return the numbers at each value of the swept setting."""
        grouped: dict[str, list[RecordedRun]] = {}
        for run in self.runs:
            grouped.setdefault(run.names[self.evidence.sweep], []).append(run)
        return {value: self.measured(runs) for value, runs in grouped.items()}

    def nothing_learned(self) -> str:
        """Return why returns decide nothing where no evaluation of either side was above 0.

        They only show then how much the untrained policies pay for their actions.
        """
        together = (*self.runs, *self.theirs)
        about_return = self.evidence.measure in ("auc", "final_return", "best_return")
        if not about_return or max(measured(together, "best_return")) > 0:
            return ""
        budget = max(run.budget for run in together)
        return f"no evaluation above 0 within {formatting.count(budget)} queries"


_Answer = tuple[Support, str, str]
"""Support of an expectation, the numbers in words, and why it does not hold."""


def _every_seed_solved(case: _Case) -> _Answer:
    needed = [one for one in measured(case.runs, "queries_to_target") if math.isfinite(one)]
    solved = f"{len(needed)} of {len(case.runs)}"
    text = f"{solved} solved"
    if needed:
        text += f", after {formatting.span([int(one) for one in needed])}"
    if len(needed) == len(case.runs):
        return "holds", text, ""
    return ("leans" if needed else "fails"), text, f"{solved} seeds solved"


def _every_seed(case: _Case, *, above: bool, some: bool = False) -> _Answer:
    values, limit = case.measured(case.runs), float(case.evidence.expect.value)
    good = [value > limit if above else value <= limit for value in values]
    counted = f"{sum(value > limit for value in values)} of {len(values)} seeds above {limit:,g}"
    text = f"{case.title} {_range(values, case.evidence.measure)}, {counted}"
    if all(good) or (some and any(good)):
        return "holds", text, ""
    return ("leans" if any(good) else "fails"), text, counted


def _compared(case: _Case) -> tuple[str, float]:
    """Return both sides in words, and the p-value of their difference."""
    ours, others = case.sides()
    p = permutation_test(ours, others)
    shown = [_side(side, case.evidence.measure) for side in (ours, others)]
    return f"{case.title} {shown[0]} against {shown[1]}, {formatting.p_value(p)}", p


def _significantly_higher(case: _Case) -> _Answer:
    if early := case.nothing_learned():
        return "open", "", early
    text, p = _compared(case)
    ours, others = case.sides()
    few = _few(ours, others)
    higher = np.mean(ours) > np.mean(others)
    if higher and p <= ALPHA:
        return "holds", text, ""
    if higher:
        return "leans", text, few or f"higher, not significantly ({formatting.p_value(p)})"
    if few:
        return "open", text, f"not higher, but {few}"
    return "fails", text, f"not higher ({formatting.p_value(p)})"


def _not_different(case: _Case) -> _Answer:
    if early := case.nothing_learned():
        return "open", "", early
    text, p = _compared(case)
    different = f"significantly different ({formatting.p_value(p)})" if p <= ALPHA else ""
    return _unless(different, text, _few(*case.sides()))


def _none_different(case: _Case) -> _Answer:
    wanted = case.evidence.expect.value
    sides = {
        value: numbers
        for value, numbers in case.by_value().items()
        if any(same_value(value, one) for one in wanted)
    }
    text = _swept(case, sides)
    if len(sides) < 2:
        return "open", text, "fewer than two of the values have runs"
    if early := case.nothing_learned():
        return "open", "", early
    apart = [
        f"{one} and {other}"
        for one, other in itertools.combinations(sides, 2)
        if permutation_test(sides[one], sides[other]) <= ALPHA
    ]
    different = f"significantly different: {', '.join(apart)}" if apart else ""
    absent = len(wanted) - len(sides)
    few = _few(*sides.values()) or (f"{absent} of the values not run" if absent else "")
    return _unless(different, text, few)


def _largest_at(case: _Case) -> _Answer:
    sides = case.by_value()
    text = _swept(case, sides)
    if early := case.nothing_learned():
        return "open", "", early
    if len(sides) < 2:
        return "open", text, "one value only"
    best = max(sides, key=lambda value: float(np.mean(sides[value])))
    few = _few(*sides.values())
    elsewhere = not any(same_value(best, one) for one in case.evidence.expect.value)
    if elsewhere and few:
        return "open", text, f"largest at {best}, but {few}"
    return _unless(f"largest at {best}" if elsewhere else "", text, few)


def _interval_contains(case: _Case) -> _Answer:
    fitted, unsolved = exponents(case.runs)
    if not fitted:
        return "open", "", "no seed was solved at every size"
    text = f"{case.title} {exponent_text(fitted)}"
    if unsolved:
        text += f"; {unsolved} of {unsolved + len(fitted)} seeds not solved at every size"
    value = float(case.evidence.expect.value)
    if len(fitted) < FEWEST_FOR_INTERVAL:
        inside = min(fitted) <= value <= max(fitted)
        seeds = formatting.seeds(len(fitted))
        return ("leans" if inside else "open"), text, f"{seeds} give no interval"
    own = mean_interval(fitted)
    outside = not own.low <= value <= own.high
    return _unless(f"{value} lies outside of the interval" if outside else "", text, "")


def _less_spread(case: _Case) -> _Answer:
    ours, others = case.sides()
    if min(len(ours), len(others)) < 2:
        return "open", "", "one seed has no spread"
    one, other = (float(np.std(side, ddof=1)) for side in (ours, others))
    text = f"standard deviation over seeds {formatting.number(one)}"
    text += f" against {formatting.number(other)}"
    return _unless("" if one < other else "not less spread", text, _few(ours, others))


def _smaller_gain(case: _Case) -> _Answer:
    evidence = case.evidence
    pair = [case.results.select(evidence.figure, where) for where in evidence.expect.value]
    if not all(pair):
        return "open", "", "no runs to compare the gain with yet"
    sides = [case.measured(side) for side in (case.runs, case.theirs, *pair)]
    means = [float(np.mean(side)) for side in sides]
    ours, others = means[0] - means[1], means[2] - means[3]
    text = f"{formatting.number(ours)} against {formatting.number(others)}"
    return _unless("" if ours < others else "not smaller", text, _few(*sides))


def _above_evaluations(case: _Case) -> _Answer:
    score = max(measured(case.runs, "max_screen_score"))
    best = max(measured(case.runs, "best_return"))
    text = f"highest screen score {formatting.count(score)}"
    text += f", best evaluation {formatting.number(best)}"
    return _unless("" if score > best else "not higher", text, "")


_PREDICATES: Mapping[str, Callable[[_Case], _Answer]] = {
    "every seed solved": _every_seed_solved,
    "every seed at most": lambda case: _every_seed(case, above=False),
    "every seed above": lambda case: _every_seed(case, above=True),
    "some seed above": lambda case: _every_seed(case, above=True, some=True),
    "significantly higher": _significantly_higher,
    "not significantly different": _not_different,
    "none significantly different": _none_different,
    "largest at": _largest_at,
    "interval contains": _interval_contains,
    "less spread": _less_spread,
    "smaller gain": _smaller_gain,
    "above its evaluations": _above_evaluations,
}


def _unless(problem: str, text: str, few: str) -> _Answer:
    """Return that an expectation fails by a problem, leans with few seeds, and else holds."""
    if problem:
        return "fails", text, problem
    return ("leans", text, few) if few else ("holds", text, "")


def _few(*sides: Sequence[float]) -> str:
    fewest = min(len(side) for side in sides)
    if fewest >= FEWEST_FOR_TEST:
        return ""
    return f"{formatting.seeds(fewest)} a side, with which nothing can be significant"


def _swept(case: _Case, sides: Mapping[str, Sequence[float]]) -> str:
    means = [
        f"{formatting.number(float(np.mean(numbers)))} at {value}"
        for value, numbers in sides.items()
    ]
    key = {"batch": "B"}.get(case.evidence.sweep, case.evidence.sweep)
    return f"{case.title} by {key}: {', '.join(means)}"


def _side(values: Sequence[float], measure: Measure) -> str:
    """Return the mean of one side, or its seeds where they are few."""
    if len(values) < FEWEST_FOR_INTERVAL:
        return ", ".join(_shown(value, measure) for value in sorted(values))
    return _shown(float(np.mean(values)), measure)


def _range(values: Sequence[float], measure: Measure) -> str:
    low, high = _shown(min(values), measure), _shown(max(values), measure)
    return low if low == high else f"{low} to {high}"


def _shown(value: float, measure: Measure) -> str:
    counted = measure in ("positive_rewards", "cells", "max_screen_score")
    return formatting.count(value) if counted else formatting.number(value)


class JudgedCell(NamedTuple):
    """A number of a table with its verdict."""

    cell: TableCell
    here: str
    verdict: Verdict
    reason: str


def judge_cell(cell: TableCell, results: Results) -> JudgedCell:
    """Return the verdict on a number of a table; below the paper's budget there is none."""
    wanted = {"variant": "", "preset": cell.preset, **cell.where}
    path = results.path(cell.figure)
    rows = results.rows(str(path.relative_to(results.root))) if path.exists() else []
    row = next(
        (one for one in rows if all(one.get(key, "") == value for key, value in wanted.items())),
        None,
    )
    if row is None:
        return JudgedCell(cell, "", "not measured", "no runs yet")
    here = formatting.number(float(row.get("mean") or row["maximum"]))
    here += f" ({formatting.seeds(int(row['seeds']))})"
    names = {key: value for key, value in wanted.items() if key != "variant"}
    budget = float(results.line(cell.figure, names).get("queries", 0))
    paper = PAPER[cell.preset].queries
    if paper is not None and budget < paper:
        reason = f"at {formatting.count(budget)} of {formatting.count(paper)} queries"
        return JudgedCell(cell, here, "not measured", reason)
    mean, _, reach = (part.strip() for part in cell.reported.partition("±"))
    if "maximum" in row:
        reached = float(row["maximum"]) >= float(mean)
        return JudgedCell(cell, here, "agrees" if reached else "disagrees", "")
    if not row.get("low"):
        return JudgedCell(cell, here, "not measured", "too few seeds for an interval")
    low, high = float(mean) - float(reach), float(mean) + float(reach)
    apart = float(row["low"]) > high or float(row["high"]) < low
    reason = "the intervals do not overlap" if apart else ""
    return JudgedCell(cell, here, "disagrees" if apart else "agrees", reason)
