"""What an observation space means for those who store and compare observations."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from uflp.types import UsageError


def layout(space: gymnasium.Space) -> tuple[tuple[int, ...], np.dtype]:
    """Return the shape and type in which one observation is stored."""
    if ids(space) is not None:
        return (), np.dtype(np.int32)
    if isinstance(space, gymnasium.spaces.Box):
        return space.shape, _stored(np.dtype(space.dtype))
    raise UsageError(f"observations of {space} cannot be learned from: use a Box or a Discrete")


def actions(space: gymnasium.Space) -> int:
    """Return how many actions there are where they are 0, 1, …, and refuse others."""
    if isinstance(space, gymnasium.spaces.Discrete) and space.start == 0:
        return int(space.n)
    raise UsageError(
        f"these agents choose among numbered actions, and there are {space}: bring an agent of "
        "your own to uflp.LocalAccess, where counts, covariance and rnd score states alone"
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
