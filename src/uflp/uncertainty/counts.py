"""Visit counts: u(s, a) = (n(s, a) + λ)^(-1/2), Eq. 8 of the paper."""

from __future__ import annotations

from dataclasses import dataclass

import gymnasium
import numpy as np

from uflp.state import State, array
from uflp.types import UsageError
from uflp.uncertainty.base import Predict
from uflp.uncertainty.cells import CellCounts, has_cells


@dataclass(frozen=True)
class Counts:
    """Visit counts, exact for discrete observations; images are counted by their cells.

    Attributes:
        regularization: λ, added to every count.
    """

    regularization: float = 0.01

    def __post_init__(self) -> None:
        if not self.regularization > 0:
            raise UsageError(f"regularization must be positive, not {self.regularization}")

    def make(self, space: gymnasium.Space, actions: int, seed: int) -> TableCounts | CellCounts:
        """Returns counts for an observation space."""
        if has_cells(space):
            return CellCounts(actions, self.regularization)
        if not isinstance(space, gymnasium.spaces.Discrete):
            raise UsageError(
                f"counts need discrete observations or images, and these are {space}: "
                "choose --uncertainty covariance"
            )
        return TableCounts(int(space.n), actions, self.regularization)


class TableCounts:
    """One count for each of finitely many states and each action.

    Attributes:
        visits: int64 [ids, A].
    """

    knows_actions = True
    monotone = True
    key_shape = ()
    key_dtype = np.dtype(np.int64)

    def __init__(self, ids: int, actions: int, regularization: float):
        self.ids = ids
        self.visits = np.zeros((ids, actions), np.int64)
        self._regularization = regularization

    def key_of(self, observation: int) -> int:
        """Returns the observation, which is its own id."""
        return observation

    def observe(self, key: int, action: int) -> None:
        """Counts one visit."""
        self.visits[key, action] += 1

    def score(self, keys: np.ndarray, predict: Predict) -> np.ndarray:
        """Returns u(s, a) as [B, A]."""
        return 1 / np.sqrt(self.visits[keys] + self._regularization)

    def score_states(self, keys: np.ndarray, predict: Predict) -> np.ndarray:
        """Returns u(s) as [B]; a state's count is the sum over its actions."""
        return 1 / np.sqrt(self.visits[keys].sum(axis=-1) + self._regularization)

    def state(self) -> State:
        """Returns the counts."""
        return {"visits": self.visits}

    def load(self, state: State) -> None:
        """Takes the counts of an equal table."""
        self.visits = array(state["visits"], self.visits, "visits")
