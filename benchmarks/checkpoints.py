"""Checkpoints of runs whose buffers are full: time, size, and share of ten minutes."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from uflp.experiments.resolve import resolve
from uflp.runs.checkpoints import DEFAULT_SECONDS, Checkpoints
from uflp.training.run import Run

NEW_ROWS = 50_000
"""Rows that are new at a later checkpoint, in replay and history alike."""

RUNS: dict[str, dict[str, Any]] = {
    "deep-sea 50, counts": {"preset": "deep-sea", "uncertainty": "counts"},
    "deep-sea 50, covariance": {"preset": "deep-sea", "uncertainty": "covariance"},
    "swingup, covariance": {"preset": "swingup", "uncertainty": "covariance"},
}

NEVER = 10**9

PLAY = {
    **{"queries": NEVER, "eval_period": NEVER, "sgd_period": NEVER, "epsilon": 1.0},
    **{"checkpoint_period": 1, "history_size": 100_000},
}
"""Random play that is kept as if it were learned from; every state goes to the history."""


def measure() -> dict[str, Any]:
    """Returns, of each run, what its first checkpoint takes and what a later one does."""
    outcomes = {}
    for name, settings in RUNS.items():
        run = Run(resolve(**settings))
        run.simulator.reset(seed=0)
        run.rollout.over = False
        run.rollout.observation = run.simulator.observation_space.sample()
        outcomes[name] = _measure(run, 1_000_000, _fill)
    # What images and emulators compress to, only real ones tell.
    montezuma = Run(resolve("atari/montezuma-revenge", overrides=PLAY))
    outcomes["montezuma, counts"] = _measure(montezuma, 110_000, _play)
    return outcomes


def _measure(run: Run, rows: int, fill: Callable[[Run, int], None]) -> dict[str, Any]:
    """Fills a run's buffers, saves it, adds some more and saves it again."""
    fill(run, rows)
    outcome: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        checkpoints = Checkpoints(Path(folder))
        for number, name in enumerate(("first", "second", "later")):
            if number == 2:
                fill(run, NEW_ROWS)
            saved = checkpoints.save(run.state())
            if name != "second":  # it fills the other folder, as the first did its own
                outcome[f"{name} (s)"] = round(saved.seconds, 3)
                outcome[f"{name}, written (MB)"] = round(saved.written / 1e6, 1)
        outcome["size of one (MB)"] = round(saved.size / 1e6, 1)
        outcome["share of ten minutes (%)"] = round(100 * saved.seconds / DEFAULT_SECONDS, 3)
    return outcome


def _fill(run: Run, rows: int) -> None:
    """Adds rows to the replay, and snapshots to the history up to its own budget."""
    observation = np.asarray(run.rollout.observation)
    for _ in range(rows):
        run.replay.add(observation, 0, 0.0, 0.99, observation)
    assert run.history is not None
    snapshot = run.simulator.save()
    for _ in range(min(rows, run.settings.planning.history_size)):
        run.history.add(snapshot, observation)


class _EnoughError(Exception):
    """Ends play."""


def _play(run: Run, queries: int) -> None:
    """Makes queries, as a run does, and stops where it can be saved."""
    until = run.queries + queries

    def pause() -> None:
        if run.queries == until:
            raise _EnoughError

    with contextlib.suppress(_EnoughError):
        for _ in run.train(pause):
            pass
