"""The command line.

Every command ends with 0, with 1 if the work failed, or with 2 if what was asked for cannot be
done; then one sentence says why, and nothing has been written.
"""

from __future__ import annotations

import itertools
import json
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from uflp.types import UsageError

app = typer.Typer(
    name="uflp",
    help="Reinforcement learning with a simulator that can go back.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)

LISTS = ("presets", "agents", "uncertainties", "simulators", "figures")


@app.command("list")
def list_names(
    what: Annotated[str, typer.Argument(help="one of " + ", ".join(LISTS))] = "",
) -> None:
    """Show the names that other commands take."""
    from uflp.experiments.agents import AGENTS
    from uflp.experiments.figures import FIGURES
    from uflp.experiments.presets import PRESETS
    from uflp.registry import unknown
    from uflp.simulators import SIMULATORS
    from uflp.uncertainty import UNCERTAINTIES

    if what and what not in LISTS:
        raise UsageError(unknown("list", what, LISTS))
    tables = {
        "presets": {name: preset.summary for name, preset in PRESETS.items()},
        "agents": {name: agent.summary for name, agent in AGENTS.items()},
        "uncertainties": {name: UNCERTAINTIES.summary(name) for name in UNCERTAINTIES},
        "simulators": {name: SIMULATORS.summary(name) for name in SIMULATORS},
        "figures": {name: figure.title for name, figure in FIGURES.items()},
    }
    for title in [what] if what else LISTS:
        print(title)
        for name, summary in tables[title].items():
            print(f"  {name:<18} {summary}")


@app.command()
def train(
    preset: Annotated[str, typer.Argument(help="the experiment: see `uflp list presets`")],
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
    overrides = _pairs([*(set_ or []), *(settings or [])])
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
        out = _new_folder(f"{resolved.preset}-{resolved.agent}-{resolved.access}")
    outcome = (
        _train_one(resolved, out, stop_at_return)
        if seeds is None
        else _train_many(resolved, seeds, out, stop_at_return)
    )
    if as_json:
        print(json.dumps(outcome), flush=True)


@app.command()
def figure(
    name: Annotated[str, typer.Argument(metavar="ID", help="see `uflp list figures`")],
    scale: Annotated[
        str, typer.Option(help="smoke (seconds), laptop (up to an hour), paper (a cluster)")
    ] = "laptop",
    out: Annotated[
        Path | None, typer.Option(help="folder  [default: runs/figures/ID-SCALE]")
    ] = None,
) -> None:
    """Draw a figure of the paper: makes the runs that are missing, then the picture.

    An interrupted figure goes on where it stopped: call it again.

    Example: `uflp figure deep-sea-50`
    """
    from uflp.experiments.figures import FIGURES, SCALES
    from uflp.registry import unknown
    from uflp.report.figures import write_figure

    if name not in FIGURES:
        raise UsageError(unknown("figure", name, FIGURES))
    if scale not in SCALES:
        raise UsageError(unknown("scale", scale, SCALES))
    out = out or Path("runs") / "figures" / f"{name}-{scale}"
    jobs = FIGURES[name].jobs(scale, out / "runs")
    _make_missing(jobs)
    print(write_figure(name, FIGURES[name], jobs, out))
    print(f"The paper: {FIGURES[name].claim}.")


@app.command()
def sweep(
    preset: Annotated[str, typer.Argument(help="the experiment: see `uflp list presets`")],
    vary: Annotated[
        list[str], typer.Option(metavar="KEY=V1,V2,…", help="what to vary; repeatable")
    ],
    agent: Annotated[str | None, typer.Option(help="see `uflp list agents`")] = None,
    uncertainty: Annotated[str | None, typer.Option(help="see `uflp list uncertainties`")] = None,
    access: Annotated[str, typer.Option(help="local or online")] = "local",
    seeds: Annotated[int, typer.Option(help="seeds of each combination")] = 3,
    queries: Annotated[int | None, typer.Option(help="budget of simulator steps")] = None,
    stop_at_return: Annotated[
        float | None, typer.Option(help="stop a run once its mean return reaches this")
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="set any other key")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="folder  [default: runs/sweeps/PRESET-AGENT-ACCESS]")
    ] = None,
) -> None:
    """Try every combination of some settings, and rank them.

    The paper's protocol: tune the exploration (`epsilon`, `bonus_scale`) with `--access online`,
    keep what was best with `--set`, then vary `p_init` and `batch` with `--access local`. An
    interrupted sweep goes on where it stopped.

    Example: `uflp sweep deep-sea --set size=10 --vary p_init=0,0.1,0.5 --vary batch=1,5,none`
    """
    from uflp.experiments.sweep import grid_jobs, parse_vary
    from uflp.report.sweeps import write_ranking

    out = out or Path("runs") / "sweeps" / f"{preset}-{agent or 'default'}-{access}"
    overrides = _pairs(set_ or [])
    if queries is not None:
        overrides["queries"] = queries
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
    _make_missing(jobs)
    print(write_ranking(jobs, out / "ranking.md"))


