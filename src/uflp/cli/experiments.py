"""`uflp figure`, `uflp sweep` and `uflp compare`: many runs, of which only the missing are made."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from uflp.cli.common import (
    Actors,
    AgentName,
    AsJson,
    Force,
    MoreSettings,
    Preset,
    Queries,
    Ray,
    Settings,
    StopAtReturn,
    UncertaintyName,
    VariantName,
    cluster_settings,
    folder_name,
    print_json,
    print_skipped,
    print_table,
    read_overrides,
    run_missing,
)
from uflp.types import UsageError

if TYPE_CHECKING:
    from uflp.experiments.jobs import Job


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
        run_missing(jobs, out)
    shown = plan.at(scale, overrides)
    print(write_figure(name, shown, jobs, out, changes.command(name, scale)))
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
        Path | None,
        typer.Option(help="folder  [default: runs/sweeps/PRESET-AGENT-ACCESS-SETTINGS]"),
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

    overrides = read_overrides([*(set_ or []), *(settings or [])], queries=queries)
    if out is None:
        words = (agent or "default", access, uncertainty, variant)
        out = Path("runs") / "sweeps" / folder_name(preset, *words, overrides=overrides)
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
    run_missing(jobs, out)
    ranking = write_ranking(jobs, out / "ranking.md")
    print_table(ranking.heads, ranking.rows)
    for note in ranking.notes:
        print(note)
    print(out / "ranking.md")


def compare(
    preset: Preset,
    settings: MoreSettings = None,
    agent: AgentName = None,
    uncertainty: UncertaintyName = None,
    variant: VariantName = None,
    seeds: Annotated[int, typer.Option(help="seeds of each kind of access")] = 5,
    queries: Queries = None,
    stop_at_return: StopAtReturn = None,
    set_: Settings = None,
    out: Annotated[
        Path | None, typer.Option(help="folder  [default: runs/compare/PRESET-AGENT-SETTINGS]")
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Does going back pay? Train with local and with online access, and compare.

    Both have the same budget and seeds. Ends with a verdict over seeds, what saving and restoring
    cost, and a page with curves and pictures. An interrupted comparison goes on where it stopped,
    and a larger `--seeds` adds to the runs that are there.

    Example: `uflp compare deep-sea --set size=20 --queries 10000`
    """
    from uflp.experiments.comparison import comparison_jobs
    from uflp.experiments.jobs import require_faithful

    overrides = read_overrides([*(set_ or []), *(settings or [])], queries=queries)
    if out is None:
        words = (agent or "default", uncertainty, variant)
        out = Path("runs") / "compare" / folder_name(preset, *words, overrides=overrides)
    jobs = comparison_jobs(
        preset,
        out,
        seeds=seeds,
        agent=agent,
        uncertainty=uncertainty,
        variant=variant,
        overrides=overrides,
        stop_at_return=stop_at_return,
    )
    if not force:
        require_faithful(job.settings for job in jobs if job.unfinished())
    run_missing(jobs, out)
    outcome = _print_comparison(jobs, out)
    if as_json:
        print_json(outcome)


def _print_comparison(jobs: Sequence[Job], out: Path) -> dict[str, Any]:
    """Print the verdict, finds and costs, write the report, and return the outcome."""
    from uflp.report import write_report
    from uflp.report.comparisons import comparison_of, cost_sentence
    from uflp.simulators.costs import measure

    folders = [job.folder for job in jobs]
    comparison = comparison_of(folders)
    print(comparison.sentence)
    if comparison.found:
        print(comparison.found)
    if comparison.numbers:
        print(comparison.numbers)
    if comparison.advice:
        print(comparison.advice)
    costs = cost_sentence(comparison.local, measure(jobs[0].settings.simulator.make(0)))
    print(costs)
    written = write_report(folders, out / "report.html", costs=costs)
    print_skipped(written.skipped)
    print(written.path)
    return comparison.values() | {"report": str(written.path)}
