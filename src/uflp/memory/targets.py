"""From transitions to the rows that replay holds: what an agent's target needs to be known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from uflp.memory.replay import Replay
from uflp.state import State, Stateful
from uflp.types import Transition


class Targets(Stateful, Protocol):
    """Turns the transitions of rollouts, in order, into rows of a replay."""

    def add(self, transition: Transition) -> None:
        """Takes the next transition of the present rollout."""

    def drop(self) -> None:
        """Forgets what waits for the end of the present rollout, which will never come."""


class OneStep:
    """One row a transition: its reward, and γ unless the task ended there."""

    def __init__(self, replay: Replay, discount: float):
        self._replay = replay
        self._discount = discount

    def add(self, transition: Transition) -> None:
        """Adds the row at once."""
        self._replay.add(
            transition.observation,
            transition.action,
            transition.reward + transition.intrinsic,
            0.0 if transition.terminated else self._discount,
            transition.next_observation,
        )

    def drop(self) -> None:
        """Does nothing: no row waits for another."""

    def state(self) -> State:
        """Returns nothing: every row is in the replay."""
        return {}

    def load(self, state: State) -> None:
        """Takes nothing."""


class MonteCarlo:
    """Rows (s_t, a_t, g_t) with the return to the rollout's end, added when that is reached.

    Where a rollout was truncated, the value of the state it stopped in stands for the rest.
    """

    def __init__(self, replay: Replay, discount: float, value: Callable[[Any], float]):
        self._replay = replay
        self._discount = discount
        self._value = value
        self._rollout: list[Transition] = []

    def add(self, transition: Transition) -> None:
        """Keeps the transition until the rollout ends."""
        self._rollout.append(transition)
        if not (transition.terminated or transition.truncated):
            return
        beyond = 0.0 if transition.terminated else self._value(transition.next_observation)
        for step in reversed(self._rollout):
            beyond = step.reward + step.intrinsic + self._discount * beyond
            self._replay.add(step.observation, step.action, beyond, 0.0, step.next_observation)
        self._rollout.clear()

    def drop(self) -> None:
        """Forgets the present rollout: its returns will never be known."""
        self._rollout.clear()

    def state(self) -> State:
        """Returns the present rollout, whose returns are not known yet."""
        if not self._rollout:
            return {}
        columns = zip(*self._rollout, strict=True)
        names = Transition._fields
        return {name: np.array(column) for name, column in zip(names, columns, strict=True)}

    def load(self, state: State) -> None:
        """Takes such a rollout."""
        columns = [state[name] for name in Transition._fields] if state else []
        self._rollout = [Transition(*row) for row in zip(*columns, strict=True)]
