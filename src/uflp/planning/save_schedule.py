"""Save schedules: which states of a rollout join the history.

`EveryKth` is the paper's. `ByNovelty` is for simulators in which a save costs several steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from uflp.state import State, StateError, Stateful, array, number


class SaveSchedule(Stateful, Protocol):
    """Decide which states are saved. The first state of a rollout always is."""

    def began(self, observation: Any, key: Any) -> None:
        """Note the first state of a rollout."""

    def due(self, length: int, observation: Any, key: Any) -> bool:
        """Return whether to save the state that a query led to.

        Args:
            length: queries of the rollout so far, this one included.
            observation: of the state.
            key: of the state, as the planner's uncertainty knows it.
        """


class EveryKth:
    """Save a state every `period` queries, counted anew in each rollout."""

    def __init__(self, period: int = 1):
        self.period = period

    def began(self, observation: Any, key: Any) -> None:
        """Note nothing."""

    def due(self, length: int, observation: Any, key: Any) -> bool:
        """Return whether the rollout has a multiple of `period` queries."""
        return length % self.period == 0

    def state(self) -> State:
        """Return nothing: the length of the rollout decides alone."""
        return {}

    def load(self, state: State) -> None:
        """Take nothing."""


class Cells(Stateful, Protocol):
    """Number the cells that observations lie in, as `uflp.uncertainty.Counts` does."""

    def key_of(self, observation: Any, /) -> int:
        """Return the number of an observation's cell."""


class ByNovelty:
    """Save a state when its cell is reached for the 1st, 2nd, 4th, 8th, … time.

    Known cells are saved ever more rarely: n arrivals in a cell cost about log₂ n saves. Where
    observations say little, every `at_least_every`-th state of a rollout is saved too. Where they
    say so much that nearly every state is new, novelty tells states apart no longer, and a budget
    bounds what saving costs: one save is earned in `one_in` queries, and up to `reserve` unspent
    ones are kept. Arrivals decide and no clock does, so equal seeds save equal states. Several
    planners may share one schedule; then a cell is new once for all of them, and they share the
    budget.
    """

    def __init__(
        self,
        cells: Cells | None = None,
        *,
        flatten: Callable[[Any], Any] | None = None,
        at_least_every: int = 64,
        one_in: int = 8,
        reserve: int = 256,
    ):
        """Make a schedule that has seen nothing.

        Args:
            cells: numbers the cells; None takes the planner's keys, which must be numbers then.
            flatten: what turns an observation into one that `cells` takes; None changes nothing.
            at_least_every: queries of a rollout after which a state is saved in any case.
            one_in: queries that earn one save.
            reserve: saves that can be done beforehand, and that can be left over.
        """
        self._cells = cells
        self._flatten = flatten
        self._at_least_every = at_least_every
        self._arrivals: dict[int, int] = {}
        self._one_in = one_in
        self._most_credit = self._credit = one_in * reserve  # in queries

    @property
    def reached(self) -> int:
        """Different cells that were reached."""
        return len(self._arrivals)

    def began(self, observation: Any, key: Any) -> None:
        """Count an arrival."""
        self._arrive(observation, key)

    def due(self, length: int, observation: Any, key: Any) -> bool:
        """Count an arrival; return whether the count is a power of two, or the time has come."""
        arrivals = self._arrive(observation, key)
        self._credit = min(self._credit + 1, self._most_credit)
        if length % self._at_least_every == 0:
            self._credit = max(self._credit - self._one_in, 0)
            return True
        if arrivals & (arrivals - 1) or self._credit < self._one_in:
            return False
        self._credit -= self._one_in
        return True

    def state(self) -> State:
        """Return the arrivals of each cell, and what is left of the budget."""
        count = len(self._arrivals)
        return {
            "credit": self._credit,
            "keys": np.fromiter(self._arrivals.keys(), np.int64, count),
            "arrivals": np.fromiter(self._arrivals.values(), np.int64, count),
            "cells": None if self._cells is None else self._cells.state(),
        }

    def load(self, state: State) -> None:
        """Take those of an equal schedule; those of version 0.2.0 know no budget."""
        like = np.empty(len(state["keys"]), np.int64)
        keys = array(state["keys"], like, "keys")
        arrivals = array(state["arrivals"], like, "arrivals")
        if (self._cells is None) != (state["cells"] is None):
            raise StateError("the cells of the save schedule are of another kind")
        if self._cells is not None:
            self._cells.load(state["cells"])
        self._arrivals = dict(zip(keys.tolist(), arrivals.tolist(), strict=True))
        self._credit = self._most_credit
        if "credit" in state:
            self._credit = number(state, "credit", most=self._most_credit)

    def _arrive(self, observation: Any, key: Any) -> int:
        if self._cells is not None:
            seen = observation if self._flatten is None else self._flatten(observation)
            key = self._cells.key_of(seen)
        cell = int(key)
        arrivals = self._arrivals[cell] = self._arrivals.get(cell, 0) + 1
        return arrivals
