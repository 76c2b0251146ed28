"""Restarts where the agent was surprised (Tavakoli et al. 2018, prioritized restarts).

As in prioritized experience replay (Schaul et al. 2016), with states in the place of transitions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from uflp.planning.rules.base import EntryScores, Rule, Sources, Start, weighted
from uflp.state import State, real
from uflp.types import Transition, UsageError

_LEAST = 1e-6
"""Added to every error, so that none is never drawn."""


@dataclass(frozen=True)
class TDError:
    """A saved state by its last TD error, one of B (Tavakoli et al. 2018).

    Attributes:
        priority_exponent: α; a state is drawn with probability proportional to |δ|^α.
    """

    priority_exponent: float = 0.6
    needs: ClassVar[str | None] = None

    def __post_init__(self) -> None:
        if not self.priority_exponent >= 0:
            raise UsageError(
                f"priority_exponent must not be negative, not {self.priority_exponent}"
            )

    def make(self, sources: Sources) -> TDErrorRule:
        """Return the rule, where an agent's values can be seen."""
        return TDErrorRule(self.priority_exponent, sources)


class TDErrorRule(Rule):
    """Draws a candidate by the |δ| of the query that was made in its state.

    An entry that no query was made in yet has the highest |δ| so far. A restart adds its state to
    the history again; the new entry, whose |δ| is about to be known, stands for the old one then.
    """

    def __init__(self, exponent: float, sources: Sources):
        if sources.td_error is None:
            raise UsageError(
                "the rule td-error goes by the action values of an agent that learns numbered "
                "actions, and there are none here: choose another rule"
            )
        self._sources = sources
        self._td_error = sources.td_error
        self._exponent = exponent
        self._errors = EntryScores(sources.history)
        self._highest = 1.0

    def added(self, entry: int, key: Any) -> None:
        """Expect the most of an entry that nothing is known of."""
        self._errors.set(entry, self._highest)

    def left(self, entry: int, transition: Transition) -> None:
        """Record the TD error."""
        error = abs(self._td_error(transition)) + _LEAST
        self._errors.set(entry, error)
        self._highest = max(self._highest, error)

    def choose(self, rng: np.random.Generator) -> Start:
        """Return an entry with a chance that grows with its error."""
        entries = self._sources.candidates(rng)
        place = weighted(self._errors.of(entries) ** self._exponent, rng)
        entry = int(entries[place])
        self._errors.set(entry, _LEAST)
        return self._sources.start(entry, rng)

    def state(self) -> State:
        """Return the errors, and the highest ever."""
        return {**self._errors.state(), "highest": self._highest}

    def load(self, state: State) -> None:
        """Take the errors."""
        self._errors.load(state)
        self._highest = real(state, "highest")
