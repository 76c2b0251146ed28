"""Groups of runs that differ in nothing but their seed, and what each group comes to."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from uflp.report.runs import RETURN, RunRecord, Skipped
from uflp.report.statistics import Curve

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
        """Returns a column over queries, of the runs that measured it."""
        known = [run.curve(column) for run in self.runs if column in run.metrics]
        return [curve for curve in known if len(curve.queries)]


def group_runs(runs: Sequence[RunRecord]) -> tuple[list[Group], list[Skipped]]:
    """Groups runs by their names and settings, in order of the names.

    Equal settings and seed give equal numbers, so of two such runs only the longer one is kept:
    counted twice, it would pass for a second seed.

    Returns:
        The groups, and the runs that repeat another.
    """
    groups: list[Group] = []
    skipped: list[Skipped] = []
    for same_names in _partition(runs, _names):
        by_settings = _partition(same_names, lambda run: _text(run.settings))
        details = _details([part[0] for part in by_settings])
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
            first = kept[0]
            groups.append(
                Group(
                    first.preset,
                    first.agent,
                    first.uncertainty,
                    first.access,
                    first.variant,
                    detail,
                    tuple(kept),
                )
            )
    return groups, skipped


def _partition(runs: Sequence[RunRecord], key: Callable[[RunRecord], Any]) -> list[list[RunRecord]]:
    parts: dict[Any, list[RunRecord]] = {}
    for run in runs:
        parts.setdefault(key(run), []).append(run)
    return [parts[name] for name in sorted(parts)]


def _names(run: RunRecord) -> tuple[str, str, str, str, str]:
    # Access before uncertainty, so that local and online stand together.
    return run.preset, run.agent, run.variant or "", run.access, run.uncertainty or ""


def _details(runs: Sequence[RunRecord]) -> list[str]:
    """Returns, for one run of each group, the settings that set it apart from the others."""
    keys = dict.fromkeys(key for run in runs for key in run.settings)
    differing = [
        key for key in keys if len({_text(run.settings.get(key, "unset")) for run in runs}) > 1
    ]
    telling = [key for key in differing if key not in _MEASURING]
    for chosen in (telling, differing):
        details = [
            ", ".join(f"{key}={_word(run.settings.get(key, 'unset'))}" for key in chosen)
            for run in runs
        ]
        if len(set(details)) == len(runs):
            break
    return details


def _natural(text: str) -> list[tuple[float, str]]:
    """Returns a sorting key that puts size=5 before size=10."""
    words = re.split(r"(\d+(?:\.\d+)?)", text)
    # Every second word is a number.
    return [(float(word), "") if n % 2 else (0.0, word) for n, word in enumerate(words)]


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _word(value: Any) -> str:
    return value if isinstance(value, str) else _text(value).replace("null", "none")
