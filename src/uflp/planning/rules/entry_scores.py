"""Numbers that a rule keeps of the entries of a history."""

from __future__ import annotations

import numpy as np

from uflp.planning.history import History, rehoused
from uflp.state import State, array

_FIRST_ROOM = 1024


class EntryScores:
    """One number for each live entry of a history; it has to be given for every new entry."""

    def __init__(self, history: History):
        self._history = history
        self._ring = np.zeros(_FIRST_ROOM)

    def set(self, entries: int | np.ndarray, number: float) -> None:
        """Gives live entries a number."""
        room = len(self._ring)
        if len(self._history) > room:
            self._ring = rehoused(self._ring, self._history.live(), room, 2 * room)
        self._ring[entries % len(self._ring)] = number

    def of(self, entries: np.ndarray) -> np.ndarray:
        """Returns the numbers of live entries."""
        return self._ring[entries % len(self._ring)]

    def state(self) -> State:
        """Returns the numbers of all live entries, oldest first."""
        return {"numbers": self.of(self._history.live())}

    def load(self, state: State) -> None:
        """Takes the numbers of an equal history."""
        live = self._history.live()
        numbers = array(state["numbers"], np.empty(len(live)), "numbers")
        while len(self._ring) < len(live):
            self._ring = np.zeros(2 * len(self._ring))
        self._ring[live % len(self._ring)] = numbers
