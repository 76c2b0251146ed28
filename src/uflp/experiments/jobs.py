"""Many runs, one to a core at a time; finished ones are never run again."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from uflp.training.records import CONFIG, METRICS, SUMMARY, described
from uflp.training.settings import RunSettings
from uflp.training.train import train


@dataclass(frozen=True)
class Job:
    """One run to be made.

    Attributes:
        settings: of the run.
        folder: where it goes.
        stop_at_return: ends the run at the first evaluation whose mean return reaches it.
    """

    settings: RunSettings
    folder: Path
    stop_at_return: float | None = None

    def summary(self) -> dict[str, Any] | None:
        """Returns the outcome of the finished run, None if it is still to be made."""
        return None if self.unfinished() else _read(self.folder / SUMMARY)

    def unfinished(self) -> str | None:
        """Returns why the run has to be made, None if it is there already."""
        if not self.folder.exists():
            return "it is new"
        config = _read(self.folder / CONFIG)
        if config is None:
            return "its config.json is missing or damaged"
        # What JSON makes of the settings, so that tuples compare equal to lists.
        wanted = json.loads(json.dumps(described(self.settings, self.stop_at_return)))
        for key, value in wanted.items():
            if config.get(key) != value:
                return f"it was made otherwise: {_difference(config.get(key), value, key)}"
        if _read(self.folder / SUMMARY) is None or not (self.folder / METRICS).exists():
            return "it was interrupted"
        return None


def run_jobs(jobs: Sequence[Job]) -> Iterator[dict[str, Any]]:
    """Makes runs in processes of their own; yields each summary as it comes in.

    A folder that holds part of a run, or another run, is cleared first.
    """
    # A forked child would inherit JAX's threads in an unusable state.
    context = multiprocessing.get_context("spawn")
    workers = max(1, min(len(jobs), os.cpu_count() or 1))
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        futures = [pool.submit(_run, job) for job in jobs]
        try:
            for future in as_completed(futures):
                yield future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _run(job: Job) -> dict[str, Any]:
    shutil.rmtree(job.folder, ignore_errors=True)
    return train(job.settings, out=job.folder, stop_at_return=job.stop_at_return).summary


def _read(path: Path) -> dict[str, Any] | None:
    try:
        value = json.loads(path.read_text())
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) else None


def _difference(have: Any, want: Any, key: str) -> str:
    """Names the first setting that differs."""
    if isinstance(have, dict) and isinstance(want, dict):
        for name in {**want, **have}:
            if have.get(name) != want.get(name):
                return _difference(have.get(name), want.get(name), name)
    return f"{key} was {have}, not {want}"
