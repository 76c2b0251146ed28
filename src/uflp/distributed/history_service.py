"""The history that all actors share: its messages, the codes of its keys, and its process.

Actors call it through `history_client.py`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from uflp.distributed.checkpoint_transfer import block_of, without_rows
from uflp.distributed.parameters import Parameters, RemoteValues
from uflp.planning import Lineage, Rule, Start
from uflp.state import Block, State, Stateful
from uflp.training.build import Builder
from uflp.training.settings import RunSettings
from uflp.types import Snapshot
from uflp.uncertainty import Uncertainty
from uflp.uncertainty.counts import CellCounts

PARTS = ("history", "uncertainty", "rule", "lineage")
"""Names that the parts of the service have in a checkpoint."""


class Began(NamedTuple):
    """A rollout began at the initial-state distribution."""


class Added(NamedTuple):
    """A state was saved.

    Attributes:
        data: of the snapshot.
        screen_score: of the same.
        mask: the actions that the state allows, None if it allows all.
        actions: executed since the event before, one byte a frame.
    """

    data: Any
    screen_score: float
    mask: np.ndarray | None
    actions: bytes


class Scored(NamedTuple):
    """A screen score was higher than any that the actor had seen.

    Attributes:
        screen_score: the new best one.
        actions: executed since the event before, one byte a frame.
    """

    screen_score: float
    actions: bytes


Event = Began | Added | Scored


class HistoryUpdate(NamedTuple):
    """Events of one actor, in order.

    Attributes:
        actor: number of the actor.
        events: what happened.
        codes: of the keys of the states that were saved, [n, …].
        visited: codes of the keys of all queries, where counts are shared, [m, …].
        actions: taken in these queries, int32 [m], or float32 [m, ...].
    """

    actor: int
    events: list[Event]
    codes: np.ndarray
    visited: np.ndarray
    actions: np.ndarray


class Candidates(NamedTuple):
    """Entries drawn for a restart.

    Attributes:
        oldest: number of the oldest entry that could be drawn.
        newest: number of the newest.
        codes: of the keys of the B entries.
        masks: the actions that they allow, bool [B, A], or None if they allow all.
        replayed: steps of a simulator that it cost to read the keys.
    """

    oldest: int
    newest: int
    codes: np.ndarray
    masks: np.ndarray | None
    replayed: int


class Choice(NamedTuple):
    """A start that the history chose, with the entry's number and snapshot."""

    start: Start
    entry: int
    snapshot: Snapshot


class HistoryStatus(NamedTuple):
    """Size and best score.

    Attributes:
        pid: number of the process.
        size: entries.
        best: a best screen score that is new, and the actions that led to it.
    """

    pid: int
    size: int
    best: tuple[float, bytes] | None


class KeyCodec(Protocol):
    """Turns keys of an uncertainty into codes that mean the same in every process, and back."""

    def encode(self, keys: Sequence[Any]) -> np.ndarray:
        """Return the codes of keys, [B, …]."""

    def decode(self, codes: np.ndarray) -> np.ndarray:
        """Return the keys that codes stand for, [B, …]."""


class IdentityCodec:
    """The codec of keys that are ids or observations: they are their own codes."""

    def __init__(self, uncertainty: Uncertainty):
        # The history reads large observations from its snapshots: they need not be sent twice.
        self._sent = uncertainty.key_shape is not None
        self._shape, self._dtype = uncertainty.key_shape or (), uncertainty.key_dtype

    def encode(self, keys: Sequence[Any]) -> np.ndarray:
        """Return the keys; empty ones where the history reads them itself."""
        if not self._sent:
            return np.zeros((len(keys), 0), self._dtype)
        return np.array(keys, self._dtype).reshape(len(keys), *self._shape)

    def decode(self, codes: np.ndarray) -> np.ndarray:
        """Return the codes."""
        return codes


class CellCodec:
    """The codec of cells, which each process numbers as it comes upon them: their names travel."""

    def __init__(self, counts: CellCounts):
        self._counts = counts

    def encode(self, keys: Sequence[int]) -> np.ndarray:
        """Return the names of the cells with these numbers."""
        return self._counts.names(keys)

    def decode(self, codes: np.ndarray) -> np.ndarray:
        """Return the numbers that the cells of these names have in this process."""
        return self._counts.numbers(codes)


def key_codec(uncertainty: Uncertainty) -> KeyCodec:
    """Return the codec of an uncertainty's keys."""
    if isinstance(uncertainty, CellCounts):
        return CellCodec(uncertainty)
    return IdentityCodec(uncertainty)


