"""Agents of others on tasks with one far goal, with local access and online: a table of results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from uflp.report import formatting
from uflp.report.formatting import markdown_table
from uflp.report.results import Results, Side, sides_of, solved_text

RESULTS = "results/sparse-tasks.csv"

_AGENTS = {
    "sb3-dqn": "Stable-Baselines3's DQN",
    "sb3-ppo": "Stable-Baselines3's PPO, 8 copies",
    "cleanrl-ppo": "a CleanRL-style PPO, 8 copies",
    "sb3-sac": "Stable-Baselines3's SAC",
}
_TASKS = {
    "mountain-car": "MountainCar",
    "door-key": "one layout of DoorKey 8 × 8",
    "point-maze": "PointMaze Large, the two cells that lie furthest apart",
}
_DEFAULT = "without arguments"
_ARGUMENTS = {"point-maze": "with counts of x and y"}
"""Tasks on which local access does not have its defaults."""


class _Pair(NamedTuple):
    """Runs of one agent on one task, the same seeds with either access.

    Attributes:
        agent: its name.
        task: likewise.
        how: what `LocalAccess` was given.
        rows: of the table.
    """

    agent: str
    task: str
    how: str
    rows: Sequence[Mapping[str, str]]


def claims(results: Results) -> list[tuple[str, str]]:
    """Return what was compared and what came of it, for the page of claims."""
    return [
        (
            f"`LocalAccess` {pair.how}, with {pair.agent}, on {pair.task}, [CSV](sparse-tasks.csv)",
            f"{solved_text(pair.rows)}. Solved is the goal in 18 of 20 greedy episodes",
        )
        for pair in _pairs(results)
    ]


def table(results: Results) -> str:
    """Return the same as a table with a row for each agent and task."""
    rows = []
    for pair in _pairs(results):
        sides = sides_of(pair.rows)
        task = pair.task + ("" if pair.how == _DEFAULT else f" ({pair.how})")
        rows.append([pair.agent, task, _solved(sides["local"]), _solved(sides["online"])])
    heads = ["agent", "task", "solved with `LocalAccess`", "solved without"]
    return markdown_table(heads, rows)


def _pairs(results: Results) -> list[_Pair]:
    if not (results.root / RESULTS).exists():
        return []
    grouped: dict[tuple[str, str], list[dict[str, str]]] = {}
    for row in results.rows(RESULTS):
        # A run ends once it is solved; what it was given stands in a column of its own.
        own = {**row, "queries": row["budget"]}
        grouped.setdefault((row["agent"], row["task"]), []).append(own)
    return [
        _Pair(_AGENTS[agent], _TASKS[task], _ARGUMENTS.get(task, _DEFAULT), rows)
        for (agent, task), rows in grouped.items()
        if _seeds(rows, "local") == _seeds(rows, "online")
    ]


def _seeds(rows: Sequence[Mapping[str, str]], access: str) -> list[str]:
    return sorted(row["seed"] for row in rows if row["access"] == access)


def _solved(side: Side) -> str:
    text = f"{side.solved} of {side.seeds}"
    if side.needed:
        return f"{text}, after {formatting.span(side.needed)} queries"
    return f"{text}, within {side.queries:,}"
