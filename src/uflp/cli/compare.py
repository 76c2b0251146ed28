"""`uflp compare`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from uflp.cli.options import (
    AgentName,
    AsJson,
    Force,
    MoreSettings,
    Preset,
    Queries,
    Settings,
    StopAtReturn,
    UncertaintyName,
    VariantName,
)
from uflp.cli.words import folder_name, make_missing, read_overrides, tell_json, tell_skipped


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
        words = [folder_name(preset), agent or "default"]
        words += [word for word in (uncertainty, variant) if word is not None]
        words += [f"{key}={value}".replace("/", "-") for key, value in overrides.items()]
        out = Path("runs") / "compare" / "-".join(words)
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
    make_missing(jobs)
    outcome = _tell(jobs, out)
    if as_json:
        tell_json(outcome)


def _tell(jobs: Any, out: Path) -> dict[str, Any]:
    """Says what the comparison shows, and returns it."""
    from uflp.report import write_report
    from uflp.report.comparisons import Comparison
    from uflp.report.costs import cost_words
    from uflp.report.groups import group_runs
    from uflp.report.runs import read_runs
    from uflp.simulators.costs import measure

    folders = [job.folder for job in jobs]
    groups, _ = group_runs(read_runs(folders)[0])
    local, online = sorted(groups, key=lambda group: group.access)
    comparison = Comparison(local, online)
    print(comparison.sentence)
    if comparison.found:
        print(comparison.found)
    if comparison.numbers:
        print(comparison.numbers)
    print(cost_words(comparison.local, measure(jobs[0].settings.simulator.make(0))))
    written = write_report(folders, out / "report.html")
    tell_skipped(written.skipped)
    print(written.path)
    return comparison.values() | {"report": str(written.path)}
