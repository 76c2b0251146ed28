"""What several commands read and say alike."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from uflp.types import UsageError

_MOST = 10


def read_pairs(words: list[str]) -> dict[str, Any]:
    """Reads KEY=VALUE words; a key given twice is an error rather than a silent choice."""
    pairs: dict[str, Any] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or not key:
            raise UsageError(f"settings are written KEY=VALUE, not {word!r}")
        if key in pairs:
            raise UsageError(f"{key} is set twice")
        pairs[key] = value
    return pairs


def read_overrides(words: list[str], **options: Any) -> dict[str, Any]:
    """Reads KEY=VALUE words, and keys that have an option of their own, such as `--queries`."""
    overrides = read_pairs(words)
    for key, value in options.items():
        if value is not None:
            if key in overrides:
                raise UsageError(f"{key} is set twice")
            overrides[key] = value
    return overrides


def tell_skipped(skipped: Sequence[tuple[Path, str]]) -> None:
    """Says on standard error what a report leaves out, and why."""
    for path, reason in skipped[:_MOST]:
        print(f"uflp: left out {path}: {reason}.", file=sys.stderr)
    if len(skipped) > _MOST:
        print(f"uflp: left out {len(skipped) - _MOST} more, see the page.", file=sys.stderr)


def tell_json(outcome: dict[str, Any]) -> None:
    """Prints an outcome as one line of JSON, which other programs may read at once."""
    print(json.dumps(outcome), flush=True)


def folder_name(preset: str) -> str:
    """Returns a preset's name as a folder may be called, whatever simulator it names."""
    return re.sub("[^A-Za-z0-9._-]", "-", preset)


def sentence(summary: dict[str, Any]) -> str:
    """Returns what a run came to, in one line."""
    keys = ("preset", "agent", "access", "variant")
    names = [summary[key] for key in keys if summary.get(key) is not None]
    return (
        f"{', '.join(names)}, seed {summary['seed']}: "
        f"{_outcome(summary)}; {summary['queries']:,} queries at "
        f"{summary['queries_per_second']:,.0f}/s, in {summary['run_dir']}"
    )


def _outcome(summary: dict[str, Any]) -> str:
    reached, best = summary["queries_to_target"], summary["best_return"]
    if reached is not None:
        return f"reached {summary['target_return']:g} after {reached:,} queries"
    return "never evaluated" if best is None else f"best return {best:.3f}"


def make_missing(jobs: Any) -> None:
    """Makes the runs that are not there yet, and says which are made again, and why."""
    from uflp.experiments.jobs import run_jobs
    from uflp.training.interruption import Interrupted

    missing = []
    for job in jobs:
        reason = job.unfinished()
        if reason:
            missing.append(job)
            if job.begun():
                print(f"{job.folder} goes on: {reason}", flush=True)
            elif job.folder.exists():
                print(f"{job.folder} is moved aside and made again: {reason}", flush=True)
    if len(missing) < len(jobs):
        print(f"{len(jobs) - len(missing)} of {len(jobs)} runs are there already", flush=True)
    try:
        for number, summary in enumerate(run_jobs(missing), start=1):
            print(f"[{number}/{len(missing)}] {sentence(summary)}", flush=True)
    except Interrupted as error:
        advice = "saved; the same command goes on where it stopped"
        raise Interrupted(error.signal, advice) from None
