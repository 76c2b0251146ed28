"""The protocol of a run, as those who keep its records see it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

from uflp.planning.lineage import Segment
from uflp.simulators.base import Simulator
from uflp.state import State, Stateful
from uflp.training.exploration_log import ExplorationLog
from uflp.training.metrics import Row
from uflp.training.settings import RunSettings
from uflp.types import Snapshot


class BestTrajectory(Protocol):
    """The trajectory of the best screen score.

    Attributes:
        best_score: the highest screen score so far.
    """

    best_score: float

    def best_actions(self) -> bytes:
        """Return the action of every frame from the initial state to the best screen score."""


class RunProtocol(Stateful, Protocol):
    """A run, seen from those who keep its records: in one process, or distributed over several.

    Attributes:
        settings: what decides it.
        simulator: of the kind that is trained in.
        exploration_log: where it has been.
        cluster_config: what `config.json` holds under `cluster`: how the run is distributed over
            processes; None for one process.
    """

    settings: RunSettings
    simulator: Simulator
    exploration_log: ExplorationLog
    cluster_config: dict[str, Any] | None

    @property
    def lineage(self) -> BestTrajectory | None:
        """The actions that led to the best score, None where they cannot be replayed."""

    @property
    def in_simulator(self) -> bool:
        """Whether the run was ended within a call of a simulator; it can be saved then."""

    @property
    def learner(self) -> Any:
        """The agent's present state, a pytree."""

    @property
    def queries(self) -> int:
        """Queries so far."""

    @property
    def seconds(self) -> float:
        """Time spent on the run so far."""

    def prepare(
        self,
        history: Iterable[tuple[Snapshot, Segment | None]],
        learner: State | None = None,
    ) -> None:
        """Take what the run begins with, only before it begins.

        Args:
            history: of another run, oldest first, with the actions that led there if known.
            learner: the state of another run's agent.
        """

    def train(self, pause: Callable[[], None]) -> Iterator[Row]:
        """Run until the budget is spent; yield a row of metrics after each evaluation."""

    def check_parameters(self) -> None:
        """Raise an error if any of the learner's numbers is not finite."""

    def kept(self) -> State:
        """Return what later runs may begin with: the history, and what led to its states."""

    def report(self) -> dict[str, Any]:
        """Return what is added to the summary."""
