"""The runs of a figure, grouped by what its lines and points are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from uflp.experiments.figures import Figure as Plan
from uflp.experiments.jobs import Job
from uflp.report.groups import Group
from uflp.report.runs import RunRecord, read_runs

_Names = tuple[str, str, str | None, str, str | None]
_SHORT = {"batch": "B", "size": "N"}


class Series(NamedTuple):
    """The seeds of one line on one preset, at one value of each swept setting.

    Attributes:
        values: of the swept settings, in order of the figure's keys.
        group: the runs.
    """

    values: tuple[Any, ...]
    group: Group


def gather(plan: Plan, jobs: Sequence[Job]) -> list[Series]:
    """Reads the runs of a figure, all finished, and groups them."""
    runs, _ = read_runs([job.folder for job in jobs])
    by_path = {run.path.resolve(): run for run in runs}
    grouped: dict[tuple[_Names, tuple[Any, ...]], list[RunRecord]] = {}
    for job in jobs:
        settings, values = job.settings, job.settings.values()
        names = (
            settings.preset,
            settings.agent,
            settings.uncertainty_name,
            settings.access,
            settings.variant,
        )
        swept = tuple(values[key] for key in plan.keys)
        grouped.setdefault((names, swept), []).append(by_path[job.folder.resolve()])
    return [
        Series(
            swept,
            Group(*names, told(dict(zip(plan.keys, swept, strict=True))), tuple(members)),
        )
        for (names, swept), members in grouped.items()
    ]


def told(values: Mapping[str, Any]) -> str:
    """Returns values of settings as a legend shows them: `p_init = 0.1, B = 8`."""
    return ", ".join(
        f"{_SHORT.get(key, key)} = {'whole history' if value is None else value}"
        for key, value in values.items()
    )
