"""How groups look in a picture: names and colours of agents, markers, numbers on axes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from uflp.report.groups import Group


class Look(NamedTuple):
    """How an agent is named and coloured."""

    label: str
    colour: str


LOOKS = {
    # Colours of Okabe and Ito, which stay apart for colour-blind readers.
    "ddqn": Look("DDQN", "#0072B2"),
    "ddqn-bonus": Look("DDQN-Bonus", "#D55E00"),
    "boot-ddqn": Look("BootDDQN", "#009E73"),
    "pi-bonus": Look("PI-Bonus", "#CC79A7"),
    "ddqn-intrinsic": Look("DDQN-Intrinsic", "#E69F00"),
    "dist-ddqn": Look("Dist-DDQN", "#56B4E9"),
}
_OTHER_COLOURS = ("#000000", "#8C613C", "#6A51A3", "#7F7F7F", "#637939")
ON_DARK = {
    # What takes a colour's place on a dark page, where it would be hard to see.
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
FOUND = ("cells", "rooms", "max_screen_score")
"""Measures of what a run has found, where its simulator counts that."""

_MARKERS = (None, "o", "s", "^", "D", "v", "P", "X")


def labels(groups: Sequence[Group]) -> list[str]:
    """Returns names such as `DDQN, local`, with no more than it takes to tell groups apart."""
    found: dict[str, set[str | None]] = {}
    names = [f"{label_of(group.agent, group.variant)}, {group.access}" for group in groups]
    for name, group in zip(names, groups, strict=True):
        found.setdefault(name, set()).add(group.uncertainty)
    told = [
        [
            name,
            *([group.uncertainty or "no uncertainty"] if len(found[name]) > 1 else []),
            *([group.detail] if group.detail else []),
        ]
        for name, group in zip(names, groups, strict=True)
    ]
    return [", ".join(words) for words in told]


def short(value: float) -> str:
    """Returns a number as an axis shows it: 0.5, 2,500, 50k, 1.5M, 1,000M."""
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= max(size, 1e4):
            return f"{value / size:,.10g}{unit}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.6g}"


def label_of(agent: str, variant: str | None = None) -> str:
    """Returns an agent's name as the paper writes it, and the variant where there is one."""
    label = LOOKS[agent].label if agent in LOOKS else agent
    return label if variant is None else f"{label} {variant}"


def title_of(preset: str) -> str:
    """Returns a preset's name as a title: `atari/private-eye` is Private Eye."""
    return preset.rpartition("/")[2].replace("-", " ").title()


def measure_of(column: str) -> str:
    """Returns what a column of `metrics.csv` is called."""
    return _MEASURES.get(column, column)


def colours_of(agents: Iterable[str]) -> dict[str, str]:
    """Returns the colour of each agent; those without one of their own get spare ones, by name."""
    names = sorted(set(agents))
    others = [name for name in names if name not in LOOKS]
    spare = {name: _OTHER_COLOURS[n % len(_OTHER_COLOURS)] for n, name in enumerate(others)}
    return spare | {name: LOOKS[name].colour for name in names if name in LOOKS}


def colours(groups: Sequence[Group]) -> list[str]:
    """Returns a colour a group: the agent's own, in shades where only settings differ."""
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
    """Returns colours from light to dark for the values of one setting, smallest first."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    if count == 1:
        return [to_hex(colormaps["viridis"](0.1))]
    return [to_hex(colormaps["viridis"](0.82 - 0.74 * n / (count - 1))) for n in range(count)]


def _lighter(colour: str, share: float) -> str:
    """Returns a colour with a share of white in it."""
    parts = [int(colour[place : place + 2], 16) for place in (1, 3, 5)]
    return "#" + "".join(f"{round(part + (255 - part) * share):02X}" for part in parts)


def markers(groups: Sequence[Group]) -> list[str | None]:
    """Returns markers that tell apart groups with the same colour and the same dashes."""
    seen: dict[tuple[str, str], int] = {}
    chosen = []
    for group in groups:
        number = seen.setdefault((group.agent, group.access), 0)
        seen[group.agent, group.access] += 1
        chosen.append(_MARKERS[number % len(_MARKERS)])
    return chosen
