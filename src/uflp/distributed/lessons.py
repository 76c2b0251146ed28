"""What the learner is asked for: SGD steps, its parameters, and copies in case it dies."""

from __future__ import annotations

import time
from typing import Any

from uflp.distributed.calls import get
from uflp.distributed.crew import Crew
from uflp.distributed.faults import Faults
from uflp.distributed.ledger import Ledger
from uflp.distributed.messages import Learned, Lesson
from uflp.distributed.parameters import Parameters
from uflp.state import State, number

_BACKUP = 30.0
"""Seconds from one copy of the learner to the next: one that is killed comes back as the last."""

_BROADCAST = 0.05
"""Seconds from one broadcast of the parameters to the next, at least."""

_BANDWIDTH = 64e6
"""Bytes of parameters in a second, at most: each broadcast takes room in the object store until no
actor goes by it any more, and a store that is full holds everyone up."""


class Lessons:
    """One lesson at a time, and what has come of those before.

    Attributes:
        parameters: those that were broadcast last.
        unpublished: SGD steps since then.
    """

    def __init__(self, crew: Crew, ledger: Ledger, faults: Faults, parameter_period: int):
        """Begins with a learner that has learned nothing.

        Args:
            crew: has the learner.
            ledger: is told of SGD steps and losses.
            faults: is told of what was lost.
            parameter_period: SGD steps between two broadcasts, at least.
        """
        self.parameters = Parameters()
        self.unpublished = 0
        self._crew = crew
        self._ledger = ledger
        self._faults = faults
        self._period = parameter_period
        self._taken = 0
        self._learning: Any = None
        self._copying: Any = None
        self._to_come: Any = None
        self._backup: State | None = None
        self._next_backup = 0.0  # The first copy is taken before the first step.
        self._next_broadcast = 0.0

    @property
    def idle(self) -> bool:
        """Whether no lesson is under way."""
        return self._learning is None

    @property
    def answers(self) -> list[Any]:
        """What is under way."""
        return [one for one in (self._learning, self._copying) if one is not None]

    def begin(self, steps: int, observation: Any = None, publish: bool | None = None) -> None:
        """Asks for SGD steps.

        Args:
            steps: how many.
            observation: to return the values of afterwards.
            publish: whether to broadcast the parameters then; None does so when it is time.
        """
        if publish is None:
            enough = self.unpublished + steps >= self._period
            publish = enough and time.monotonic() >= self._next_broadcast
        queries = self._ledger.rate_limiter.queries
        lesson = Lesson(steps, self._taken, queries, observation, publish)
        answer, parameters = self._crew.learner.learn.options(num_returns=2).remote(lesson)
        self._learning, self._to_come = answer, parameters if publish else None

    def back_up(self) -> None:
        """Asks for a copy of the learner, if it is time for one."""
        if self._copying is None and time.monotonic() >= self._next_backup:
            self._copying = self._crew.learner.state.remote()

    def answered(self, answer: Any) -> None:
        """Takes in one of the answers."""
        if answer == self._learning:
            self.finish()
        else:
            self._backup, self._copying = get(answer), None
            self._next_backup = time.monotonic() + _BACKUP

    def finish(self) -> Learned:
        """Waits for the lesson that is under way; takes note of SGD steps and new parameters."""
        learned: Learned = get(self._learning)
        self._learning = None
        back = self._faults.answered("the learner", learned.pid)
        if learned.lost:
            self._reload()
            return learned
        if back:  # Before it had learned anything, or after it was loaded again.
            self._faults.lost("the learner", "SGD steps", 0)
        for loss in learned.losses:
            self._ledger.counters.loss(loss)
        limiter = self._ledger.rate_limiter
        before = limiter.due
        self._taken += len(learned.losses)
        self.unpublished += len(learned.losses)
        limiter.learned(len(learned.losses))
        if self._to_come is not None:
            self.parameters = Parameters(self.parameters.version + 1, self._to_come)
            self.unpublished = 0
            pause = max(_BROADCAST, learned.published / _BANDWIDTH)
            self._next_broadcast = time.monotonic() + pause
        if not learned.losses and before > 0:
            limiter.emptied()
        return learned

    def state(self) -> State:
        """Returns the learner and its steps, whichever process it is in; nothing is under way."""
        state: State = get(self._crew.learner.state.remote())
        if number(state, "steps") != self._taken:
            self._reload()
            state = get(self._crew.learner.state.remote())
        self._backup = state
        return state

    def load(self, state: State) -> None:
        """Gives a new learner the state of one before it, and broadcasts its parameters."""
        self._taken = number(state, "steps")
        self._backup = state
        get(self._crew.learner.load.remote(state))
        self.begin(0, publish=True)
        self.finish()

    def _reload(self) -> None:
        """Gives a learner that came back the last copy that was taken of it."""
        assert self._backup is not None, "a copy is taken before the first step"
        saved = number(self._backup, "steps")
        self._faults.lost("the learner", "SGD steps", self._taken - saved)
        get(self._crew.learner.load.remote(self._backup))
        self._taken = saved
