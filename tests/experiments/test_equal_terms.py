"""Local and online runs of a figure are on equal terms: one budget, and settings that differ only
by access and by what the paper itself sets by access."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from extras import require_settings_of

from uflp.experiments.figures import FIGURES, SCALES
from uflp.experiments.jobs import Job
from uflp.training.settings import RunSettings

# What decides where rollouts begin and what is kept for that; online access has no use for it.
OF_ACCESS = {
    "p_init",
    "batch",
    "restart",
    "checkpoint_period",
    "rollout_limit",
    "restart_limit",
    "history_size",
    "history_bytes",
}
# The paper's tables set these by access, or by the uncertainty of local access, for these alone.
OF_ACCESS_IN_THE_PAPER = {
    ("atari/montezuma-revenge", "ddqn", "counts"): {"epsilon"},
    ("atari/montezuma-revenge", "ddqn", "rnd"): {"epsilon"},
    ("atari/montezuma-revenge", "dist-ddqn", "rnd"): {"v_max"},
    ("atari/venture", "dist-ddqn", "rnd"): {"v_max"},
    ("atari/pitfall", "dist-ddqn", "rnd"): {"v_max"},
}


def unequal(jobs: Sequence[Job], keys: Sequence[str]) -> dict[str, tuple[Any, Any]]:
    """Returns the settings in which local and online runs differ and should not, with their values.

    Runs belong together if preset, agent, variant and the swept values are the same.

    Args:
        jobs: all runs of a figure.
        keys: the settings that it sweeps.
    """
    sides: dict[Any, dict[str, list[Job]]] = {}
    for job in jobs:
        settings = job.settings
        values = settings.values()
        terms = settings.preset, settings.agent, settings.variant, *(values[key] for key in keys)
        sides.setdefault(terms, {}).setdefault(settings.access, []).append(job)
    found: dict[str, tuple[Any, Any]] = {}
    for both in sides.values():
        for local in both.get("local", []):
            for online in both.get("online", []):
                found |= differences(local, online)
    return found


def differences(local: Job, online: Job) -> dict[str, tuple[Any, Any]]:
    ours, theirs = local.settings, online.settings
    names = ours.preset, ours.agent, ours.uncertainty_name
    allowed = OF_ACCESS | OF_ACCESS_IN_THE_PAPER.get(names, set())
    allowed |= of_uncertainty(ours) ^ of_uncertainty(theirs)
    if ours.uncertainty_name != theirs.uncertainty_name:
        allowed |= of_uncertainty(ours) | of_uncertainty(theirs)
    mine, other = (
        {**job.settings.values(), "stop_at_return": job.stop_at_return} for job in (local, online)
    )
    return {
        key: (mine.get(key), other.get(key))
        for key in (mine.keys() | other.keys()) - allowed
        if mine.get(key) != other.get(key)
    }


def of_uncertainty(settings: RunSettings) -> set[str]:
    """Returns the keys of a run's uncertainty."""
    if settings.uncertainty is None:
        return set()
    return {field.name for field in dataclasses.fields(settings.uncertainty)}


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", FIGURES)
def test_local_and_online_runs_are_on_equal_terms(name: str, scale: str, tmp_path: Path) -> None:
    require_settings_of(name)
    plan = FIGURES[name]
    assert unequal(plan.jobs(scale, tmp_path), plan.keys) == {}


@pytest.mark.parametrize("key", ["queries", "hidden", "epsilon", "stop_at_return"])
def test_a_difference_is_seen(key: str, tmp_path: Path) -> None:
    jobs = FIGURES["deep-sea-50"].jobs("smoke", tmp_path)
    assert {job.settings.access for job in jobs} == {"local", "online"}
    changed = []
    for job in jobs:
        settings = job.settings
        if settings.access == "online" and key == "stop_at_return":
            job = dataclasses.replace(job, stop_at_return=0.123)
        elif settings.access == "online" and key == "hidden":
            learner = dataclasses.replace(settings.agent_config, hidden=(3,))
            job = dataclasses.replace(
                job, settings=dataclasses.replace(settings, agent_config=learner)
            )
        elif settings.access == "online":
            other = settings.changed(**{key: {"queries": 7, "epsilon": 0.5}[key]})
            job = dataclasses.replace(job, settings=other)
        changed.append(job)
    assert key in unequal(changed, ())
