"""The state of a part: saved with a run, and loaded to go on as if it had never stopped."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np

State = dict[str, Any]
"""Values by name: None, numbers, strings, bytes, arrays, `Rows`, and lists and dicts of these."""

LARGEST = 2**53
"""Of whole numbers: what counts queries, rows or steps stays far below."""

_BLOCK_BYTES = 1 << 26


class StateError(ValueError):
    """A state does not belong to the part that it was given to."""


class Stateful(Protocol):
    """A part that can be saved; its settings are not saved, it is made from them again."""

    def state(self) -> State:
        """Return all that has changed since the part was made; arrays may be views."""

    def load(self, state: State) -> None:
        """Take such a state, into a part that was just made from equal settings."""


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
    """Yield the numbers from `first` to `stop` in pieces that a block may hold."""
    step = max(1, _BLOCK_BYTES // max(1, row_bytes))
    for start in range(first, stop, step):
        yield np.arange(start, min(start + step, stop))


def number(state: State, name: str, most: int = LARGEST) -> int:
    """Return a whole number that is neither negative nor larger than `most`."""
    value = state[name]
    if type(value) is not int or not 0 <= value <= most:
        raise StateError(f"{name} is {value!r}, not a whole number from 0 to {most}")
    return value


def number_or_none(state: State, name: str, most: int = LARGEST) -> int | None:
    """Return such a number, or None."""
    return None if state[name] is None else number(state, name, most)


def real(state: State, name: str, least: float = -math.inf) -> float:
    """Return a finite number that is not below `least`."""
    value = state[name]
    if not isinstance(value, int | float | np.number) or not np.isrealobj(value):
        raise StateError(f"{name} is a {type(value).__name__}, not a number")
    if not math.isfinite(value) or value < least:
        raise StateError(f"{name} is {value}")
    return float(value)


def flag(state: State, name: str) -> bool:
    """Return what is true or false."""
    value = state[name]
    if not isinstance(value, bool | np.bool_):
        raise StateError(f"{name} is {value!r}, neither true nor false")
    return bool(value)


def finite(values: np.ndarray, name: str) -> np.ndarray:
    """Return an array of numbers, if each is finite."""
    if not np.isfinite(values).all():
        raise StateError(f"{name} has a number that is not finite")
    return values


def whole_numbers(state: State, name: str, least: int = 0, most: int = LARGEST) -> list[int]:
    """Return a row of whole numbers, each from `least` to `most`."""
    value = state[name]
    if not isinstance(value, np.ndarray) or value.ndim != 1 or value.dtype.kind not in "iu":
        raise StateError(f"{name} is not a row of whole numbers")
    if value.size and not least <= value.min() <= value.max() <= most:
        raise StateError(f"{name} has a number that is not from {least} to {most}")
    found: list[int] = value.tolist()
    return found


def array(value: Any, like: np.ndarray, name: str = "an array") -> np.ndarray:
    """Return an array that may be written, if it has the shape and type of another."""
    if not isinstance(value, np.ndarray):
        raise StateError(f"{name} is a {type(value).__name__}, not an array")
    if (value.shape, value.dtype) != (like.shape, like.dtype):
        found, wanted = (f"{one.dtype}{list(one.shape)}" for one in (value, like))
        raise StateError(f"{name} is {found}, not {wanted}")
    return np.array(value)
