"""From settings to a finished run: drives the loop, keeps the records, stops early if asked."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from uflp.agents.compute import configure
from uflp.networks.parameters import saved_tree
from uflp.planning import SimulatorFailedError
from uflp.runs.folder import AGENT, RunFolder, Stopped, summarize
from uflp.runs.interruption import Interrupted, Interruption
from uflp.runs.policy import write_policy
from uflp.runs.run_protocol import RunProtocol
from uflp.runs.saving import DEFAULT_SECONDS, Saver
from uflp.runs.warm_start import prepare
from uflp.training.metrics import Row
from uflp.training.run import Run
from uflp.training.settings import RunSettings
from uflp.types import UsageError

Callback = Callable[[Row], Any]
"""Called with each row of metrics; a true answer ends the run."""


@dataclass(frozen=True)
class Result:
    """What a run came to.

    Attributes:
        settings: what decided it.
        summary: its outcome, as in `summary.json`.
        metrics: one array a column of `metrics.csv`.
        run_dir: its folder, None where nothing was written.
    """

    settings: RunSettings
    summary: dict[str, Any]
    metrics: dict[str, np.ndarray]
    run_dir: Path | None

    def to_dataframe(self) -> Any:
        """Returns the metrics as a pandas DataFrame."""
        try:
            import pandas
        except ImportError as error:
            raise UsageError("a DataFrame needs pandas: pip install 'uflp[dataframe]'") from error

        return pandas.DataFrame(self.metrics)


def train(
    settings: RunSettings,
    *,
    out: Path | None = None,
    stop_at_return: float | None = None,
    callback: Callback | None = None,
    checkpoint_seconds: float = DEFAULT_SECONDS,
    resume: bool = False,
    make_run: Callable[[RunSettings], RunProtocol] = Run,
) -> Result:
    """Trains to the end of the budget, or until an evaluation satisfies a reason to stop.

    Args:
        settings: of the run.
        out: the run folder to write; None writes nothing.
        stop_at_return: ends the run at the first evaluation whose mean return reaches it.
        callback: called after each evaluation; a true answer ends the run.
        checkpoint_seconds: wall-clock time from one checkpoint in the folder to the next.
        resume: goes on with the run that `out` holds part of.
        make_run: makes the run of the settings: in this process, or spread over several.

    Raises:
        Interrupted: if a signal asked for the end; the run was saved, and can be resumed, or was
            finished, where the signal came too late.
        RunError: if the run cannot go on.
    """
    if not checkpoint_seconds >= 0:
        raise UsageError(f"checkpoint_seconds must not be negative, not {checkpoint_seconds}")
    configure()
    if settings.loop.keep_history and out is None:
        raise UsageError("keep_history needs a run folder to keep it in")
    # The run first: parts that turn out not to fit together leave no folder behind.
    run = make_run(settings)
    if not resume:
        prepare(run)
    goal = math.inf if stop_at_return is None else stop_at_return
    if out is None:
        rows: list[Row] = []
        stopped = _drive(run, rows.append, goal, callback)
        return _result(settings, rows, summarize(settings, rows, run.seconds, None, stopped), None)
    stamp, records = run.simulator.stamp, run.exploration_log.records
    with (
        RunFolder(
            out, settings, stop_at_return, stamp, records, spread=run.spread, resume=resume
        ) as folder,
        Interruption() as interruption,
    ):
        rows = []
        saver = Saver(run, rows, folder, interruption, checkpoint_seconds)
        if resume:
            rows += saver.resume()
            folder.rewrite(rows)

        def keep(row: Row) -> None:
            rows.append(row)
            folder.append(row)
            if run.lineage is not None:
                folder.keep_best(run.lineage)

        try:
            stopped = _drive(run, keep, goal, callback, saver.pause)
        except SimulatorFailedError as error:
            saver.save()
            raise SimulatorFailedError(f"{error}; {saver.advice}") from error.__cause__
        summary = summarize(settings, rows, run.seconds, out, stopped) | saver.report()
        summary |= run.report()
        run.check_parameters()
        write_policy(out / AGENT, folder.identity, run.queries, saved_tree(run.learner))
        if settings.loop.keep_history:
            saver.keep_history()
        folder.finish(summary)
        saver.remove()
    if interruption.signal is not None:
        # Too late for this run, but not for those that whoever called this would make next.
        raise Interrupted(interruption.signal, f"the run was finished first: it is in {out}")
    return _result(settings, rows, summary, out)


def _drive(
    run: RunProtocol,
    keep: Callable[[Row], None],
    goal: float,
    callback: Callback | None,
    pause: Callable[[], None] = lambda: None,
) -> Stopped:
    """Runs to the end, and returns what ended it; `keep` is given every new row."""
    for row in run.train(pause):
        keep(row)
        if callback is not None and callback(row):
            return "callback"
        if row["eval_return_mean"] >= goal:
            return "goal"
    return "budget"


def _result(
    settings: RunSettings, rows: Sequence[Row], summary: dict[str, Any], out: Path | None
) -> Result:
    columns = rows[0] if rows else {}
    metrics = {key: np.array([row[key] for row in rows]) for key in columns}
    return Result(settings, summary, metrics, out)
