"""Vocabulary of the paper's claims: what it says, where, and which numbers would bear it out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

Measure = Literal[
    "queries_to_target",
    "auc",
    "auc_cells",
    "best_return",
    "final_return",
    "positive_rewards",
    "cells",
    "max_screen_score",
    "exponent",
]
"""A number of one run; `exponent` is one of a seed, over all sizes."""

Predicate = Literal[
    "every seed solved",
    "every seed at most",
    "every seed above",
    "some seed above",
    "significantly higher",
    "not significantly different",
    "none significantly different",
    "largest at",
    "interval contains",
    "less spread",
    "smaller gain",
    "above its evaluations",
]

TARGET = 0.95
"""Mean return at which the paper calls Deep Sea solved."""

Where = Mapping[str, str]
"""Values of columns of a CSV; `variant` is the paper's settings unless it is named."""


class Expect(NamedTuple):
    """Expectation of a number that follows from the paper.

    Attributes:
        predicate: its name.
        value: what the predicate compares with, if anything: a number, values of the swept
            setting, or the two sides of another comparison.
    """

    predicate: Predicate
    value: Any = None


@dataclass(frozen=True)
class Evidence:
    """A number of some runs, and what is expected of it.

    Attributes:
        figure: id of the figure whose CSV holds the runs.
        where: which of its rows.
        measure: the number.
        expect: what the paper leads one to expect of it.
        against: columns in which the runs differ that these are compared with.
        text: what the page calls these runs; empty means the agent.
        sweep: the swept setting that an expectation of several values is about.
    """

    figure: str
    where: Where
    measure: Measure
    expect: Expect
    against: Where | None = None
    text: str = ""
    sweep: str = ""


@dataclass(frozen=True)
class Claim:
    """A claim of the paper.

    Attributes:
        id: short name.
        section: of the page.
        statement: what the paper claims.
        source: where it does.
        evidence: what would bear it out.
        instead: what is looked at while there are no runs of the evidence. It makes a claim
            `partly` true at best.
        cap: why `instead` is not the same.
        most: whether it is enough that more than half of the expectations hold.
        final: whether the claim is about the whole of the paper's budget, so that fewer queries
            decide nothing of the evidence.
        missing: why there are no runs, where no figure has any.
        note: a paragraph below the table, without numbers, shown once there are runs.
    """

    id: str
    section: str
    statement: str
    source: str
    evidence: tuple[Evidence, ...] = ()
    instead: tuple[Evidence, ...] = ()
    cap: str = ""
    most: bool = False
    final: bool = False
    missing: str = ""
    note: str = ""


class Scope(NamedTuple):
    """Amount that the paper ran: seeds, and queries where it says."""

    seeds: int
    queries: int | None


PAPER: Mapping[str, Scope] = {
    "deep-sea": Scope(10, 300_000),
    "swingup": Scope(20, None),
    "montezuma": Scope(5, 1_000_000_000),
    "atari/montezuma-revenge": Scope(5, 1_000_000_000),
    "atari/private-eye": Scope(5, 200_000_000),
    "atari/venture": Scope(5, 200_000_000),
    "atari/pitfall": Scope(5, 200_000_000),
}
"""By preset, or else by how a figure's id begins."""


class TableCell(NamedTuple):
    """A number of one of the paper's tables.

    Attributes:
        table: its number in the paper.
        figure: id here.
        preset: the game.
        where: agent, access and uncertainty.
        reported: as the paper writes it.
    """

    table: int
    figure: str
    preset: str
    where: Where
    reported: str

    @property
    def id(self) -> str:
        """Short name, as a claim has one."""
        names = (self.preset.rpartition("/")[2], *self.where.values())
        return "-".join([f"table-{self.table}", *(name for name in names if name)])


HIGHER, ALIKE = Expect("significantly higher"), Expect("not significantly different")
NEVER_POSITIVE, POSITIVE = Expect("every seed at most", 0.0), Expect("some seed above", 0.0)
ONLINE: Where = {"access": "online"}
