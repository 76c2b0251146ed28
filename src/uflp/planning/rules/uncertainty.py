"""The paper's rule: uncertainty first.

The rule comes first. Behind it is the search for the most uncertain state of the whole history
(batch = None), which need not look at all of it: both searches return an exact argmax and break
ties at random.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from uflp import masks, spaces
from uflp.planning.history import History, HistoryLike
from uflp.planning.rules.base import Kind, Rule, Sources, Start, argmax, random_start
from uflp.state import State, StateError, Stateful, array
from uflp.types import UsageError
from uflp.uncertainty.base import Predict, Uncertainty

Score = Callable[[np.ndarray], np.ndarray]
"""Entries [B] to the uncertainty of each state [B] (the largest over its actions, for pairs)."""

_BLOCK = 256
_TOGETHER = 256
_FEW = 10_000
_AT_ONCE = 4096


@dataclass(frozen=True)
class MostUncertain:
    """The most uncertain of B saved states, or of their pairs with actions: the paper's rule."""

    needs: ClassVar[str | None] = "any"

    def make(self, sources: Sources) -> UncertaintyFirst:
        """Return the rule."""
        assert sources.uncertainty is not None
        return UncertaintyFirst(
            sources.history,
            sources.uncertainty,
            sources.predict,
            actions=sources.actions,
            batch=sources.batch,
            kind=sources.kind,
            sampled_actions=sources.sampled_actions,
        )


class UncertaintyFirst(Rule):
    """The paper's rule: the most uncertain of B snapshots, drawn uniformly with replacement.

    With `kind="pair"` it takes the most uncertain pair (s, a), Eq. 1; with `kind="state"` the most
    uncertain state and a uniformly random action, Eq. 2; in both cases among the actions that the
    state allows. `batch=None` means the whole history. Of real-valued actions, K are drawn
    uniformly for each state, and the pairs with these are compared.
    """

    def __init__(
        self,
        history: HistoryLike,
        uncertainty: Uncertainty,
        predict: Predict,
        *,
        actions: spaces.Actions,
        batch: int | None,
        kind: Kind,
        sampled_actions: int = 8,
    ):
        real = isinstance(actions, spaces.RealActions)
        if kind == "pair" and real and not uncertainty.knows_actions:
            raise UsageError(
                "this uncertainty scores states alone where actions are real-valued: use "
                "restart=state, or covariance or ensemble-std, which score pairs"
            )
        if kind == "pair" and real and batch is None:
            raise UsageError(
                "pairs with real-valued actions are sampled anew for each restart, so the most "
                "uncertain of the whole history cannot be looked up: give batch a number, such as "
                "batch=32, or use restart=state"
            )
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
        self._sampled = sampled_actions
        self._search: Search | None = None
        if batch is None:
            if not isinstance(history, History):
                raise UsageError("the whole history as batch needs a history in this process")
            self._search = make_search(uncertainty, history, self._state_scores)

    def added(self, entry: int, key: Any) -> None:
        """Learn of a new entry of the history."""
        if self._search is not None:
            self._search.added(entry, key)

    def choose(self, rng: np.random.Generator) -> Start:
        """Return the start of the next rollout."""
        if self._kind == "pair" and isinstance(self._actions, spaces.RealActions):
            return self._choose_sampled(self._actions, rng)
        if self._search is not None:
            entry = self._search.best(rng)
        else:
            assert self._batch is not None
            entries = self._history.sample(rng, self._batch)
            entry = int(entries[argmax(self._state_scores(entries), rng)])
        if self._kind == "pair":
            return Start(entry, argmax(self._pair_scores(np.array([entry]))[0], rng))
        return random_start(self._history, entry, self._actions, rng)

    def _choose_sampled(self, actions: spaces.RealActions, rng: np.random.Generator) -> Start:
        """Return the most uncertain pair of B states with K sampled actions each."""
        assert self._batch is not None
        entries = self._history.sample(rng, self._batch)
        drawn = actions.draw(rng, len(entries), self._sampled)
        scores = self._uncertainty.score(self._history.keys(entries), self._predict, drawn)
        place, action = divmod(argmax(scores.ravel(), rng), self._sampled)
        return Start(int(entries[place]), drawn[place, action])

    def state(self) -> State:
        """Return what the search knows."""
        return {} if self._search is None else self._search.state()

    def load(self, state: State) -> None:
        """Take what the search of an equal rule knew."""
        if self._search is not None:
            self._search.load(state)

    def _state_scores(self, entries: np.ndarray) -> np.ndarray:
        """Return what states are compared by, [B]."""
        if self._kind == "pair":
            # Action by action: NumPy's own maximum is slow along so short an axis.
            return functools.reduce(np.maximum, self._pair_scores(entries).T)
        keys, allowed = self._history.keys(entries), self._history.masks(entries)
        return self._uncertainty.score_states(keys, self._predict, allowed)

    def _pair_scores(self, entries: np.ndarray) -> np.ndarray:
        """Return u(s, a) as [B, A], below all others where an action is not allowed."""
        scores = self._uncertainty.score(self._history.keys(entries), self._predict)
        return masks.only(scores, self._history.masks(entries))


