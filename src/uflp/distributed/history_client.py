"""The shared history as an actor sees it: a `HistoryLike` whose entries are in another process.

With counts of its own, an actor draws keys from the history, chooses among them by the paper's
rule, and fetches one snapshot. With shared counts the history chooses. Either way, `Start()` is the
answer if there turns out to be nothing to restart from.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from uflp import spaces
from uflp.distributed.history_service import (
    Added,
    Began,
    Candidates,
    Choice,
    Event,
    HistoryUpdate,
    KeyCodec,
    Scored,
)
from uflp.distributed.parameters import Parameters, RemoteValues
from uflp.distributed.rpc import Caller
from uflp.planning import HistoryLike, Observer, Rule, Start
from uflp.planning.rules.uncertainty import UncertaintyFirst
from uflp.simulators.base import Simulator
from uflp.state import State
from uflp.types import Action, Snapshot, Transition
from uflp.uncertainty import Uncertainty
from uflp.uncertainty.base import Predict

_ATTEMPTS = 3


class EmptyHistoryError(Exception):
    """There is nothing to restart from."""


class Fetched(NamedTuple):
    """A snapshot that was fetched, and the number of its entry."""

    entry: int
    snapshot: Snapshot


class HistoryClient(HistoryLike):
    """Sends what one actor saves to the history, and asks it for snapshots.

    Events wait until `flush`, or until the history is asked something.

    Attributes:
        oldest: number of the oldest entry when the history was last asked.
        replayed: steps of a simulator that it has cost to read keys.
    """

    def __init__(self, service: Caller, actor: int, codec: KeyCodec, actions: spaces.Actions = 1):
        """Make the client of one actor.

        Args:
            service: the history.
            actor: number of the actor.
            codec: of the keys of its uncertainty.
            actions: how many there are, or what they are where they are real-valued.
        """
        self._action_layout = spaces.action_layout(actions)
        self.oldest = 0
        self.replayed = 0
        self._service = service
        self._actor = actor
        self._codec = codec
        self._events: list[Event] = []
        self._keys: list[Any] = []
        self._visited: list[Any] = []
        self._actions: list[Action] = []
        self._codes: dict[int, np.ndarray] = {}
        self._masks: dict[int, np.ndarray] | None = None
        self._fetched: Fetched | None = None

    def is_empty(self) -> bool:
        """Return False: only the history itself knows, and says so when it is asked to choose."""
        return False

    def add(self, snapshot: Snapshot, key: Any, mask: np.ndarray | None) -> None:
        """Add a snapshot; only the history knows its number."""
        self._events.append(Added(snapshot.data, snapshot.screen_score, mask, b""))
        self._keys.append(key)

    def attach_actions(self, actions: bytes) -> None:
        """Add to the snapshot that was just added the actions that led to it."""
        added = self._events[-1]
        assert isinstance(added, Added)
        self._events[-1] = added._replace(actions=actions)

    def report(self, event: Began | Scored) -> None:
        """Add an event other than a snapshot."""
        self._events.append(event)

    def visit(self, key: Any, action: Action) -> None:
        """Add a query, for shared counts."""
        self._visited.append(key)
        self._actions.append(action)

    def flush(self, *, wait: bool = False) -> None:
        """Send all events to the history.

        Args:
            wait: whether to wait until the history has them.
        """
        if self._events or self._actions:
            shape, dtype = self._action_layout
            update = HistoryUpdate(
                actor=self._actor,
                events=self._events,
                codes=self._codec.encode(self._keys),
                visited=self._codec.encode(self._visited),
                actions=np.array(self._actions, dtype).reshape(-1, *shape),
            )
            self._events, self._keys, self._visited, self._actions = [], [], [], []
            self._service.send("update", update)
        if wait:
            self._service.wait()

    def sample(self, rng: np.random.Generator, size: int) -> np.ndarray:
        """Draw entry numbers uniformly with replacement; their keys and masks come along.

        Raises:
            EmptyHistoryError: if there are no entries.
        """
        self.flush()
        found: Candidates | None = self._service.call("sample", rng, size)
        if found is None:
            raise EmptyHistoryError
        self.oldest = found.oldest
        self.replayed += found.replayed
        # The history drew from a copy of the generator: here it gives the same, and moves on.
        entries = rng.integers(found.oldest, found.newest + 1, size)
        numbers = entries.tolist()
        self._codes = dict(zip(numbers, found.codes, strict=True))
        self._masks = None
        if found.masks is not None:
            self._masks = dict(zip(numbers, found.masks, strict=True))
        return entries

    def keys(self, entries: np.ndarray) -> np.ndarray:
        """Return the keys of entries that were drawn last."""
        return self._codec.decode(np.stack([self._codes[entry] for entry in entries.tolist()]))

    def masks(self, entries: np.ndarray) -> np.ndarray | None:
        """Return which actions they allow, bool [B, A], or None if all always are."""
        if self._masks is None:
            return None
        return np.stack([self._masks[entry] for entry in entries.tolist()])

    def choose(self, rng: np.random.Generator, parameters: Parameters) -> Start:
        """Let the history choose by the shared counts; the snapshot comes along.

        Raises:
            EmptyHistoryError: if there are no entries.
        """
        self.flush()
        choice: Choice | None = self._service.call("choose", rng, self._actor, parameters)
        if choice is None:
            raise EmptyHistoryError
        self._fetched = Fetched(choice.entry, choice.snapshot)
        return choice.start

    def prefetch(self, entry: int) -> bool:
        """Fetch an entry; return False if it has been evicted in the meantime."""
        snapshot: Snapshot | None = self._service.call("fetch", entry, self._actor)
        self._fetched = None if snapshot is None else Fetched(entry, snapshot)
        return snapshot is not None

    def fetch(self, entry: int) -> Snapshot | None:
        """Return the snapshot of the entry that was fetched last."""
        assert self._fetched is not None and self._fetched.entry == entry
        return self._fetched.snapshot

    def state(self) -> State:
        """Return nothing: the history saves its entries itself."""
        return {}

    def load(self, state: State) -> None:
        """Take nothing."""


class OwnCountsRule(Rule):
    """Chooses by the actor's own counts: B keys come from the history, then one snapshot."""

    def __init__(self, history: HistoryClient, rule: UncertaintyFirst):
        """Make the rule.

        Args:
            history: where snapshots are.
            rule: chooses among the entries that the history draws.
        """
        self._history = history
        self._rule = rule

    def choose(self, rng: np.random.Generator) -> Start:
        """Return the start of the next rollout; `Start()` if there is nothing to restart from."""
        for _ in range(_ATTEMPTS):
            try:
                start = self._rule.choose(rng)
            except EmptyHistoryError:
                return Start()
            if start.entry is not None and self._history.prefetch(start.entry):
                return start
        return Start()


