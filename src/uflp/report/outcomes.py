"""What a group of runs comes to: one row of a table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from uflp.report import words
from uflp.report.groups import Group
from uflp.report.runs import RunRecord
from uflp.report.statistics import (
    Interval,
    interquartile_mean,
    mean_interval,
    queries_to_target,
)

UNKNOWN = Interval(math.nan, math.nan, math.nan)
"""What nothing is known of."""


@dataclass(frozen=True)
class Outcome:
    """The numbers of a group.

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
        positive_rewards: mean over seeds.
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
    queries_per_second: float

    @property
    def final(self) -> Interval:
        """The mean of the final returns, with its interval if the seeds give one."""
        return mean_interval(self.finals)

    @property
    def area(self) -> Interval:
        """The mean of the areas, with its interval if the seeds give one; NaN if no run ended."""
        return mean_interval(self.areas) if self.areas else UNKNOWN

    @property
    def seeds_words(self) -> str:
        """How many seeds, and how many of them were cut short."""
        cut = self.runs - self.ended
        return f"{self.runs} ({cut} cut short)" if cut else str(self.runs)

    @property
    def final_words(self) -> str:
        """The final return, marked where it is none."""
        return words.over_seeds(self.finals) + ("" if self.ended else " so far")

    @property
    def area_words(self) -> str:
        """The normalised area under the curve; a dash where no run ended."""
        return words.over_seeds(self.areas)

    @property
    def target_words(self) -> str:
        """The queries to the target."""
        if self.target is None:
            return "no target"
        return f"{words.count(self.to_target)} ({self.reached} of {self.runs})"


def outcome_of(group: Group) -> Outcome:
    """Returns what a group comes to."""
    runs = group.runs
    ended = areas_of(group)
    finals = [float(run.curve().values[-1]) for run in _ended(runs) or runs]
    target = runs[0].target
    counts = [
        queries_to_target(run.curve(), math.inf if target is None else target) for run in runs
    ]
    return Outcome(
        runs=len(runs),
        ended=len(ended),
        queries=(min(run.queries for run in runs), max(run.queries for run in runs)),
        finals=tuple(finals),
        final_middle=interquartile_mean(finals),
        best=max(run.curve().values.max() for run in runs),
        target=target,
        reached=sum(map(math.isfinite, counts)),
        to_target=float(np.median(counts)),
        areas=tuple(ended),
        positive_rewards=_mean([_last(run, "positive_rewards") for run in runs]),
        queries_per_second=_mean([_speed(run) for run in runs]),
    )


def areas_of(group: Group) -> list[float]:
    """Returns the normalised area under the curve of each run that ended."""
    return [run.area for run in _ended(group.runs)]


def _ended(runs: Sequence[RunRecord]) -> list[RunRecord]:
    return [run for run in runs if run.ending != "cut"]


def _last(run: RunRecord, column: str) -> float:
    return float(run.metrics[column][-1]) if column in run.metrics else math.nan


def _speed(run: RunRecord) -> float:
    """Returns queries a second; an unfinished run has no summary, so its rows must tell."""
    told = (run.summary or {}).get("queries_per_second")
    if isinstance(told, int | float):
        return told
    seconds = _last(run, "wall_seconds")
    return run.queries / seconds if seconds > 0 else math.nan


def _mean(values: Sequence[float]) -> float:
    known = [value for value in values if not math.isnan(value)]
    return sum(known) / len(known) if known else math.nan
