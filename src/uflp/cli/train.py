"""`uflp train`."""

from __future__ import annotations

import itertools
import json
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from uflp.cli.words import folder_name, read_pairs, sentence
from uflp.types import UsageError


def train(
    preset: Annotated[
        str, typer.Argument(help="see `uflp list presets`, or gym:ID, module:factory, …")
    ],
    settings: Annotated[
        list[str] | None,
        typer.Argument(metavar="[KEY=VALUE]...", help="more settings, as with --set"),
    ] = None,
    agent: Annotated[str | None, typer.Option(help="see `uflp list agents`")] = None,
    uncertainty: Annotated[str | None, typer.Option(help="see `uflp list uncertainties`")] = None,
    access: Annotated[str, typer.Option(help="local restarts from saved states; online never")] = (
        "local"
    ),
    seed: Annotated[int | None, typer.Option(help="of all randomness  [default: 0]")] = None,
    seeds: Annotated[int | None, typer.Option(help="train seeds 0 … K-1, one to a core")] = None,
    queries: Annotated[int | None, typer.Option(help="budget of simulator steps")] = None,
    stop_at_return: Annotated[
        float | None, typer.Option(help="stop once an evaluation's mean return reaches this")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="set any key, such as size=20; repeatable"),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="run folder  [default: a new one below runs/]")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="end with the outcome as one line of JSON")
    ] = False,
) -> None:
    """Train an agent and write a run folder.

    Example: `uflp train deep-sea --set size=20 --stop-at-return 0.95`
    """
    from uflp.experiments.resolve import resolve

    if seed is not None and seeds is not None:
        raise UsageError("--seed names one seed and --seeds a number of them: give one of the two")
    if seeds is not None and seeds < 1:
        raise UsageError(f"--seeds must be at least 1, not {seeds}")
    overrides = read_pairs([*(set_ or []), *(settings or [])])
    if queries is not None:
        if "queries" in overrides:
            raise UsageError("queries is set twice")
        overrides["queries"] = queries
    resolved = resolve(
        preset,
        agent=agent,
        uncertainty=uncertainty,
        access=access,
        seed=seed or 0,
        overrides=overrides,
    )
    if out is None:
        out = _new_folder(f"{folder_name(resolved.preset)}-{resolved.agent}-{resolved.access}")
    outcome = (
        _train_one(resolved, out, stop_at_return)
        if seeds is None
        else _train_many(resolved, seeds, out, stop_at_return)
    )
    if as_json:
        print(json.dumps(outcome), flush=True)


def _train_one(settings: Any, out: Path, stop_at_return: float | None) -> dict[str, Any]:
    from uflp.progress import Progress
    from uflp.training.train import train as run

    with Progress(settings.loop.queries) as progress:
        result = run(settings, out=out, stop_at_return=stop_at_return, callback=progress.row)
    print(sentence(result.summary))
    return result.summary


def _train_many(
    settings: Any, count: int, out: Path, stop_at_return: float | None
) -> dict[str, Any]:
    from uflp.experiments.seeds import combined, train_seeds

    summaries = []
    for summary in train_seeds(settings, range(count), out, stop_at_return):
        summaries.append(summary)
        print(f"[{len(summaries)}/{count}] {sentence(summary)}", flush=True)
    return combined(settings, sorted(summaries, key=lambda summary: summary["seed"]), out)


def _new_folder(name: str) -> Path:
    """Returns a folder below `runs` that does not exist yet, named after the time."""
    first = Path("runs") / f"{time.strftime('%Y%m%d-%H%M%S')}-{name}"
    numbered = (first.with_name(f"{first.name}-{number}") for number in itertools.count(2))
    return next(folder for folder in itertools.chain([first], numbered) if not folder.exists())
