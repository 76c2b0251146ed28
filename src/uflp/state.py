"""What a part of a run gives to be saved, and takes to go on as if it had never stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np

State = dict[str, Any]
"""Values by name: None, numbers, strings, bytes, arrays, `Rows`, and lists and dicts of these."""

_BLOCK_BYTES = 1 << 26


class StateError(ValueError):
    """A state does not belong to the part that it was given to."""


class Stateful(Protocol):
    """A part that can be saved; its settings are not saved, it is made from them again."""

    def state(self) -> State:
        """Returns all that has changed since the part was made; arrays may be views."""

    def load(self, state: State) -> None:
        """Takes such a state, into a part that was just made from equal settings."""


class Block(NamedTuple):
    """The rows from number `first` up to `stop`, as columns by name."""

    first: int
    stop: int
    columns: dict[str, np.ndarray]


class Rows(NamedTuple):
    """Rows of a buffer that only ever adds at one end and drops at the other.

    Rows never change once they are there, so a checkpoint writes only those that are new.

    Attributes:
        name: of the buffer, different for each buffer of a run.
        first: number of the oldest row, counted from the first ever added.
        stop: number of the row after the newest.
        blocks: yields the rows up to `stop` in order, from a given number or from some before it.
    """

    name: str
    first: int
    stop: int
    blocks: Callable[[int], Iterator[Block]]


def spans(first: int, stop: int, row_bytes: int) -> Iterator[np.ndarray]:
    """Yields the numbers from `first` to `stop` in pieces that a block may hold."""
    step = max(1, _BLOCK_BYTES // max(1, row_bytes))
    for start in range(first, stop, step):
        yield np.arange(start, min(start + step, stop))


def number(state: State, name: str) -> int:
    """Returns a whole number that is not negative."""
    value = state[name]
    if type(value) is not int or value < 0:
        raise StateError(f"{name} is {value!r}")
    return value


def array(value: Any, like: np.ndarray, name: str = "an array") -> np.ndarray:
    """Returns an array that may be written, if it has the shape and type of another."""
    if not isinstance(value, np.ndarray):
        raise StateError(f"{name} is a {type(value).__name__}, not an array")
    if (value.shape, value.dtype) != (like.shape, like.dtype):
        found, wanted = (f"{one.dtype}{list(one.shape)}" for one in (value, like))
        raise StateError(f"{name} is {found}, not {wanted}")
    return np.array(value)
