"""The reports of the workers of a run, put together: counts, faults and rows of metrics.

A row itself is built by `training/metrics.py`, as in a run in one process.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from typing import Any, NamedTuple

from uflp.distributed.actor import CollectResult
from uflp.distributed.history_service import HistoryStatus
from uflp.distributed.parameters import Parameters
from uflp.distributed.replay_shards import ReplayStatus
from uflp.distributed.rpc import Answer, Workers, ready, result
from uflp.simulators.base import Simulator
from uflp.state import State, number
from uflp.training.counters import Counters
from uflp.training.evaluation import Evaluation
from uflp.training.exploration_log import ExplorationLog
from uflp.training.metrics import Row, RunCounts, metrics_row
from uflp.training.rate_limiter import RateLimiter

_log = logging.getLogger("uflp.distributed")


class ReportedBest:
    """The best screen score that was reported, and the actions that led to it.

    Attributes:
        best_score: the highest screen score so far, at least 0.
    """

    def __init__(self) -> None:
        self.best_score = 0.0
        self._actions = b""

    def best_actions(self) -> bytes:
        """Return the action of every frame from the initial state to the best screen score."""
        return self._actions

    def report(self, score: float, actions: bytes) -> None:
        """Keep a screen score, if it is better."""
        if score > self.best_score:
            self.best_score, self._actions = score, actions


class RunMetrics:
    """The counts of a whole run.

    Attributes:
        rate_limiter: queries and SGD steps.
        counters: what happens between two rows.
        exploration_log: where the run has been.
        best: the best screen score, None where it cannot be replayed.
        made: queries of each actor.
        begun: rollouts of each actor.
        restarts: of all actors.
        sent: bytes of rows so far.
    """

    def __init__(self, simulator: Simulator, rate_limiter: RateLimiter, actors: int):
        """Begin with nothing.

        Args:
            simulator: of the kind that is trained in; it takes the logs of all actors.
            rate_limiter: of the run.
            actors: how many there are.
        """
        self.rate_limiter = rate_limiter
        self.counters = Counters()
        self.exploration_log = ExplorationLog(simulator)
        self.best = ReportedBest() if simulator.replayable else None
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

    def add(self, actor: int, collected: CollectResult) -> None:
        """Add the report of an actor."""
        self.rate_limiter.inserted(collected.queries, collected.rows)
        self._simulator.replayed += collected.replayed
        self.made[actor] += collected.queries
        self.begun[actor] += collected.rollouts
        self.restarts += collected.restarts
        self.sent += collected.sent
        self.counters.join(collected.counted)
        for place in collected.visited:
            self.exploration_log.visit(place)
        for place, image, screen_score in collected.restarted:
            self.exploration_log.restart(place, image, screen_score)
        if collected.logs is not None:
            self._simulator.join_logs(collected.logs)

    def run_counts(self) -> RunCounts:
        """Return the counts of this moment, for a row of metrics."""
        self.exploration_log.evaluated(self.rate_limiter.queries)
        return RunCounts(
            queries=self.spent,
            seconds=self.seconds,
            rollouts=sum(self.begun),
            restarts=self.restarts,
            sgd_steps=self.rate_limiter.steps,
            counted=self.counters.since_last_row(),
            simulator=self._simulator.metrics(),
        )

    def state(self) -> State:
        """Return the counts."""
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
        """Take the counts of an equal run."""
        self._started = time.perf_counter() - state["seconds"]
        self.rate_limiter.load(state["flow"])
        self.counters.load(state["tally"])
        self.exploration_log.load(state["whereabouts"])
        if self.best is not None:
            score, actions = state["best"]
            self.best.report(score, actions)
        self.made, self.begun = list(state["made"]), list(state["begun"])
        self.restarts, self.sent = number(state, "restarts"), number(state, "sent")
        self._simulator.load_logs(state["logs"])
        self._simulator.replayed = number(state, "replayed")


class Faults:
    """Counts workers that were killed and came back, and what was lost with them.

    A worker that was killed comes back as another process, which its answers show.

    Attributes:
        count: how often a worker came back.
        processes: number of the process that each worker last answered from, by its name.
    """

    def __init__(self) -> None:
        self.count = 0
        self.processes: dict[str, int] = {}
        self._lost: dict[str, int] = {}

    def answered(self, worker: str, process: int) -> bool:
        """Note an answer; return whether the worker has come back since the one before."""
        before = self.processes.get(worker, process)
        self.processes[worker] = process
        if before != process:
            self.count += 1
        return before != process

    def lost(self, worker: str, what: str, amount: int) -> None:
        """Count what was lost with a worker, at most."""
        self._lost[what] = self._lost.get(what, 0) + amount
        _log.warning("%s was killed and came back; lost up to %d %s", worker, amount, what)

    def report(self) -> dict[str, Any]:
        """Return the counts, for the summary."""
        return {"faults": self.count, "lost": dict(self._lost)}

    def state(self) -> State:
        """Return the counts."""
        return {"count": self.count, "lost": dict(self._lost)}

    def load(self, state: State) -> None:
        """Take the counts of the run so far; its processes are gone."""
        self.count, self._lost = state["count"], dict(state["lost"])
        self.processes.clear()


class _PendingRow(NamedTuple):
    """A row that waits for answers."""

    counts: RunCounts
    evaluation: Answer
    history: Answer | None
    shards: list[Answer]

    @property
    def answers(self) -> list[Answer]:
        """All answers that the row waits for."""
        history = [] if self.history is None else [self.history]
        return [self.evaluation, *history, *self.shards]


class MetricsRows:
    """Begins rows of metrics, and completes them in order when the workers have answered.

    Attributes:
        complete: rows that wait for nothing any more.
    """

    def __init__(self, workers: Workers, metrics: RunMetrics, faults: Faults):
        """Begin with no rows.

        Args:
            workers: are asked for an evaluation and for their sizes.
            metrics: counts of the run.
            faults: count workers that came back.
        """
        self.complete: deque[Row] = deque()
        self._workers = workers
        self._metrics = metrics
        self._faults = faults
        self._pending: deque[_PendingRow] = deque()
        self._sizes = {"history": 0, "replay": 0}

    @property
    def pending(self) -> int:
        """Number of rows that are not complete."""
        return len(self._pending)

    @property
    def answers(self) -> list[Answer]:
        """References to all answers that the next row waits for."""
        return self._pending[0].answers if self._pending else []

    def begin(self, parameters: Parameters) -> None:
        """Begin the row of this moment, with an evaluation of some parameters."""
        workers, metrics = self._workers, self._metrics
        assert workers.evaluator is not None
        history = None
        if workers.history is not None:
            best = 0.0 if metrics.best is None else metrics.best.best_score
            history = workers.history.status.remote(best)
        self._pending.append(
            _PendingRow(
                metrics.run_counts(),
                workers.evaluator.evaluate.remote(parameters, metrics.rate_limiter.queries),
                history,
                [shard.status.remote() for shard in workers.shards],
            )
        )

    def receive(self) -> None:
        """Complete the rows whose answers are all there."""
        while self._pending and ready(self._pending[0].answers):
            self.complete.append(self._completed(self._pending.popleft()))

    def _completed(self, row: _PendingRow) -> Row:
        replay_size = self._replay_size(result(row.shards))
        history_size = 0 if row.history is None else self._history_size(result(row.history))
        self._sizes = {"history": history_size, "replay": replay_size}
        evaluation: Evaluation
        evaluation, pid = result(row.evaluation)
        if self._faults.answered("the evaluator", pid):
            self._faults.lost("the evaluator", "evaluations", 0)
        return metrics_row(
            row.counts, evaluation, history_size=history_size, replay_size=replay_size
        )

    def _replay_size(self, shards: list[ReplayStatus]) -> int:
        for index, shard in enumerate(shards):
            if self._faults.answered(f"shard {index} of the replay", shard.pid):
                lost = self._sizes["replay"] // len(shards)
                self._faults.lost(f"shard {index} of the replay", "rows", lost)
        return sum(shard.size for shard in shards)

    def _history_size(self, status: HistoryStatus) -> int:
        if self._faults.answered("the history", status.pid):
            self._faults.lost("the history", "snapshots", self._sizes["history"])
        if status.best is not None and self._metrics.best is not None:
            score, actions = status.best
            self._metrics.best.report(score, actions)
        return status.size
