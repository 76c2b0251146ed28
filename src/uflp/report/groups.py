"""Groups of runs that differ only in their seed, and the numbers of a group over its seeds."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from uflp.report import formatting
from uflp.report.runs import RETURN, RunRecord, Skipped
from uflp.report.statistics import (
    Curve,
    Interval,
    interquartile_mean,
    mean_interval,
    queries_to_target,
)

NAMES = ("preset", "agent", "uncertainty", "access", "variant")
"""Names that a run has in common with its group."""

# Settings of how a run is measured; they tend to follow from another one, such as Deep Sea's size.
_MEASURING = ("eval_period", "eval_episodes")


@dataclass(frozen=True, eq=False)
class Group:
    """Runs with the same names and the same settings.

    Attributes:
        preset: name of the preset.
        agent: name of the agent.
        uncertainty: name of the uncertainty, or None.
        access: `online` or `local`.
        variant: name of the preset's variant, None for the preset as it is.
        detail: the settings that tell it from other groups with the same names, such as
            `size=20`; empty where the names are enough.
        runs: one a seed, by seed.
    """

    preset: str
    agent: str
    uncertainty: str | None
    access: str
    variant: str | None
    detail: str
    runs: tuple[RunRecord, ...]

    def curves(self, column: str = RETURN) -> list[Curve]:
        """Return a column over queries, of the runs that measured it."""
        known = [run.curve(column) for run in self.runs if column in run.metrics]
        return [curve for curve in known if len(curve.queries)]


def group_runs(runs: Sequence[RunRecord]) -> tuple[list[Group], list[Skipped]]:
    """Group runs by their names and settings, in order of the names.

    Equal settings and seed give equal numbers, so of two such runs only the longer one is kept:
    counted twice, it would pass for a second seed.

    Returns:
        The groups, and the runs that repeat another.
    """
    groups: list[Group] = []
    skipped: list[Skipped] = []
    rules: dict[tuple[str, ...], set[str]] = {}
    for run in runs:
        rules.setdefault(_names(run)[:-1], set()).add(_text(run.settings.get("rule")))
    for same_names in _partition(runs, _names):
        by_settings = _partition(same_names, lambda run: _text(run.settings))
        # Rules often differ in their uncertainty too, so that names alone would hide the rule.
        by_rule = len(rules[_names(same_names[0])[:-1]]) > 1
        details = _details([part[0] for part in by_settings], by_rule=by_rule)
        pairs = zip(details, by_settings, strict=True)
        for detail, part in sorted(pairs, key=lambda pair: _natural(pair[0])):
            kept = []
            for same_seed in _partition(part, lambda run: run.seed):
                best = max(same_seed, key=lambda run: run.queries)
                kept.append(best)
                skipped += [
                    Skipped(run.path, f"repeats seed {run.seed} of {best.path}")
                    for run in same_seed
                    if run is not best
                ]
            groups.append(_group(detail, kept))
    return groups, skipped


def _group(detail: str, runs: Sequence[RunRecord]) -> Group:
    names = {key: getattr(runs[0], key) for key in NAMES}
    return Group(**names, detail=detail, runs=tuple(runs))


def _partition(runs: Sequence[RunRecord], key: Callable[[RunRecord], Any]) -> list[list[RunRecord]]:
    parts: dict[Any, list[RunRecord]] = {}
    for run in runs:
        parts.setdefault(key(run), []).append(run)
    return [parts[name] for name in sorted(parts)]


def _names(run: RunRecord) -> tuple[str, str, str, str, str]:
    # Access before uncertainty, so that local and online stand together.
    return run.preset, run.agent, run.variant or "", run.access, run.uncertainty or ""


def _details(runs: Sequence[RunRecord], *, by_rule: bool) -> list[str]:
    """Return, for one run of each group, the settings that set it apart from the others.

    Args:
        runs: one of each group.
        by_rule: whether the rule is named in any case.
    """
    keys = dict.fromkeys(key for run in runs for key in run.settings)
    differing = [
        key
        for key in keys
        if (by_rule and key == "rule")
        or len({_text(run.settings.get(key, "unset")) for run in runs}) > 1
    ]
    telling = [key for key in differing if key not in _MEASURING]
    # Settings that only some have come with their rule, which is named.
    shared = [key for key in telling if all(key in run.settings for run in runs)]
    for chosen in (shared if by_rule else telling, telling, differing):
        details = [
            ", ".join(f"{key}={_word(run.settings.get(key, 'unset'))}" for key in chosen)
            for run in runs
        ]
        if len(set(details)) == len(runs):
            break
    return details


def _natural(text: str) -> list[tuple[float, str]]:
    """Return a sorting key that puts size=5 before size=10."""
    words = re.split(r"(\d+(?:\.\d+)?)", text)
    # Every second word is a number.
    return [(float(word), "") if n % 2 else (0.0, word) for n, word in enumerate(words)]


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _word(value: Any) -> str:
    return value if isinstance(value, str) else _text(value).replace("null", "none")


FOUND = ("cells", "rooms", "max_screen_score")
"""Columns of what a run has found, where its simulator counts that."""

UNKNOWN = Interval(math.nan, math.nan, math.nan)
"""Place of a number that no run gives."""


@dataclass(frozen=True)
class Outcome:
    """Numbers of a group over its seeds: one row of a table.

    Attributes:
        runs: how many seeds there are.
        ended: how many of them spent their budget or stopped at their goal.
        queries: smallest and largest number of queries made.
        finals: last evaluation of each run that ended; if none did, of all.
        final_middle: their interquartile mean.
        best: highest evaluation of any seed.
        target: return to reach, None if there is none.
        reached: how many seeds reached it.
        to_target: median over seeds of the queries that took, infinite for those that did not.
        areas: normalised area under the curve of each run that ended.
        positive_rewards: mean over seeds of the rewarded queries.
        rewarded: queries with a positive reward of each seed, NaN where they were not counted.
        first_reward: median over seeds of the queries to the first of them, infinite for those
            without.
        found: medians over seeds of what the simulator counts, such as `cells`, by column.
        queries_per_second: mean over seeds.
    """

    runs: int
    ended: int
    queries: tuple[int, int]
    finals: tuple[float, ...]
    final_middle: float
    best: float
    target: float | None
    reached: int
    to_target: float
    areas: tuple[float, ...]
    positive_rewards: float
    rewarded: tuple[float, ...]
    first_reward: float
    found: Mapping[str, float]
    queries_per_second: float

    @property
    def finders(self) -> int:
        """Number of seeds with a rewarded query."""
        return sum(count > 0 for count in self.rewarded)

    @property
    def first_reward_text(self) -> str:
        """The queries to the first reward, and the number of seeds that found one."""
        return f"{formatting.count(self.first_reward)} ({self.finders} of {self.runs})"

    @property
    def final(self) -> Interval:
        """The mean of the final returns, with its interval if the seeds give one."""
        return mean_interval(self.finals)

    @property
    def area(self) -> Interval:
        """The mean of the areas, with its interval if the seeds give one; NaN if no run ended."""
        return mean_interval(self.areas) if self.areas else UNKNOWN

    @property
    def seeds_text(self) -> str:
        """Number of seeds, and of those that were cut short."""
        cut = self.runs - self.ended
        return f"{self.runs} ({cut} cut short)" if cut else str(self.runs)

    @property
    def final_text(self) -> str:
        """The final return, marked "so far" where no run has ended."""
        return formatting.over_seeds(self.finals) + ("" if self.ended else " so far")

    @property
    def area_text(self) -> str:
        """The normalised area under the curve; a dash where no run ended."""
        return formatting.over_seeds(self.areas)

    @property
    def target_text(self) -> str:
        """The queries to the target."""
        if self.target is None:
            return "no target"
        return f"{formatting.count(self.to_target)} ({self.reached} of {self.runs})"


def outcome_of(group: Group) -> Outcome:
    """Return the numbers of a group over its seeds."""
    runs = group.runs
    areas = areas_of(group)
    finals = [float(run.curve().values[-1]) for run in _ended(runs) or runs]
    target = runs[0].target
    counts = [
        queries_to_target(run.curve(), math.inf if target is None else target) for run in runs
    ]
    found = {name: [run.last(name) for run in runs] for name in FOUND}
    found["cells"] = [run.cells for run in runs]
    return Outcome(
        runs=len(runs),
        ended=len(areas),
        queries=(min(run.queries for run in runs), max(run.queries for run in runs)),
        finals=tuple(finals),
        final_middle=interquartile_mean(finals),
        best=max(run.curve().values.max() for run in runs),
        target=target,
        reached=sum(map(math.isfinite, counts)),
        to_target=float(np.median(counts)),
        areas=tuple(areas),
        positive_rewards=_mean([run.rewarded_queries for run in runs]),
        rewarded=tuple(run.rewarded_queries for run in runs),
        first_reward=float(np.median([run.queries_to_first_reward for run in runs])),
        found={
            name: float(np.median(values))
            for name, values in found.items()
            if not any(map(math.isnan, values))
        },
        queries_per_second=_mean([_speed(run) for run in runs]),
    )


def areas_of(group: Group) -> list[float]:
    """Return the normalised area under the curve of each run that ended."""
    return [run.area for run in _ended(group.runs)]


def _ended(runs: Sequence[RunRecord]) -> list[RunRecord]:
    return [run for run in runs if run.ending != "cut"]


def _speed(run: RunRecord) -> float:
    """Return queries a second; those of an unfinished run follow from its last row."""
    recorded = (run.summary or {}).get("queries_per_second")
    if isinstance(recorded, int | float):
        return recorded
    seconds = run.last("wall_seconds")
    return run.queries / seconds if seconds > 0 else math.nan


def _mean(values: Sequence[float]) -> float:
    known = [value for value in values if not math.isnan(value)]
    return sum(known) / len(known) if known else math.nan
