"""What a figure is: which runs it needs, and how they are to be drawn."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from uflp.experiments.jobs import Job
from uflp.experiments.resolve import resolve
from uflp.experiments.seeds import seed_jobs

Kind = Literal["curves", "auc", "scaling"]
SCALES = ("smoke", "laptop", "paper")


@dataclass(frozen=True)
class Scale:
    """How large a figure's runs are.

    Attributes:
        seeds: number of seeds, from 0.
        values: settings of all runs at this scale.
        by_agent: settings of one agent's runs, on top of those.
        sweep: the values that the figure's key takes.
        stop_at_return: ends each run once solved; its last value then stands for the rest.
    """

    seeds: int
    values: Mapping[str, Any]
    by_agent: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    sweep: tuple[Any, ...] = ()
    stop_at_return: float | None = None


@dataclass(frozen=True)
class Figure:
    """One figure of the paper.

    Attributes:
        title: of the picture.
        claim: what the paper says of it.
        preset: what is trained on.
        agents: which agents are trained.
        kind: `curves` of the return; `auc`, the normalised area under them against `key`; or
            `scaling`, queries to the target against `key`.
        accesses: which kinds of access are compared.
        key: the setting that is swept, if one is.
        scales: how large the runs are.
        panels: whether curves of each agent have axes of their own, a line to a value of `key`.
    """

    title: str
    claim: str
    preset: str
    agents: tuple[str, ...]
    kind: Kind
    scales: Mapping[str, Scale]
    accesses: tuple[str, ...] = ("local",)
    key: str | None = None
    panels: bool = False

    def jobs(self, scale: str, out: Path) -> list[Job]:
        """Returns all runs of the figure at a scale, with their folders below `out`."""
        size = self.scales[scale]
        jobs: list[Job] = []
        for agent in self.agents:
            for access in self.accesses:
                for value in size.sweep or (None,):
                    jobs += self._seeds(size, agent, access, value, out)
        return jobs

    def _seeds(self, size: Scale, agent: str, access: str, value: Any, out: Path) -> list[Job]:
        overrides = dict(size.values) | dict(size.by_agent.get(agent, {}))
        name = f"{agent}-{access}"
        if self.key is not None:
            # p_init = 1 is online access by another name, and keeps the history it never uses.
            overrides[self.key] = value
            name += f"-{self.key}={'all' if value is None else value}"
        settings = resolve(self.preset, agent=agent, access=access, overrides=overrides)
        return seed_jobs(settings, range(size.seeds), out / name, size.stop_at_return)


def scales(
    smoke: Scale, laptop: Scale, paper: Scale, *, sweep: Sequence[Any] | None = None
) -> dict[str, Scale]:
    """Returns a figure's scales by name; `sweep` is for those that have none of their own."""
    named = {"smoke": smoke, "laptop": laptop, "paper": paper}
    if sweep is None:
        return named
    return {
        name: scale if scale.sweep else dataclasses.replace(scale, sweep=tuple(sweep))
        for name, scale in named.items()
    }
