"""The history that all actors share, as its own process has it."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np

from uflp import spaces
from uflp.distributed.naming import naming_of
from uflp.distributed.parameters import Parameters, Values
from uflp.distributed.rows import block_of, without_rows
from uflp.planning import Lineage, Rule, Start
from uflp.randomness import Randomness
from uflp.state import Block, State
from uflp.training.settings import RunSettings
from uflp.training.wiring import make_history, make_rule, make_uncertainty
from uflp.types import Snapshot

PARTS = ("history", "uncertainty", "rule", "lineage")
"""Names of all whose state may be kept here."""


class Began(NamedTuple):
    """A rollout that began at the initial-state distribution."""


class Added(NamedTuple):
    """A snapshot for the history, its mask, and the executed actions since the event before it."""

    data: Any
    screen_score: float
    mask: np.ndarray | None
    actions: bytes


class Scored(NamedTuple):
    """A screen score higher than any that the actor had seen, and the actions up to there."""

    screen_score: float
    actions: bytes


class Post(NamedTuple):
    """What an actor has to tell the history, in order.

    Attributes:
        actor: number of the actor.
        events: what happened.
        names: those of the keys of what was added, [n, …].
        visited: names of the keys of all queries, where counts are shared, [m, …].
        actions: taken in these queries, int64 [m].
    """

    actor: int
    events: list[Began | Added | Scored]
    names: np.ndarray
    visited: np.ndarray
    actions: np.ndarray


class Candidates(NamedTuple):
    """Entries drawn for a restart.

    Attributes:
        oldest: number of the oldest entry that could be drawn.
        newest: likewise of the newest.
        names: those of B keys.
        masks: which actions they allow, bool [B, A], or None if all always are.
        replayed: steps of a simulator that it cost to read the keys.
    """

    oldest: int
    newest: int
    names: np.ndarray
    masks: np.ndarray | None
    replayed: int


class Choice(NamedTuple):
    """A start that the history chose, with its snapshot."""

    start: Start
    snapshot: Snapshot | None


class HistoryStatus(NamedTuple):
    """What there is.

    Attributes:
        pid: number of the process.
        size: how many entries.
        best: a best screen score that is news, and the actions that led to it.
    """

    pid: int
    size: int
    best: tuple[float, bytes] | None


class HistoryService:
    """A history, where its entries came from, and with shared counts the choice among them."""

    def __init__(self, settings: RunSettings, shared: bool):
        simulator = self._simulator = settings.simulator.make(settings.seed)
        space, actions = simulator.observation_space, spaces.actions(simulator.action_space)
        randomness = Randomness(settings.seed)
        uncertainty = make_uncertainty(settings, space, actions, randomness)
        assert uncertainty is not None, "under online access there is no history"
        self._naming = naming_of(uncertainty)
        self._uncertainty = uncertainty if shared else None
        history = make_history(settings, simulator, uncertainty)
        assert history is not None
        self._history = history
        self._lineage = Lineage() if simulator.replayable else None
        self._values = Values(settings, simulator)
        self._rule: Rule | None = None
        if shared:
            predict = self._values.predict
            self._rule = make_rule(settings, history, uncertainty, predict, "none", actions)

    def status(self, best: float) -> HistoryStatus:
        """Returns what there is, and the best screen score if it is above another."""
        found = None
        if self._lineage is not None and self._lineage.best_score > best:
            found = self._lineage.best_score, self._lineage.best_actions()
        return HistoryStatus(os.getpid(), len(self._history), found)

    def take(self, post: Post) -> None:
        """Takes what an actor has to tell."""
        if self._uncertainty is not None:
            keys = self._naming.keys(post.visited)
            for key, action in zip(keys, post.actions.tolist(), strict=True):
                self._uncertainty.observe(key, action)
        names = iter(post.names)
        for event in post.events:
            if isinstance(event, Added):
                self._add(event, next(names), post.actor)
            elif self._lineage is not None:
                self._follow(event, post.actor)

    def sample(self, rng: np.random.Generator, size: int) -> Candidates | None:
        """Draws entries uniformly with replacement; None if there are none."""
        history = self._history
        if not len(history):
            return None
        entries = history.sample(rng, size)
        before = self._simulator.replayed
        names, allowed = history.keys(entries), history.masks(entries)
        cost = self._simulator.replayed - before
        return Candidates(history.oldest, history.newest, names, allowed, cost)

    def choose(self, rng: np.random.Generator, actor: int, parameters: Parameters) -> Choice | None:
        """Chooses a start by the shared counts; None if there are no entries."""
        assert self._rule is not None, "each actor chooses by its own counts"
        if not len(self._history):
            return None
        self._values.parameters = parameters
        start = self._rule.choose(rng)
        assert start.entry is not None
        return Choice(start, self.fetch(start.entry, actor))

    def fetch(self, entry: int, actor: int) -> Snapshot | None:
        """Returns an entry's snapshot for an actor to go to, None if it has been evicted."""
        snapshot = self._history.fetch(entry)
        if snapshot is not None and self._lineage is not None:
            self._lineage.begin(entry, actor)
        return snapshot

    def state(self) -> State:
        """Returns the state of all that is here, without the rows of the history."""
        return {name: without_rows(part.state()) for name, part in self._parts().items()}

    def block(self, name: str, first: int) -> Block | None:
        """Returns the first block of the history's rows from a number on."""
        return block_of(self._history.state(), name, first)

    def load(self, state: State) -> None:
        """Takes a state, rows included."""
        for name, part in self._parts().items():
            part.load(state[name])

    def _parts(self) -> dict[str, Any]:
        parts = (self._history, self._uncertainty, self._rule, self._lineage)
        named = zip(PARTS, parts, strict=True)
        return {name: part for name, part in named if part is not None}

    def _add(self, event: Added, name: np.ndarray, actor: int) -> None:
        if self._lineage is not None:
            # After this process came back, no one knows what lies behind a rollout under way.
            if not self._lineage.knows(actor):
                return
            self._lineage.stepped(event.actions, 0.0, actor)
        snapshot = Snapshot(self._history.simulator, event.data, event.screen_score)
        key = name if self._uncertainty is None else self._naming.keys(name[None])[0]
        entry = self._history.add(snapshot, key, event.mask)
        if self._rule is not None:
            self._rule.added(entry, key)
        if self._lineage is not None:
            self._lineage.added(entry, self._history.oldest, actor)

    def _follow(self, event: Began | Scored, actor: int) -> None:
        assert self._lineage is not None
        if isinstance(event, Began):
            self._lineage.begin(None, actor)
        elif self._lineage.knows(actor):
            self._lineage.stepped(event.actions, event.screen_score, actor)
