"""Plan of a figure or table: which runs it needs, and how they are shown."""

from __future__ import annotations

import dataclasses
import itertools
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from uflp.distributed.settings import ClusterSettings
from uflp.experiments.jobs import Job
from uflp.experiments.resolve import resolve, resolve_unless_unchanged
from uflp.experiments.seeds import require_seeds, seed_jobs
from uflp.training.settings import RunSettings
from uflp.types import UsageError

Kind = Literal["curves", "auc", "scaling", "finals", "maxima"]
SCALES = ("smoke", "laptop", "paper")


class Line(NamedTuple):
    """Runs that differ only in what a figure sweeps, and in their seed.

    Attributes:
        agent: name of the agent.
        access: `local` or `online`.
        uncertainty: its name; None means what preset and agent suggest.
        variant: name of a variant of the preset; None means the paper's settings.
    """

    agent: str
    access: str = "local"
    uncertainty: str | None = None
    variant: str | None = None


class Known(NamedTuple):
    """A score that is known from elsewhere, to compare with."""

    label: str
    score: float


@dataclass(frozen=True)
class Scale:
    """Size of a figure's runs.

    Attributes:
        seeds: number of seeds, from 0.
        values: settings of all runs at this scale.
        by_name: settings of the runs of one agent, by one uncertainty or with one access, on top of
            those.
        sweep: the values that each swept setting takes; every combination is run.
        stop_at_return: ends each run once solved; its last value then stands for the rest.
        lines: what is run in place of the figure's own lines, where those cost too much.
        measure: what is shown in place of the figure's own measure, where that says nothing yet.
        fewer: number of seeds of the runs of an (agent, access), where those cost too much.
        narrower: values of the swept settings for one agent, where all of them cost too much.
    """

    seeds: int
    values: Mapping[str, Any]
    by_name: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    sweep: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    stop_at_return: float | None = None
    lines: tuple[Line, ...] = ()
    measure: str | None = None
    fewer: Mapping[tuple[str, str], int] = field(default_factory=dict)
    narrower: Mapping[str, Mapping[str, tuple[Any, ...]]] = field(default_factory=dict)


@dataclass(frozen=True)
class Changes:
    """Changes to the runs of a figure, on top of its scale.

    Attributes:
        variant: of every preset, for the lines that have none and that it changes.
        seeds: number of seeds of every line; None keeps the scale's.
        overrides: settings of all runs, by key.
        cluster: how each run is spread over processes; None for one process.
    """

    variant: str | None = None
    seeds: int | None = None
    overrides: Mapping[str, Any] = field(default_factory=dict)
    cluster: ClusterSettings | None = None

    def __post_init__(self) -> None:
        if self.seeds is not None:
            require_seeds(self.seeds)

    def words(self) -> list[str]:
        """Return what tells a folder of such runs from that of the figure's own."""
        words = [self.variant] if self.variant else []
        words += [f"{key}={value}".replace("/", "-") for key, value in self.overrides.items()]
        return [*words, *(["ray"] if self.cluster else [])]

    def command(self, name: str, scale: str) -> str:
        """Return the command that makes a figure with these changes."""
        words = ["uflp", "figure", name, "--scale", scale]
        words += ["--variant", self.variant] if self.variant else []
        words += ["--seeds", str(self.seeds)] if self.seeds else []
        for key, value in self.overrides.items():
            words += ["--set", f"{key}={value}"]
        if self.cluster is not None:
            words += ["--ray", self.cluster.ray, "--actors", str(self.cluster.actors)]
        return shlex.join(words)


@dataclass(frozen=True)
class Figure:
    """One figure or table: of the paper, or beside it.

    Attributes:
        title: of the picture.
        claim: what the paper says of it; empty where the paper has no such figure.
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

    def at(self, scale: str, overrides: Mapping[str, Any] | None = None) -> Figure:
        """Return the figure as it is shown at a scale.

        Args:
            scale: name of the scale.
            overrides: settings that differ from it. The title tells them, and a smoke test: it may
                name a size that the runs do not have.
        """
        size = self.scales[scale]
        notes = ["smoke test"] if scale == "smoke" else []
        notes += [f"{key}={value}" for key, value in (overrides or {}).items()]
        return dataclasses.replace(
            self,
            title=f"{self.title} ({', '.join(notes)})" if notes else self.title,
            lines=size.lines or self.lines,
            measure=size.measure or self.measure,
        )

    def jobs(self, scale: str, out: Path, changes: Changes | None = None) -> list[Job]:
        """Return all runs of the figure at a scale, with their folders below `out`.

        Args:
            scale: name of the scale.
            out: folder of the runs.
            changes: what differs from the scale, None if nothing.
        """
        size, changes = self.scales[scale], changes or Changes()
        jobs: list[Job] = []
        for preset, line in itertools.product(self.presets, size.lines or self.lines):
            sweep = {**size.sweep, **size.narrower.get(line.agent, {})}
            for values in itertools.product(*sweep.values()):
                swept = dict(zip(sweep, values, strict=True))
                overrides = dict(size.values)
                for name in (line.agent, line.uncertainty, line.access):
                    overrides |= size.by_name.get(name or "", {})
                _refuse_swept(changes.overrides, swept)
                overrides |= {**swept, **changes.overrides}
                settings = _resolved(preset, line, overrides, changes)
                seeds = changes.seeds or size.fewer.get((line.agent, line.access), size.seeds)
                folder = out / self._name(preset, line, swept)
                jobs += seed_jobs(
                    settings, range(seeds), folder, size.stop_at_return, cluster=changes.cluster
                )
        if changes.variant and not any(job.settings.variant == changes.variant for job in jobs):
            raise UsageError(f"the variant {changes.variant} changes no run of this figure")
        return jobs

    def _name(self, preset: str, line: Line, swept: Mapping[str, Any]) -> str:
        """Return the name of a folder of seeds, equal in figures that share their runs."""
        words = [line.agent, line.access]
        if len(self.presets) > 1:
            words.insert(0, preset.replace("/", "-"))
        words += [word for word in (line.uncertainty, line.variant) if word is not None]
        # p_init = 1 is online access by another name, and keeps the history it never uses.
        words += [f"{key}={'all' if value is None else value}" for key, value in swept.items()]
        return "-".join(words)


def _resolved(
    preset: str, line: Line, overrides: Mapping[str, Any], changes: Changes
) -> RunSettings:
    names = line._asdict()
    if line.variant is None and changes.variant is not None:
        names["variant"] = changes.variant
        return resolve_unless_unchanged(preset, **names, overrides=overrides)
    return resolve(preset, **names, overrides=overrides)


def _refuse_swept(overrides: Mapping[str, Any], swept: Mapping[str, Any]) -> None:
    twice = sorted(overrides.keys() & swept.keys())
    if twice:
        raise UsageError(f"this figure sweeps {twice[0]}: leave it out of what is set")


def lines(agents: tuple[str, ...], *accesses: str) -> tuple[Line, ...]:
    """Return a line for each agent with each kind of access."""
    return tuple(Line(agent, access) for agent in agents for access in accesses)


def scales(
    smoke: Scale, laptop: Scale, paper: Scale, *, sweep: Mapping[str, tuple[Any, ...]] | None = None
) -> dict[str, Scale]:
    """Return a figure's scales by name; `sweep` is for those that have none of their own."""
    named = {"smoke": smoke, "laptop": laptop, "paper": paper}
    if sweep is None:
        return named
    return {
        name: scale if scale.sweep else dataclasses.replace(scale, sweep=sweep)
        for name, scale in named.items()
    }
