"""Local against online access: the same budget and seeds for both."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from uflp.experiments.agents import find_agent
from uflp.experiments.jobs import Job
from uflp.experiments.resolve import resolve, resolve_unless_unchanged
from uflp.experiments.seeds import require_seeds, seed_jobs

_LOCAL = ("p_init", "rule", "history_from", "keep_history", "demonstrations")
"""Settings that online access has only one value of."""


def comparison_jobs(
    preset: str,
    out: Path,
    *,
    seeds: int,
    agent: str | None = None,
    uncertainty: str | None = None,
    variant: str | None = None,
    overrides: Mapping[str, Any] | None = None,
    stop_at_return: float | None = None,
) -> list[Job]:
    """Return the runs of a comparison, those with local access first.

    Settings that only local access has are left out of the online runs, and so is an uncertainty
    that they would compute in vain.

    Args:
        preset: name of a preset.
        out: folder of all runs; each kind of access has its own below.
        seeds: how many, from 0.
        agent: as in `resolve`.
        uncertainty: as in `resolve`.
        variant: as in `resolve`; online runs that it does not change are the preset's.
        overrides: as in `resolve`.
        stop_at_return: ends each run at the first evaluation whose mean return reaches it.
    """
    require_seeds(seeds)
    overrides = dict(overrides or {})
    local = resolve(
        preset, agent=agent, uncertainty=uncertainty, variant=variant, overrides=overrides
    )
    needed = find_agent(local.agent).exploration != "greedy"
    names: dict[str, Any] = {
        "agent": agent,
        "uncertainty": uncertainty if needed else None,
        "access": "online",
        "variant": variant,
    }
    known = resolve_unless_unchanged(preset, **names).values()
    shared = {key: overrides[key] for key in overrides if key in known and key not in _LOCAL}
    online = resolve_unless_unchanged(preset, **names, overrides=shared)
    return [
        job
        for settings in (local, online)
        for job in seed_jobs(settings, range(seeds), out / settings.access, stop_at_return)
    ]
