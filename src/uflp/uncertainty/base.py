"""The protocol of an uncertainty: it counts visits in its own way, and scores states."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import gymnasium
import numpy as np

from uflp import spaces
from uflp.spaces import RealActions
from uflp.state import Stateful
from uflp.types import Action

_LARGEST_KEY = 4096
"""Bytes of an observation that a history may keep beside each snapshot."""

Predict = Callable[..., np.ndarray]
"""Action values of every ensemble member: observations [B, ...] to [M, B, A]. Where actions are
real-valued, K of each state [B, K, ...] are given too, and the values are [M, B, K]."""

_PROBES = 8
"""Actions by which a state as a whole is judged where actions are real-valued."""


class UncertaintySettings(Protocol):
    """Settings of an uncertainty: a frozen dataclass."""

    def make(self, space: gymnasium.Space, actions: spaces.Actions, seed: int) -> Uncertainty:
        """Return an uncertainty that has observed nothing.

        Args:
            space: of observations.
            actions: their number, or a description of real-valued ones.
            seed: of its random features or networks.
        """


class Uncertainty(Stateful, Protocol):
    """A measure of how unsure the agent is of a state, or of each action there.

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

    def observe(self, key: Any, action: Action) -> None:
        """Record one query: this action was taken in this state."""

    def score(
        self, keys: np.ndarray, predict: Predict, actions: np.ndarray | None = None, /
    ) -> np.ndarray:
        """Score states [B]: u(s, a) as [B, A], or u(s) as [B] without `knows_actions`.

        Args:
            keys: of the states.
            predict: action values, for uncertainties that ask.
            actions: where they are real-valued, K of each state, [B, K, ...]; then u(s, a) is
                [B, K].
        """

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


def probe_actions(actions: RealActions, seed: int) -> np.ndarray:
    """Return the actions by which states as a whole are judged, the same for all, [P, ...]."""
    return actions.draw(np.random.default_rng([seed, _PROBES]), _PROBES)


def at_each(probes: np.ndarray, states: int) -> np.ndarray:
    """Return the same actions [P, ...] for each of several states, [B, P, ...]."""
    return np.broadcast_to(probes, (states, *probes.shape))
