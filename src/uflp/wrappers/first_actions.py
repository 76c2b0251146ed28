"""First actions after a restart (a0): what they are in an action space, and what came of them."""

from __future__ import annotations

import warnings
from collections import deque
from typing import Any

import gymnasium
import numpy as np

from uflp import spaces
from uflp.types import Action, Transition

KEPT = 1000
"""Transitions of forced first actions that wait for `pop_transitions`."""


class ActionNumbers:
    """Translates actions of a space into the numbers that a planner knows them by, and back.

    A planner counts actions from 0, where a `Discrete` may start anywhere. Where actions have no
    numbers it knows a single one, 0.
    """

    def __init__(self, space: gymnasium.Space[Any]):
        self._space = space
        self._numbered = spaces.count(space) is not None
        self._start = getattr(space, "start", 0)

    def number_of(self, action: Any) -> int:
        """Return the number of an action that was taken."""
        return int(action) - self._start if self._numbered else 0

    def first(self, number: Action | None, rng: np.random.Generator) -> Any:
        """Return a0, given its number; where actions have no numbers, draw it from the space."""
        if self._numbered and number is not None:
            return number + self._start
        self._space.seed(int(rng.integers(2**31)))
        return self._space.sample()


class ForcedTransitions:
    """Transitions of forced first actions, until somebody pops them."""

    def __init__(self) -> None:
        self._waiting: deque[Transition] = deque(maxlen=KEPT)
        self._warned = False

    def add(self, transition: Transition) -> None:
        """Add a transition; if there are too many, drop the oldest, and warn once."""
        if len(self._waiting) == KEPT and not self._warned:
            self._warned = True
            warnings.warn(
                f"{KEPT:,} transitions of forced first actions wait for pop_transitions(), and "
                "the oldest are dropped from now on: call it, use InjectTransitions with "
                "Stable-Baselines3, or leave the first action to the agent with "
                'first_action="free"',
                stacklevel=3,
            )
        self._waiting.append(transition)

    def pop(self) -> list[Transition]:
        """Return the transitions since the last call, and forget them."""
        popped = list(self._waiting)
        self._waiting.clear()
        return popped
