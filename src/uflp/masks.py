"""Which actions a state allows: masks, bool [A] or None where all are allowed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np

from uflp import spaces


def read(info: Mapping[str, Any], space: gymnasium.Space[Any]) -> np.ndarray:
    """Return the mask in a state's info, out of reach of whoever changes that.

    By Gymnasium's custom it is `info["action_mask"]`, with 0 for each action that is not allowed.
    """
    if "action_mask" not in info:
        raise ValueError("a state's info has no action_mask, where others had one")
    mask = np.asarray(info["action_mask"]) != 0
    if mask.shape != (spaces.count(space),):
        raise ValueError(f"an action_mask of shape {mask.shape} does not fit the actions {space}")
    if not mask.any():
        raise ValueError("a state's action_mask allows no action, and the episode goes on")
    return mask


def only(values: np.ndarray, masks: np.ndarray | None) -> np.ndarray:
    """Return values [..., A], with −∞ in place of those of actions that are not allowed."""
    return values if masks is None else np.where(masks, values, -np.inf)


def draw(rng: np.random.Generator, actions: int, mask: np.ndarray | None) -> int:
    """Draw one of the allowed among so many actions, each equally likely."""
    if mask is None:
        return int(rng.integers(actions))
    allowed = np.flatnonzero(mask)
    return int(allowed[rng.integers(len(allowed))])
