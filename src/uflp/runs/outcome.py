"""The outcome of a run, in memory."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from uflp.runs.policy import Policy
from uflp.state import State
from uflp.training.metrics import Row
from uflp.training.settings import RunSettings
from uflp.types import UsageError


@dataclass(frozen=True, repr=False)
class Outcome:
    """Outcome of a run.

    Attributes:
        settings: what decided it.
        summary: its outcome, as in `summary.json`.
        rows: of its metrics, one an evaluation.
        run_dir: its folder, None where nothing was written.
        queries: how many queries the agent was trained for.
        learner: the state of the trained agent.
    """

    settings: RunSettings
    summary: dict[str, Any]
    rows: list[Row]
    run_dir: Path | None
    queries: int
    learner: State

    def __repr__(self) -> str:
        names = [str(name) for name in self.settings.names().values() if name is not None]
        reached = self.summary["queries_to_target"]
        target = f", target reached after {reached:,}" if reached is not None else ""
        return (
            f"<{type(self).__name__} of {', '.join(names[:-1])}, seed {names[-1]}: "
            f"{self.summary['queries']:,} queries{target}, "
            f"final return {self.summary['final_return']:.4g}>"
        )

    @property
    def metrics(self) -> dict[str, np.ndarray]:
        """One array a column of `metrics.csv`."""
        columns = self.rows[0] if self.rows else {}
        return {key: np.array([row[key] for row in self.rows]) for key in columns}

    @functools.cached_property
    def policy(self) -> Policy:
        """The trained agent."""
        return Policy(self.settings, {"queries": self.queries, "learner": self.learner})

    def to_dataframe(self) -> Any:
        """Return the metrics as a pandas DataFrame."""
        try:
            import pandas
        except ImportError as error:
            raise UsageError("a DataFrame needs pandas: pip install 'uflp[dataframe]'") from error

        return pandas.DataFrame(self.metrics)

    def plot(self, ax: Any = None) -> Any:
        """Draw the learning curve; return the axes.

        Args:
            ax: matplotlib's axes to draw on; None makes new ones.
        """
        import matplotlib.pyplot as plt

        if ax is None:
            _, ax = plt.subplots()
        metrics, names = self.metrics, self.settings.names()
        label = f"{names['agent']}, {names['access']}, seed {names['seed']}"
        ax.plot(metrics["queries"], metrics["eval_return_mean"], label=label)
        ax.set(xlabel="queries", ylabel="evaluation return", title=names["preset"])
        ax.legend()
        return ax
