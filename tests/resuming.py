"""Runs that are stopped, saved, and made again from what was saved."""

from __future__ import annotations

import re
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from uflp.experiments.resolve import resolve
from uflp.runs.checkpoints import Checkpoints
from uflp.training.run import Run
from uflp.training.settings import RunSettings

_SHORT: dict[str, dict[str, Any]] = {
    "deep": {"size": 6, "history_size": 150},
    "swingup": {"max_time": 0.3},
    "gym": {"history_size": 40},
    "gymnax": {"history_size": 40},
    "atari": {"max_frames": 120, "rollout_limit": 13, "history_size": 30, "min_replay": 16},
}


def small(preset: str, agent: str, uncertainty: str | None, **more: Any) -> RunSettings:
    """Returns a run of any kind that takes a second, with episodes that end and restarts."""
    values: dict[str, Any] = {"queries": 300, "eval_period": 60, "eval_episodes": 1}
    values |= {"learning_batch": 16, "replay_size": 200}
    if agent != "random":
        values["hidden"] = (8,)
    if agent.startswith("sac"):
        values |= {"min_replay": None, "history_size": 40, "sgd_period": 2, "batch": 8}
    if agent == "boot-ddqn":
        values["members"] = 3
    if uncertainty == "covariance":
        values["feature_size"] = 20
    if uncertainty == "rnd":
        values |= {"rnd_width": 8, "rnd_batch": 8, "rnd_period": 2}
    values |= _SHORT[re.split("[-/:]", preset)[0]]
    return resolve(preset, agent=agent, uncertainty=uncertainty, overrides=values | more)


def signalled(number: int, at: int) -> Any:
    """Returns a callback that raises a signal at the row of some queries."""

    def callback(row: dict[str, Any]) -> None:
        if row["queries"] == at:
            signal.raise_signal(number)

    return callback


class StoppedError(Exception):
    """Ends a run from within."""


def rows_of(run: Run, into: list[Any] | None = None, **pause: Any) -> list[Any]:
    """Returns the rows of a run as text, the clock's column aside."""
    rows = [] if into is None else into
    for row in run.train(**pause):
        del row["wall_seconds"]
        rows.append(repr(row))
    return rows


def stopped_rows(settings: RunSettings, folder: Path, stops: Sequence[int]) -> list[Any]:
    """Returns the rows of a run that is saved, dropped and made again at several queries."""
    rows: list[Any] = []
    for stop in (*stops, None):
        run, checkpoints = Run(settings), Checkpoints(folder)
        state = checkpoints.newest()
        if state is not None:
            run.load(state)

        def pause(run: Run = run, stop: int | None = stop, saver: Any = checkpoints) -> None:
            if stop is not None and run.queries >= stop:
                saver.save(run.state())
                raise StoppedError

        try:
            rows_of(run, rows, pause=pause)
        except StoppedError:
            continue
        # Replaying costs queries too: the budget of such a run may be spent before the last stop.
        assert stop is None or run.queries < stop, f"the run never paused after query {stop}"
        break
    return rows
