"""Local against online access: which groups can be compared, and what that comes to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from uflp.report import words
from uflp.report.groups import Group
from uflp.report.looks import FOUND, labels, measure_of
from uflp.report.outcomes import UNKNOWN, Outcome, areas_of, outcome_of
from uflp.report.statistics import (
    ALPHA,
    Interval,
    IntervalKind,
    difference_interval,
    improvement_interval,
    interval_kind,
    mean_interval,
    permutation_test,
)

# What the two kinds of access may set differently, and still be two ways to do the same task.
_OF_ACCESS = {
    *("p_init", "batch", "restart", "checkpoint_period", "rollout_limit", "restart_limit"),
    *("history_size", "history_bytes", "epsilon", "bonus_scale"),
}
_FEWEST_TO_TEST = 4  # Three against three cannot give less than p = 0.1.


@dataclass(frozen=True, eq=False)
class Comparison:
    """A group with local and one with online access, alike in all else.

    Attributes:
        local: the one.
        online: the other.
    """

    local: Group
    online: Group

    @cached_property
    def areas(self) -> tuple[list[float], list[float]]:
        """Normalised area under the curve of each run that ended, local and online."""
        return areas_of(self.local), areas_of(self.online)

    @property
    def known(self) -> bool:
        """Whether both sides have an area."""
        return all(self.areas)

    @property
    def kind(self) -> IntervalKind:
        """Which interval the side with fewer seeds supports."""
        return interval_kind(min(map(len, self.areas)))

    @cached_property
    def difference(self) -> Interval:
        """Difference of the mean areas, local minus online; NaN where a side has none."""
        return difference_interval(*self.areas) if self.known else UNKNOWN

    @cached_property
    def improvement(self) -> Interval:
        """Probability that a local seed has a larger area than an online one."""
        return improvement_interval(*self.areas) if self.known else UNKNOWN

    @cached_property
    def p_value(self) -> float:
        """Two-sided p-value of a permutation test of the difference; NaN where a side has none."""
        return permutation_test(*self.areas) if self.known else math.nan

    @property
    def intervals(self) -> dict[str, Interval]:
        """The intervals of the difference by their names; none where a side has too few seeds."""
        if self.kind == "none":
            return {}
        found = {self.kind: self.difference}
        if self.kind == "t":
            found["bootstrap"] = difference_interval(*self.areas, "bootstrap")
        return {f"95 % {kind} interval": interval for kind, interval in found.items()}

    @property
    def tested(self) -> bool:
        """Whether there are seeds enough for a test to tell anything."""
        return min(map(len, self.areas)) >= _FEWEST_TO_TEST

    @property
    def significance(self) -> str:
        """Whether the difference is significant, in one sentence; nothing of too few seeds."""
        if not self.tested:
            return ""
        told = "significant" if self.p_value <= ALPHA else "not significant"
        return (
            f"The difference of the areas is {told} at {ALPHA:g} "
            f"(permutation test, {words.p_value(self.p_value)})."
        )

    @property
    def numbers(self) -> str:
        """The difference and the probability in one or two sentences; nothing if not known."""
        if not self.known:
            return ""
        intervals = [f"{name} {words.ends(ends)}" for name, ends in self.intervals.items()]
        difference = ", ".join([words.number(self.difference.mean), *intervals])
        told = (
            f"Normalised AUC, local minus online: {difference}. "
            f"Probability that local is better: {words.interval(self.improvement)}."
        )
        return f"{told} {self.significance}".strip()

    @property
    def sentence(self) -> str:
        """What the comparison shows, in one sentence."""
        ours, theirs = outcome_of(self.local), outcome_of(self.online)
        if not ours.reached and not theirs.reached:
            return _areas(ours, theirs)
        sides = [("local", ours), ("online", theirs)]
        if theirs.to_target < ours.to_target or not ours.reached:
            sides.reverse()
        (first, better), (second, worse) = sides
        start = f"{first.capitalize()} access {_reached(better)}"
        if not worse.reached:
            return f"{start}; {second} never did."
        if math.isfinite(worse.to_target):
            return f"{start}, {second} after {words.count(worse.to_target)}."
        return f"{start}; {second} did in {worse.reached} of {worse.runs}."

    @property
    def found(self) -> str:
        """What either side has found by its end; nothing where that is not counted."""
        told = []
        for name in FOUND:
            ends = [
                [run.metrics[name][-1] for run in side.runs if name in run.metrics]
                for side in (self.local, self.online)
            ]
            if all(ends):
                ours, theirs = (words.count(float(np.median(side))) for side in ends)
                told.append(f"{measure_of(name)} {ours} with local access, {theirs} online")
        return f"At the end, by the median: {'; '.join(told)}." if told else ""

    def values(self) -> dict[str, Any]:
        """Returns the comparison as JSON can hold it: null where a number is not known."""
        sides = {"local": outcome_of(self.local), "online": outcome_of(self.online)}
        return {
            "preset": self.local.preset,
            "agent": self.local.agent,
            "uncertainty": self.local.uncertainty,
            "variant": self.local.variant,
            "verdict": self.sentence,
            "found": self.found,
            "auc_difference": {**_known(self.difference), "interval": _named(self.kind)},
            "probability_local_better": _known(self.improvement),
            "p_value": _finite(self.p_value),
            **{
                access: {
                    "seeds": outcome.runs,
                    "reached": outcome.reached,
                    "queries_to_target": _finite(outcome.to_target),
                    "final_return": _over_seeds(outcome.finals),
                    "best_return": _finite(outcome.best),
                    "auc": _over_seeds(outcome.areas),
                    "positive_rewards": _finite(outcome.positive_rewards),
                }
                for access, outcome in sides.items()
            },
        }


def compare(groups: Sequence[Group]) -> list[Comparison]:
    """Returns every pair of groups that differ in nothing but access and what belongs to it."""
    return [
        Comparison(local, online)
        for local in groups
        for online in groups
        if (local.access, online.access) == ("local", "online") and _alike(local, online)
    ]


def verdict(groups: Sequence[Group]) -> str:
    """Returns one sentence on the groups of a preset: what to know if nothing else is read."""
    comparisons = compare(groups)
    if len(comparisons) == 1:
        return comparisons[0].sentence
    if comparisons:
        return _verdict_on_many(comparisons)
    outcomes = [outcome_of(group) for group in groups]
    best = max(range(len(groups)), key=lambda n: _rank(outcomes[n]))
    lead = "" if len(groups) == 1 else f"Best of {len(groups)}: "
    what = _reached(outcomes[best]) if outcomes[best].reached else _best(outcomes[best])
    return f"{lead}{labels(groups)[best]} {what}."


def _verdict_on_many(comparisons: Sequence[Comparison]) -> str:
    """Returns how often local access did better, and when the two reached their targets."""
    total = len(comparisons)
    better = sum(one.difference.mean > 0 for one in comparisons)
    everywhere = "both" if total == 2 else f"all {total}"
    often = everywhere if better == total else f"{better or 'none'} of {total}"
    medians = [
        sorted(
            outcome.to_target
            for outcome in map(outcome_of, groups)
            if math.isfinite(outcome.to_target)
        )
        for groups in (
            [one.local for one in comparisons],
            list(dict.fromkeys(one.online for one in comparisons)),
        )
    ]
    start = f"Local access did better in {often} comparisons"
    if not any(medians):
        return f"{start}; the target was out of reach."
    local, online = (
        f"after {words.span([int(m) for m in found])} queries" if found else "never"
        for found in medians
    )
    return f"{start}: it reached the target {local}, online {online} (medians over seeds)."


def _alike(local: Group, online: Group) -> bool:
    if (local.preset, local.agent) != (online.preset, online.agent):
        return False
    if online.uncertainty not in (None, local.uncertainty):
        return False
    # Online runs that a variant does not change are the preset's.
    if online.variant not in (None, local.variant):
        return False
    ours, theirs = local.runs[0].settings, online.runs[0].settings
    shared = (ours.keys() & theirs.keys()) - _OF_ACCESS
    return all(ours[key] == theirs[key] for key in shared)


def _reached(outcome: Outcome) -> str:
    """Returns when the target was reached, for a group that did."""
    assert outcome.target is not None
    start = f"reached {words.number(outcome.target).rstrip('0').rstrip('.')}"
    if not math.isfinite(outcome.to_target):
        return f"{start} in {outcome.reached} of {words.seeds(outcome.runs)}"
    of = "one seed" if outcome.runs == 1 else f"median of {outcome.runs} seeds"
    return f"{start} after {words.count(outcome.to_target)} queries ({of})"


def _best(outcome: Outcome) -> str:
    return f"had a best return of {words.number(outcome.best)} ({words.seeds(outcome.runs)})"


def _areas(ours: Outcome, theirs: Outcome) -> str:
    """Returns a sentence on two groups of which neither reached a target."""
    start = "Normalised AUC" if ours.target is None else f"Neither reached {ours.target:g}; AUC"
    values = [ours.area.mean, theirs.area.mean]
    if any(map(math.isnan, values)):
        start, values = start.replace("Normalised AUC", "AUC"), [ours.best, theirs.best]
        start = start.removesuffix("AUC") + "best return so far"
    local, online = map(words.number, values)
    return f"{start} {local} with local access, {online} online."


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _known(interval: Interval) -> dict[str, float | None]:
    return {name: _finite(value) for name, value in interval._asdict().items()}


def _over_seeds(values: Sequence[float]) -> dict[str, Any]:
    """Returns the mean over seeds, its interval and the kind of that, and the seeds' own values."""
    return {
        **_known(mean_interval(values) if values else UNKNOWN),
        "interval": _named(interval_kind(len(values))),
        "by_seed": list(values),
    }


def _named(kind: IntervalKind) -> str | None:
    return None if kind == "none" else kind


def _rank(outcome: Outcome) -> tuple[float, float, float]:
    area = outcome.area.mean
    return (
        outcome.reached / outcome.runs,
        -outcome.to_target,
        -math.inf if math.isnan(area) else area,
    )
