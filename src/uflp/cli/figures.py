"""`uflp figure` and `uflp sweep`: many runs, of which only the missing ones are made."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from uflp.cli.options import (
    AgentName,
    Force,
    Preset,
    Queries,
    Settings,
    StopAtReturn,
    UncertaintyName,
)
from uflp.cli.words import folder_name, make_missing, read_overrides
from uflp.types import UsageError


def figure(
    name: Annotated[str, typer.Argument(metavar="ID", help="see `uflp list figures`")],
    scale: Annotated[
        str, typer.Option(help="smoke (seconds), laptop (up to an hour), paper (a cluster)")
    ] = "laptop",
    out: Annotated[
        Path | None, typer.Option(help="folder  [default: runs/figures/ID-SCALE]")
    ] = None,
) -> None:
    """Draw a figure of the paper, or make a table: the runs that are missing come first.

    A table keeps its runs where the figure of the same runs does. An interrupted figure goes on
    where it stopped: call it again.

    Example: `uflp figure deep-sea-50`
    """
    from uflp.experiments.figures import FIGURES, SCALES
    from uflp.registry import unknown
    from uflp.report.figures import write_figure

    if name not in FIGURES:
        raise UsageError(unknown("figure", name, FIGURES))
    if scale not in SCALES:
        raise UsageError(unknown("scale", scale, SCALES))
    plan = FIGURES[name]
    out = out or Path("runs") / "figures" / f"{plan.home or name}-{scale}"
    jobs = plan.jobs(scale, out / "runs")
    make_missing(jobs)
    print(write_figure(name, plan.at(scale), jobs, out))
    print(f"The paper: {plan.claim}.")


def sweep(
    preset: Preset,
    vary: Annotated[
        list[str], typer.Option(metavar="KEY=V1,V2,…", help="what to vary; repeatable")
    ],
    agent: AgentName = None,
    uncertainty: UncertaintyName = None,
    access: Annotated[str, typer.Option(help="local or online")] = "local",
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

    out = out or Path("runs") / "sweeps" / f"{folder_name(preset)}-{agent or 'default'}-{access}"
    overrides = read_overrides(set_ or [], queries=queries)
    jobs = grid_jobs(
        preset,
        parse_vary(vary),
        seeds=seeds,
        out=out,
        agent=agent,
        uncertainty=uncertainty,
        access=access,
        overrides=overrides,
        stop_at_return=stop_at_return,
    )
    if not force:
        require_faithful(job.settings for job in jobs if job.unfinished())
    make_missing(jobs)
    print(write_ranking(jobs, out / "ranking.md"))
