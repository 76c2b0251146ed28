"""From transitions to the rows that replay holds: what an agent's target needs to be known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from uflp.memory.replay import Replay
from uflp.types import Transition


class Targets(Protocol):
    """Turns the transitions of rollouts, in order, into rows of a replay."""

    def add(self, transition: Transition) -> None:
        """Takes the next transition of the present rollout."""


class Nothing:
    """No rows at all, for agents that do not learn."""

    def add(self, transition: Transition) -> None:
        """Forgets the transition."""


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
