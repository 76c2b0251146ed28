"""Returns of `sac` beside those of Stable-Baselines3's SAC, both online: a table of results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from uflp.report import formatting
from uflp.report.formatting import markdown_table
from uflp.report.results import Results
from uflp.report.statistics import mean_interval

RESULTS = "results/sac-returns.csv"

_OURS, _PEER = "sac", "stable-baselines3"
_Returns = Mapping[str, float]  # By seed.


class _Task(NamedTuple):
    """Returns on one task, of the same seeds for either agent."""

    name: str
    queries: int
    ours: _Returns
    peer: _Returns


def claims(results: Results) -> list[tuple[str, str]]:
    """Return what was compared and what came of it, for the page of claims."""
    return [
        (
            f"`sac` online on {task.name}, beside Stable-Baselines3's SAC with the same networks, "
            "batch and rates, [CSV](sac-returns.csv)",
            f"mean return {_told(task.ours)}, Stable-Baselines3's {_told(task.peer)}; "
            f"{formatting.seeds(len(task.ours))}, {task.queries:,} queries",
        )
        for task in _tasks(results)
    ]


def table(results: Results) -> str:
    """Return the same as a table with a row for each task."""
    rows = [
        [
            task.name,
            f"{task.queries:,}",
            str(len(task.ours)),
            _told(task.ours),
            _told(task.peer),
        ]
        for task in _tasks(results)
    ]
    return markdown_table(["task", "queries", "seeds", "`sac`", "Stable-Baselines3's SAC"], rows)


def _tasks(results: Results) -> list[_Task]:
    if not (results.root / RESULTS).exists():
        return []
    returns: dict[tuple[str, int], dict[str, dict[str, float]]] = {}
    for row in results.rows(RESULTS):
        agents = returns.setdefault((row["task"], int(row["queries"])), {_OURS: {}, _PEER: {}})
        agents[row["agent"]][row["seed"]] = float(row["mean_return"])
    return [
        _Task(name, queries, agents[_OURS], agents[_PEER])
        for (name, queries), agents in returns.items()
        if agents[_OURS].keys() == agents[_PEER].keys()
    ]


def _told(returns: _Returns) -> str:
    return formatting.interval(mean_interval(list(returns.values())))
