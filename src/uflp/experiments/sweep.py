"""A grid over any settings, several seeds each."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from uflp.experiments.jobs import Job
from uflp.experiments.resolve import resolve
from uflp.experiments.seeds import require_seeds, seed_jobs
from uflp.planning import RULES
from uflp.training.settings import RunSettings
from uflp.types import UsageError


def grid_jobs(
    preset: str,
    vary: Mapping[str, Sequence[Any]],
    *,
    seeds: int,
    out: Path,
    agent: str | None = None,
    uncertainty: str | None = None,
    access: str = "local",
    variant: str | None = None,
    overrides: Mapping[str, Any] | None = None,
    stop_at_return: float | None = None,
) -> list[Job]:
    """Return the runs of every combination; all are checked before the first one starts.

    A sweep over rules has one uncertainty: if a rule insists on one, such as `go-explore` on
    counts, the others that need an uncertainty have the same.

    Args:
        preset: the experiment.
        vary: the values to try, by key.
        seeds: seeds of each combination, from 0.
        out: folder of the sweep; each combination has a folder below, named by its values.
        agent: see `resolve`.
        uncertainty: see `resolve`.
        access: see `resolve`.
        variant: see `resolve`.
        overrides: settings that all combinations share.
        stop_at_return: see `train`.
    """
    if not vary:
        raise UsageError("a sweep needs something to vary, such as p_init")
    require_seeds(seeds)
    twice = sorted(set(vary) & set(overrides or {}))
    if twice:
        raise UsageError(f"{twice[0]} is both varied and set")
    jobs: list[Job] = []
    points: dict[Path, RunSettings] = {}
    shared = None if uncertainty else _needed_by_a_rule(vary.get("rule", ()))
    for values in itertools.product(*vary.values()):
        point = dict(zip(vary, values, strict=True))
        names: dict[str, Any] = {"agent": agent, "access": access, "variant": variant}
        changed = {**(overrides or {}), **point}
        settings = resolve(preset, **names, uncertainty=uncertainty, overrides=changed)
        if shared is not None and settings.uncertainty_name not in (None, shared):
            settings = resolve(preset, **names, uncertainty=shared, overrides=changed)
        # A slash would make folders below each other, of which only the last has a name.
        name = ",".join(f"{key}={value}" for key, value in point.items()).replace("/", "-")
        _refuse_repeated(out / name, settings, points)
        points[out / name] = settings
        jobs += seed_jobs(settings, range(seeds), out / name, stop_at_return)
    return jobs


def _needed_by_a_rule(rules: Sequence[str]) -> str | None:
    """Return the one uncertainty that some of the rules insist on, None if there is no such."""
    needs = {RULES[rule].needs for rule in rules if rule in RULES} - {None, "any"}
    return needs.pop() if len(needs) == 1 else None


def _refuse_repeated(
    folder: Path, settings: RunSettings, points: Mapping[Path, RunSettings]
) -> None:
    """Refuse a combination that is there already, or whose folder is."""
    for other, known in points.items():
        if settings == known:
            raise UsageError(f"{folder.name} is the same as {other.name}: vary each value once")
        if folder == other:
            raise UsageError(f"two combinations would share the folder {folder.name}")


def parse_vary(words: Sequence[str]) -> dict[str, list[str]]:
    """Read `key=v1,v2,…` words; a semicolon separates values that hold commas themselves."""
    vary: dict[str, list[str]] = {}
    for word in words:
        key, equals, values = word.partition("=")
        if not equals or not key or not values:
            raise UsageError(f"what to vary is written KEY=V1,V2,…, not {word!r}")
        if key in vary:
            raise UsageError(f"{key} is varied twice")
        vary[key] = values.split(";" if ";" in values else ",")
    return vary
