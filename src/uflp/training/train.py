"""From settings to a finished run: drives the loop, keeps the records, stops early if asked."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from uflp.agents.compute import configure
from uflp.training.records import RunFolder, summarize
from uflp.training.run import Row, Run
from uflp.training.settings import RunSettings

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
        import pandas

        return pandas.DataFrame(self.metrics)


def train(
    settings: RunSettings,
    *,
    out: Path | None = None,
    stop_at_return: float | None = None,
    callback: Callback | None = None,
) -> Result:
    """Trains to the end of the budget, or until an evaluation satisfies a reason to stop.

    Args:
        settings: of the run.
        out: the run folder to write; None writes nothing.
        stop_at_return: ends the run at the first evaluation whose mean return reaches it.
        callback: called after each evaluation; a true answer ends the run.
    """
    configure()
    started = time.perf_counter()
    # The run first: parts that turn out not to fit together leave no folder behind.
    run = Run(settings)
    folder = None if out is None else RunFolder(out, settings, stop_at_return, run.simulator.stamp)
    rows: list[Row] = []
    for row in run.train():
        rows.append(row)
        if folder is not None:
            folder.append(row)
            if run.lineage is not None:
                folder.keep_best(run.lineage)
        stop = callback is not None and callback(row)
        if stop or row["eval_return_mean"] >= (
            math.inf if stop_at_return is None else stop_at_return
        ):
            break
    summary = summarize(settings, rows, time.perf_counter() - started, out)
    if folder is not None:
        folder.finish(summary)
    columns = rows[0] if rows else {}
    metrics = {key: np.array([row[key] for row in rows]) for key in columns}
    return Result(settings, summary, metrics, out)
