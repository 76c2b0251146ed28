"""What a figure or table is: which runs it needs, and how they are to be shown."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from uflp.experiments.jobs import Job
from uflp.experiments.resolve import resolve
from uflp.experiments.seeds import seed_jobs

Kind = Literal["curves", "auc", "scaling", "finals", "maxima"]
SCALES = ("smoke", "laptop", "paper")


class Line(NamedTuple):
    """Runs that differ only in what a figure sweeps, and in their seed.

    Attributes:
        agent: name of the agent.
        access: `local` or `online`.
        uncertainty: its name; None means what preset and agent suggest.
    """

    agent: str
    access: str = "local"
    uncertainty: str | None = None


class Known(NamedTuple):
    """A score that is known from elsewhere, to compare with."""

    label: str
    score: float


@dataclass(frozen=True)
class Scale:
    """How large a figure's runs are.

    Attributes:
        seeds: number of seeds, from 0.
        values: settings of all runs at this scale.
        by_name: settings of the runs of one agent, or by one uncertainty, on top of those.
        sweep: the values that each swept setting takes; every combination is run.
        stop_at_return: ends each run once solved; its last value then stands for the rest.
        lines: what is run in place of the figure's own lines, where those cost too much.
        measure: what is shown in place of the figure's own measure, where that says nothing yet.
        fewer: number of seeds of one agent's runs, where those cost too much.
    """

    seeds: int
    values: Mapping[str, Any]
    by_name: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    sweep: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    stop_at_return: float | None = None
    lines: tuple[Line, ...] = ()
    measure: str | None = None
    fewer: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Figure:
    """One figure or table of the paper.

    Attributes:
        title: of the picture.
        claim: what the paper says of it.
        presets: what is trained on.
        lines: what is trained on each of them.
        kind: `curves` of the measure; `auc`, the normalised area under them against the first
            swept setting; `scaling`, queries to the target against it; or a table, of `finals`
            (the mean of each seed's last evaluations) or of `maxima` (the highest of any seed).
        scales: how large the runs are.
        measure: a column of `metrics.csv`.
        panels: what has axes of its own in a picture of curves, if anything.
        known: scores to compare with, by preset.
        reported: results of the paper, as it writes them, by preset and in order of the lines.
        home: name of the figure whose runs these are too, so that both keep them in one place.
    """

    title: str
    claim: str
    presets: tuple[str, ...]
    lines: tuple[Line, ...]
    kind: Kind
    scales: Mapping[str, Scale]
    measure: str = "eval_return_mean"
    panels: Literal["agent", "preset"] | None = None
    known: Mapping[str, tuple[Known, ...]] = field(default_factory=dict)
    reported: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    home: str | None = None

    @property
    def keys(self) -> tuple[str, ...]:
        """The settings that are swept, the same at each scale."""
        return tuple(next(iter(self.scales.values())).sweep)

    def at(self, scale: str) -> Figure:
        """Returns the figure as it is shown at a scale."""
        size = self.scales[scale]
        return dataclasses.replace(
            self, lines=size.lines or self.lines, measure=size.measure or self.measure
        )

    def jobs(self, scale: str, out: Path) -> list[Job]:
        """Returns all runs of the figure at a scale, with their folders below `out`."""
        size = self.scales[scale]
        chosen = itertools.product(
            self.presets, size.lines or self.lines, itertools.product(*size.sweep.values())
        )
        jobs: list[Job] = []
        for preset, line, values in chosen:
            swept = dict(zip(size.sweep, values, strict=True))
            overrides = dict(size.values)
            for name in (line.agent, line.uncertainty):
                overrides |= size.by_name.get(name or "", {})
            overrides |= swept
            settings = resolve(preset, **line._asdict(), overrides=overrides)
            folder = out / self._name(preset, line, swept)
            seeds = range(size.fewer.get(line.agent, size.seeds))
            jobs += seed_jobs(settings, seeds, folder, size.stop_at_return)
        return jobs

    def _name(self, preset: str, line: Line, swept: Mapping[str, Any]) -> str:
        """Returns the name of a folder of seeds, equal in figures that share their runs."""
        words = [line.agent, line.access]
        if len(self.presets) > 1:
            words.insert(0, preset.replace("/", "-"))
        if line.uncertainty is not None:
            words.append(line.uncertainty)
        # p_init = 1 is online access by another name, and keeps the history it never uses.
        words += [f"{key}={'all' if value is None else value}" for key, value in swept.items()]
        return "-".join(words)


def lines(agents: tuple[str, ...], *accesses: str) -> tuple[Line, ...]:
    """Returns a line for each agent with each kind of access."""
    return tuple(Line(agent, access) for agent in agents for access in accesses)


def scales(
    smoke: Scale, laptop: Scale, paper: Scale, *, sweep: Mapping[str, tuple[Any, ...]] | None = None
) -> dict[str, Scale]:
    """Returns a figure's scales by name; `sweep` is for those that have none of their own."""
    named = {"smoke": smoke, "laptop": laptop, "paper": paper}
    if sweep is None:
        return named
    return {
        name: scale if scale.sweep else dataclasses.replace(scale, sweep=sweep)
        for name, scale in named.items()
    }
