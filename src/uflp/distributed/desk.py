"""Where work is handed out to the parts of a run, and answers are taken in."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from typing import Any

import ray

from uflp.distributed.calls import get
from uflp.distributed.crew import Crew
from uflp.distributed.evaluations import Evaluations
from uflp.distributed.faults import Faults
from uflp.distributed.history import PARTS
from uflp.distributed.ledger import Ledger
from uflp.distributed.lessons import Lessons
from uflp.distributed.messages import Chunk, Task
from uflp.distributed.rows import held, state_of
from uflp.distributed.settings import ClusterSettings
from uflp.state import State, number
from uflp.training.metrics import Row
from uflp.training.settings import RunSettings
from uflp.types import RunError

_WAIT = 0.2
"""Seconds to wait for an answer before looking around."""

_SILENCE = 600.0
"""Seconds without any answer after which the run gives up."""

_LATELY = 15.0
"""Seconds after which an actor that has not answered counts as gone."""

_EVALUATIONS = 4
"""Evaluations that may wait before collecting does."""


class Desk:
    """Hands out work as the rate limiter allows, one piece at a time to each part."""

    def __init__(
        self,
        settings: RunSettings,
        cluster: ClusterSettings,
        crew: Crew,
        ledger: Ledger,
        faults: Faults,
    ):
        self.settings = settings
        self.ledger = ledger
        self._cluster = cluster
        self._crew = crew
        self._faults = faults
        self._rate_limiter = ledger.rate_limiter
        self._collecting: dict[Any, tuple[int, int]] = {}
        self.lessons = Lessons(crew, ledger, faults, cluster.parameter_period)
        self._evaluations = Evaluations(crew, ledger, faults)
        self._log_wanted = [False] * cluster.actors
        self.looked: Any = None
        self._answered = [0.0] * cluster.actors
        self._evaluated = 0
        self._ended = False
        self._heard = time.monotonic()

    # What is handed out.

    @property
    def done(self) -> bool:
        """Whether the budget is spent, all was learned from, and every row has come in."""
        return self._ended and not (self._evaluations or self._evaluations.rows)

    @property
    def spent(self) -> bool:
        """Whether the budget is spent."""
        return self.ledger.spent >= self.settings.loop.queries

    def hand_out(self) -> None:
        """Gives work to all who have none, as far as the rate limiter allows."""
        idle = set(range(self._cluster.actors)) - {actor for actor, _ in self._collecting.values()}
        for actor in sorted(idle):
            queries = self._allowed()
            if queries < 1:
                break
            self._collecting[self._collect(actor, queries)] = actor, queries
            self._rate_limiter.asked += queries
        lessons, due = self.lessons, self._rate_limiter.due
        if lessons.idle and due > 0:
            lessons.begin(min(due, self._cluster.parameter_period))
        elif lessons.idle and self.spent and not (self._collecting or self._ended):
            self._end()
        lessons.back_up()

    def _end(self) -> None:
        """Evaluates once more, after the last SGD step."""
        if self.lessons.unpublished:
            self.lessons.begin(0, publish=True)
        else:
            self._ended = True
            self.evaluate()

    def _allowed(self) -> int:
        """Returns how many queries an actor may be asked for now."""
        assert self._cluster.chunk is not None
        left = self.settings.loop.queries - self.ledger.spent - self._rate_limiter.asked
        queries = min(self._cluster.chunk, left)
        room = self._rate_limiter.room
        # A whole chunk or nothing: many small ones would cost more than they bring.
        late = (room is not None and room < queries) or len(self._evaluations) > _EVALUATIONS
        return 0 if late else queries

    def _collect(
        self, actor: int, queries: int, *, settle: bool = False, logs: bool = False
    ) -> Any:
        logs = logs or self._log_wanted[actor]
        self._log_wanted[actor] = False
        task = Task(
            queries,
            self.ledger.made[actor],
            self.ledger.begun[actor],
            self.lessons.parameters,
            self.looked,
            settle,
            logs,
        )
        return self._crew.actors[actor].collect.remote(task)

    def evaluate(self) -> None:
        """Begins a row of metrics."""
        self._evaluations.begin(self.lessons.parameters)
        self._log_wanted = [True] * self._cluster.actors

    # What comes back.

    def take_in(self) -> None:
        """Waits for answers, and takes note of them."""
        lessons = self.lessons.answers
        waiting = [*self._collecting, *lessons, *self._evaluations.answers]
        if not waiting:
            return
        ready, _ = ray.wait(waiting, num_returns=len(waiting), timeout=0)
        if not ready:
            ready, _ = ray.wait(waiting, num_returns=1, timeout=_WAIT)
        if ready:
            self._heard = time.monotonic()
        elif time.monotonic() - self._heard > _SILENCE:
            raise RunError(f"no part of the run has answered for {_SILENCE:g} seconds")
        for answer in ready:
            if answer in self._collecting:
                self._collected(answer)
            elif answer in lessons:
                self.lessons.answered(answer)
        self._evaluations.complete()

    def rows(self) -> Iterator[Row]:
        """Yields the rows that are complete."""
        while self._evaluations.rows:
            yield self._evaluations.rows.popleft()

    def _collected(self, answer: Any) -> None:
        actor, queries = self._collecting.pop(answer)
        self._rate_limiter.asked -= queries
        self._entered(actor, get(answer), queries)
        self._answered[actor] = time.monotonic()
        period = self.settings.loop.eval_period
        if self._rate_limiter.queries // period > self._evaluated and not self.spent:
            self._evaluated = self._rate_limiter.queries // period
            self.evaluate()

    def _entered(self, actor: int, chunk: Chunk, queries: int) -> None:
        if self._faults.answered(f"actor {actor}", chunk.pid):
            self._faults.lost(f"actor {actor}", "queries", queries)
        self.ledger.enter(actor, chunk)

    @property
    def waits_for(self) -> str:
        """Who holds up the others; see `RateLimiter.waits_for`."""
        assert self._cluster.chunk is not None
        held_up = len(self._collecting) < self._cluster.actors
        waits = self._rate_limiter.waits_for(self._cluster.chunk)
        return "nobody" if waits == "learner" and not held_up else waits

    def alive(self) -> tuple[int, int]:
        """Returns how many actors have answered lately, and how many there are."""
        recently = time.monotonic() - _LATELY
        return sum(heard > recently for heard in self._answered), self._cluster.actors

    # In lock step.

    def collect_now(self, queries: int) -> Chunk:
        """Lets the one actor make queries, and waits until everything is where it belongs."""
        chunk: Chunk = get(self._collect(0, queries, settle=True, logs=True))
        self.looked = None
        self._entered(0, chunk, queries)
        return chunk

    def learn_now(self, steps: int, observation: Any) -> None:
        """Takes SGD steps, and looks at what the actor sees, if its rollout goes on."""
        self.lessons.begin(steps, observation, publish=True)
        self.looked = self.lessons.finish().values

    # What is saved.

    def drain(self) -> None:
        """Waits for all that is under way."""
        while self._collecting or self.lessons.answers or self._evaluations:
            self.take_in()

    def learner_state(self) -> State:
        """Waits for all that is under way; returns the learner and its steps."""
        self.drain()
        return self.lessons.state()

    def history_state(self) -> State:
        """Returns the states of the history and of what belongs to it."""
        return {} if self._crew.history is None else state_of(self._crew.history)

    def state(self) -> State:
        """Waits for all that is under way, and returns the states of all parts."""
        learner, crew = self.learner_state(), self._crew
        return {
            "learner": learner["learner"],
            "taken": learner["steps"],
            "looked": self.looked,
            "evaluated": self._evaluated,
            "ended": self._ended,
            "rows": list(self._evaluations.rows),
            "actors": get([actor.state.remote() for actor in crew.actors]),
            "shards": [state_of(shard, f"-{index}") for index, shard in enumerate(crew.shards)],
            **self.history_state(),
        }

    def load(self, state: State) -> None:
        """Gives the parts of a new crew the states of those before them."""
        crew = self._crew
        self._evaluated = number(state, "evaluated")
        self.looked, self._ended = state["looked"], state["ended"]
        self._evaluations.rows = deque(state["rows"])
        for actor, saved in zip(crew.actors, state["actors"], strict=True):
            get(actor.load.remote(saved))
        for shard, saved in zip(crew.shards, state["shards"], strict=True):
            get(shard.load.remote(held(saved)))
        if crew.history is not None:
            get(crew.history.load.remote(held({part: state.get(part) for part in PARTS})))
        self.lessons.load({"steps": state["taken"], "learner": state["learner"]})
