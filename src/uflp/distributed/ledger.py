"""What the parts of a run have reported, put together."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable

from uflp.distributed.messages import Chunk
from uflp.simulators.base import Simulator
from uflp.state import State, number
from uflp.training.counters import Counters
from uflp.training.exploration_log import ExplorationLog
from uflp.training.metrics import Row, metrics_row
from uflp.training.rate_limiter import RateLimiter


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
        rate_limiter: queries and SGD steps.
        counters: what happens between two rows.
        exploration_log: where the run has been.
        best: the best screen score, where it can be replayed.
        made: queries of each actor.
        begun: rollouts of each actor.
        restarts: of all actors.
        sent: bytes of rows so far.
    """

    def __init__(self, simulator: Simulator, rate_limiter: RateLimiter, actors: int):
        self.rate_limiter = rate_limiter
        self.counters = Counters()
        self.exploration_log = ExplorationLog(simulator)
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
        return self.rate_limiter.queries + self._simulator.replayed

    def enter(self, actor: int, chunk: Chunk) -> None:
        """Takes note of what an actor has done."""
        self.rate_limiter.inserted(chunk.queries, chunk.rows)
        self._simulator.replayed += chunk.replayed
        self.made[actor] += chunk.queries
        self.begun[actor] += chunk.rollouts
        self.restarts += chunk.restarts
        self.sent += chunk.sent
        self.counters.join(chunk.counted)
        for place in chunk.visited:
            self.exploration_log.visit(place)
        for restart in chunk.restarted:
            self.exploration_log.restart(*restart)
        if chunk.logs is not None:
            self._simulator.join_logs(chunk.logs)

    def row(self) -> Callable[..., Row]:
        """Return the row of metrics of this moment; what other parts know is given to it later."""
        self.exploration_log.evaluated(self.rate_limiter.queries)
        return functools.partial(
            metrics_row,
            queries=self.spent,
            seconds=self.seconds,
            rollouts=sum(self.begun),
            restarts=self.restarts,
            sgd_steps=self.rate_limiter.steps,
            counted=self.counters.since_last_row(),
            simulator=self._simulator.metrics(),
        )

    def state(self) -> State:
        """Returns the counts."""
        return {
            "seconds": self.seconds,
            "flow": self.rate_limiter.state(),
            "tally": self.counters.state(),
            "whereabouts": self.exploration_log.state(),
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
        self.rate_limiter.load(state["flow"])
        self.counters.load(state["tally"])
        self.exploration_log.load(state["whereabouts"])
        if self.best is not None:
            self.best.found(*state["best"])
        self.made, self.begun = list(state["made"]), list(state["begun"])
        self.restarts, self.sent = number(state, "restarts"), number(state, "sent")
        self._simulator.load_logs(state["logs"])
        self._simulator.replayed = number(state, "replayed")
