"""Several seeds of one experiment, each in a folder of its own."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from uflp.arguments import argument
from uflp.distributed.settings import ClusterSettings
from uflp.experiments.jobs import Job, at_work, run_jobs
from uflp.experiments.recorded import resolved
from uflp.runs.checkpoints import DEFAULT_SECONDS
from uflp.runs.folder import LOCK, SUMMARY, claim, described, read_object, write_json
from uflp.training.settings import RunSettings
from uflp.trust import names_of_run, remember
from uflp.types import UsageError, at_least_1

SEEDS = "seeds.json"
_MOST_SEEDS = 100_000


def train_seeds(
    settings: RunSettings,
    seeds: Sequence[int],
    out: Path,
    stop_at_return: float | None = None,
    checkpoint_seconds: float = DEFAULT_SECONDS,
) -> Iterator[dict[str, Any]]:
    """Train the seeds, one to a core at a time; yield each summary as it comes in.

    Writes `seed-0/ …` below `out`, and one `summary.json` above them at the end; until then,
    `seeds.json` is there to tell which seeds they are.
    """
    claim(out)
    try:
        with at_work(out):
            write_json(out / SEEDS, {**described(settings, stop_at_return), "seeds": list(seeds)})
            remember(out, names_of_run(settings.imports, None))
            jobs = seed_jobs(settings, seeds, out, stop_at_return, checkpoint_seconds)
            try:
                yield from _finish(settings, jobs, out)
            except UsageError:
                # What was begun needs the record to go on; where nothing was, nothing is left.
                if {path.name for path in out.iterdir()} <= {SEEDS, LOCK}:
                    (out / SEEDS).unlink()
                raise
    finally:
        with contextlib.suppress(OSError):  # Something is in it, as a rule.
            out.rmdir()


def resume_seeds(
    out: Path, checkpoint_seconds: float = DEFAULT_SECONDS, *, trust: bool = False
) -> Iterator[dict[str, Any]]:
    """Continue seeds that were interrupted; yield the summaries of all of them.

    Args:
        out: folder of the seeds.
        checkpoint_seconds: see `train_seeds`.
        trust: whether the user trusts the code that the folder names.
    """
    config = read_object(out / SEEDS) or {}
    seeds = config.get("seeds")
    if not isinstance(seeds, list) or not all(type(seed) is int and seed >= 0 for seed in seeds):
        raise UsageError(f"{out / SEEDS} is not a record of seeds")
    settings, stop_at_return = resolved(config, out / SEEDS, out, trust=trust)
    with at_work(out):
        jobs = seed_jobs(settings, seeds, out, stop_at_return, checkpoint_seconds)
        yield from _finish(settings, jobs, out)


def are_finished(out: Path) -> bool:
    """Return whether a folder holds seeds of which none is left to be trained."""
    return not (out / SEEDS).exists() and "runs" in (read_object(out / SUMMARY) or {})


def _finish(settings: RunSettings, jobs: Sequence[Job], out: Path) -> Iterator[dict[str, Any]]:
    """Make the missing runs, and write the summary of all."""
    summaries = {}
    missing = []
    for job in jobs:
        summary = job.summary()
        if summary is None:
            missing.append(job)
        else:
            summaries[job.settings.seed] = summary
            yield summary
    for summary in run_jobs(missing):
        summaries[summary["seed"]] = summary
        yield summary
    ordered = [summaries[job.settings.seed] for job in jobs]
    write_json(out / SUMMARY, combined(settings, ordered, out))
    (out / SEEDS).unlink(missing_ok=True)


def require_seeds(count: int) -> None:
    """Refuse a number of seeds that cannot be meant."""
    name = argument("seeds")
    if type(count) is not int:
        raise UsageError(f"{name} is how many seeds to train, a whole number, not {count!r}")
    at_least_1(name, count, _MOST_SEEDS)


def seed_jobs(
    settings: RunSettings,
    seeds: Sequence[int],
    out: Path,
    stop_at_return: float | None,
    checkpoint_seconds: float = DEFAULT_SECONDS,
    cluster: ClusterSettings | None = None,
) -> list[Job]:
    """Return one job a seed."""
    return [
        Job(
            dataclasses.replace(settings, seed=seed),
            out / f"seed-{seed}",
            stop_at_return,
            checkpoint_seconds,
            cluster,
        )
        for seed in seeds
    ]


def combined(
    settings: RunSettings, summaries: Sequence[dict[str, Any]], out: Path
) -> dict[str, Any]:
    """Return the summary of several seeds: the runs, under the names that they share."""
    names = {key: value for key, value in settings.names().items() if key != "seed"}
    return {**names, "run_dir": str(out), "runs": list(summaries)}
