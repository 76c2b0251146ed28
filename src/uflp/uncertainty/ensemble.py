"""Disagreement of an ensemble: u(s, a) = standard deviation over members, Eq. 8 of the paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import gymnasium
import numpy as np

from uflp import masks, spaces
from uflp.spaces import Actions, RealActions
from uflp.state import State
from uflp.types import Action
from uflp.uncertainty.base import Predict, at_each, key_layout, probe_actions


@dataclass(frozen=True)
class EnsembleStd:
    """Standard deviation of an ensemble's action values; for agents that have one."""

    action_kinds: ClassVar[tuple[str, ...]] = ("numbered", "real")

    def make(self, space: gymnasium.Space, actions: Actions, seed: int) -> EnsembleDisagreement:
        """Return the disagreement for an observation space."""
        if isinstance(actions, RealActions):
            return EnsembleDisagreement(space, probe_actions(actions, seed))
        return EnsembleDisagreement(space)


class EnsembleDisagreement:
    """Scores by the predictions it is handed; it keeps nothing of its own."""

    knows_actions = True
    monotone = False

    def __init__(self, space: gymnasium.Space, probes: np.ndarray | None = None):
        """Make the disagreement.

        Args:
            space: of observations.
            probes: real-valued actions by which states as a whole are judged; None where actions
                are numbered.
        """
        self._probes = probes
        self.ids = spaces.ids(space)
        self.key_shape, self.key_dtype = key_layout(space)

    def key_of(self, observation: Any) -> Any:
        """Return the observation."""
        return observation

    def observe(self, key: Any, action: Action) -> None:
        """Do nothing: what the ensemble has seen shows in its predictions."""

    def score(
        self, keys: np.ndarray, predict: Predict, actions: np.ndarray | None = None
    ) -> np.ndarray:
        """Return u(s, a) as [B, A], or as [B, K] for K real-valued actions of each state."""
        values = predict(keys) if actions is None else predict(keys, actions)
        return values.std(axis=0)

    def score_states(
        self, keys: np.ndarray, predict: Predict, allowed: np.ndarray | None = None
    ) -> np.ndarray:
        """Return u(s) as [B], that of the least certain action that is allowed."""
        if self._probes is not None:
            return self.score(keys, predict, at_each(self._probes, len(keys))).max(axis=-1)
        return masks.only(self.score(keys, predict), allowed).max(axis=-1)

    def state(self) -> State:
        """Return nothing: the ensemble is the agent's."""
        return {}

    def load(self, state: State) -> None:
        """Take nothing."""
