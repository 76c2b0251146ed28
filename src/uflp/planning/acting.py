"""How actions are chosen from action values: greedily, by chance, and with a bonus."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from uflp import masks
from uflp.randomness import Randomness
from uflp.state import State, StateError, number, number_or_none
from uflp.uncertainty.base import Predict, Uncertainty

Values = Callable[[Any, int], np.ndarray]
"""Action values of what is seen at a query, by every ensemble member, [M, A]."""


class Actor:
    """Acts ε-greedily on one ensemble member's values plus a bonus (Eq. 4 of the paper)."""

    def __init__(
        self,
        values: Values,
        predict: Predict,
        uncertainty: Uncertainty | None,
        randomness: Randomness,
        *,
        actions: int,
        members: int = 1,
        epsilon: float = 0.0,
        bonus_scale: float = 0.0,
        repeat_probability: float = 0.0,
    ):
        """Make an actor.

        Args:
            values: of one observation.
            predict: the same of several observations, for uncertainties that ask.
            uncertainty: what the bonus is made of.
            randomness: of the run.
            actions: A.
            members: M.
            epsilon: probability of a random action.
            bonus_scale: c of the bonus c·u(s, a).
            repeat_probability: probability that a random action is the last one once more.
        """
        self._values = values
        self._predict = predict
        self._randomness = randomness
        self._uncertainty = uncertainty
        self._actions = actions
        self._members = members
        self._epsilon = epsilon
        self._bonus_scale = bonus_scale
        self._repeat_probability = repeat_probability
        self._member = 0
        self._last: int | None = None

    def begin_rollout(self, rng: np.random.Generator) -> None:
        """Draw the ensemble member that acts throughout the coming rollout."""
        self._member = int(rng.integers(self._members)) if self._members > 1 else 0
        self._last = None

    def act(self, observation: Any, key: Any, query: int, mask: np.ndarray | None = None) -> int:
        """Return an action for an observation, its uncertainty key and its mask."""
        if self._epsilon:
            rng = self._randomness.at("act", query)
            if rng.random() < self._epsilon:
                return self._random(rng, mask)
        values = self._values(observation, query)[self._member]
        if self._bonus_scale:
            values = values + self._bonus_scale * self._score(key)
        return int(masks.only(values, mask).argmax())

    def _random(self, rng: np.random.Generator, mask: np.ndarray | None) -> int:
        again = self._repeat_probability and rng.random() < self._repeat_probability
        possible = self._last is not None and (mask is None or mask[self._last])
        if not (again and possible) or self._last is None:
            self._last = masks.draw(rng, self._actions, mask)
        return self._last

    def state(self) -> State:
        """Return the member that acts, and the last random action."""
        return {"member": self._member, "last": self._last}

    def load(self, state: State) -> None:
        """Take the member that acts, and the last random action."""
        self._member = number(state, "member")
        self._last = number_or_none(state, "last", self._actions - 1)
        if self._member >= self._members:
            raise StateError(f"there is no member {self._member}")

    def _score(self, key: Any) -> np.ndarray:
        assert self._uncertainty is not None, "a bonus needs an uncertainty"
        return self._uncertainty.score(np.asarray(key)[None], self._predict)[0]
