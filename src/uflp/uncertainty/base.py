"""What an uncertainty is: something that counts visits in its own way, and scores states."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import gymnasium
import numpy as np

from uflp import spaces
from uflp.state import Stateful

_LARGEST_KEY = 4096
"""Bytes of an observation that a history may keep beside each snapshot."""

Predict = Callable[[np.ndarray], np.ndarray]
"""Action values of every ensemble member: observations [B, ...] to [M, B, A]."""


class Uncertainty(Stateful, Protocol):
    """How unsure the agent is of a state, or of each action there.

    A key is what is kept of a state to score it later: an id, or the observation itself.

    Attributes:
        knows_actions: whether `score` tells actions apart.
        monotone: whether a score can only fall as visits are observed.
        ids: number of different keys where they are 0, 1, …, ids − 1, else None.
        key_shape: shape of a key; None where it is a large observation, which a history does not
            keep but reads from its snapshot.
        key_dtype: type of a key.
    """

    knows_actions: bool
    monotone: bool
    ids: int | None
    key_shape: tuple[int, ...] | None
    key_dtype: np.dtype

    def key_of(self, observation: Any) -> Any:
        """Return the key of a state."""

    def observe(self, key: Any, action: int) -> None:
        """Take note of one query: this action was taken in this state."""

    def score(self, keys: np.ndarray, predict: Predict) -> np.ndarray:
        """Score states [B]: u(s, a) as [B, A], or u(s) as [B] without `knows_actions`."""

    def score_states(
        self, keys: np.ndarray, predict: Predict, allowed: np.ndarray | None = None, /
    ) -> np.ndarray:
        """Score states [B] as a whole: u(s) as [B].

        Args:
            keys: of the states.
            predict: action values, for uncertainties that ask.
            allowed: bool [B, A], the actions that count; None means all.
        """


def key_layout(space: gymnasium.Space) -> tuple[tuple[int, ...] | None, np.dtype]:
    """Return `key_shape` and `key_dtype` where a key is the observation itself."""
    shape, dtype = spaces.layout(space)
    large = int(np.prod(shape)) * dtype.itemsize > _LARGEST_KEY
    return None if large else shape, dtype
