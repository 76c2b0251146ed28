"""How actions are chosen from action values: greedily, by chance, and with a bonus."""

from __future__ import annotations

from typing import Any

import numpy as np

from uflp.uncertainty.base import Predict, Uncertainty


class Actor:
    """Acts ε-greedily on one ensemble member's values plus a bonus (Eq. 4 of the paper)."""

    def __init__(
        self,
        predict: Predict,
        uncertainty: Uncertainty | None,
        *,
        actions: int,
        members: int = 1,
        epsilon: float = 0.0,
        bonus_scale: float = 0.0,
    ):
        self._predict = predict
        self._uncertainty = uncertainty
        self._actions = actions
        self._members = members
        self._epsilon = epsilon
        self._bonus_scale = bonus_scale
        self._member = 0

    def begin_rollout(self, rng: np.random.Generator) -> None:
        """Draws the ensemble member that acts throughout the coming rollout."""
        self._member = int(rng.integers(self._members)) if self._members > 1 else 0

    def act(self, observation: Any, key: Any, rng: np.random.Generator) -> int:
        """Returns an action for an observation and its uncertainty key."""
        if self._epsilon and rng.random() < self._epsilon:
            return int(rng.integers(self._actions))
        values = self._predict(np.asarray(observation)[None])[self._member, 0]
        if self._bonus_scale:
            values = values + self._bonus_scale * self._score(key)
        return int(values.argmax())

    def uncertainty_of(self, key: Any, action: int) -> float:
        """Returns u(s, a), or u(s) where the uncertainty does not tell actions apart."""
        score = self._score(key)
        return float(score[action] if score.ndim else score)

    def _score(self, key: Any) -> np.ndarray:
        assert self._uncertainty is not None, "a bonus needs an uncertainty"
        return self._uncertainty.score(np.asarray(key)[None], self._predict)[0]
