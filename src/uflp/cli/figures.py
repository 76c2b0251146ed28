"""`uflp figure` and `uflp sweep`: many runs, of which only the missing ones are made."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from uflp.cli.options import (
    Actors,
    AgentName,
    Force,
    MoreSettings,
    Preset,
    Queries,
    Ray,
    Settings,
    StopAtReturn,
    UncertaintyName,
    VariantName,
)
from uflp.cli.words import folder_name, make_missing, read_overrides
from uflp.types import UsageError


def figure(
    name: Annotated[str, typer.Argument(metavar="ID", help="see `uflp list figures`")],
    settings: MoreSettings = None,
    scale: Annotated[
        str, typer.Option(help="smoke (seconds), laptop (hours), paper (a cluster)")
    ] = "laptop",
    variant: VariantName = None,
    seeds: Annotated[
        int | None, typer.Option(help="seeds of every line  [default: the scale's]")
    ] = None,
    set_: Settings = None,
    out: Annotated[
        Path | None, typer.Option(help="folder  [default: runs/figures/ID-SCALE]")
    ] = None,
    partial: Annotated[
        bool, typer.Option("--partial", help="make no runs: draw those that are finished")
    ] = False,
    ray: Ray = None,
    actors: Actors = None,
) -> None:
    """Draw a figure of the paper, or make a table: the runs that are missing come first.

    A table keeps its runs where the figure of the same runs does. An interrupted figure goes on
    where it stopped: call it again. `provenance.json` beside the picture says how it was made.

    Example: `uflp figure deep-sea-50`
    """
    from uflp.cli.clusters import cluster_settings
    from uflp.experiments.figures import FIGURES, SCALES, Changes
    from uflp.registry import unknown
    from uflp.report.figures import write_figure

    if name not in FIGURES:
        raise UsageError(unknown("figure", name, FIGURES))
    if scale not in SCALES:
        raise UsageError(unknown("scale", scale, SCALES))
    plan = FIGURES[name]
    overrides = read_overrides([*(set_ or []), *(settings or [])])
    changes = Changes(variant, seeds, overrides, cluster_settings(ray, None, actors=actors))
    out = out or Path("runs") / "figures" / "-".join([plan.home or name, scale, *changes.words()])
    jobs = plan.jobs(scale, out / "runs", changes)
    if not partial:
        make_missing(jobs)
    print(write_figure(name, plan.at(scale), jobs, out, changes.command(name, scale)))
    if plan.claim:
        print(f"The paper: {plan.claim}.")


def sweep(
    preset: Preset,
    settings: MoreSettings = None,
    *,
    vary: Annotated[
        list[str], typer.Option(metavar="KEY=V1,V2,…", help="what to vary; repeatable")
    ],
    agent: AgentName = None,
    uncertainty: UncertaintyName = None,
    access: Annotated[str, typer.Option(help="local or online")] = "local",
    variant: VariantName = None,
    seeds: Annotated[int, typer.Option(help="seeds of each combination")] = 3,
    queries: Queries = None,
    stop_at_return: StopAtReturn = None,
    set_: Settings = None,
    out: Annotated[
        Path | None, typer.Option(help="folder  [default: runs/sweeps/PRESET-AGENT-ACCESS]")
    ] = None,
    force: Force = False,
) -> None:
    """Try every combination of some settings, and rank them.

    The paper's protocol: tune the exploration (`epsilon`, `bonus_scale`) with `--access online`,
    keep what was best with `--set`, then vary `p_init` and `batch` with `--access local`. An
    interrupted sweep goes on where it stopped.

    Example: `uflp sweep deep-sea --set size=10 --vary p_init=0,0.1,0.5 --vary batch=1,5,none`
    """
    from uflp.experiments.jobs import require_faithful
    from uflp.experiments.sweep import grid_jobs, parse_vary
    from uflp.report.sweeps import write_ranking

    if out is None:
        words = [folder_name(preset), agent or "default", access, *([variant] if variant else [])]
        out = Path("runs") / "sweeps" / "-".join(words)
    overrides = read_overrides([*(set_ or []), *(settings or [])], queries=queries)
    jobs = grid_jobs(
        preset,
        parse_vary(vary),
        seeds=seeds,
        out=out,
        agent=agent,
        uncertainty=uncertainty,
        access=access,
        variant=variant,
        overrides=overrides,
        stop_at_return=stop_at_return,
    )
    if not force:
        require_faithful(job.settings for job in jobs if job.unfinished())
    make_missing(jobs)
    print(write_ranking(jobs, out / "ranking.md"))
