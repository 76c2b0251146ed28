"""From settings to a finished run: drives the loop, keeps the records, stops early if asked."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from uflp.agents.compute import configure
from uflp.arguments import argument
from uflp.networks.parameters import saved_tree
from uflp.planning import SimulatorFailedError
from uflp.runs.checkpoints import DEFAULT_SECONDS, Saver, prepare
from uflp.runs.folder import AGENT, RunFolder, Stopped, summarize
from uflp.runs.interruption import Interrupted, Interruption
from uflp.runs.outcome import Outcome
from uflp.runs.policy import write_policy
from uflp.runs.provenance import numerics
from uflp.runs.run_protocol import RunProtocol
from uflp.training.metrics import Row
from uflp.training.run import Run
from uflp.training.settings import RunSettings
from uflp.trust import names_of_run, remember
from uflp.types import RunError, UsageError, error_text

Callback = Callable[[Row], Any]
"""Called with each row of metrics; a true answer ends the run."""


def train(
    settings: RunSettings,
    *,
    out: Path | None = None,
    stop_at_return: float | None = None,
    callback: Callback | None = None,
    checkpoint_seconds: float = DEFAULT_SECONDS,
    resume: bool = False,
    keep_checkpoint: bool = False,
    make_run: Callable[[RunSettings], RunProtocol] = Run,
) -> Outcome:
    """Train to the end of the budget, or until an evaluation satisfies a reason to stop.

    Args:
        settings: of the run.
        out: the run folder to write; None writes nothing.
        stop_at_return: ends the run at the first evaluation whose mean return reaches it.
        callback: called after each evaluation; a true answer ends the run.
        checkpoint_seconds: wall-clock time from one checkpoint in the folder to the next.
        resume: goes on with the run that `out` holds part of.
        keep_checkpoint: leaves a checkpoint of the end, from which a larger budget can go on.
        make_run: makes the run of the settings: in this process, or spread over several.

    Raises:
        Interrupted: if a signal asked for the end; the run was saved, and can be resumed, or was
            finished, where the signal came too late.
        RunError: if the run cannot go on.
    """
    _require_sound(settings, out, stop_at_return, checkpoint_seconds, keep_checkpoint)
    configure()
    # The run before its folder: parts that turn out not to fit together leave nothing behind.
    run = _made(make_run, settings, keep_checkpoint)
    if not resume:
        prepare(run)
    goal = math.inf if stop_at_return is None else stop_at_return
    if out is None:
        rows: list[Row] = []
        stopped = _drive(run.train(lambda: None), rows.append, goal, callback)
        summary = summarize(settings, rows, run.seconds, None, stopped)
        return Outcome(settings, summary, rows, None, run.queries, saved_tree(run.learner))
    with (
        Interruption() as interruption,
        RunFolder(
            out,
            settings,
            stop_at_return,
            run.simulator.stamp,
            run.exploration_log.records,
            cluster_config=run.cluster_config,
            numerics=numerics(run.simulator),
            resume=resume,
        ) as folder,
    ):
        remember(out, names_of_run(settings.imports, run.cluster_config))
        rows = []
        saver = Saver(run, rows, folder, interruption, checkpoint_seconds)
        stopped = _drive_saving(run, rows, folder, saver, goal, callback, resume=resume)
        summary = summarize(settings, rows, run.seconds, out, stopped) | saver.report()
        summary |= run.report()
        run.check_parameters()
        learner = saved_tree(run.learner)
        write_policy(out / AGENT, folder.identity, run.queries, learner)
        if settings.planning.keep_history:
            saver.keep_history()
        folder.finish(summary)
        if keep_checkpoint:
            _save_before_next_query(run, saver)
        else:
            saver.remove()
    if interruption.signal is not None:
        # Too late for this run, but not for those that whoever called this would make next.
        raise Interrupted(interruption.signal, f"the run was finished first: it is in {out}")
    return Outcome(settings, summary, rows, out, run.queries, learner)


def _require_sound(
    settings: RunSettings,
    out: Path | None,
    stop_at_return: float | None,
    checkpoint_seconds: float,
    keep_checkpoint: bool,
) -> None:
    """Refuse what does not go together, before anything is made."""
    if not checkpoint_seconds >= 0:
        raise UsageError(f"checkpoint_seconds must not be negative, not {checkpoint_seconds}")
    if stop_at_return is not None and not math.isfinite(stop_at_return):
        raise UsageError(f"stop_at_return must be a finite number, not {stop_at_return}")
    if settings.planning.keep_history and out is None:
        raise UsageError("keep_history needs a run folder to keep it in")
    if keep_checkpoint and out is None:
        raise UsageError(f"{argument('keep_checkpoint')} needs a run folder to keep it in")


def _made(
    make_run: Callable[[RunSettings], RunProtocol], settings: RunSettings, keep_checkpoint: bool
) -> RunProtocol:
    """Return the run of some settings; refuse one whose end cannot be kept where that is asked."""
    try:
        run = make_run(settings)
    except MemoryError as error:
        raise UsageError("a run of these sizes does not fit into memory") from error
    if keep_checkpoint and run.cluster_config is not None:
        raise UsageError(f"{argument('keep_checkpoint')} is for runs of one process")
    if keep_checkpoint and not run.simulator.portable:
        raise UsageError(
            f"{argument('keep_checkpoint')} cannot be: snapshots of this simulator live in memory "
            "only"
        )
    return run


def _drive_saving(
    run: RunProtocol,
    rows: list[Row],
    folder: RunFolder,
    saver: Saver,
    goal: float,
    callback: Callback | None,
    *,
    resume: bool,
) -> Stopped:
    """Run to the end with checkpoints and a record in the folder; return what ended it.

    Args:
        run: the run.
        rows: of its metrics, to which new ones are added.
        folder: where they are written.
        saver: of its checkpoints; saves it also where the simulator fails or a signal comes.
        goal: mean return that ends it.
        callback: see `train`.
        resume: goes on from the checkpoint in the folder.
    """
    if resume:
        rows += saver.resume()
        folder.rewrite(rows)

    def keep(row: Row) -> None:
        rows.append(row)
        folder.append(row)
        if run.lineage is not None:
            folder.keep_best(run.lineage)

    evaluations = _going_on(run, saver.pause) if resume else run.train(saver.pause)
    try:
        return _drive(evaluations, keep, goal, callback)
    except SimulatorFailedError as error:
        saver.save()
        raise SimulatorFailedError(f"{error}; {saver.advice}") from error.__cause__
    except Interrupted as error:
        if not run.in_simulator:
            raise
        # A second signal, in a call that may not return: all but the rollout can be saved.
        saver.save()
        raise Interrupted(error.signal, saver.advice) from None


class _SavedError(Exception):
    """The run was saved."""


def _save_before_next_query(run: RunProtocol, saver: Saver) -> None:
    """Begin the rollout that a larger budget would go on with, and save the run there.

    Between two rollouts the simulator has no snapshot, which alone holds the noise that lies ahead.
    """

    def save() -> None:
        saver.save()
        raise _SavedError

    with contextlib.suppress(_SavedError):
        next(run.train(save))


def _going_on(run: RunProtocol, pause: Callable[[], None]) -> Iterator[Row]:
    """Train a run that was loaded from a file.

    A checkpoint that was forged may fit its run in every part, and still not as a whole.
    """
    try:
        yield from run.train(pause)
    except (RunError, UsageError):
        raise
    except Exception as error:
        raise RunError(
            f"the run cannot go on from its checkpoint: at query {run.queries}, it failed with "
            f"{error_text(error)}"
        ) from error


def _drive(
    rows: Iterator[Row],
    keep: Callable[[Row], None],
    goal: float,
    callback: Callback | None,
) -> Stopped:
    """Run to the end, and return what ended it; `keep` is given every new row."""
    for row in rows:
        keep(row)
        if callback is not None and callback(row):
            return "callback"
        if row["eval_return_mean"] >= goal:
            return "goal"
    return "budget"
