"""Local against online access: which groups can be compared, the verdict, and the costs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from uflp.report import formatting
from uflp.report.groups import FOUND, UNKNOWN, Group, Outcome, areas_of, group_runs, outcome_of
from uflp.report.runs import RunRecord, read_runs
from uflp.report.statistics import (
    ALPHA,
    FEWEST_FOR_TEST,
    Interval,
    IntervalKind,
    difference_interval,
    improvement_interval,
    interval_kind,
    mean_interval,
    permutation_test,
)
from uflp.report.style import labels, measure_of

if TYPE_CHECKING:
    from uflp.simulators.costs import Costs

# Settings that may differ between the two kinds of access at the same task.
_OF_ACCESS = frozenset(
    {
        "p_init",
        "batch",
        "restart",
        "checkpoint_period",
        "rollout_limit",
        "restart_limit",
        "history_size",
        "history_bytes",
        "history_from",
        "keep_history",
        "rule",
        "epsilon",
        "bonus_scale",
    }
)


Step = Literal["learned", "found", "neither"]
"""Outcome of runs: somebody learned, somebody found rewards and nobody learned, or neither."""


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
        """Whether there are enough seeds for a test to be significant."""
        return min(map(len, self.areas)) >= FEWEST_FOR_TEST

    @property
    def significance(self) -> str:
        """One sentence on significance; empty with too few seeds."""
        if not self.tested:
            return ""
        significant = "significant" if self.p_value <= ALPHA else "not significant"
        return (
            f"The difference of the areas is {significant} at {ALPHA:g} "
            f"(permutation test, {formatting.p_value(self.p_value)})."
        )

    @property
    def numbers(self) -> str:
        """The difference and the probability in one or two sentences; empty if unknown."""
        if not self.known:
            return ""
        intervals = [f"{name} {formatting.ends(ends)}" for name, ends in self.intervals.items()]
        difference = ", ".join([formatting.number(self.difference.mean), *intervals])
        text = (
            f"Normalised AUC, local minus online: {difference}. "
            f"Probability that local is better: {formatting.interval(self.improvement)}."
        )
        return f"{text} {self.significance}".strip()

    @cached_property
    def outcomes(self) -> tuple[Outcome, Outcome]:
        """Numbers of both sides, local and online."""
        return outcome_of(self.local), outcome_of(self.online)

    @cached_property
    def learned(self) -> tuple[int, int]:
        """Number of seeds that learned anything, local and online."""
        lowest = _lowest((self.local, self.online))
        return learned(self.local, lowest), learned(self.online, lowest)

    @property
    def step(self) -> Step:
        """Step that the better side reached."""
        if any(self.learned):
            return "learned"
        return "found" if any(side.finders for side in self.outcomes) else "neither"

    @property
    def sentence(self) -> str:
        """Verdict in one sentence."""
        if self.step != "learned" and all(map(_counted, self.outcomes)):
            return self._without_learning()
        ours, theirs = self.outcomes
        if not ours.reached and not theirs.reached:
            return self._areas()
        sides = [("local", ours), ("online", theirs)]
        if theirs.to_target < ours.to_target or not ours.reached:
            sides.reverse()
        (first, better), (second, worse) = sides
        start = f"{first.capitalize()} access {_reached(better)}"
        if not worse.reached:
            return f"{start}; {second} never did."
        if math.isfinite(worse.to_target):
            return f"{start}, {second} after {formatting.count(worse.to_target)}."
        return f"{start}; {second} did in {worse.reached} of {worse.runs}."

    def _without_learning(self) -> str:
        """Return what either side found, where nobody learned."""
        ours, theirs = self.outcomes
        if self.step == "neither":
            queries = formatting.span([*ours.queries, *theirs.queries])
            start = f"Neither access found a positive reward within {queries} queries"
            return f"{start}, and nobody learned."
        texts = [
            f"{name} access found rewards ({_finds(side)})"
            if side.finders
            else f"{name} access found none"
            for name, side in zip(("local", "online"), self.outcomes, strict=True)
        ]
        if not ours.finders:  # What was found comes first.
            texts.reverse()
        text = f"{', '.join(texts)}, and nobody learned from them."
        return text[0].upper() + text[1:]

    def _areas(self) -> str:
        """Return a sentence on two groups of which neither reached a target."""
        ours, theirs = self.outcomes
        values, what = [ours.area.mean, theirs.area.mean], "AUC"
        if any(map(math.isnan, values)):
            values, what = [ours.best, theirs.best], "best return so far"
        elif ours.target is None:
            what = "normalised AUC"
        local, online = map(formatting.number, values)
        text = f"{what} {local} with local access, {online} online."
        if ours.target is not None:
            return f"Neither reached {ours.target:g}; {text}"
        if all(self.learned):
            return text[0].upper() + text[1:]
        number = 0 if self.learned[0] else 1
        better, worse = ("local", "online") if number == 0 else ("online", "local")
        count, runs = self.learned[number], self.outcomes[number].runs
        seeds = "" if count == runs else f" in {count} of {runs} seeds"
        if values[number] < values[1 - number]:
            # A policy that was good for a while, and was lost, has a larger area.
            start = f"At the end {better} access had learned{seeds} and {worse} access had not"
            return f"{start}; {text}"
        return f"{better.capitalize()} access learned{seeds} and {worse} access did not: {text}"

    @property
    def advice(self) -> str:
        """A sentence on what to try next where nobody learned; else empty."""
        return advice(self.step, self.local)

    @property
    def found(self) -> str:
        """Finds of either side by its end, in one sentence; empty where they are not counted."""
        texts = []

        def add(what: str, sides: Sequence[str]) -> None:
            texts.append(f"{what} {sides[0]} with local access, {sides[1]} online")

        if all(map(_counted, self.outcomes)):
            medians = [float(np.median(side.rewarded)) for side in self.outcomes]
            add("rewarded queries", [formatting.count(median) for median in medians])
            if any(side.finders for side in self.outcomes):
                add("first reward", [_first_reward(side) for side in self.outcomes])
        for name in FOUND:
            if all(name in side.found for side in self.outcomes):
                add(measure_of(name), [formatting.count(s.found[name]) for s in self.outcomes])
        return f"Found, by the median: {'; '.join(texts)}." if texts else ""

    def values(self) -> dict[str, Any]:
        """Return the comparison as JSON can hold it: null where a number is not known."""
        return {
            "preset": self.local.preset,
            "agent": self.local.agent,
            "uncertainty": self.local.uncertainty,
            "variant": self.local.variant,
            "verdict": self.sentence,
            "step": self.step,
            "found": self.found,
            "next": self.advice,
            "auc_difference": {**_known(self.difference), "interval": _named(self.kind)},
            "probability_local_better": _known(self.improvement),
            "p_value": _finite(self.p_value),
            "local": _side_values(self.outcomes[0], self.learned[0]),
            "online": _side_values(self.outcomes[1], self.learned[1]),
        }


def _side_values(outcome: Outcome, learned_seeds: int) -> dict[str, Any]:
    return {
        "seeds": outcome.runs,
        "reached": outcome.reached,
        "learned": learned_seeds,
        "queries_to_target": _finite(outcome.to_target),
        "final_return": _over_seeds(outcome.finals),
        "best_return": _finite(outcome.best),
        "auc": _over_seeds(outcome.areas),
        "positive_rewards": _finite(outcome.positive_rewards),
        "queries_to_first_reward": _finite(outcome.first_reward),
        **{name: _finite(value) for name, value in outcome.found.items()},
    }


def comparison_of(folders: Sequence[Path]) -> Comparison:
    """Return the comparison of runs that are half of local, half of online access.

    Args:
        folders: of the runs.
    """
    groups, _ = group_runs(read_runs(folders)[0])
    local, online = sorted(groups, key=lambda group: group.access)
    return Comparison(local, online)


def compare(groups: Sequence[Group]) -> list[Comparison]:
    """Return every pair of groups that differ in nothing but access and what belongs to it."""
    return [
        Comparison(local, online)
        for local in groups
        for online in groups
        if (local.access, online.access) == ("local", "online") and _alike(local, online)
    ]


def verdict(groups: Sequence[Group]) -> str:
    """Return one sentence on the groups of a preset: what to know if nothing else is read."""
    comparisons = compare(groups)
    if len(comparisons) == 1:
        return comparisons[0].sentence
    if comparisons:
        return _verdict_on_many(comparisons)
    outcomes = [outcome_of(group) for group in groups]
    best = max(range(len(groups)), key=lambda n: _rank(outcomes[n]))
    lead = "" if len(groups) == 1 else f"Best of {len(groups)}: "
    outcome = outcomes[best]
    if outcome.reached:
        what = _reached(outcome)
    elif step_of(groups) == "found" and outcome.finders:
        what = f"found rewards ({_finds(outcome)}), and did not learn from them"
    else:
        what = _best(outcome)
    return f"{lead}{labels(groups)[best]} {what}."


def step_of(groups: Sequence[Group]) -> Step:
    """Return the step that the best of some groups reached."""
    lowest = _lowest(groups)
    if any(learned(group, lowest) for group in groups):
        return "learned"
    return "found" if any(outcome_of(group).finders for group in groups) else "neither"


def learned(group: Group, lowest: float) -> int:
    """Return the number of seeds that learned anything.

    One did if it reached its target, or if the mean of the last quarter of its evaluations covers
    a tenth of the way from the lowest evaluation to the target. Without a target the way is the
    size of the lowest evaluation, so that noise around it is not taken for learning. Where every
    evaluation is positive, no policy failed: all seeds count.

    Args:
        group: of runs.
        lowest: evaluation of any of the runs that are compared.
    """
    if lowest > 0:
        return len(group.runs)
    count = 0
    for run in group.runs:
        values, target = run.curve().values, run.target
        way = abs(lowest) if target is None else target - lowest
        end = values[-max(1, len(values) // 4) :].mean()
        count += bool((target is not None and values.max() >= target) or end > lowest + 0.1 * way)
    return count


def _lowest(groups: Sequence[Group]) -> float:
    return float(min(run.curve().values.min() for group in groups for run in group.runs))


def advice(step: Step, group: Group) -> str:
    """Return what to try next, in one sentence; empty where something was learned.

    Args:
        step: of the runs.
        group: of runs with local access.
    """
    settings = group.runs[0].settings

    def above(key: str, value: float) -> bool:
        return isinstance(settings.get(key), int | float) and settings[key] > value

    if step == "learned":
        return ""
    if step == "found" and group.agent == "random":
        return "The agent random never learns: choose another one."
    if step == "found":
        one_step = settings.get("n_step") == 1 and not group.agent.startswith("pi")
        ways = [
            ("more SGD steps", "sgd_period=1", above("sgd_period", 1)),
            ("targets over several steps", "n_step=5", one_step),
            ("recent transitions", "recent_fraction=0.25", settings.get("recent_fraction") == 0),
        ]
        start = "To learn from what was found, try"
    else:
        ways = [
            ("more restarts", "p_init=0.1", above("p_init", 0.1)),
            ("the whole history", "batch=none", above("batch", 0)),
            ("every state saved", "checkpoint_period=1", above("checkpoint_period", 1)),
            ("restarts at rare cells", "rule=go-explore", settings.get("rule") != "go-explore"),
        ]
        start = "To find a reward, try"
    texts = [f"{what} ({pair})" for what, pair, useful in ways if useful]
    last = f"{'or ' if texts else ''}more queries"
    return f"{start} {', '.join([*texts, last])}."


def _verdict_on_many(comparisons: Sequence[Comparison]) -> str:
    """Return how often local access did better, and when the two reached their targets."""
    total = len(comparisons)
    everywhere = "both" if total == 2 else f"all {total}"
    if all(one.step != "learned" for one in comparisons):
        ours, theirs = (
            sum(one.outcomes[side].finders > 0 for one in comparisons) for side in (0, 1)
        )
        return (
            f"Nobody learned in {everywhere} comparisons; local access found rewards in "
            f"{ours or 'none'}, online access in {theirs or 'none'} of them."
        )
    better = sum(one.difference.mean > 0 for one in comparisons)
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
        f"after {formatting.span([int(m) for m in found])} queries" if found else "never"
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
    """Return when a group reached its target; it did."""
    assert outcome.target is not None
    start = f"reached {formatting.number(outcome.target).rstrip('0').rstrip('.')}"
    if not math.isfinite(outcome.to_target):
        return f"{start} in {outcome.reached} of {formatting.seeds(outcome.runs)}"
    of = "one seed" if outcome.runs == 1 else f"median of {outcome.runs} seeds"
    return f"{start} after {formatting.count(outcome.to_target)} queries ({of})"


def _counted(outcome: Outcome) -> bool:
    """Return whether rewarded queries were counted."""
    return not any(map(math.isnan, outcome.rewarded))


def _finds(outcome: Outcome) -> str:
    """Return how much was found, for a group that found a reward."""
    if not math.isfinite(outcome.first_reward):
        return f"in {outcome.finders} of {formatting.seeds(outcome.runs)}"
    median = float(np.median(outcome.rewarded))
    text = f"{formatting.count(median)} rewarded {'query' if median == 1 else 'queries'}"
    text += f", the first {_first_reward(outcome)}"
    return text if outcome.runs == 1 else f"{text}; medians of {outcome.runs} seeds"


def _first_reward(outcome: Outcome) -> str:
    if not outcome.finders:
        return "never"
    if math.isfinite(outcome.first_reward):
        return f"by query {formatting.count(outcome.first_reward)}"
    return f"in {outcome.finders} of {formatting.seeds(outcome.runs)}"


def _best(outcome: Outcome) -> str:
    return (
        f"had a best return of {formatting.number(outcome.best)} ({formatting.seeds(outcome.runs)})"
    )


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _known(interval: Interval) -> dict[str, float | None]:
    return {name: _finite(value) for name, value in interval._asdict().items()}


def _over_seeds(values: Sequence[float]) -> dict[str, Any]:
    """Return the mean over seeds, its interval and the kind of that, and the seeds' own values."""
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


