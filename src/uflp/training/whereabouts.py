"""Where a run has been, and where it restarted: what pages show of its exploration."""

from __future__ import annotations

from typing import Any

from uflp.simulators.base import Simulator
from uflp.spaces import Frames
from uflp.state import State
from uflp.training.exploration import Exploration
from uflp.training.restarted import Restarted


class Whereabouts:
    """Follows a simulator through a run, and keeps the records that it allows.

    Attributes:
        exploration: visits and restarts over time, None without a projection.
        restarted: images that were restarted from, None where observations are none.
    """

    def __init__(self, simulator: Simulator):
        self._simulator = simulator
        self._place: Any = None
        projection = simulator.projection
        frames = isinstance(simulator.observation_space, Frames)
        self.exploration = None if projection is None else Exploration(projection)
        self.restarted = Restarted() if frames else None

    @property
    def records(self) -> list[Exploration | Restarted]:
        """What a run folder is to hold."""
        return [record for record in (self.exploration, self.restarted) if record is not None]

    def begin(self, observation: Any, *, restarted: bool) -> None:
        """Takes note of a rollout that begins at an observation."""
        if self.exploration is not None:
            self._place = self._simulator.place(observation)
            if restarted:
                self.exploration.restart(self._place)
        if restarted and self.restarted is not None:
            self.restarted.restart(observation, self._simulator.screen_score)

    def query(self, observation: Any) -> None:
        """Takes note of a query, made at the present place, that leads to an observation."""
        if self.exploration is not None:
            self.exploration.visit(self._place)
            self._place = self._simulator.place(observation)

    def evaluated(self, queries: int) -> None:
        """Ends an evaluation period, after so many queries."""
        if self.exploration is not None:
            self.exploration.evaluated(queries)

    def state(self) -> State:
        """Returns the records so far."""
        return {"place": self._place, "records": [record.state() for record in self.records]}

    def load(self, state: State) -> None:
        """Takes the records of an equal run."""
        self._place = state["place"]
        for record, saved in zip(self.records, state["records"], strict=True):
            record.load(saved)
