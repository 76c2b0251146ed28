"""Restarts in the best episodes (Tavakoli et al. 2018, episodic restarts)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from uflp.planning.rules.base import EntryScores, Rule, Sources, Start, argmax
from uflp.state import State


@dataclass(frozen=True)
class Return:
    """Of B saved states, one whose episode had the highest return (Tavakoli et al. 2018)."""

    needs: ClassVar[str | None] = None

    def make(self, sources: Sources) -> ReturnRule:
        """Return the rule."""
        return ReturnRule(sources)


class ReturnRule(Rule):
    """Choose the candidate with the highest return, ties at random.

    An entry's return is the screen score at the end of the rollout that added it, hence across
    restarts; until that has ended, the screen score at the entry. All entries of one rollout tie,
    so of the whole history it takes any state of the best episode, and of B candidates one of
    about the best 1/B.
    """

    def __init__(self, sources: Sources):
        self._sources = sources
        self._returns = EntryScores(sources.history)

    def added(self, entry: int, key: Any) -> None:
        """Record the screen score so far."""
        self._returns.set(entry, self._sources.history.screen_scores(np.array([entry]))[0])

    def ended(self, entries: np.ndarray, screen_score: float) -> None:
        """Record the final score of the episode."""
        self._returns.set(entries, screen_score)

    def choose(self, rng: np.random.Generator) -> Start:
        """Return an entry of the best episode."""
        entries = self._sources.candidates(rng)
        best = argmax(self._returns.of(entries), rng)
        return self._sources.start(int(entries[best]), rng)

    def state(self) -> State:
        """Return the returns."""
        return self._returns.state()

    def load(self, state: State) -> None:
        """Take the returns."""
        self._returns.load(state)
