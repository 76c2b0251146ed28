"""Run folders with chosen numbers in them, written by the code that writes real ones."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from uflp.experiments.resolve import resolve
from uflp.runs.folder import RunFolder, Stopped, summarize

MakeRun = Callable[..., Path]


def write_run(
    path: Path,
    returns: Sequence[float],
    *,
    queries: Sequence[int] | None = None,
    budget: int | None = None,
    stopped: Stopped | None = "goal",
    names: dict[str, Any] | None = None,
    seed: int = 0,
    access: str = "local",
    columns: Mapping[str, Sequence[float]] | None = None,
    **overrides: Any,
) -> Path:
    """Writes a run of Deep Sea 10 that was evaluated every 100 queries, unless told otherwise.

    A run that was not `stopped` has no summary; one that spent its budget was stopped by that. More
    `columns` are what its simulator adds, a value an evaluation.
    """
    points = list(queries or [100 * (n + 1) for n in range(len(returns))])
    overrides = {"size": 10, "queries": budget or points[-1], **overrides}
    settings = resolve(
        "deep-sea", uncertainty="counts", access=access, seed=seed, overrides=overrides
    )
    settings = dataclasses.replace(settings, **(names or {}))
    folder = RunFolder(path, settings)
    rows = [
        {
            "queries": point,
            "wall_seconds": point / 500,
            "eval_return_mean": value,
            "loss": math.nan,
            "positive_rewards": number,
            **{name: values[number] for name, values in (columns or {}).items()},
        }
        for number, (point, value) in enumerate(zip(points, returns, strict=True))
    ]
    for row in rows:
        folder.append(row)
    if stopped is not None:
        spent = points[-1] >= overrides["queries"]
        reason: Stopped = "budget" if spent else stopped
        folder.finish(summarize(settings, rows, points[-1] / 500, path, reason))
    return path
