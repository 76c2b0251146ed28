"""The driver: hands out work to the workers of a run, and processes their answers.

Only counts and references pass through it. Rows go from the actors to the replay and on to the
learner, snapshots go to the history, parameters go through Ray's object store.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import ray

from uflp.distributed.actor import CollectResult, CollectTask
from uflp.distributed.checkpoint_transfer import in_memory, remote_state
from uflp.distributed.history_service import PARTS
from uflp.distributed.learner import LearnerClient
from uflp.distributed.metrics import Faults, MetricsRows, RunMetrics
from uflp.distributed.rpc import Answer, Workers, result
from uflp.distributed.settings import ClusterSettings
from uflp.state import State, number
from uflp.training.metrics import Row
from uflp.training.settings import RunSettings
from uflp.types import RunError

_WAIT_SECONDS = 0.2
"""Time to wait for an answer before looking around."""

_SILENCE_SECONDS = 600.0
"""Time without any answer after which the run gives up."""

_ALIVE_SECONDS = 15.0
"""Time after which an actor that has not answered counts as gone."""

_MOST_PENDING_ROWS = 4
"""Rows of metrics that may wait for their evaluation before collecting waits for them."""


class _Assigned(NamedTuple):
    """Queries that an actor is making."""

    actor: int
    queries: int


class Driver:
    """Hands out work as the rate limiter allows, one task at a time to each worker.

    Attributes:
        learner: the driver's side of the learner.
        metrics: counts of the run.
    """

    def __init__(
        self,
        settings: RunSettings,
        cluster: ClusterSettings,
        workers: Workers,
        metrics: RunMetrics,
        faults: Faults,
    ):
        """Make a driver that has handed out nothing.

        Args:
            settings: of the run.
            cluster: how it is distributed, with every choice made; see `ClusterSettings.fitted`.
            workers: do the work.
            metrics: count what they report.
            faults: count those that came back.
        """
        self.metrics = metrics
        self.learner = LearnerClient(workers.learner, metrics, faults, cluster.parameter_period)
        self._settings = settings
        self._cluster = cluster
        self._workers = workers
        self._faults = faults
        self._rate_limiter = metrics.rate_limiter
        self._rows = MetricsRows(workers, metrics, faults)
        self._collecting: dict[Answer, _Assigned] = {}
        self._log_wanted = [False] * cluster.actors
        self._next_values: np.ndarray | None = None  # At the next query, in lock step.
        self._last_answer = [0.0] * cluster.actors  # Of each actor.
        self._evaluated = 0  # Evaluation periods whose row was begun.
        self._ended = False
        self._heard = time.monotonic()

    def train(self, pause: Callable[[], None], report: Callable[[], None]) -> Iterator[Row]:
        """Run until the budget is spent; yield the rows of metrics.

        Args:
            pause: called where the run can be saved, for which `state` waits for all workers.
            report: called several times a second.
        """
        while not self.done:
            pause()
            self.assign()
            self.receive()
            report()
            yield from self.rows()

    def train_in_lock_step(self, pause: Callable[[], None]) -> Iterator[Row]:
        """Run with one actor and the learner waiting for each other, as in one process.

        Args:
            pause: called where the run can be saved.
        """
        limiter = self._rate_limiter
        queries = self._settings.evaluation.queries
        eval_period = self._settings.evaluation.eval_period
        step_period = self._settings.learning.queries_per_step
        while not self.spent:
            pause()
            left = queries - self.metrics.spent
            # Between two multiples of these periods there is nothing but collecting.
            until_step = step_period - limiter.queries % step_period
            until_evaluation = eval_period - limiter.queries % eval_period
            observation = self._collect_now(min(left, until_step, until_evaluation))
            if limiter.due > 0:
                self._learn_now(limiter.due, observation)
            if limiter.queries % eval_period == 0 or self.spent:
                self._evaluate()
                self.drain()
                yield from self.rows()

    @property
    def done(self) -> bool:
        """Whether the budget is spent, all was learned from, and every row was yielded."""
        return self._ended and self._rows.pending == 0 and not self._rows.complete

    @property
    def spent(self) -> bool:
        """Whether the budget is spent."""
        return self.metrics.spent >= self._settings.evaluation.queries

    def assign(self) -> None:
        """Give tasks to all workers that have none, as far as the rate limiter allows."""
        busy = {assigned.actor for assigned in self._collecting.values()}
        for actor in sorted(set(range(self._cluster.actors)) - busy):
            queries = self._allowed_queries()
            if queries < 1:
                break
            self._collecting[self._collect(actor, queries)] = _Assigned(actor, queries)
            self._rate_limiter.asked += queries
        due = self._rate_limiter.due
        if self.learner.idle and due > 0:
            self.learner.begin(min(due, self._cluster.parameter_period))
        elif self.learner.idle and self.spent and not self._collecting and not self._ended:
            self._end()
        self.learner.back_up()

    def receive(self) -> None:
        """Wait for answers, and process them."""
        learning = self.learner.answers
        awaited = [*self._collecting, *learning, *self._rows.answers]
        if not awaited:
            return
        ready, _ = ray.wait(awaited, num_returns=len(awaited), timeout=0)
        if not ready:
            ready, _ = ray.wait(awaited, num_returns=1, timeout=_WAIT_SECONDS)
        if ready:
            self._heard = time.monotonic()
        elif time.monotonic() - self._heard > _SILENCE_SECONDS:
            raise RunError(f"no worker of the run has answered for {_SILENCE_SECONDS:g} seconds")
        for answer in ready:
            if answer in self._collecting:
                self._collected(answer)
            elif answer in learning:
                self.learner.receive(answer)
        self._rows.receive()

    def rows(self) -> Iterator[Row]:
        """Yield the rows that are complete."""
        while self._rows.complete:
            yield self._rows.complete.popleft()

    def drain(self) -> None:
        """Wait for all that is under way."""
        while self._collecting or self.learner.answers or self._rows.pending > 0:
            self.receive()

    @property
    def waits_for(self) -> str:
        """The part that the others wait for; see `RateLimiter.waits_for`."""
        assert self._cluster.chunk is not None
        held_up = len(self._collecting) < self._cluster.actors
        waits = self._rate_limiter.waits_for(self._cluster.chunk)
        return "nobody" if waits == "learner" and not held_up else waits

    @property
    def actors_alive(self) -> int:
        """Number of actors that have answered lately."""
        since = time.monotonic() - _ALIVE_SECONDS
        return sum(answered > since for answered in self._last_answer)

    def learner_state(self) -> State:
        """Wait for all that is under way; return the learner and its steps."""
        self.drain()
        return self.learner.state()

    def history_state(self) -> State:
        """Return the states of the history and of what belongs to it."""
        return {} if self._workers.history is None else remote_state(self._workers.history)

    def state(self) -> State:
        """Wait for all that is under way; return the states of all workers."""
        learner, workers = self.learner_state(), self._workers
        return {
            "learner": learner["learner"],
            "taken": learner["steps"],
            "looked": self._next_values,
            "evaluated": self._evaluated,
            "ended": self._ended,
            "rows": list(self._rows.complete),
            "actors": result([actor.state.remote() for actor in workers.actors]),
            "shards": [
                remote_state(shard, f"-{index}") for index, shard in enumerate(workers.shards)
            ],
            **self.history_state(),
        }

    def load(self, state: State) -> None:
        """Give new workers the states of those before them."""
        workers = self._workers
        self._evaluated = number(state, "evaluated")
        self._next_values, self._ended = state["looked"], state["ended"]
        self._rows.complete = deque(state["rows"])
        for actor, saved in zip(workers.actors, state["actors"], strict=True):
            result(actor.load.remote(saved))
        for shard, saved in zip(workers.shards, state["shards"], strict=True):
            result(shard.load.remote(in_memory(saved)))
        if workers.history is not None:
            parts = {part: state[part] for part in PARTS if part in state}
            result(workers.history.load.remote(in_memory(parts)))
        self.learner.load({"steps": state["taken"], "learner": state["learner"]})

    def _allowed_queries(self) -> int:
        """Return how many queries an actor may be asked for now."""
        assert self._cluster.chunk is not None
        left = self._settings.evaluation.queries - self.metrics.spent - self._rate_limiter.asked
        queries = min(self._cluster.chunk, left)
        room = self._rate_limiter.room
        # A whole chunk or nothing: many small ones would cost more than they bring.
        no_room = room is not None and room < queries
        return 0 if no_room or self._rows.pending > _MOST_PENDING_ROWS else queries

    def _collect(
        self, actor: int, queries: int, *, wait: bool = False, logs: bool = False
    ) -> Answer:
        task = CollectTask(
            queries=queries,
            made=self.metrics.made[actor],
            rollouts=self.metrics.begun[actor],
            parameters=self.learner.parameters,
            first_values=self._next_values,
            wait=wait,
            logs=logs or self._log_wanted[actor],
        )
        self._log_wanted[actor] = False
        return self._workers.actors[actor].collect.remote(task)

    def _collected(self, answer: Answer) -> None:
        actor, queries = self._collecting.pop(answer)
        self._rate_limiter.asked -= queries
        self._add(actor, result(answer), queries)
        self._last_answer[actor] = time.monotonic()
        periods = self._rate_limiter.queries // self._settings.evaluation.eval_period
        if periods > self._evaluated and not self.spent:
            self._evaluated = periods
            self._evaluate()

    def _add(self, actor: int, collected: CollectResult, queries: int) -> None:
        if self._faults.answered(f"actor {actor}", collected.pid):
            self._faults.lost(f"actor {actor}", "queries", queries)
        self.metrics.add(actor, collected)

    def _evaluate(self) -> None:
        """Begin a row of metrics."""
        self._rows.begin(self.learner.parameters)
        self._log_wanted = [True] * self._cluster.actors

    def _end(self) -> None:
        """Evaluate once more, after the last SGD step."""
        if self.learner.unpublished > 0:
            self.learner.begin(0, publish=True)
        else:
            self._ended = True
            self._evaluate()

    def _collect_now(self, queries: int) -> Any:
        """Wait until the one actor has made queries, and replay and history have everything.

        Returns:
            The last observation, None if its rollout is over.
        """
        collected: CollectResult = result(self._collect(0, queries, wait=True, logs=True))
        self._next_values = None
        self._add(0, collected, queries)
        return collected.observation

    def _learn_now(self, steps: int, observation: Any) -> None:
        """Wait for SGD steps, and for the values of an observation, unless it is None."""
        self.learner.begin(steps, observation, publish=True)
        self._next_values = self.learner.finish().values
