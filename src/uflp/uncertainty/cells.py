"""Visit counts of cells, for images: approximate counts, Sec. 4 of the paper."""

from __future__ import annotations

import gymnasium
import numpy as np

from uflp.cells import SIDE, cell_id
from uflp.uncertainty.base import Predict


def has_cells(space: gymnasium.Space) -> bool:
    """Returns whether observations are images, or stacks of images whose last is the latest."""
    return (
        isinstance(space, gymnasium.spaces.Box)
        and space.dtype == np.uint8
        and len(space.shape) in (2, 3)
        and min(space.shape[-2:]) >= SIDE
    )


class CellCounts:
    """One count for each cell that was seen and each action; keys are the cells' 64-bit numbers.

    Attributes:
        visits: int64 [rows, A], of which the first `len(self)` are in use.
    """

    knows_actions = True
    monotone = True
    ids = None
    key_shape = ()
    key_dtype = np.dtype(np.int64)

    def __init__(self, actions: int, regularization: float):
        self.visits = np.zeros((1024, actions), np.int64)
        self._rows: dict[int, int] = {}
        self._regularization = regularization

    def __len__(self) -> int:
        return len(self._rows)

    def key_of(self, observation: np.ndarray) -> int:
        """Returns the number of the latest image's cell."""
        return cell_id(observation)

    def observe(self, key: int, action: int) -> None:
        """Counts one visit."""
        row = self._rows.setdefault(key, len(self._rows))
        if row == len(self.visits):
            self.visits = np.concatenate([self.visits, np.zeros_like(self.visits)])
        self.visits[row, action] += 1

    def score(self, keys: np.ndarray, predict: Predict) -> np.ndarray:
        """Returns u(s, a) as [B, A]."""
        return 1 / np.sqrt(self._counts(keys) + self._regularization)

    def score_states(self, keys: np.ndarray, predict: Predict) -> np.ndarray:
        """Returns u(s) as [B]; a state's count is the sum over its actions."""
        return 1 / np.sqrt(self._counts(keys).sum(axis=-1) + self._regularization)

    def _counts(self, keys: np.ndarray) -> np.ndarray:
        """Returns the visits of cells, int64 [B, A]; zeros where a cell was never acted in."""
        rows = np.array([self._rows.get(key, -1) for key in keys.tolist()], np.intp)
        return np.where(rows[:, None] < 0, 0, self.visits[rows])
