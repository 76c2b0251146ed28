"""Options, parsing of settings, and output that several commands share."""

from __future__ import annotations

import json
import math
import re
import sys
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from uflp.types import UsageError

if TYPE_CHECKING:
    from uflp.distributed.settings import ClusterSettings
    from uflp.experiments.jobs import Job

_MOST_SKIPPED = 10
_LONGEST_NAME = 150
_CLUSTER_OPTIONS = {
    "actors": "--actors",
    "gpu_learner": "--gpu-learner",
    "shared_counts": "--shared-counts",
    "replay_shards": "--replay-shards",
    "lock_step": "--lock-step",
}


def _finite(value: float | None) -> float | None:
    if value is not None and not math.isfinite(value):
        raise UsageError(f"--stop-at-return must be a finite number, not {value}")
    return value


def preset_names() -> list[str]:
    """Return the presets, for shell completion."""
    from uflp.experiments.presets import PRESETS

    return list(PRESETS)


def _agent_names() -> list[str]:
    from uflp.experiments.agents import AGENTS

    return list(AGENTS)


def _uncertainty_names() -> list[str]:
    from uflp.uncertainty import UNCERTAINTIES

    return list(UNCERTAINTIES)


def rule_names() -> list[str]:
    """Return the restart rules, for shell completion."""
    from uflp.planning import RULES

    return list(RULES)


Preset = Annotated[
    str,
    typer.Argument(help="the experiment: see `uflp list presets`", autocompletion=preset_names),
]
MoreSettings = Annotated[
    list[str] | None, typer.Argument(metavar="[KEY=VALUE]...", help="more settings, as with --set")
]
AgentName = Annotated[
    str | None,
    typer.Option("--agent", help="see `uflp list agents`", autocompletion=_agent_names),
]
UncertaintyName = Annotated[
    str | None,
    typer.Option(
        "--uncertainty",
        help="see `uflp list uncertainties`",
        autocompletion=_uncertainty_names,
    ),
]
VariantName = Annotated[
    str | None,
    typer.Option("--variant", help="changes to the preset, see `uflp list variants`"),
]
Ray = Annotated[
    str | None,
    typer.Option(help="spread each run: local, auto (this machine's cluster), or HOST:PORT"),
]
Actors = Annotated[int | None, typer.Option(help="processes that collect  [default: 2]")]
Queries = Annotated[
    int | None, typer.Option("--queries", help="budget of simulator steps of a run")
]
StopAtReturn = Annotated[
    float | None,
    typer.Option(
        "--stop-at-return",
        help="stop a run once its mean return reaches this",
        callback=_finite,
    ),
]
Force = Annotated[
    bool, typer.Option("--force", help="train even where restores are seen to go wrong")
]
AsJson = Annotated[bool, typer.Option("--json", help="end with the outcome as one line of JSON")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="set any key, such as size=20; repeatable"),
]
Trust = Annotated[
    bool,
    typer.Option("--trust", help="use the code and addresses that the folder or file names"),
]


def read_pairs(words: list[str]) -> dict[str, Any]:
    """Read KEY=VALUE words; a key given twice is an error rather than a silent choice."""
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
    """Read KEY=VALUE words, and keys that have an option of their own, such as `--queries`."""
    overrides = read_pairs(words)
    for key, value in options.items():
        if value is not None:
            if key in overrides:
                raise UsageError(f"{key} is set twice")
            overrides[key] = value
    return overrides


def cluster_settings(ray: str | None, seeds: int | None, **given: Any) -> ClusterSettings | None:
    """Return how the run is spread, None if it is not.

    Args:
        ray: `--ray`.
        seeds: `--seeds`.
        **given: further options by name, None where they were not given.
    """
    chosen = {name: value for name, value in given.items() if value is not None}
    if ray is None:
        for name in chosen:
            raise UsageError(f"{_CLUSTER_OPTIONS[name]} goes with --ray, such as --ray local")
        return None
    if seeds is not None:
        raise UsageError("--ray spreads one run: give one --seed at a time")
    from uflp.distributed.settings import ClusterSettings

    if chosen.get("lock_step"):
        chosen.setdefault("actors", 1)
    return ClusterSettings(ray=ray, **chosen)


