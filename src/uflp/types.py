"""The few records that cross rooms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Action = int | np.ndarray
"""The number of an action, or a float32 vector where actions are real-valued."""


class UsageError(ValueError):
    """The user asked for something that cannot be done; the message is one clear sentence.

    The command line prints it and exits with code 2, having written nothing.
    """


class RunError(RuntimeError):
    """A run cannot go on; the message says where and when that was, and what is saved.

    The command line prints it and exits with code 1.
    """


class Snapshot(NamedTuple):
    """Everything that decides a simulator's future from one state, and the observation there.

    Attributes:
        simulator: stamp of the simulator that wrote it: kind, settings, layout, version. Only a
            simulator with an equal stamp restores it.
        data: the encoded state. Plain bytes: immutable, portable between processes, and never
            executed when read. (Simulators that can only be copied in memory, which say so by
            `portable`, put an object here, which must stay in its process.)
        screen_score: unclipped reward summed from the initial state up to this one, across
            restarts.
    """

    simulator: str
    data: Any
    screen_score: float


class Transition(NamedTuple):
    """One query of a training simulator.

    Attributes:
        observation: what the agent saw.
        action: what it did.
        reward: what the simulator gave for it.
        next_observation: what it saw then.
        terminated: the task ended here; there is no value beyond.
        truncated: the rollout ended here, the task did not; values bootstrap through.
        intrinsic: what is added to the reward when learning.
        next_mask: which actions were allowed then, bool [A]; None where all are, or none is left.
    """

    observation: Any
    action: Action
    reward: float
    next_observation: Any
    terminated: bool
    truncated: bool
    intrinsic: float = 0.0
    next_mask: Any = None


def error_text(error: BaseException | None, show: Callable[[Any], str] = repr) -> str:
    """Return the text of an error of anybody's code, whose own text may fail, too."""
    try:
        return show(error)
    except (Exception, SystemExit):
        return f"{type(error).__name__} (without a text: that of the error fails)"


def name_and_text(error: BaseException) -> str:
    """Return the name of an error of anybody's code, and its text."""
    return error_text(error, lambda one: f"{type(one).__name__}: {one}")


def at_least_1(name: str, value: int, most: int) -> None:
    """Refuse a number that is not at least 1, or so large that nobody can mean it."""
    if value < 1:
        raise UsageError(f"{name} must be at least 1, not {value}")
    if value > most:
        raise UsageError(f"{name} must be at most {most:,}, not {value}")


class Batch(NamedTuple):
    """Transitions that an agent learns from, as NumPy or JAX arrays of equal length.

    Attributes:
        observation: [B, ...].
        action: int32 [B], or float32 [B, ...] where actions are real-valued.
        reward: float32 [B]; for agents that learn from returns, the return.
        discount: float32 [B]; what multiplies the value of `next_observation`, 0 at a terminal.
        next_observation: [B, ...].
        next_mask: uint8 [B, A], 0 for each action that is not allowed there; None if all always
            are.
    """

    observation: Any
    action: Any
    reward: Any
    discount: Any
    next_observation: Any
    next_mask: Any = None
