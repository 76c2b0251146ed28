"""Names, colours and markers of groups and agents in pictures and tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from uflp.report.groups import Group


class AgentStyle(NamedTuple):
    """Name and colour of an agent."""

    label: str
    colour: str


AGENT_STYLES = {
    # Colours of Okabe and Ito, which stay apart for colour-blind readers.
    "ddqn": AgentStyle("DDQN", "#0072B2"),
    "ddqn-bonus": AgentStyle("DDQN-Bonus", "#D55E00"),
    "boot-ddqn": AgentStyle("BootDDQN", "#009E73"),
    "pi-bonus": AgentStyle("PI-Bonus", "#CC79A7"),
    "ddqn-intrinsic": AgentStyle("DDQN-Intrinsic", "#E69F00"),
    "dist-ddqn": AgentStyle("Dist-DDQN", "#56B4E9"),
    "sac": AgentStyle("SAC", "#6A51A3"),
    "sac-bonus": AgentStyle("SAC-Bonus", "#8C613C"),
    "sac-intrinsic": AgentStyle("SAC-Intrinsic", "#637939"),
}
_OTHER_COLOURS = ("#000000", "#7F7F7F", "#8C613C", "#6A51A3", "#637939")
ON_DARK = {
    # Replacements on a dark page, where the colours above would be hard to see.
    "#0072B2": "#4DA3DD",
    "#D55E00": "#F0823C",
    "#009E73": "#2FC49A",
    "#CC79A7": "#E29CC4",
    "#E69F00": "#F2B33D",
    "#56B4E9": "#7CC7F2",
    "#000000": "#E8EAED",
    "#8C613C": "#C39A72",
    "#6A51A3": "#A78FDC",
    "#7F7F7F": "#B0B0B0",
    "#637939": "#A3BF63",
}
_MEASURES = {
    "eval_return_mean": "evaluation return",
    "positive_rewards": "rewarded queries",
    "cells": "cells seen",
    "rooms": "rooms reached",
    "max_screen_score": "highest screen score",
}
_MARKERS = (None, "o", "s", "^", "D", "v", "P", "X")


def labels(groups: Sequence[Group]) -> list[str]:
    """Return names such as `DDQN, local`, with no more than it takes to tell groups apart."""
    uncertainties: dict[str, set[str | None]] = {}
    names = [f"{label_of(group.agent, group.variant)}, {group.access}" for group in groups]
    for name, group in zip(names, groups, strict=True):
        uncertainties.setdefault(name, set()).add(group.uncertainty)
    texts = []
    for name, group in zip(names, groups, strict=True):
        uncertainty = group.uncertainty or "no uncertainty"
        parts = [name, uncertainty if len(uncertainties[name]) > 1 else "", group.detail]
        texts.append(", ".join(part for part in parts if part))
    return texts


def label_of(agent: str, variant: str | None = None) -> str:
    """Return an agent's name as the paper writes it, and the variant where there is one."""
    label = AGENT_STYLES[agent].label if agent in AGENT_STYLES else agent
    return label if variant is None else f"{label} {variant}"


def title_of(preset: str) -> str:
    """Return a preset's name as a title: `atari/private-eye` is Private Eye."""
    return preset.rpartition("/")[2].replace("-", " ").title()


def measure_of(column: str) -> str:
    """Return what a column of `metrics.csv` is called."""
    return _MEASURES.get(column, column)


def colours_of(agents: Iterable[str]) -> dict[str, str]:
    """Return the colour of each agent; those without one of their own get spare ones, by name."""
    names = sorted(set(agents))
    others = [name for name in names if name not in AGENT_STYLES]
    spare = {name: _OTHER_COLOURS[n % len(_OTHER_COLOURS)] for n, name in enumerate(others)}
    return spare | {name: AGENT_STYLES[name].colour for name in names if name in AGENT_STYLES}


def colours(groups: Sequence[Group]) -> list[str]:
    """Return a colour a group: the agent's own, in shades where only settings differ."""
    own = colours_of(group.agent for group in groups)
    alike: dict[tuple[str, str], list[int]] = {}
    for number, group in enumerate(groups):
        alike.setdefault((group.agent, group.access), []).append(number)
    chosen = [own[group.agent] for group in groups]
    for numbers in alike.values():
        for rank, number in enumerate(numbers[:-1]):
            chosen[number] = _lighter(chosen[number], 0.6 * (1 - rank / (len(numbers) - 1)))
    return chosen


def scale_colours(count: int) -> list[str]:
    """Return colours from light to dark for the values of one setting, smallest first."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    if count == 1:
        return [to_hex(colormaps["viridis"](0.1))]
    return [to_hex(colormaps["viridis"](0.82 - 0.74 * n / (count - 1))) for n in range(count)]


def _lighter(colour: str, share: float) -> str:
    """Return a colour with a share of white in it."""
    parts = [int(colour[place : place + 2], 16) for place in (1, 3, 5)]
    return "#" + "".join(f"{round(part + (255 - part) * share):02X}" for part in parts)


def markers(groups: Sequence[Group]) -> list[str | None]:
    """Return markers that tell apart groups with the same colour and the same dashes."""
    seen: dict[tuple[str, str], int] = {}
    chosen = []
    for group in groups:
        number = seen.setdefault((group.agent, group.access), 0)
        seen[group.agent, group.access] += 1
        chosen.append(_MARKERS[number % len(_MARKERS)])
    return chosen
