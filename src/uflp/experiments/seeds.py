"""Several seeds of one experiment, each in a folder of its own."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from uflp.experiments.jobs import Job, run_jobs
from uflp.training.records import SUMMARY, claim, write_json
from uflp.training.settings import RunSettings
from uflp.types import UsageError


def train_seeds(
    settings: RunSettings, seeds: Sequence[int], out: Path, stop_at_return: float | None = None
) -> Iterator[dict[str, Any]]:
    """Trains the seeds, one to a core at a time; yields each summary as it comes in.

    Writes `seed-0/ …` below `out`, and one `summary.json` above them at the end.
    """
    claim(out)
    summaries = {}
    try:
        for summary in run_jobs(seed_jobs(settings, seeds, out, stop_at_return)):
            summaries[summary["seed"]] = summary
            yield summary
    except UsageError:
        with contextlib.suppress(OSError):
            out.rmdir()
        raise
    write_json(out / SUMMARY, combined(settings, [summaries[seed] for seed in seeds], out))


def seed_jobs(
    settings: RunSettings, seeds: Sequence[int], out: Path, stop_at_return: float | None
) -> list[Job]:
    """Returns one job a seed."""
    return [
        Job(dataclasses.replace(settings, seed=seed), out / f"seed-{seed}", stop_at_return)
        for seed in seeds
    ]


def combined(
    settings: RunSettings, summaries: Sequence[dict[str, Any]], out: Path
) -> dict[str, Any]:
    """Returns the summary of several seeds: the runs, under the names that they share."""
    names = {key: value for key, value in settings.names().items() if key != "seed"}
    return {**names, "run_dir": str(out), "runs": list(summaries)}