def cost_sentence(group: Group, costs: Costs) -> str:
    """Return one sentence on time and memory that saves and restores took, per run on average.

    A run saves once at the start of each rollout and then every `checkpoint_period` queries.

    Args:
        group: runs with local access.
        costs: of a single save and restore, measured on their simulator.
    """
    share = sum(_seconds(run, costs) for run in group.runs) / sum(
        float(run.metrics["wall_seconds"][-1]) for run in group.runs
    )
    held = max(int(run.metrics["history_size"][-1]) for run in group.runs)
    size = f"of {costs.nbytes:,.0f} bytes, {_size(held * costs.nbytes)}"
    if not costs.nbytes:
        size = "that are copies in this process, whose size is not known"
    return (
        f"Going back took about {100 * share:.2g} % of the local runs' time "
        f"({_micro(costs.save)} a save, {_micro(costs.restore)} a restore); the history "
        f"held up to {held:,} snapshots {size}."
    )


def _seconds(run: RunRecord, costs: Costs) -> float:
    rollouts, restarts = (float(run.metrics[key][-1]) for key in ("rollouts", "restarts"))
    saves = rollouts + run.queries / int(run.settings["checkpoint_period"])
    return saves * costs.save + restarts * costs.restore


def _micro(seconds: float) -> str:
    return f"{float(f'{1e6 * seconds:.2g}'):,g} µs"


def _size(nbytes: float) -> str:
    for unit in ("bytes", "kB", "MB"):
        if nbytes < 1000:
            return f"{nbytes:.3g} {unit}"
        nbytes /= 1000
    return f"{nbytes:.3g} GB"
