"""A run spread over processes: hands out work, and puts together what comes back.

Only counts and references pass through here. Rows go from the actors to the replay and on to the
learner, snapshots to the history, parameters through Ray's object store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from uflp import spaces
from uflp.distributed.crew import Crew
from uflp.distributed.desk import Desk
from uflp.distributed.faults import Faults
from uflp.distributed.ledger import Best, Ledger
from uflp.distributed.lock_step import lock_step
from uflp.distributed.pulse import Pulse
from uflp.distributed.settings import ClusterSettings
from uflp.replay.frames import frames_of, has_frames
from uflp.state import State
from uflp.training.counters import BadNumberError
from uflp.training.metrics import Row
from uflp.training.rate_limiter import RateLimiter
from uflp.training.settings import RunSettings


class ClusterRun:
    """One run, with the face of a run in one process.

    Attributes:
        settings: what decides it.
        simulator: one of the kind that is trained in; it has the logs of all actors.
        exploration_log: where the run has been.
        spread: how the run is spread.
        faults: what was killed, and what was lost by that.
    """

    def __init__(
        self,
        settings: RunSettings,
        cluster: ClusterSettings,
        status: Callable[[int, str], None] = lambda queries, text: None,
    ):
        """Starts the parts of a run; Ray is connected.

        Args:
            settings: of the run.
            cluster: how it is spread.
            status: told every second how the run goes: queries, and a phrase.
        """
        self.settings = settings
        self._cluster = cluster.fitted(settings)
        self.spread = {"cluster": cluster.values()}
        self.simulator = settings.simulator.make(settings.seed)
        self.faults = Faults()
        self._ledger = Ledger(self.simulator, self._rate_limiter(), self._cluster.actors)
        self.exploration_log = self._ledger.exploration_log
        self._crew = Crew(settings, self._cluster, self._dictionary())
        self._desk = Desk(settings, self._cluster, self._crew, self._ledger, self.faults)
        self._pulse = Pulse(self._ledger, self._desk, status)

    def prepare(self, history: Iterable[Any]) -> None:
        """Does nothing: what a run may begin with is not for one that is spread."""

    def train(self, pause: Callable[[], None] = lambda: None) -> Iterator[Row]:
        """Runs until the budget is spent; yields a row of metrics after each evaluation.

        Args:
            pause: called where the run can be saved, which `state` makes it ready for.
        """
        if self._cluster.lock_step:
            yield from lock_step(self._desk, pause)
            return
        desk = self._desk
        while not desk.done:
            pause()
            desk.hand_out()
            desk.take_in()
            self._pulse.beat()
            yield from desk.rows()

    def close(self) -> None:
        """Ends all parts."""
        self._crew.dismiss()

    @property
    def queries(self) -> int:
        """Queries so far."""
        return self._ledger.rate_limiter.queries

    @property
    def seconds(self) -> float:
        """Time spent on the run so far, also before it was resumed."""
        return self._ledger.seconds

    @property
    def lineage(self) -> Best | None:
        """What led to the best score, None where that cannot be replayed."""
        return self._ledger.best

    @property
    def learner(self) -> Any:
        """The learner's arrays."""
        return self._desk.learner_state()["learner"]["leaves"]

    def check_parameters(self) -> None:
        """Raises an error if any of the learner's numbers is not finite."""
        if not all(np.isfinite(leaf).all() for leaf in self.learner):
            raise BadNumberError(f"a parameter was not finite at query {self.queries}")

    def kept(self) -> State:
        """Returns what later runs may begin with: the history, and what led to its states."""
        self._desk.drain()
        states = self._desk.history_state()
        return {name: states[name] for name in ("history", "lineage") if name in states}

    def report(self) -> dict[str, Any]:
        """Returns what is added to the summary."""
        return {
            "dropped_rollouts": self._ledger.counters.dropped_rollouts,
            "actors": self._cluster.actors,
            **self.faults.report(),
        }

    def state(self) -> State:
        """Waits for all that is under way; returns all that decides the rest of the run."""
        parts = self._desk.state()
        return {
            "queries": self.queries,
            "ledger": self._ledger.state(),
            "faults": self.faults.state(),
            **parts,
        }

    def load(self, state: State) -> None:
        """Takes the state of an equal run."""
        self._ledger.load(state["ledger"])
        self.faults.load(state["faults"])
        self._desk.load(state)

    def _rate_limiter(self) -> RateLimiter:
        space, actions = self.simulator.observation_space, self.simulator.action_space
        agent = self.settings.learner.make(space, spaces.actions(actions))
        return self._cluster.rate_limiter(self.settings.loop, learns=agent.target != "none")

    def _dictionary(self) -> bytes:
        """Returns a frame that others look like, for all who compress them."""
        space = self.simulator.observation_space
        if not has_frames(space):
            return b""
        observation, _ = self.settings.simulator.make(self.settings.seed).reset(seed=0)
        dictionary: bytes = observation.reshape(frames_of(space))[-1].tobytes()
        return dictionary
