"""The shared history as an actor sees it: a `HistoryLike` whose entries are elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np

from uflp.distributed.calls import Caller
from uflp.distributed.history import Added, Began, Candidates, Choice, Post, Scored
from uflp.distributed.naming import Naming
from uflp.distributed.parameters import Values
from uflp.planning import HistoryLike, Observer, Rule, Start
from uflp.planning.rules.uncertainty import UncertaintyFirst
from uflp.simulators.base import Simulator
from uflp.state import State
from uflp.training.settings import LoopSettings
from uflp.types import Snapshot, Transition
from uflp.uncertainty import Uncertainty
from uflp.uncertainty.base import Predict

_ATTEMPTS = 3


class EmptyHistoryError(Exception):
    """There is nothing to choose from."""


class HistoryClient(HistoryLike):
    """Tells the history what one actor has to tell, and asks it for snapshots.

    What is to be told waits until `flush`, or until the history is asked something.

    Attributes:
        oldest: number of the oldest entry when the history was last asked.
        replayed: steps of a simulator that it has cost to read keys.
    """

    def __init__(self, service: Caller, actor: int, naming: Naming):
        self.oldest = 0
        self.replayed = 0
        self._service = service
        self._actor = actor
        self._naming = naming
        self._events: list[Began | Added | Scored] = []
        self._keys: list[Any] = []
        self._visited: list[Any] = []
        self._actions: list[int] = []
        self._names: dict[int, Any] = {}
        self._masks: dict[int, np.ndarray] | None = None
        self._fetched: tuple[int, Snapshot] | None = None

    def is_empty(self) -> bool:
        """Return False: only the history itself knows, and says so when it is asked to choose."""
        return False

    def add(self, snapshot: Snapshot, key: Any, mask: np.ndarray | None) -> None:
        """Add a snapshot; the history alone knows its number."""
        self._events.append(Added(snapshot.data, snapshot.screen_score, mask, b""))
        self._keys.append(key)

    def visit(self, key: Any, action: int) -> None:
        """Takes note of a query, for shared counts."""
        self._visited.append(key)
        self._actions.append(action)

    def follow(self, event: Began | Scored) -> None:
        """Takes note of something else that happened."""
        self._events.append(event)

    def complete(self, actions: bytes) -> None:
        """Gives the last snapshot the actions that led to it."""
        added = self._events[-1]
        assert isinstance(added, Added)
        self._events[-1] = added._replace(actions=actions)

    def flush(self, wait: bool = False) -> None:
        """Tells the history all that waits."""
        if self._events or self._actions:
            names = self._naming.names(self._keys)
            visited = self._naming.names(self._visited)
            post = Post(
                self._actor, self._events, names, visited, np.array(self._actions, np.int64)
            )
            self._events, self._keys, self._visited, self._actions = [], [], [], []
            self._service.tell("take", post)
        if wait:
            self._service.settle()

    def sample(self, rng: np.random.Generator, size: int) -> np.ndarray:
        """Draws entry numbers uniformly with replacement; their keys come along."""
        self.flush()
        found: Candidates | None = self._service.ask("sample", rng, size)
        if found is None:
            raise EmptyHistoryError
        self.oldest, newest, names, masks, cost = found
        self.replayed += cost
        # Drawn there from a copy of the generator: here it gives the same, and moves on.
        entries = rng.integers(self.oldest, newest + 1, size)
        self._names = dict(zip(entries.tolist(), names, strict=True))
        self._masks = None if masks is None else dict(zip(entries.tolist(), masks, strict=True))
        return entries

    def keys(self, entries: np.ndarray) -> np.ndarray:
        """Returns the keys of entries that were drawn last."""
        return self._naming.keys(np.stack([self._names[entry] for entry in entries.tolist()]))

    def masks(self, entries: np.ndarray) -> np.ndarray | None:
        """Returns which actions they allow, bool [B, A], or None if all always are."""
        if self._masks is None:
            return None
        return np.stack([self._masks[entry] for entry in entries.tolist()])

    def choose(self, rng: np.random.Generator, values: Values) -> Start:
        """Lets the history choose by the shared counts; the snapshot comes along."""
        self.flush()
        choice: Choice | None = self._service.ask("choose", rng, self._actor, values.parameters)
        if choice is None:
            raise EmptyHistoryError
        start, snapshot = choice
        assert start.entry is not None and snapshot is not None
        self._fetched = start.entry, snapshot
        return start

    def have(self, entry: int) -> bool:
        """Fetches an entry, unless it has been evicted in the meantime; returns whether it came."""
        snapshot = self._service.ask("fetch", entry, self._actor)
        self._fetched = None if snapshot is None else (entry, snapshot)
        return snapshot is not None

    def fetch(self, entry: int) -> Snapshot | None:
        """Returns the snapshot that came last."""
        assert self._fetched is not None and self._fetched[0] == entry
        return self._fetched[1]

    def state(self) -> State:
        """Return nothing: what the history keeps is saved where it is."""
        return {}

    def load(self, state: State) -> None:
        """Take nothing."""


class OwnChoice(Rule):
    """Restarts by the actor's own counts: B keys come from the history, then one snapshot."""

    def __init__(
        self,
        history: HistoryClient,
        uncertainty: Uncertainty,
        predict: Predict,
        loop: LoopSettings,
        actions: int,
    ):
        self._history = history
        self._rule = UncertaintyFirst(
            history,
            uncertainty,
            predict,
            actions=actions,
            batch=loop.batch,
            kind=loop.restart,
        )

    def choose(self, rng: np.random.Generator) -> Start:
        """Returns the start of the next rollout; at the initial states if there is no other."""
        for _ in range(_ATTEMPTS):
            try:
                start = self._rule.choose(rng)
            except EmptyHistoryError:
                return Start()
            if start.entry is not None and self._history.have(start.entry):
                return start
        return Start()


