"""Several seeds of one experiment, each in a process and a folder of its own."""

from __future__ import annotations

import dataclasses
import multiprocessing
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from uflp.training.records import SUMMARY, claim, write_json
from uflp.training.settings import RunSettings
from uflp.training.train import train


def train_seeds(
    settings: RunSettings, seeds: Sequence[int], out: Path, stop_at_return: float | None = None
) -> Iterator[dict[str, Any]]:
    """Trains the seeds, one to a core at a time; yields each summary as it comes in.

    Writes `seed-0/ …` below `out`, and one `summary.json` above them at the end.
    """
    claim(out)
    summaries = {}
    workers = min(len(seeds), os.cpu_count() or 1)
    # A forked child would inherit JAX's threads in an unusable state.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        jobs = [pool.submit(_train_seed, settings, seed, out, stop_at_return) for seed in seeds]
        try:
            for job in as_completed(jobs):
                summary = job.result()
                summaries[summary["seed"]] = summary
                yield summary
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
    write_json(out / SUMMARY, combined(settings, [summaries[seed] for seed in seeds], out))


def combined(
    settings: RunSettings, summaries: Sequence[dict[str, Any]], out: Path
) -> dict[str, Any]:
    """Returns the summary of several seeds: the runs, under the names that they share."""
    names = {key: value for key, value in settings.names().items() if key != "seed"}
    return {**names, "run_dir": str(out), "runs": list(summaries)}


def seed_folder(out: Path, seed: int) -> Path:
    """Returns where a seed's run folder lies."""
    return out / f"seed-{seed}"


def _train_seed(
    settings: RunSettings, seed: int, out: Path, stop_at_return: float | None
) -> dict[str, Any]:
    settings = dataclasses.replace(settings, seed=seed)
    return train(settings, out=seed_folder(out, seed), stop_at_return=stop_at_return).summary
