"""The replay: the transitions that an agent learns from."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from uflp.spaces import layout
from uflp.types import Batch, UsageError


class Replay:
    """A ring of learning rows in columns, sampled uniformly with replacement."""

    def __init__(self, space: gymnasium.Space, capacity: int):
        """Makes an empty replay for one observation space.

        Args:
            space: a Box, or a Discrete whose observations take four bytes each.
            capacity: rows; the oldest is overwritten when all are in use.
        """
        if capacity < 1:
            raise UsageError(f"a replay needs room for at least 1 row, not {capacity}")
        shape, dtype = layout(space)
        self._observation = np.zeros((capacity, *shape), dtype)
        self._next_observation = np.zeros((capacity, *shape), dtype)
        self._action = np.zeros(capacity, np.int32)
        self._reward = np.zeros(capacity, np.float32)
        self._discount = np.zeros(capacity, np.float32)
        self._capacity = capacity
        self._added = 0

    def __len__(self) -> int:
        return min(self._added, self._capacity)

    def add(
        self, observation: Any, action: int, reward: float, discount: float, next_observation: Any
    ) -> None:
        """Adds one row; see `Batch` for what the columns mean."""
        row = self._added % self._capacity
        self._observation[row] = observation
        self._action[row] = action
        self._reward[row] = reward
        self._discount[row] = discount
        self._next_observation[row] = next_observation
        self._added += 1

    def sample(self, rng: np.random.Generator, size: int) -> Batch:
        """Draws rows uniformly with replacement."""
        rows = rng.integers(0, len(self), size)
        return Batch(
            self._observation[rows],
            self._action[rows],
            self._reward[rows],
            self._discount[rows],
            self._next_observation[rows],
        )
