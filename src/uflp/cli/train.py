"""`uflp train`."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from uflp.cli.common import (
    Actors,
    AgentName,
    AsJson,
    Force,
    MoreSettings,
    Queries,
    Ray,
    Settings,
    StopAtReturn,
    Trust,
    UncertaintyName,
    VariantName,
    cluster_settings,
    folder_name,
    preset_names,
    print_json,
    read_overrides,
    rule_names,
    summary_sentence,
)
from uflp.types import UsageError


def train(
    context: typer.Context,
    preset: Annotated[
        str | None,
        typer.Argument(
            help="see `uflp list presets`, or gym:ID, module:factory, …",
            autocompletion=preset_names,
        ),
    ] = None,
    settings: MoreSettings = None,
    agent: AgentName = None,
    uncertainty: UncertaintyName = None,
    rule: Annotated[
        str | None,
        typer.Option(
            help="where restarts go, see `uflp list rules`  [default: uncertainty]",
            autocompletion=rule_names,
        ),
    ] = None,
    access: Annotated[str, typer.Option(help="local restarts from saved states; online never")] = (
        "local"
    ),
    variant: VariantName = None,
    seed: Annotated[int | None, typer.Option(help="of all randomness  [default: 0]")] = None,
    seeds: Annotated[int | None, typer.Option(help="train seeds 0 … K-1, one to a core")] = None,
    queries: Queries = None,
    stop_at_return: StopAtReturn = None,
    set_: Settings = None,
    out: Annotated[
        Path | None, typer.Option(help="run folder  [default: a new one below runs/]")
    ] = None,
    history_from: Annotated[
        Path | None, typer.Option(metavar="RUN", help="begin with the history of another run")
    ] = None,
    init_from: Annotated[
        Path | None, typer.Option(metavar="RUN", help="begin with the agent of another run")
    ] = None,
    keep_history: Annotated[
        bool, typer.Option("--keep-history", help="leave the history for others to begin with")
    ] = False,
    keep_checkpoint: Annotated[
        bool,
        typer.Option("--keep-checkpoint", help="leave the last checkpoint for a larger budget"),
    ] = False,
    demonstrations: Annotated[
        Path | None, typer.Option(metavar="FILE", help="play these episodes first")
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="go on with the run in this folder; with --queries, to a new budget"
        ),
    ] = None,
    checkpoint_seconds: Annotated[
        float, typer.Option(help="time from one checkpoint of the run to the next")
    ] = 600.0,
    force: Force = False,
    ray: Ray = None,
    actors: Actors = None,
    gpu_learner: Annotated[bool, typer.Option(help="let the learner ask Ray for a GPU")] = False,
    shared_counts: Annotated[
        bool | None,
        typer.Option(
            "--shared-counts/--own-counts",
            help="whether actors count together  [default: own, unless batch is all]",
        ),
    ] = None,
    replay_shards: Annotated[
        int | None, typer.Option(help="pieces of the replay  [default: 1]")
    ] = None,
    lock_step: Annotated[
        bool, typer.Option(help="one actor in step with the learner: the numbers without --ray")
    ] = False,
    trust: Trust = False,
    as_json: AsJson = False,
) -> None:
    """Train an agent and write a run folder.

    A run that was interrupted, or ended in any other way, goes on with `--resume DIR` as if
    nothing had happened. With `--queries` it has a larger budget then, also if it was finished.

    Example: `uflp train deep-sea --set size=20 --stop-at-return 0.95`
    """
    from uflp.experiments.resolve import resolve

    if not checkpoint_seconds >= 0:
        raise UsageError(f"--checkpoint-seconds must not be negative, not {checkpoint_seconds}")
    if resume is not None:
        _refuse_others(context)
        outcome = _resume(resume, queries, checkpoint_seconds, keep_checkpoint, ray, trust)
        if as_json:
            print_json(outcome)
        return
    if trust:
        raise UsageError("--trust is about what a run folder names: it goes with --resume")
    if preset is None:
        raise UsageError("name a preset (see `uflp list presets`), or a run folder with --resume")
    if seed is not None and seeds is not None:
        raise UsageError("--seed names one seed and --seeds a number of them: give one of the two")
    if seeds is not None and keep_checkpoint:
        raise UsageError("--keep-checkpoint is for one run: leave out --seeds")
    if seeds is not None:
        from uflp.experiments.seeds import require_seeds

        require_seeds(seeds)
    cluster = cluster_settings(
        ray,
        seeds,
        actors=actors,
        gpu_learner=gpu_learner or None,
        shared_counts=shared_counts,
        replay_shards=replay_shards,
        lock_step=lock_step or None,
    )
    overrides = read_overrides(
        [*(set_ or []), *(settings or [])],
        queries=queries,
        rule=rule,
        history_from=history_from and str(history_from.absolute()),
        init_from=init_from and str(init_from.absolute()),
        keep_history=keep_history or None,
        demonstrations=demonstrations and str(demonstrations.absolute()),
    )
    resolved = resolve(
        preset,
        agent=agent,
        uncertainty=uncertainty,
        access=access,
        variant=variant,
        seed=seed or 0,
        overrides=overrides,
    )
    if not force:
        from uflp.experiments.jobs import require_faithful

        require_faithful([resolved])
    if out is None:
        out = _new_folder(folder_name(resolved.preset, resolved.agent, resolved.access, variant))
    outcome = (
        _train_one(
            resolved,
            out,
            stop_at_return,
            checkpoint_seconds,
            cluster,
            keep_checkpoint=keep_checkpoint,
        )
        if seeds is None
        else _train_many(resolved, seeds, out, stop_at_return, checkpoint_seconds)
    )
    if as_json:
        print_json(outcome)


_WITH_RESUME = (
    "resume",
    "queries",
    "checkpoint_seconds",
    "keep_checkpoint",
    "as_json",
    "ray",
    "trust",
)


def _refuse_others(context: typer.Context) -> None:
    """Refuse options that would change a run which is only to go on."""
    for parameter in context.command.params:
        source = context.get_parameter_source(str(parameter.name))
        given = source is not None and source.name == "COMMANDLINE"
        if given and parameter.name not in _WITH_RESUME:
            name = parameter.opts[0] if parameter.param_type_name == "option" else parameter.name
            raise UsageError(f"--resume keeps the settings of the run: leave out {name}")


def _resume(
    folder: Path,
    queries: int | None,
    checkpoint_seconds: float,
    keep_checkpoint: bool,
    ray: str | None,
    trust: bool,
) -> dict[str, Any]:
    from uflp.experiments.recorded import extended, recorded, recorded_cluster
    from uflp.experiments.seeds import SEEDS, are_finished, resume_seeds

    several = are_finished(folder) or (folder / SEEDS).exists()
    for flag, given in (("--queries", queries), ("--keep-checkpoint", keep_checkpoint or None)):
        if several and given is not None:
            raise UsageError(
                f"{flag} is for one run, and {folder} holds several: name one of them, such as "
                f"{folder}/seed-0"
            )
    if are_finished(folder):
        raise UsageError(f"{folder} holds seeds that are finished: there is nothing to resume")
    if (folder / SEEDS).exists():
        if ray is not None:
            raise UsageError(f"{folder} holds seeds of one process each: leave out --ray")
        return _print_seeds(resume_seeds(folder, checkpoint_seconds, trust=trust), folder)
    if queries is None:
        settings, stop_at_return = recorded(folder, trust=trust)
    else:
        settings, stop_at_return = extended(folder, queries, trust=trust)
    return _train_one(
        settings,
        folder,
        stop_at_return,
        checkpoint_seconds,
        recorded_cluster(folder, ray, trust=trust),
        resume=True,
        keep_checkpoint=keep_checkpoint,
    )


def _train_one(
    settings: Any,
    out: Path,
    stop_at_return: float | None,
    checkpoint_seconds: float,
    cluster: Any = None,
    resume: bool = False,
    keep_checkpoint: bool = False,
) -> dict[str, Any]:
    from uflp.distributed.train import trainer
    from uflp.progress import Progress

    with Progress(settings.evaluation.queries) as progress:
        run = trainer(cluster, progress.status)
        result = run(
            settings,
            out=out,
            stop_at_return=stop_at_return,
            callback=progress.row,
            checkpoint_seconds=checkpoint_seconds,
            resume=resume,
            keep_checkpoint=keep_checkpoint,
        )
    print(summary_sentence(result.summary))
    return result.summary


def _train_many(
    settings: Any, count: int, out: Path, stop_at_return: float | None, checkpoint_seconds: float
) -> dict[str, Any]:
    from uflp.experiments.seeds import train_seeds

    seeds = train_seeds(settings, range(count), out, stop_at_return, checkpoint_seconds)
    return _print_seeds(seeds, out)


def _print_seeds(summaries: Iterator[dict[str, Any]], out: Path) -> dict[str, Any]:
    """Print a line for each seed, and return the summary of all."""
    from uflp.experiments.jobs import KilledError
    from uflp.runs.interruption import Interrupted, resume_command

    try:
        for number, summary in enumerate(summaries, start=1):
            print(f"[{number}] {summary_sentence(summary)}", flush=True)
    except Interrupted as error:
        raise Interrupted(error.signal, resume_command(out)) from None
    except KilledError as error:
        raise KilledError(resume_command(out)) from error
    outcome: dict[str, Any] = json.loads((out / "summary.json").read_text())
    return outcome


def _new_folder(name: str) -> Path:
    """Return a folder below `runs` that does not exist yet, named after the time."""
    first = Path("runs") / f"{time.strftime('%Y%m%d-%H%M%S')}-{name}"
    numbered = (first.with_name(f"{first.name}-{number}") for number in itertools.count(2))
    return next(folder for folder in itertools.chain([first], numbered) if not folder.exists())
