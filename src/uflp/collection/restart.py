"""Where the next rollout begins: the choice inside Algorithm 2."""

from __future__ import annotations

import functools
from typing import Literal, NamedTuple, Protocol

import numpy as np

from uflp.collection.search import Search, argmax, make_search
from uflp.memory import History
from uflp.state import State, Stateful
from uflp.uncertainty.base import Predict, Uncertainty

Kind = Literal["pair", "state"]


class Start(NamedTuple):
    """Where a rollout begins.

    Attributes:
        entry: number of the history's entry to restore, None for the initial-state distribution.
        action: a0, None where the agent chooses it.
    """

    entry: int | None = None
    action: int | None = None


class Rule(Stateful, Protocol):
    """Chooses where rollouts begin."""

    def added(self, entry: int, key: object) -> None:
        """Learns of a new entry of the history."""

    def choose(self, rng: np.random.Generator) -> Start:
        """Returns the start of the next rollout."""


class UncertaintyFirst:
    """The paper's rule: the most uncertain of B snapshots, drawn uniformly with replacement.

    With `kind="pair"` it takes the most uncertain pair (s, a), Eq. 1; with `kind="state"` the most
    uncertain state and a uniformly random action, Eq. 2. `batch=None` means the whole history.
    """

    def __init__(
        self,
        history: History,
        uncertainty: Uncertainty,
        predict: Predict,
        *,
        actions: int,
        batch: int | None,
        kind: Kind,
    ):
        self._history = history
        self._uncertainty = uncertainty
        self._predict = predict
        self._actions = actions
        self._batch = batch
        self._kind = kind
        self._search: Search | None = (
            make_search(uncertainty, history, self._state_scores) if batch is None else None
        )

    def added(self, entry: int, key: object) -> None:
        """Learns of a new entry of the history."""
        if self._search is not None:
            self._search.added(entry, key)

    def choose(self, rng: np.random.Generator) -> Start:
        """Returns the start of the next rollout."""
        if self._search is not None:
            entry = self._search.best(rng)
        else:
            assert self._batch is not None
            entries = self._history.sample(rng, self._batch)
            scores = self._state_scores(self._history.keys(entries))
            entry = int(entries[argmax(scores, rng)])
        if self._kind == "state":
            return Start(entry, int(rng.integers(self._actions)))
        keys = self._history.keys(np.array([entry]))
        return Start(entry, argmax(self._uncertainty.score(keys, self._predict)[0], rng))

    def state(self) -> State:
        """Returns what the search knows."""
        return {} if self._search is None else self._search.state()

    def load(self, state: State) -> None:
        """Takes what the search of an equal rule knew."""
        if self._search is not None:
            self._search.load(state)

    def _state_scores(self, keys: np.ndarray) -> np.ndarray:
        if self._kind == "state":
            return self._uncertainty.score_states(keys, self._predict)
        # Action by action: NumPy's own maximum is slow along so short an axis.
        return functools.reduce(np.maximum, self._uncertainty.score(keys, self._predict).T)
