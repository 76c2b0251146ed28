"""The learner: its process, and the driver's side of it.

First what it is asked for and what it reports, then the worker, then the client, which paces
broadcasts and keeps a copy in case the worker dies.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from uflp import spaces
from uflp.agents.compute import configure
from uflp.distributed.metrics import Faults, RunMetrics
from uflp.distributed.parameters import Arrays, Parameters, published, read_by_predict
from uflp.distributed.replay_shards import SampleSource, Ticket
from uflp.distributed.rpc import Answer, Handle, result
from uflp.networks.parameters import loaded_tree, saved_tree
from uflp.state import State, number
from uflp.training.agent_runner import initial_learner
from uflp.training.build import Builder
from uflp.training.counters import BadNumberError, require_finite
from uflp.training.settings import RunSettings

_SAMPLES_AHEAD = 2
"""Samples that are ordered before they are needed."""

_BACKUP_SECONDS = 30.0
"""Time from one copy of the learner to the next: one that is killed comes back as the last."""

_BROADCAST_SECONDS = 0.05
"""Least time from one broadcast of the parameters to the next."""

_BROADCAST_BANDWIDTH = 64e6
"""Most bytes of parameters a second: each broadcast takes room in the object store until no actor
uses it any more, and a full store holds everyone up."""


class LearnTask(NamedTuple):
    """SGD steps that the learner is asked for.

    Attributes:
        steps: how many.
        taken: steps before these; a learner that came back has fewer, and must be loaded first.
        queries: so far, for messages.
        observation: whose action values to return after the last step, None for nothing.
        publish: whether to return the parameters.
    """

    steps: int
    taken: int
    queries: int
    observation: Any = None
    publish: bool = True


class LearnResult(NamedTuple):
    """Report on a task. The parameters come beside it.

    Attributes:
        losses: one a step; fewer than asked for if the replay had too few rows.
        values: action values [M, A] of the observation, or a policy's [2, D]; None if there was
            none.
        lost: whether nothing was done, because the learner does not have the steps before.
        pid: number of the process.
        published: bytes of the parameters.
    """

    losses: list[float]
    values: np.ndarray | None
    lost: bool
    pid: int
    published: int = 0


class LearnerWorker:
    """The process of the learner."""

    def __init__(self, settings: RunSettings, replay: SampleSource):
        """Make a learner that has learned nothing.

        Args:
            settings: of the run.
            replay: where samples come from.
        """
        configure()
        build = Builder(settings)
        shape, self._dtype = spaces.layout(build.space)
        self._no_observation = np.zeros(shape, self._dtype)
        self._batch = settings.replay.learning_batch
        self._learn_and_look = build.learn_and_look
        self._learner = initial_learner(build.agent, build.randomness)
        self._read = read_by_predict(build.agent, self._learner, build.space, build.actions)
        self._replay = replay
        self._randomness = build.randomness
        self._steps = 0

    def learn(self, task: LearnTask) -> tuple[LearnResult, Arrays | None]:
        """Run SGD steps; return a report, and the parameters if they are wanted."""
        if self._steps != task.taken:
            return LearnResult([], None, True, os.getpid()), None
        observation = self._no_observation
        if task.observation is not None:
            observation = np.asarray(task.observation, self._dtype)
        losses: list[float] = []
        values = None
        tickets: deque[Ticket] = deque()
        first = self._steps
        while len(losses) < task.steps:
            while len(tickets) <= _SAMPLES_AHEAD and len(losses) + len(tickets) < task.steps:
                tickets.append(self._order(first + len(losses) + len(tickets)))
            sample = self._replay.collect(tickets.popleft())
            if sample is None:
                break
            self._learner, loss, values = self._learn_and_look(self._learner, sample, observation)
            losses.append(loss)
            require_finite("the loss", loss, task.queries)
            self._steps += 1
        seen = None if task.observation is None else values
        parameters = self._parameters(task.queries) if task.publish else None
        size = sum(array.nbytes for array in parameters or () if array is not None)
        return LearnResult(losses, seen, False, os.getpid(), size), parameters

    def state(self) -> State:
        """Return the learner, and how many steps it has run."""
        return {"steps": self._steps, "learner": saved_tree(self._learner)}

    def load(self, state: State) -> None:
        """Take the state of an equal learner."""
        self._steps = number(state, "steps")
        self._learner = loaded_tree(state["learner"], self._learner)

    def _order(self, step: int) -> Ticket:
        uniforms = self._randomness.uniforms("replay", step, self._batch)
        return self._replay.order(step, uniforms)

    def _parameters(self, queries: int) -> Arrays:
        arrays = published(self._learner, self._read)
        if not all(array is None or np.isfinite(array).all() for array in arrays):
            raise BadNumberError(f"a parameter was not finite at query {queries}")
        return arrays


class LearnerClient:
    """The driver's side of the learner: one task at a time.

    Attributes:
        parameters: those that were broadcast last.
        unpublished: SGD steps since then.
    """

    def __init__(
        self,
        learner: Handle,
        metrics: RunMetrics,
        faults: Faults,
        parameter_period: int,
        clock: Callable[[], float] = time.monotonic,
    ):
        """Begin with a learner that has learned nothing.

        Args:
            learner: the worker.
            metrics: count SGD steps and losses.
            faults: count what was lost.
            parameter_period: least SGD steps between two broadcasts.
            clock: returns the time in seconds.
        """
        self.parameters = Parameters()
        self.unpublished = 0
        self._learner = learner
        self._metrics = metrics
        self._faults = faults
        self._period = parameter_period
        self._clock = clock
        self._taken = 0
        self._learning: Answer | None = None
        self._copying: Answer | None = None
        self._published: Answer | None = None
        self._backup: State | None = None
        self._next_backup = 0.0  # The first copy is taken before the first step.
        self._next_broadcast = 0.0

    @property
    def idle(self) -> bool:
        """Whether no task is under way."""
        return self._learning is None

    @property
    def answers(self) -> list[Answer]:
        """References to all answers that are awaited."""
        return [answer for answer in (self._learning, self._copying) if answer is not None]

    def begin(self, steps: int, observation: Any = None, publish: bool | None = None) -> None:
        """Ask for SGD steps.

        Args:
            steps: how many.
            observation: to return the values of afterwards.
            publish: whether to broadcast the parameters then; None does so when it is time.
        """
        if publish is None:
            enough = self.unpublished + steps >= self._period
            publish = enough and self._clock() >= self._next_broadcast
        task = LearnTask(
            steps, self._taken, self._metrics.rate_limiter.queries, observation, publish
        )
        answer, parameters = self._learner.learn.options(num_returns=2).remote(task)
        self._learning, self._published = answer, parameters if publish else None

    def back_up(self) -> None:
        """Ask for a copy of the learner, if it is time for one."""
        if self._copying is None and self._clock() >= self._next_backup:
            self._copying = self._learner.state.remote()

    def receive(self, answer: Answer) -> None:
        """Process one of the answers."""
        if answer == self._learning:
            self.finish()
        else:
            self._backup, self._copying = result(answer), None
            self._next_backup = self._clock() + _BACKUP_SECONDS

    def finish(self) -> LearnResult:
        """Wait for the task that is under way; count SGD steps, and take new parameters."""
        learned: LearnResult = result(self._learning)
        self._learning = None
        came_back = self._faults.answered("the learner", learned.pid)
        if learned.lost:
            self._reload()
            return learned
        if came_back:  # Before it had learned anything, or after it was loaded again.
            self._faults.lost("the learner", "SGD steps", 0)
        for loss in learned.losses:
            self._metrics.counters.loss(loss)
        limiter = self._metrics.rate_limiter
        due = limiter.due
        self._taken += len(learned.losses)
        self.unpublished += len(learned.losses)
        limiter.learned(len(learned.losses))
        if self._published is not None:
            version = self.parameters.version + 1
            self.parameters = Parameters(version, self._published, self._taken)
            self.unpublished = 0
            pause = max(_BROADCAST_SECONDS, learned.published / _BROADCAST_BANDWIDTH)
            self._next_broadcast = self._clock() + pause
        if not learned.losses and due > 0:
            limiter.emptied()
        return learned

    def state(self) -> State:
        """Return the learner and its steps, whichever process it is in; nothing is under way."""
        state: State = result(self._learner.state.remote())
        if number(state, "steps") != self._taken:
            self._reload()
            state = result(self._learner.state.remote())
        self._backup = state
        return state

    def load(self, state: State) -> None:
        """Give a new learner the state of one before it, and broadcast its parameters."""
        self._taken = number(state, "steps")
        self._backup = state
        result(self._learner.load.remote(state))
        self.begin(0, publish=True)
        self.finish()

    def _reload(self) -> None:
        """Give a learner that came back the last copy that was taken of it."""
        assert self._backup is not None, "a copy is taken before the first step"
        saved = number(self._backup, "steps")
        self._faults.lost("the learner", "SGD steps", self._taken - saved)
        result(self._learner.load.remote(self._backup))
        self._taken = saved