class SharedCountsRule(Rule):
    """Lets the history choose by the counts that all actors share."""

    def __init__(self, history: HistoryClient, values: RemoteValues):
        """Make the rule.

        Args:
            history: what chooses.
            values: whose parameters it chooses by.
        """
        self._history = history
        self._values = values

    def choose(self, rng: np.random.Generator) -> Start:
        """Return the start of the next rollout; `Start()` if there is nothing to restart from."""
        try:
            return self._history.choose(rng, self._values.parameters)
        except EmptyHistoryError:
            return Start()


class SharedUncertainty(Uncertainty):
    """An actor's own copy of an uncertainty. Its visits also go to the shared one."""

    def __init__(self, own: Uncertainty, history: HistoryClient, *, counts_here: bool):
        """Share an uncertainty.

        Args:
            own: the actor's copy.
            history: where the shared one is.
            counts_here: whether the copy counts too, for actions or rewards that depend on it.
        """
        self.knows_actions = own.knows_actions
        self.monotone = own.monotone
        self.ids = own.ids
        self.key_shape = own.key_shape
        self.key_dtype = own.key_dtype
        self._own = own
        self._history = history
        self._counts_here = counts_here

    def key_of(self, observation: Any) -> Any:
        """Return the key of a state."""
        return self._own.key_of(observation)

    def observe(self, key: Any, action: Action) -> None:
        """Count one query."""
        if self._counts_here:
            self._own.observe(key, action)
        self._history.visit(key, action)

    def score(
        self, keys: np.ndarray, predict: Predict, actions: np.ndarray | None = None, /
    ) -> np.ndarray:
        """Score states by the copy."""
        if actions is None:
            return self._own.score(keys, predict)
        return self._own.score(keys, predict, actions)

    def score_states(
        self, keys: np.ndarray, predict: Predict, allowed: np.ndarray | None = None, /
    ) -> np.ndarray:
        """Score states as a whole by the copy."""
        return self._own.score_states(keys, predict, allowed)

    def state(self) -> State:
        """Return the state of the copy."""
        return self._own.state()

    def load(self, state: State) -> None:
        """Take the state of an equal copy."""
        self._own.load(state)


class LineageClient(Observer):
    """Sends the history the actions that led to what an actor saves, and to its best score."""

    def __init__(self, history: HistoryClient, simulator: Simulator):
        """Observe one simulator.

        Args:
            history: keeps the lineage.
            simulator: executes the actions.
        """
        self._history = history
        self._simulator = simulator
        self._unsent = bytearray()
        self._best = 0.0

    def began(self, start: Start, observation: Any, queries: int) -> None:
        """Report a rollout from the initial state; the history knows of entries that it gave."""
        self._unsent.clear()
        if start.entry is None:
            self._history.report(Began())

    def stepped(self, transition: Transition, queries: int) -> None:
        """Note what the simulator executed; report a screen score that is the best so far."""
        self._unsent += self._simulator.executed
        score = self._simulator.screen_score
        if score > self._best:
            self._best = score
            self._history.report(Scored(score, self._take()))

    def saved(self, entry: int | None) -> None:
        """Add the actions to the snapshot that was just added."""
        self._history.attach_actions(self._take())

    def state(self) -> State:
        """Return the actions that were not sent yet, and the best score."""
        return {"since": bytes(self._unsent), "best": self._best}

    def load(self, state: State) -> None:
        """Take the state of an equal client."""
        self._unsent = bytearray(state["since"])
        self._best = float(state["best"])

    def _take(self) -> bytes:
        actions = bytes(self._unsent)
        self._unsent.clear()
        return actions
