"""Outcomes of runs in the form that rliable takes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from uflp.report.runs import RunRecord, read_runs
from uflp.types import UsageError


def scores_of(directories: Sequence[Path], value: str) -> dict[str, np.ndarray]:
    """Return an array [runs, games] for each algorithm, float64; see `uflp.rliable_scores`.

    Args:
        directories: run folders, or folders of them.
        value: a number of `summary.json`.

    Raises:
        UsageError: where the runs do not fill such arrays; the message says which are missing.
    """
    runs, skipped = read_runs(directories)
    if skipped:
        raise UsageError(f"{skipped[0].path} cannot be read: {skipped[0].reason}")
    if not runs:
        raise UsageError(f"there are no runs in {', '.join(map(str, directories))}")
    label = _labels(runs)
    games = sorted({run.preset for run in runs})
    found: dict[str, dict[tuple[int, str], float]] = {}
    for run in runs:
        cells = found.setdefault(label(run), {})
        if (run.seed, run.preset) in cells:
            raise UsageError(
                f"{run.path} repeats seed {run.seed} of {label(run)} on {run.preset}: name the "
                "folders of runs that differ in agent, access, variant or uncertainty alone"
            )
        cells[run.seed, run.preset] = _value(run, value)
    scores = {}
    for name, cells in sorted(found.items()):
        seeds = sorted({seed for seed, _ in cells})
        missing = [(seed, game) for seed in seeds for game in games if (seed, game) not in cells]
        if missing:
            seed, game = missing[0]
            raise UsageError(f"{name} has no run of seed {seed} on {game}, and rliable needs it")
        scores[name] = np.array([[cells[seed, game] for game in games] for seed in seeds])
    return scores


def _value(run: RunRecord, name: str) -> float:
    if run.summary is None:
        raise UsageError(f"{run.path} is not finished")
    found = run.summary.get(name)
    if not isinstance(found, int | float) or not math.isfinite(found):
        raise UsageError(f"the summary of {run.path} has no number {name!r}")
    return float(found)


def _labels(runs: Sequence[RunRecord]) -> Callable[[RunRecord], str]:
    """Return what names the algorithm of a run: what tells it from the other runs there."""
    keys = ["agent", "access"]
    keys += [key for key in ("variant", "uncertainty") if len({getattr(r, key) for r in runs}) > 1]

    def label(run: RunRecord) -> str:
        return ", ".join(str(getattr(run, key)) for key in keys if getattr(run, key) is not None)

    return label