@app.command()
def report(
    directories: Annotated[list[Path], typer.Argument(help="run folders, or folders of them")],
    out: Annotated[Path | None, typer.Option(help="file to write")] = None,
) -> None:
    """Sum up runs: a table, and learning curves with intervals over seeds.

    Example: `uflp report runs --out report.md`
    """
    from uflp.report import write_report

    print(write_report(directories, out))


def _make_missing(jobs: Any) -> None:
    """Makes the runs that are not there yet, and says which are made again, and why."""
    from uflp.experiments.jobs import run_jobs

    missing = []
    for job in jobs:
        reason = job.unfinished()
        if reason:
            missing.append(job)
            if job.folder.exists():
                print(f"{job.folder} is made again: {reason}", flush=True)
    if len(missing) < len(jobs):
        print(f"{len(jobs) - len(missing)} of {len(jobs)} runs are there already", flush=True)
    for number, summary in enumerate(run_jobs(missing), start=1):
        print(f"[{number}/{len(missing)}] {_sentence(summary)}", flush=True)


def _train_one(settings: Any, out: Path, stop_at_return: float | None) -> dict[str, Any]:
    from uflp.progress import Progress
    from uflp.training.train import train as run

    with Progress(settings.loop.queries) as progress:
        result = run(settings, out=out, stop_at_return=stop_at_return, callback=progress.row)
    print(_sentence(result.summary))
    return result.summary


def _train_many(
    settings: Any, count: int, out: Path, stop_at_return: float | None
) -> dict[str, Any]:
    from uflp.experiments.seeds import combined, train_seeds

    summaries = []
    for summary in train_seeds(settings, range(count), out, stop_at_return):
        summaries.append(summary)
        print(f"[{len(summaries)}/{count}] {_sentence(summary)}", flush=True)
    return combined(settings, sorted(summaries, key=lambda summary: summary["seed"]), out)


def _sentence(summary: dict[str, Any]) -> str:
    reached = summary["queries_to_target"]
    goal = (
        f"reached {summary['target_return']:g} after {reached:,} queries"
        if reached is not None
        else f"best return {summary['best_return']:.3f}"
    )
    return (
        f"{summary['preset']}, {summary['agent']}, {summary['access']}, seed {summary['seed']}: "
        f"{goal}; {summary['queries']:,} queries at {summary['queries_per_second']:,.0f}/s, "
        f"in {summary['run_dir']}"
    )


def _new_folder(name: str) -> Path:
    """Returns a folder below `runs` that does not exist yet, named after the time."""
    first = Path("runs") / f"{time.strftime('%Y%m%d-%H%M%S')}-{name}"
    numbered = (first.with_name(f"{first.name}-{number}") for number in itertools.count(2))
    return next(folder for folder in itertools.chain([first], numbered) if not folder.exists())


def _pairs(words: list[str]) -> dict[str, Any]:
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


def main() -> None:
    """Runs the command line, turning every expected failure into one sentence and a code."""
    try:
        app()
    except UsageError as error:
        _fail(f"{error}.", 2)
    except ArithmeticError as error:
        _fail(f"stopped: {error}; the metrics so far are kept.", 1)
    except KeyboardInterrupt:
        _fail("interrupted; the metrics so far are kept.", 130)


def _fail(sentence: str, code: int) -> None:
    print(f"uflp: {sentence}", file=sys.stderr)
    sys.exit(code)
