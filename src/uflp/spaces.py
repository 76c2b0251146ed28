"""Spaces of observations and actions, as those who store and compare them see them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np

from uflp.state import StateError
from uflp.types import Action, UsageError


def layout(space: gymnasium.Space) -> tuple[tuple[int, ...], np.dtype]:
    """Return the shape and type in which one observation is stored."""
    if ids(space) is not None:
        return (), np.dtype(np.int32)
    if isinstance(space, gymnasium.spaces.Box):
        return space.shape, _stored(np.dtype(space.dtype))
    raise UsageError(f"observations of {space} cannot be learned from: use a Box or a Discrete")


@dataclass(frozen=True)
class RealActions:
    """Actions that are arrays of real numbers between bounds.

    Attributes:
        shape: of an action.
        low: bounds from below, one for each of the D numbers of an action.
        high: bounds from above.
    """

    shape: tuple[int, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]

    @property
    def size(self) -> int:
        """D, the numbers of an action."""
        return len(self.low)

    def draw(self, rng: np.random.Generator, *counts: int) -> np.ndarray:
        """Draw actions uniformly, float32 [*counts, *shape]."""
        return self.scaled(rng.uniform(-1, 1, (*counts, self.size)))

    def scaled(self, units: np.ndarray) -> np.ndarray:
        """Return the actions [..., *shape] for numbers [..., D] from -1 to 1."""
        low, high = np.array(self.low, np.float32), np.array(self.high, np.float32)
        between = low + (np.asarray(units, np.float32) + 1) / 2 * (high - low)
        return np.clip(between, low, high).reshape(*np.shape(units)[:-1], *self.shape)

    def units(self, actions: Any) -> Any:
        """Return numbers [..., D] from -1 to 1 for actions [..., *shape], of NumPy or JAX."""
        low, high = np.array(self.low, np.float32), np.array(self.high, np.float32)
        counts = actions.shape[: actions.ndim - len(self.shape)]
        return (actions.reshape(*counts, self.size) - low) / ((high - low) / 2) - 1

    def problem(self, action: Any) -> str:
        """Return what is wrong with an action that a file holds, or nothing."""
        if not isinstance(action, np.ndarray) or action.dtype != np.float32:
            return "is not an array of float32"
        if action.shape != self.shape:
            return f"has shape {action.shape}, not {self.shape}"
        low, high = (np.reshape(bound, self.shape) for bound in (self.low, self.high))
        # What is not a number is not within bounds either.
        if not ((action >= np.float32(low)) & (action <= np.float32(high))).all():
            return "is not within the bounds of the action space"
        return ""


Actions = int | RealActions
"""The number of actions where they are 0, 1, …; else a description of them."""


def actions(space: gymnasium.Space) -> Actions:
    """Return what actions there are: numbered ones from 0 on, or real-valued ones with bounds."""
    if isinstance(space, gymnasium.spaces.Discrete) and space.start == 0:
        return int(space.n)
    if isinstance(space, gymnasium.spaces.Box) and np.dtype(space.dtype).kind == "f":
        low, high = space.low.astype(np.float32), space.high.astype(np.float32)
        with np.errstate(over="ignore"):
            bounded = np.isfinite(high - low).all()
        if space.low.size == 0 or not bounded or not (low < high).all():
            raise UsageError(
                f"actions of {space} have no finite bounds to choose between: give them some, with "
                "gymnasium.wrappers.RescaleAction or TransformAction"
            )
        return RealActions(space.shape, tuple(low.ravel().tolist()), tuple(high.ravel().tolist()))
    raise UsageError(
        f"these agents choose among numbered actions or vectors within bounds, and there are "
        f"{space}: bring an agent of your own to uflp.LocalAccess, where counts, covariance and "
        "rnd score states alone"
    )


def numbered(actions: Actions) -> int:
    """Return how many actions there are; for those who only know numbered ones."""
    if isinstance(actions, int):
        return actions
    raise UsageError(
        f"numbered actions are needed here, and these are vectors of {actions.size}: choose sac"
    )


def action_layout(actions: Actions) -> tuple[tuple[int, ...], np.dtype]:
    """Return the shape and type in which one action is stored."""
    if isinstance(actions, int):
        return (), np.dtype(np.int32)
    return actions.shape, np.dtype(np.float32)


def read_action(value: Any, actions: Actions) -> Action:
    """Return an action that a file holds.

    Raises:
        StateError: if there is no such action.
    """
    if isinstance(actions, RealActions):
        wrong = actions.problem(value)
        if wrong:
            raise StateError(f"an action {wrong}")
        return np.array(value)
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise StateError(f"an action is {value!r}, not a whole number")
    if not 0 <= value < actions:
        raise StateError(f"there is no action {value}")
    return int(value)


def require_finite(action: Any) -> None:
    """Refuse an action with a number that is none, or that is infinite.

    The state that it leads to would be saved, and gone back to.
    """
    real = isinstance(action, np.ndarray) and action.dtype.kind == "f"
    if real and not np.isfinite(action).all():
        raise UsageError(
            f"an action is made of finite numbers, not {action.tolist()}: the agent that chose it "
            "may have diverged"
        )


def ids(space: gymnasium.Space) -> int | None:
    """Return how many different observations there are where they are 0, 1, …, else None.

    Numbers that begin elsewhere are refused, since they would be taken for others.
    """
    if isinstance(space, gymnasium.spaces.Discrete) and space.start != 0:
        raise UsageError(
            f"observations of {space} begin at {space.start}: let them begin at 0, with "
            "gymnasium.wrappers.TransformObservation"
        )
    return count(space)


def count(space: gymnasium.Space) -> int | None:
    """Return how many elements a space has where they are numbered, else None."""
    return int(space.n) if isinstance(space, gymnasium.spaces.Discrete) else None


def outside(space: gymnasium.Space, observation: Any) -> str:
    """Return how an observation differs from what its space promises, or nothing if it does not.

    Bounds of a Box are not looked at, which many environments give roughly, nor is the precision
    of its numbers.
    """
    many = count(space)
    if many is not None:
        value = np.asarray(observation)
        if value.shape != () or value.dtype.kind not in "iu":
            return f"is {observation!r}, not one whole number"
        start = int(getattr(space, "start", 0))
        if not start <= value < start + many:
            return f"is {observation!r}, not a number from {start} to {start + many - 1}"
    elif isinstance(space, gymnasium.spaces.Box):
        shape, kind = np.shape(observation), getattr(observation, "dtype", None)
        if shape != space.shape:
            return f"has shape {shape}, not {space.shape}"
        kind = np.asarray(observation).dtype if kind is None else kind
        if not np.can_cast(kind, space.dtype, "same_kind") and kind != np.bool_:
            return f"is of {kind}, not of {space.dtype}"
    return ""


def _stored(kind: np.dtype) -> np.dtype:
    """Return what numbers of a type are stored as: a type that JAX has, too, as it is set up."""
    if kind == np.bool_:
        return np.dtype(np.uint8)
    return np.dtype(np.float32) if kind.itemsize > 4 else kind


def channel_axis(space: gymnasium.Space) -> int | None:
    """Return which axis of an observation tells the channels of an image, None if it is none.

    Images are bytes with three axes, and the channels come last, as in pictures, unless the first
    axis is the shortest, as in stacks of frames.
    """
    if space.dtype != np.uint8 or len(space.shape or ()) != 3:
        return None
    stacked, *others = space.shape or ()
    return 0 if isinstance(space, Frames) or stacked < min(others) else 2


class Frames(gymnasium.spaces.Box):
    """Stacks of images, uint8 [K, H, W]: a step drops the first and adds one at the end.

    Other images, also those whose last axis is their colours, have nothing to do with one another.
    """

    def __init__(self, shape: tuple[int, int, int]):
        super().__init__(0, 255, shape, np.uint8)

    def __repr__(self) -> str:
        """Return another word than that of an equal Box."""
        return f"Frames{self.shape}"
