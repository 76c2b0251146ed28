"""The paper's rule: uncertainty first."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from uflp import masks
from uflp.planning.history import History, HistoryLike
from uflp.planning.rules.base import Kind, Rule, Sources, Start, random_start
from uflp.planning.search import Search, argmax, make_search
from uflp.state import State
from uflp.types import UsageError
from uflp.uncertainty.base import Predict, Uncertainty


@dataclass(frozen=True)
class MostUncertain:
    """The most uncertain of B saved states, or of their pairs with actions: the paper's rule."""

    needs: ClassVar[str | None] = "any"

    def make(self, sources: Sources) -> UncertaintyFirst:
        """Returns the rule."""
        assert sources.uncertainty is not None
        return UncertaintyFirst(
            sources.history,
            sources.uncertainty,
            sources.predict,
            actions=sources.actions,
            batch=sources.batch,
            kind=sources.kind,
        )


class UncertaintyFirst(Rule):
    """The paper's rule: the most uncertain of B snapshots, drawn uniformly with replacement.

    With `kind="pair"` it takes the most uncertain pair (s, a), Eq. 1; with `kind="state"` the most
    uncertain state and a uniformly random action, Eq. 2; in both cases among the actions that the
    state allows. `batch=None` means the whole history.
    """

    def __init__(
        self,
        history: HistoryLike,
        uncertainty: Uncertainty,
        predict: Predict,
        *,
        actions: int,
        batch: int | None,
        kind: Kind,
    ):
        if kind == "pair" and not uncertainty.knows_actions:
            raise UsageError(
                "this uncertainty is one of states alone, which cannot choose among pairs: use "
                "restart=state"
            )
        if batch is None and uncertainty.key_shape is None:
            raise UsageError(
                "this uncertainty looks at whole observations, and would decode every snapshot of "
                "the history for each restart: give batch a number, such as batch=32"
            )
        self._history = history
        self._uncertainty = uncertainty
        self._predict = predict
        self._actions = actions
        self._batch = batch
        self._kind = kind
        self._search: Search | None = None
        if batch is None:
            if not isinstance(history, History):
                raise UsageError("the whole history as batch needs a history in this process")
            self._search = make_search(uncertainty, history, self._state_scores)

    def added(self, entry: int, key: Any) -> None:
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
            entry = int(entries[argmax(self._state_scores(entries), rng)])
        if self._kind == "pair":
            return Start(entry, argmax(self._pair_scores(np.array([entry]))[0], rng))
        return random_start(self._history, entry, self._actions, rng)

    def state(self) -> State:
        """Returns what the search knows."""
        return {} if self._search is None else self._search.state()

    def load(self, state: State) -> None:
        """Takes what the search of an equal rule knew."""
        if self._search is not None:
            self._search.load(state)

    def _state_scores(self, entries: np.ndarray) -> np.ndarray:
        """Returns what states are compared by, [B]."""
        if self._kind == "pair":
            # Action by action: NumPy's own maximum is slow along so short an axis.
            return functools.reduce(np.maximum, self._pair_scores(entries).T)
        keys, allowed = self._history.keys(entries), self._history.masks(entries)
        return self._uncertainty.score_states(keys, self._predict, allowed)

    def _pair_scores(self, entries: np.ndarray) -> np.ndarray:
        """Returns u(s, a) as [B, A], below all others where an action is not allowed."""
        scores = self._uncertainty.score(self._history.keys(entries), self._predict)
        return masks.only(scores, self._history.masks(entries))