class SharedChoice(Rule):
    """Restarts where the history says, by the counts that all actors share."""

    def __init__(self, history: HistoryClient, values: Values):
        self._history = history
        self._values = values

    def choose(self, rng: np.random.Generator) -> Start:
        """Returns the start of the next rollout; at the initial states if there is no other."""
        try:
            return self._history.choose(rng, self._values)
        except EmptyHistoryError:
            return Start()


class SharedCounts:
    """An actor's own copy of an uncertainty, whose visits the shared one is told of as well."""

    def __init__(self, own: Uncertainty, history: HistoryClient, *, acts_on_it: bool):
        self._own = own
        self._history = history
        self._acts_on_it = acts_on_it

    def __getattr__(self, name: str) -> Any:
        return getattr(self._own, name)

    def observe(self, key: Any, action: int) -> None:
        """Takes note of one query, here only if actions or rewards go by it."""
        if self._acts_on_it:
            self._own.observe(key, action)
        self._history.visit(key, action)


class LineageClient(Observer):
    """Tells the history which actions led to what it is given."""

    def __init__(self, history: HistoryClient, simulator: Simulator):
        self._history = history
        self._simulator = simulator
        self._since = bytearray()
        self._best = 0.0

    def began(self, start: Start, observation: Any, queries: int) -> None:
        """Go to the initial state; of entries, the history knows since they were fetched."""
        self._since.clear()
        if start.entry is None:
            self._history.follow(Began())

    def stepped(self, transition: Transition, queries: int) -> None:
        """Note what the simulator executed, and tell a screen score that is the best so far."""
        self._since += self._simulator.executed
        score = self._simulator.screen_score
        if score > self._best:
            self._best = score
            self._history.follow(Scored(score, self._taken()))

    def saved(self, entry: int | None) -> None:
        """Tell what led to the snapshot that was just added."""
        self._history.complete(self._taken())

    def state(self) -> State:
        """Returns the actions that the history was not told of yet."""
        return {"since": bytes(self._since), "best": self._best}

    def load(self, state: State) -> None:
        """Takes the same."""
        self._since = bytearray(state["since"])
        self._best = float(state["best"])

    def _taken(self) -> bytes:
        taken = bytes(self._since)
        self._since.clear()
        return taken