def print_skipped(skipped: Sequence[tuple[Path, str]]) -> None:
    """Print on standard error what a report leaves out, and why."""
    for path, reason in skipped[:_MOST_SKIPPED]:
        print(f"uflp: left out {path}: {reason}.", file=sys.stderr)
    if len(skipped) > _MOST_SKIPPED:
        print(f"uflp: left out {len(skipped) - _MOST_SKIPPED} more, see the page.", file=sys.stderr)


def print_json(outcome: dict[str, Any]) -> None:
    """Print an outcome as one line of JSON, which other programs may read at once."""
    print(json.dumps(outcome), flush=True)


def folder_name(preset: str, *words: str | None, overrides: Mapping[str, Any] | None = None) -> str:
    """Return the name of a folder of runs: the preset, further words, and what was set.

    Args:
        preset: whatever simulator it names.
        *words: such as the agent; None is left out.
        overrides: settings by key.
    """
    pairs = (f"{key}={value}" for key, value in (overrides or {}).items())
    texts = [preset, *(word for word in words if word is not None), *pairs]
    name = "-".join(re.sub("[^A-Za-z0-9._=,-]", "-", text) for text in texts)
    if len(name) > _LONGEST_NAME:  # The file system's limit is 255 bytes.
        name = f"{name[:_LONGEST_NAME]}-{zlib.crc32(name.encode()):08x}"
    return name


def print_table(heads: Sequence[str], rows: Sequence[Sequence[str]], title: str = "") -> None:
    """Print a table: with lines on a terminal, as plain aligned text elsewhere."""
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        table = Table(title=title or None, title_justify="left", show_header=any(heads))
        for head in heads:
            table.add_column(head, overflow="fold")
        for row in rows:
            table.add_row(*map(Text, row))
        Console().print(table)
        return
    if title:
        print(title)
    lines = [heads, *rows] if any(heads) else list(rows)
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        print(f"  {'  '.join(cells)}".rstrip())


def summary_sentence(summary: dict[str, Any]) -> str:
    """Return the outcome of a run in one line."""
    keys = ("preset", "agent", "access", "variant")
    names = [summary[key] for key in keys if summary.get(key) is not None]
    return (
        f"{', '.join(names)}, seed {summary['seed']}: "
        f"{_outcome(summary)}; {summary['queries']:,} queries at "
        f"{summary['queries_per_second']:,.0f}/s, in {summary['run_dir']}"
    )


def _outcome(summary: dict[str, Any]) -> str:
    reached, best = summary["queries_to_target"], summary["best_return"]
    if best is None:
        return "never evaluated"
    parts = [f"best return {best:.3f}"]
    if reached is not None:
        parts = [f"reached {summary['target_return']:g} after {reached:,} queries"]
    rewarded, first = summary["positive_rewards"], summary.get("queries_to_first_reward")
    text = f"{rewarded:,} rewarded {'query' if rewarded == 1 else 'queries'}"
    parts.append(text if first is None else f"{text}, the first by query {first:,}")
    parts += [f"{summary[name]:,} {name}" for name in ("cells", "rooms") if name in summary]
    return ", ".join(parts)


def run_missing(jobs: Sequence[Job], out: Path) -> None:
    """Make the missing runs below a folder, and print which are made again, and why."""
    from uflp.experiments.jobs import at_work

    with at_work(out):
        _run_missing(jobs)


def _run_missing(jobs: Sequence[Job]) -> None:
    from uflp.experiments.jobs import run_jobs
    from uflp.runs.interruption import Interrupted

    missing = []
    for job in jobs:
        reason = job.unfinished()
        if reason:
            missing.append(job)
            if job.begun():
                print(f"{job.folder} continues: {reason}", flush=True)
            elif job.folder.exists():
                print(f"{job.folder} is moved aside and made again: {reason}", flush=True)
    if len(missing) < len(jobs):
        print(f"{len(jobs) - len(missing)} of {len(jobs)} runs are there already", flush=True)
    try:
        for number, summary in enumerate(run_jobs(missing), start=1):
            print(f"[{number}/{len(missing)}] {summary_sentence(summary)}", flush=True)
    except Interrupted as error:
        advice = "saved; the same command goes on where it stopped"
        raise Interrupted(error.signal, advice) from None
