"""Presets: a simulator and the settings used on it.

A preset's values are found by (preset, agent, uncertainty, access): the common ones first, then
every case that matches, in order. A value may be a function of the simulator's settings.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from uflp.training.settings import Access


@dataclass(frozen=True)
class Case:
    """Values that hold only for some agents, uncertainties or accesses; empty matches all."""

    values: Mapping[str, Any]
    agents: tuple[str, ...] = ()
    uncertainties: tuple[str, ...] = ()
    access: Access | None = None

    def matches(self, agent: str, uncertainty: str | None, access: Access) -> bool:
        """Return whether the values hold."""
        return (
            (not self.agents or agent in self.agents)
            and (not self.uncertainties or uncertainty in self.uncertainties)
            and self.access in (None, access)
        )


def values_of(
    cases: Iterable[Case], agent: str, uncertainty: str | None, access: Access
) -> dict[str, Any]:
    """Return the values of all cases that match, the later ones on top."""
    values: dict[str, Any] = {}
    for case in cases:
        if case.matches(agent, uncertainty, access):
            values |= case.values
    return values


@dataclass(frozen=True)
class Variant:
    """A named set of changes to a preset.

    Attributes:
        summary: one line for `uflp list`.
        cases: what it changes, for which agents, uncertainties and accesses.
    """

    summary: str
    cases: tuple[Case, ...]

    def values(self, agent: str, uncertainty: str | None, access: Access) -> dict[str, Any]:
        """Return the values that the variant changes for one kind of run."""
        return values_of(self.cases, agent, uncertainty, access)


@dataclass(frozen=True)
class Preset:
    """A simulator and the settings that the paper uses on it.

    Attributes:
        summary: one line for `uflp list`.
        simulator: name of the simulator.
        values: settings that all runs share.
        agent: the agent used unless another is named.
        uncertainty: likewise for uncertainties; an ensemble's own disagreement takes its place
            where the agent has an ensemble.
        cases: what differs by agent, uncertainty and access.
        variants: changes that were found to be better than the paper's values, by name.
    """

    summary: str
    simulator: str
    values: Mapping[str, Any]
    agent: str = "ddqn"
    uncertainty: str = "covariance"
    cases: tuple[Case, ...] = field(default=())
    variants: Mapping[str, Variant] = field(default_factory=dict)


SMALL_RND = Case(
    {
        "restart": "state",
        "rnd_width": 128,
        "rnd_learning_rate": 1e-3,
        "rnd_batch": 32,
        "rnd_period": 1,
    },
    uncertainties=("rnd",),
)
"""Distillation of observations that are a few numbers, for which the paper has no values."""
