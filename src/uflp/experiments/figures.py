"""The paper's figures as data: which runs they need, and how those are to be drawn."""

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


def _scales(
    *, smoke: Scale, laptop: Scale, paper: Scale, sweep: Sequence[Any] | None = None
) -> dict[str, Scale]:
    scales = {"smoke": smoke, "laptop": laptop, "paper": paper}
    if sweep is None:
        return scales
    return {
        name: scale if scale.sweep else dataclasses.replace(scale, sweep=tuple(sweep))
        for name, scale in scales.items()
    }


_DEEP_SEA_AGENTS = ("boot-ddqn", "ddqn-bonus", "ddqn", "pi-bonus")
_SMALL_ENSEMBLE = {"boot-ddqn": {"members": 4}}
_SMOKE = {"size": 6, "queries": 400, "eval_period": 40}
_PAPER_DEEP_SEA = Scale(seeds=10, values={"size": 50, "queries": 300_000})
_LAPTOP_DEEP_SEA_20 = Scale(seeds=3, values={"size": 20, "queries": 20_000}, stop_at_return=0.95)

FIGURES: Mapping[str, Figure] = {
    "deep-sea-50": Figure(
        title="Deep Sea 50: local and online access",
        claim="with local access every agent's return rises far above its online one; online, all "
        "but BootDDQN stay at 0 for 300,000 queries",
        preset="deep-sea",
        agents=_DEEP_SEA_AGENTS,
        accesses=("local", "online"),
        kind="curves",
        scales=_scales(
            smoke=Scale(seeds=2, values=_SMOKE, by_agent=_SMALL_ENSEMBLE),
            laptop=Scale(
                seeds=3,
                values={"size": 50, "queries": 150_000},
                by_agent={"boot-ddqn": {"queries": 60_000}},
                stop_at_return=0.95,
            ),
            paper=_PAPER_DEEP_SEA,
        ),
    ),
    "deep-sea-20": Figure(
        title="Deep Sea 20: local and online access",
        claim="(of Deep Sea 50) local access leads to a far higher return for every agent",
        preset="deep-sea",
        agents=_DEEP_SEA_AGENTS,
        accesses=("local", "online"),
        kind="curves",
        scales=_scales(
            smoke=Scale(seeds=1, values=_SMOKE, by_agent=_SMALL_ENSEMBLE),
            laptop=Scale(seeds=10, values={"size": 20, "queries": 20_000}, stop_at_return=0.95),
            paper=Scale(seeds=10, values={"size": 20, "queries": 100_000}),
        ),
    ),
    "deep-sea-p-init": Figure(
        title="Deep Sea: how often to start at the start",
        claim="the area under the curve is largest for a small p_init, 0.0 to 0.3",
        preset="deep-sea",
        agents=_DEEP_SEA_AGENTS,
        kind="auc",
        key="p_init",
        scales=_scales(
            smoke=Scale(1, _SMOKE, _SMALL_ENSEMBLE, sweep=(0.1, 0.9)),
            laptop=_LAPTOP_DEEP_SEA_20,
            paper=_PAPER_DEEP_SEA,
            sweep=(0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1.0),
        ),
    ),
    "deep-sea-batch": Figure(
        title="Deep Sea: how many snapshots to choose from",
        claim="the whole history is best, and B = 1, which ignores uncertainty, is worst",
        preset="deep-sea",
        agents=_DEEP_SEA_AGENTS,
        kind="curves",
        key="batch",
        panels=True,
        scales=_scales(
            smoke=Scale(1, _SMOKE, _SMALL_ENSEMBLE, sweep=(1, None)),
            laptop=_LAPTOP_DEEP_SEA_20,
            paper=_PAPER_DEEP_SEA,
            sweep=(1, 5, None),
        ),
    ),
    "deep-sea-scaling": Figure(
        title="Deep Sea: queries needed against size",
        claim="BootDDQN needs a number of queries that grows as N^2.47, near the optimal N^2",
        preset="deep-sea",
        agents=("boot-ddqn",),
        kind="scaling",
        key="size",
        scales=_scales(
            smoke=Scale(2, {"queries": 1500, "members": 4}, sweep=(3, 4, 5), stop_at_return=0.95),
            laptop=Scale(5, {"queries": 200_000}, sweep=(20, 30, 40, 50, 60), stop_at_return=0.95),
            paper=Scale(
                10,
                {"queries": 300_000},
                sweep=(10, 20, 30, 40, 50, 60, 70, 80),
                stop_at_return=0.95,
            ),
        ),
    ),
}
