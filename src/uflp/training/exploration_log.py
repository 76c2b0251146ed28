"""Where a run has been, and where it restarted: what pages show of its exploration."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from uflp.planning import Observer, Start
from uflp.simulators.base import Simulator
from uflp.spaces import Frames
from uflp.state import State
from uflp.training.exploration import Exploration
from uflp.training.restart_gallery import Restarted
from uflp.types import Transition


class ExplorationObserver(Observer, ABC):
    """Follows a simulator through its rollouts.

    Attributes:
        pictured: whether there is a projection to draw places by.
        frames: whether observations are images.
    """

    def __init__(self, simulator: Simulator):
        self.pictured = simulator.projection is not None
        self.frames = isinstance(simulator.observation_space, Frames)
        self._simulator = simulator
        self._place: Any = None

    @abstractmethod
    def visit(self, place: Any) -> None:
        """Takes note of a query made at a place, where there is a projection."""

    @abstractmethod
    def restart(self, place: Any, observation: Any, screen_score: float) -> None:
        """Takes note of a restart.

        Args:
            place: where, None without a projection.
            observation: what is seen there.
            screen_score: there.
        """

    def began(self, start: Start, observation: Any, queries: int) -> None:
        """Note where a rollout begins."""
        if self.pictured:
            self._place = self._simulator.place(observation)
        if start.entry is not None:
            self.restart(self._place, observation, self._simulator.screen_score)

    def stepped(self, transition: Transition, queries: int) -> None:
        """Note a query at the present place, and the place that it leads to."""
        if self.pictured:
            self.visit(self._place)
            self._place = self._simulator.place(transition.next_observation)

    def state(self) -> State:
        """Returns the present place."""
        return {"place": self._place}

    def load(self, state: State) -> None:
        """Takes the place where an equal simulator was."""
        self._place = state["place"]


class ExplorationLog(ExplorationObserver):
    """Keeps the records that a simulator allows.

    Attributes:
        exploration: visits and restarts over time, None without a projection.
        restarted: images that were restarted from, None where observations are none.
    """

    def __init__(self, simulator: Simulator):
        super().__init__(simulator)
        projection = simulator.projection
        self.exploration = None if projection is None else Exploration(projection)
        self.restarted = Restarted() if self.frames else None

    @property
    def records(self) -> list[Exploration | Restarted]:
        """What a run folder is to hold."""
        return [record for record in (self.exploration, self.restarted) if record is not None]

    def visit(self, place: Any) -> None:
        """Takes note of a query made at a place."""
        assert self.exploration is not None
        self.exploration.visit(place)

    def restart(self, place: Any, observation: Any, screen_score: float) -> None:
        """Takes note of a restart."""
        if self.exploration is not None:
            self.exploration.restart(place)
        if self.restarted is not None:
            self.restarted.restart(observation, screen_score)

    def evaluated(self, queries: int) -> None:
        """Ends an evaluation period, after so many queries."""
        if self.exploration is not None:
            self.exploration.evaluated(queries)

    def state(self) -> State:
        """Returns the records so far."""
        return {**super().state(), "records": [record.state() for record in self.records]}

    def load(self, state: State) -> None:
        """Takes the records of an equal run."""
        super().load(state)
        for record, saved in zip(self.records, state["records"], strict=True):
            record.load(saved)