class Search(Stateful, Protocol):
    """Finds the entry with the highest score."""

    def added(self, entry: int, key: object) -> None:
        """Learn of a new entry."""

    def best(self, rng: np.random.Generator) -> int:
        """Return the number of an entry whose score no other exceeds."""


def make_search(uncertainty: Uncertainty, history: History, score: Score) -> Search:
    """Return the search that suits an uncertainty.

    Few ids are scored all at once sooner than any bookkeeping could spare it. Where there are
    masks, equal ids may allow different actions, so entries are told apart.
    """
    ids = None if history.masked else uncertainty.ids
    few = ids is not None and ids <= _FEW
    search = Bounds if uncertainty.monotone and not few else Scan
    return search(history, ids, score)


class _Items:
    """Items of a search: the distinct states where keys are ids, else the entries themselves.

    Of equal states the latest entry stands for all: being a FIFO, the history holds a state just
    as long as it holds that one.
    """

    def __init__(self, history: History, ids: int | None):
        self._history = history
        self._latest = None if ids is None else np.full(ids, -1)

    def added(self, entry: int, key: object) -> int:
        """Return the item that a new entry belongs to."""
        if self._latest is None:
            return entry
        item = int(key)  # type: ignore[call-overload]
        self._latest[item] = entry
        return item

    def entries(self, items: np.ndarray) -> np.ndarray:
        """Return the entry that stands for each item."""
        return items if self._latest is None else self._latest[items]

    def live(self) -> np.ndarray:
        """Return all items that are in the history."""
        if self._latest is None:
            return self._history.live()
        return np.flatnonzero(self._latest >= self._history.oldest)

    def state(self) -> State:
        """Return which entry stands for each state."""
        return {} if self._latest is None else {"latest": self._latest}

    def load(self, state: State) -> None:
        """Take the same of an equal history."""
        if self._latest is not None:
            self._latest = array(state["latest"], self._latest, "latest")
            if not -1 <= self._latest.min() <= self._latest.max() <= self._history.newest:
                raise StateError("an entry stands for a state, and is not in the history")


class Scan:
    """Scores every distinct state: for uncertainties that may rise. O(|H|), or O(ids)."""

    def __init__(self, history: History, ids: int | None, score: Score):
        self._items = _Items(history, ids)
        self._score = score

    def added(self, entry: int, key: object) -> None:
        """Learn of a new entry."""
        self._items.added(entry, key)

    def best(self, rng: np.random.Generator) -> int:
        """Return the number of an entry whose score no other exceeds."""
        entries = self._items.entries(self._items.live())
        return int(entries[argmax(self._score(entries), rng)])

    def state(self) -> State:
        """Return what is searched."""
        return self._items.state()

    def load(self, state: State) -> None:
        """Take what was searched."""
        self._items.load(state)


