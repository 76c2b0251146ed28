"""Disagreement of an ensemble: u(s, a) = standard deviation over members, Eq. 8 of the paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np

from uflp import masks, spaces
from uflp.state import State
from uflp.uncertainty.base import Predict, key_layout


@dataclass(frozen=True)
class EnsembleStd:
    """Standard deviation of an ensemble's action values; for agents that have one."""

    def make(self, space: gymnasium.Space, actions: int, seed: int) -> EnsembleDisagreement:
        """Return the disagreement for an observation space."""
        return EnsembleDisagreement(space)


class EnsembleDisagreement:
    """Scores by the predictions it is handed; it keeps nothing of its own."""

    knows_actions = True
    monotone = False

    def __init__(self, space: gymnasium.Space):
        self.ids = spaces.ids(space)
        self.key_shape, self.key_dtype = key_layout(space)

    def key_of(self, observation: Any) -> Any:
        """Return the observation."""
        return observation

    def observe(self, key: Any, action: int) -> None:
        """Do nothing: what the ensemble has seen shows in its predictions."""

    def score(self, keys: np.ndarray, predict: Predict) -> np.ndarray:
        """Return u(s, a) as [B, A]."""
        return predict(keys).std(axis=0)

    def score_states(
        self, keys: np.ndarray, predict: Predict, allowed: np.ndarray | None = None
    ) -> np.ndarray:
        """Return u(s) as [B], that of the least certain action that is allowed."""
        return masks.only(self.score(keys, predict), allowed).max(axis=-1)

    def state(self) -> State:
        """Return nothing: the ensemble is the agent's."""
        return {}

    def load(self, state: State) -> None:
        """Take nothing."""
