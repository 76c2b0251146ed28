"""Cells: images made so coarse that they can be counted (Sec. 4 of the paper)."""

from __future__ import annotations

import functools
import hashlib

import numpy as np

SIDE = 12
LEVELS = 8


def cell(frame: np.ndarray) -> np.ndarray:
    """Returns the cell of an image: means over a 12 × 12 grid, rounded down to 8 levels.

    Args:
        frame: uint8 [H, W], at least 12 pixels high and wide.

    Returns:
        uint8 [12, 12], values 0 to 7.
    """
    rows, columns, areas = _grid(*frame.shape)
    # Sums of whole numbers below 2^24: exact, so that equal images share a cell on any machine.
    sums = rows @ frame.astype(np.float32) @ columns
    return (sums / areas).astype(np.uint8)


def cell_id(observation: np.ndarray) -> int:
    """Returns a 64-bit number that stands for a cell; equal cells have equal numbers.

    Args:
        observation: an image uint8 [H, W], or a stack [K, H, W] whose last image is the latest. One
            that cannot be written to is worked on once, though two may ask for it in turn.
    """
    if observation is _Latest.observation:
        return _Latest.number
    latest = observation if observation.ndim == 2 else observation[-1]
    digest = hashlib.blake2b(cell(latest).tobytes(), digest_size=8).digest()
    number = int.from_bytes(digest, "little", signed=True)
    if not observation.flags.writeable:
        _Latest.observation, _Latest.number = observation, number
    return number


class _Latest:
    """The observation that was asked for last, and its number."""

    observation: np.ndarray | None = None
    number = 0


@functools.lru_cache
def _grid(height: int, width: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns what sums rows [12, H] and columns [W, 12], and what a level takes [12, 12]."""
    rows, columns = _blocks(height), _blocks(width).T
    areas = rows.sum(axis=1)[:, None] * columns.sum(axis=0)
    return rows, columns, areas * np.float32(256 / LEVELS)


def _blocks(size: int) -> np.ndarray:
    """Returns 0/1 rows [12, size], each of which marks one twelfth of a side."""
    marks = np.zeros((SIDE, size), np.float32)
    for row, block in enumerate(np.array_split(np.arange(size), SIDE)):
        marks[row, block] = 1
    return marks