class HistoryService:
    """The process of the history: entries, lineage, and with shared counts the restart rule."""

    def __init__(self, settings: RunSettings, shared: bool):
        """Make an empty history.

        Args:
            settings: of the run, under local access.
            shared: whether all actors count in one uncertainty, which is here.
        """
        build = Builder(settings)
        uncertainty = build.uncertainty()
        history = build.history(uncertainty)
        assert uncertainty is not None and history is not None, "online access has no history"
        self._simulator = build.simulator
        self._codec = key_codec(uncertainty)
        self._uncertainty = uncertainty if shared else None
        self._history = history
        self._lineage = Lineage() if build.simulator.replayable else None
        self._values = RemoteValues(build)
        self._rule: Rule | None = None
        if shared:
            self._rule = build.rule(history, uncertainty, self._values.predict)

    def status(self, best: float) -> HistoryStatus:
        """Return the size, and the best screen score if it is above a given one."""
        found = None
        if self._lineage is not None and self._lineage.best_score > best:
            found = self._lineage.best_score, self._lineage.best_actions()
        return HistoryStatus(os.getpid(), len(self._history), found)

    def update(self, update: HistoryUpdate) -> None:
        """Count the queries of an actor, and add the states that it saved."""
        if self._uncertainty is not None:
            keys = self._codec.decode(update.visited)
            for key, action in zip(keys, _each(update.actions), strict=True):
                self._uncertainty.observe(key, action)
        codes = iter(update.codes)
        for event in update.events:
            if isinstance(event, Added):
                self._add(event, next(codes), update.actor)
            elif self._lineage is not None:
                self._follow(self._lineage, event, update.actor)

    def sample(self, rng: np.random.Generator, size: int) -> Candidates | None:
        """Draw entries uniformly with replacement; None if there are none."""
        history = self._history
        if history.is_empty():
            return None
        entries = history.sample(rng, size)
        before = self._simulator.replayed
        codes, allowed = history.keys(entries), history.masks(entries)
        cost = self._simulator.replayed - before
        return Candidates(history.oldest, history.newest, codes, allowed, cost)

    def choose(self, rng: np.random.Generator, actor: int, parameters: Parameters) -> Choice | None:
        """Choose a start by the shared counts; None if there are no entries."""
        assert self._rule is not None, "each actor chooses by its own counts"
        if self._history.is_empty():
            return None
        self._values.parameters = parameters
        start = self._rule.choose(rng)
        assert start.entry is not None
        snapshot = self.fetch(start.entry, actor)
        assert snapshot is not None, "a rule chooses among the entries that there are"
        return Choice(start, start.entry, snapshot)

    def fetch(self, entry: int, actor: int) -> Snapshot | None:
        """Return the snapshot that an actor restarts from, None if it has been evicted."""
        snapshot = self._history.fetch(entry)
        if snapshot is not None and self._lineage is not None:
            self._lineage.begin(entry, actor)
        return snapshot

    def state(self) -> State:
        """Return the state of all parts, without the rows of the history."""
        return {name: without_rows(part.state()) for name, part in self._parts().items()}

    def block(self, name: str, first: int) -> Block | None:
        """Return the first block of the history's rows from a number on."""
        return block_of(self._history.state(), name, first)

    def load(self, state: State) -> None:
        """Take a state, rows included."""
        for name, part in self._parts().items():
            part.load(state[name])

    def _parts(self) -> dict[str, Stateful]:
        parts = (self._history, self._uncertainty, self._rule, self._lineage)
        named = zip(PARTS, parts, strict=True)
        return {name: part for name, part in named if part is not None}

    def _add(self, event: Added, code: np.ndarray, actor: int) -> None:
        if self._lineage is not None:
            # A history that came back does not know what led to a rollout under way.
            if not self._lineage.knows(actor):
                return
            self._lineage.stepped(event.actions, 0.0, actor)
        snapshot = Snapshot(self._history.simulator, event.data, event.screen_score)
        # Without shared counts nothing here reads keys: the codes are kept, and handed out again.
        key = code if self._uncertainty is None else self._codec.decode(code[None])[0]
        entry = self._history.add(snapshot, key, event.mask)
        if self._rule is not None:
            self._rule.added(entry, key)
        if self._lineage is not None:
            self._lineage.added(entry, self._history.oldest, actor)

    def _follow(self, lineage: Lineage, event: Began | Scored, actor: int) -> None:
        if isinstance(event, Began):
            lineage.begin(None, actor)
        elif lineage.knows(actor):
            lineage.stepped(event.actions, event.screen_score, actor)


def _each(actions: np.ndarray) -> list[Any]:
    """Return actions one by one: numbers, or vectors where they are real-valued."""
    return actions.tolist() if actions.ndim == 1 and actions.dtype.kind == "i" else list(actions)