class Bounds:
    """Searches by upper bounds: for uncertainties that only ever fall.

    An old score of an item is an upper bound of its present one. The item with the highest bound
    is scored anew until one keeps its place: that one is the argmax. As long as none does, the
    next highest are scored along with it, ever more at a time. Bounds lie in a ring (or one to an
    id) in blocks of which the highest is known, so that neither adding nor searching looks at all
    of them.
    """

    def __init__(self, history: History, ids: int | None, score: Score):
        self._history = history
        self._items = _Items(history, ids)
        self._score = score
        self._ids = ids
        self._bounds = np.full((_blocks(ids or 1), _BLOCK), -np.inf)
        self._highest = np.full(len(self._bounds), -np.inf)
        self._ties = np.zeros(len(self._bounds), np.int64)

    def added(self, entry: int, key: object) -> None:
        """Learn of a new entry, which nothing is known of yet: its bound is infinite.

        A state that was in the history before keeps its bound, which still holds.
        """
        item = self._items.added(entry, key)
        if self._ids is None:
            self._fit()
            item %= self._bounds.size
        block, place = divmod(item, _BLOCK)
        before = self._bounds[block, place]
        if before < np.inf if self._ids is None else before == -np.inf:
            # Nothing exceeds it, so that the rest of the block need not be looked at.
            self._bounds[block, place] = np.inf
            self._ties[block] = self._ties[block] + 1 if self._highest[block] == np.inf else 1
            self._highest[block] = np.inf

    def best(self, rng: np.random.Generator) -> int:
        """Return the number of an entry whose score no other exceeds."""
        self._score_new()
        together = 1
        while True:
            block, place = self._draw_highest(rng)
            highest = self._highest[block]
            blocks, places = self._next_highest(together - 1, block, place)
            items = self._item_of(blocks * _BLOCK + places)
            self._set(blocks, places, self._present_scores(items))
            # One whose bound has just fallen to the highest score is drawn again, among its equals.
            if self._bounds[block, place] >= highest:
                return int(self._items.entries(items[:1])[0])
            together = min(2 * together, _TOGETHER)

    def state(self) -> State:
        """Return what is searched, and the bounds: they decide which of equals is drawn."""
        return {**self._items.state(), "bounds": self._bounds}

    def load(self, state: State) -> None:
        """Take what was searched, and the bounds."""
        self._items.load(state)
        bounds = state["bounds"]
        if self._ids is None and len(bounds) < _blocks(len(self._history)):
            raise StateError("there are more entries than bounds")
        like = self._bounds if self._ids is not None else np.empty((len(bounds), _BLOCK))
        if np.isnan(bounds).any():
            raise StateError("a bound is not a number")
        self._take(array(bounds, like, "bounds"))

    def _score_new(self) -> None:
        """Score all items that nothing is known of, which one by one would be as many searches."""
        blocks = np.flatnonzero(self._highest == np.inf)
        if not len(blocks):
            return
        rows, places = np.nonzero(self._bounds[blocks] == np.inf)
        for first in range(0, len(rows), _AT_ONCE):
            some = slice(first, first + _AT_ONCE)
            items = blocks[rows[some]] * _BLOCK + places[some]
            self._bounds.ravel()[items] = self._present_scores(self._item_of(items))
        self._note_highest(blocks)

    def _draw_highest(self, rng: np.random.Generator) -> tuple[int, int]:
        """Draw a place that has the highest bound, each of several equally likely."""
        blocks = np.flatnonzero(self._highest == self._highest.max())
        ties = np.cumsum(self._ties[blocks])
        block = blocks[np.searchsorted(ties, rng.integers(ties[-1]), side="right")]
        tied = np.flatnonzero(self._bounds[block] == self._highest[block])
        return int(block), int(tied[rng.integers(len(tied))])

    def _next_highest(self, count: int, block: int, place: int) -> tuple[np.ndarray, np.ndarray]:
        """Return a place, and the highest one of each of up to `count` other blocks."""
        others = np.empty(0, np.int64)
        if count:
            count = min(count, len(self._highest))
            others = np.argpartition(self._highest, -count)[-count:]
            others = others[(others != block) & (self._highest[others] > -np.inf)]
        blocks = np.concatenate([[block], others])
        return blocks, np.concatenate([[place], self._bounds[others].argmax(axis=1)])

    def _present_scores(self, items: np.ndarray) -> np.ndarray:
        scores = np.full(len(items), -np.inf)
        entries = self._items.entries(items)
        live = entries >= self._history.oldest
        if live.any():
            scores[live] = self._score(entries[live])
        return scores

    def _set(self, blocks: np.ndarray, places: np.ndarray, bounds: np.ndarray) -> None:
        """Set one bound in each of several blocks."""
        self._bounds[blocks, places] = bounds
        self._note_highest(blocks)

    def _note_highest(self, blocks: np.ndarray) -> None:
        rows = self._bounds[blocks]
        self._highest[blocks] = rows.max(axis=1)
        self._ties[blocks] = np.count_nonzero(rows == self._highest[blocks, None], axis=1)

    def _item_of(self, places: np.ndarray) -> np.ndarray:
        """Return the ids, or the numbers of the entries, at places of the table or ring."""
        if self._ids is not None:
            return places
        size = self._bounds.size
        newest = self._history.newest
        return newest - (newest - places) % size

    def _fit(self) -> None:
        """Double the ring until every live entry has a place of its own."""
        if len(self._history) <= self._bounds.size:
            return
        live = np.arange(self._history.oldest, self._history.newest)
        bounds = np.full((2 * len(self._bounds), _BLOCK), -np.inf)
        bounds.ravel()[live % bounds.size] = self._bounds.ravel()[live % self._bounds.size]
        self._take(bounds)

    def _take(self, bounds: np.ndarray) -> None:
        """Put other bounds in the place of those that are there."""
        self._bounds = bounds
        self._highest = bounds.max(axis=1)
        self._ties = np.count_nonzero(bounds == self._highest[:, None], axis=1)


def _blocks(items: int) -> int:
    return -(-items // _BLOCK)
