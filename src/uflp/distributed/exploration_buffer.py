"""Where an actor has been since it last said so."""

from __future__ import annotations

from typing import Any

from uflp.simulators.base import Simulator
from uflp.training.exploration_log import ExplorationObserver

Restart = tuple[Any, Any, float]
"""Place, observation and screen score."""


class ExplorationBuffer(ExplorationObserver):
    """Holds what the exploration log of the whole run is to be told."""

    def __init__(self, simulator: Simulator):
        super().__init__(simulator)
        self._visited: list[Any] = []
        self._restarted: list[Restart] = []

    def visit(self, place: Any) -> None:
        """Takes note of a query made at a place."""
        self._visited.append(place)

    def restart(self, place: Any, observation: Any, screen_score: float) -> None:
        """Takes note of a restart, if there is anything to see of it."""
        if self.pictured or self.frames:
            # Of a stack, the latest image decides; whatever is no image is not shown.
            image = observation[-1:].copy() if self.frames else None
            self._restarted.append((place, image, screen_score))

    def take(self) -> tuple[list[Any], list[Restart]]:
        """Returns queries and restarts since the last time."""
        taken = self._visited, self._restarted
        self._visited, self._restarted = [], []
        return taken
