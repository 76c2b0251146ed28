"""Go-Explore's choice of a cell (Ecoffet et al. 2021): seldom seen ones more often."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from uflp.planning.rules.base import Rule, Sources, Start, weighted
from uflp.state import State, StateError, whole_numbers
from uflp.types import UsageError
from uflp.uncertainty.counts import TableCounts

_FIRST_ROOM = 1024


@dataclass(frozen=True)
class GoExplore:
    """A cell by 1/√(visits + 1), at its best screen score (Go-Explore, Ecoffet et al. 2021)."""

    needs: ClassVar[str | None] = "counts"

    def make(self, sources: Sources) -> GoExploreRule:
        """Return the rule, for visit counts."""
        return GoExploreRule(sources)


class GoExploreRule(Rule):
    """Draws a cell of the history by its visits, and restores its best entry.

    That is the one with the highest screen score, of equals the latest. Once it is evicted, the
    cell's latest entry takes its place: the history holds a cell just as long as it holds that
    one. With a batch, B cells are drawn uniformly with replacement first.
    """

    def __init__(self, sources: Sources):
        counts: Any = sources.uncertainty
        if not isinstance(counts, TableCounts):
            raise UsageError("the rule go-explore weighs cells by their visits: use counts")
        self._sources = sources
        self._history = sources.history
        self._counts = counts
        self._best = np.full(_FIRST_ROOM, -1)
        self._latest = np.full(_FIRST_ROOM, -1)

    def added(self, entry: int, key: Any) -> None:
        """Put an entry into the archive, if none of its cell is better."""
        cell = int(key)
        while cell >= len(self._best):
            nothing = np.full(len(self._best), -1)
            self._best = np.concatenate([self._best, nothing])
            self._latest = np.concatenate([self._latest, nothing])
        best = self._best[cell]
        new, old = self._history.screen_scores(np.array([entry, best]))
        if best < self._history.oldest or new >= old:
            self._best[cell] = entry
        self._latest[cell] = entry

    def choose(self, rng: np.random.Generator) -> Start:
        """Return the best entry of a cell."""
        oldest = self._history.oldest
        cells = np.flatnonzero(self._latest >= oldest)
        if self._sources.batch is not None:
            cells = cells[rng.integers(len(cells), size=self._sources.batch)]
        visits = self._counts.visits[cells].sum(axis=1)
        cell = cells[weighted(1 / np.sqrt(visits + 1), rng)]
        entry = self._best[cell] if self._best[cell] >= oldest else self._latest[cell]
        return self._sources.start(int(entry), rng)

    def state(self) -> State:
        """Return the archive: the entries of each cell."""
        return {"best": self._best, "latest": self._latest}

    def load(self, state: State) -> None:
        """Take the archive."""
        newest = self._history.newest
        self._best, self._latest = (
            np.array(whole_numbers(state, name, least=-1, most=max(0, newest)), np.int64)
            for name in ("best", "latest")
        )
        if self._best.shape != self._latest.shape:
            raise StateError("the archive is of another history")
