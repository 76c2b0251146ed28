"""Provenance of results: `provenance.json` beside them has an entry for each."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from uflp.experiments.jobs import Job
from uflp.files import replacing
from uflp.runs.folder import CONFIG, as_json, read_object
from uflp.runs.provenance import provenance

PROVENANCE = "provenance.json"


def of_runs(command: str, jobs: Sequence[Job], finished: Sequence[Job]) -> dict[str, Any]:
    """Return how a figure's runs were made: command, revision, versions, dates, settings, seeds.

    Args:
        command: what made them.
        jobs: all runs of the figure.
        finished: those of them that the figure shows.
    """
    configs = [read_object(job.folder / CONFIG) or {} for job in finished]
    return {
        "command": command,
        "revision": _of_all(configs, "git_revision"),
        "versions": _of_all(configs, "versions"),
        "machine": _of_all(configs, "machine"),
        "date": _of_all(configs, "date"),
        "runs": {"planned": len(jobs), "finished": len(finished)},
        **_settings(finished),
    }


def record(result: Path, command: str, *, added: bool = False) -> None:
    """Record beside a result which command made it.

    Args:
        result: the file that was written.
        command: what wrote it.
        added: whether the command added to what was there; then what made that stays, too.
    """
    made = provenance()
    entry = {
        "command": command,
        "revision": made["git_revision"],
        "versions": made["versions"],
        "machine": made["machine"],
        "date": made["date"],
    }
    path = result.parent / PROVENANCE
    if added:
        earlier = (read_object(path) or {}).get(result.stem, {})
        entry = {**earlier, **{key: _joined(earlier.get(key), entry[key]) for key in entry}}
    text = with_entry(path, result.stem, entry)
    with replacing(path) as file:
        file.write(text)


def with_entry(path: Path, name: str, entry: dict[str, Any]) -> bytes:
    """Return the text of `provenance.json` with one entry written anew.

    Args:
        path: of the file, which need not exist.
        name: of the result, without its ending.
        entry: how it was made.
    """
    entries = {**(read_object(path) or {}), name: entry}
    return (json.dumps(dict(sorted(entries.items())), indent=1) + "\n").encode()


def _joined(earlier: Any, now: Any) -> Any:
    """Return what both say; a list where they differ."""
    values = earlier if isinstance(earlier, list) else [earlier]
    values = [value for value in values if value is not None]
    values += [now] if now not in values else []
    return values[0] if len(values) == 1 else values


def _of_all(configs: Sequence[dict[str, Any]], key: str) -> Any:
    """Return what all runs say; a list where they differ, so that nothing passes for one."""
    values: list[Any] = []
    for config in configs:
        if config.get(key) not in values:
            values.append(config.get(key))
    return values[0] if len(values) == 1 else values


def _settings(jobs: Sequence[Job]) -> dict[str, Any]:
    """Return the settings that all runs share, and what each line of the figure adds to them."""
    lines: dict[Path, dict[str, Any]] = {}
    for job in jobs:
        names = {key: value for key, value in job.settings.names().items() if key != "seed"}
        line = {**names, "stop_at_return": job.stop_at_return, **job.settings.values()}
        lines.setdefault(job.folder.parent, as_json(line) | {"seeds": []})
        lines[job.folder.parent]["seeds"].append(job.settings.seed)
    first, *others = lines.values()
    shared = {
        key: value
        for key, value in first.items()
        if all(key in line and line[key] == value for line in others)
    }
    own = [
        {key: value for key, value in line.items() if key not in shared} for line in lines.values()
    ]
    return {"settings": shared, "lines": own}
