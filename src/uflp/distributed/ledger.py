"""What the parts of a run have reported, put together."""

from __future__ import annotations

import time

from uflp.distributed.flow import Flow
from uflp.distributed.messages import Chunk
from uflp.simulators.base import Simulator
from uflp.state import State, number
from uflp.training.tally import Tally
from uflp.training.trainable import Row
from uflp.training.whereabouts import Whereabouts


class Best:
    """The best screen score that was reported, and the actions that led to it."""

    def __init__(self) -> None:
        self.best_score = 0.0
        self._actions = b""

    def best_actions(self) -> bytes:
        """Returns the action of every frame from the initial state to the best screen score."""
        return self._actions

    def found(self, score: float, actions: bytes) -> None:
        """Takes note of a screen score, if it is better."""
        if score > self.best_score:
            self.best_score, self._actions = score, actions


class Ledger:
    """The counts of a whole run.

    Attributes:
        flow: queries and SGD steps.
        tally: what happens between two rows.
        whereabouts: where the run has been.
        best: the best screen score, where it can be replayed.
        made: queries of each actor.
        begun: rollouts of each actor.
        restarts: of all actors.
        sent: bytes of rows so far.
    """

    def __init__(self, simulator: Simulator, flow: Flow, actors: int):
        self.flow = flow
        self.tally = Tally()
        self.whereabouts = Whereabouts(simulator)
        self.best = Best() if simulator.replayable else None
        self.made = [0] * actors
        self.begun = [0] * actors
        self.restarts = 0
        self.sent = 0
        self._simulator = simulator
        self._started = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Time spent on the run so far, also before it was resumed."""
        return time.perf_counter() - self._started

    @property
    def spent(self) -> int:
        """Queries so far, with those that restores by replay have cost."""
        return self.flow.queries + self._simulator.replayed

    def enter(self, actor: int, chunk: Chunk) -> None:
        """Takes note of what an actor has done."""
        self.flow.inserted(chunk.queries, chunk.rows)
        self._simulator.replayed += chunk.replayed
        self.made[actor] += chunk.queries
        self.begun[actor] += chunk.rollouts
        self.restarts += chunk.restarts
        self.sent += chunk.sent
        self.tally.join(chunk.counted)
        for place in chunk.visited:
            self.whereabouts.visit(place)
        for restart in chunk.restarted:
            self.whereabouts.restart(*restart)
        if chunk.logs is not None:
            self._simulator.join_logs(chunk.logs)

    def columns(self) -> Row:
        """Returns the columns of a row, those aside that other parts know."""
        self.whereabouts.evaluated(self.flow.queries)
        return {
            "queries": self.spent,
            "wall_seconds": round(self.seconds, 3),
            "rollouts": sum(self.begun),
            "restarts": self.restarts,
            "sgd_steps": self.flow.steps,
            **self.tally.row(),
            "positive_rewards": self.tally.positive_rewards,
            **self._simulator.metrics(),
        }

    def state(self) -> State:
        """Returns the counts."""
        return {
            "seconds": self.seconds,
            "flow": self.flow.state(),
            "tally": self.tally.state(),
            "whereabouts": self.whereabouts.state(),
            "best": [] if self.best is None else [self.best.best_score, self.best.best_actions()],
            "made": list(self.made),
            "begun": list(self.begun),
            "restarts": self.restarts,
            "sent": self.sent,
            "logs": self._simulator.logs(),
            "replayed": self._simulator.replayed,
        }

    def load(self, state: State) -> None:
        """Takes the counts of an equal run."""
        self._started = time.perf_counter() - state["seconds"]
        self.flow.load(state["flow"])
        self.tally.load(state["tally"])
        self.whereabouts.load(state["whereabouts"])
        if self.best is not None:
            self.best.found(*state["best"])
        self.made, self.begun = list(state["made"]), list(state["begun"])
        self.restarts, self.sent = number(state, "restarts"), number(state, "sent")
        self._simulator.load_logs(state["logs"])
        self._simulator.replayed = number(state, "replayed")
