"""Cells: observations made so coarse that visits to them can be counted (Sec. 4 of the paper)."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np

from uflp.types import UsageError

SIDE = 12
LEVELS = 8


def cell(frame: np.ndarray) -> np.ndarray:
    """Return the cell of an image: means over a 12 × 12 grid, rounded down to 8 levels.

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
    """Return a 64-bit number that stands for a cell; equal cells have equal numbers.

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
    """Return what sums rows [12, H] and columns [W, 12], and what a level takes [12, 12]."""
    rows, columns = _blocks(height), _blocks(width).T
    areas = rows.sum(axis=1)[:, None] * columns.sum(axis=0)
    return rows, columns, areas * np.float32(256 / LEVELS)


def _blocks(size: int) -> np.ndarray:
    """Return 0/1 rows [12, size], each of which marks one twelfth of a side."""
    marks = np.zeros((SIDE, size), np.float32)
    for row, block in enumerate(np.array_split(np.arange(size), SIDE)):
        marks[row, block] = 1
    return marks


CellOf = Callable[[np.ndarray], bytes]
"""Returns the name of the cell that an observation lies in."""

_BINS = 20
"""Intervals that a real number is cut into, unless a setting says otherwise."""

_HASH_BITS = 64
"""Projections of a hash, likewise."""

NAME_LENGTH = 8
"""Bytes of a name: all have this length, and by it they travel between processes."""

_FEW = 8
_LONG = 4096
_UNBOUNDED = 1e6


def make_cells(
    space: gymnasium.spaces.Box, bins: int | None, bits: int | None, seed: int
) -> CellOf:
    """Return how to find an observation's cell; equal settings give equal names.

    Images have the paper's cells; of a stack, the latest image decides. Vectors of whole numbers,
    such as what a grid shows, are told apart exactly unless `bins` or `bits` is given: their bounds
    say little of the values that occur. Longer ones than 4,096 are rather flattened images.

    Up to eight real numbers are each cut into intervals of equal length. More would leave every
    observation in a cell of its own, so they are hashed by the signs of random projections, which
    near observations have in common (SimHash, Charikar 2002; for counting, Tang et al. 2017).

    A number with bounds is scaled by them; one without is first squashed by the arc tangent, which
    tells values around 1 apart and lumps together those beyond 10.

    Args:
        space: of the observations.
        bins: intervals a number; None means 20 of real numbers.
        bits: projections of a hash; None means 64 of real numbers.
        seed: of the projections.
    """
    if _has_images(space):
        return _cell_of_image
    few = np.prod(space.shape) <= _FEW
    if (bins if few else bits) is None and has_whole_numbers(space):
        return _exactly
    low, high = space.low.astype(np.float64), space.high.astype(np.float64)
    unbounded = (low < -_UNBOUNDED) | (high > _UNBOUNDED)
    low, high = np.where(unbounded, -np.pi / 2, low), np.where(unbounded, np.pi / 2, high)
    any_unbounded = bool(unbounded.any())
    all_unbounded = bool(unbounded.all())

    def squashed(observation: np.ndarray) -> np.ndarray:
        if all_unbounded:
            return np.arctan(observation)
        return np.where(unbounded, np.arctan(observation), observation)

    if few:
        # A little less, so that the upper bound itself falls into the last interval.
        scale = ((bins or _BINS) - 1e-6) / np.maximum(high - low, np.finfo(np.float64).tiny)

        def interval(observation: np.ndarray) -> bytes:
            return _name(((observation - low) * scale).astype(np.int32).tobytes())

        return (lambda observation: interval(squashed(observation))) if any_unbounded else interval

    largest = np.maximum(np.maximum(np.abs(low), np.abs(high)), np.finfo(np.float64).tiny)
    projections = np.random.default_rng(seed).normal(size=(low.size, bits or _HASH_BITS))
    projections /= largest.reshape(-1, 1)

    def hashed(observation: np.ndarray) -> bytes:
        return _name(np.packbits(squashed(observation).ravel() @ projections > 0).tobytes())

    return hashed


def has_whole_numbers(space: gymnasium.Space) -> bool:
    """Return whether observations are vectors of whole numbers, and no images."""
    return (
        isinstance(space, gymnasium.spaces.Box)
        and bool(np.issubdtype(space.dtype, np.integer))
        and int(np.prod(space.shape)) <= _LONG
        and not _has_images(space)
    )


def cells_of_entries(
    space: gymnasium.spaces.Box,
    entries: tuple[int, ...] | None,
    size: float | None,
    cells: Callable[[gymnasium.spaces.Box], CellOf],
) -> CellOf:
    """Return how to find an observation's cell by some of its numbers.

    Args:
        space: of the observations.
        entries: places of these numbers in the flat observation; None means all.
        size: width of a cell in each of them; None leaves the cells to `cells`.
        cells: gives the cells of a space of these numbers alone.
    """
    count = int(np.prod(space.shape))
    chosen = np.arange(count) if entries is None else np.array(entries)
    if chosen.max() >= count:
        raise UsageError(
            f"cells names the number at place {chosen.max()}, and an observation has places 0 to "
            f"{count - 1}"
        )
    if size is not None:

        def cut(observation: np.ndarray) -> bytes:
            numbers = np.reshape(observation, -1)[chosen].astype(np.float64)
            # Wherever numbers lie beyond what 64 bits can count, they share a cell.
            steps = np.clip(np.floor(numbers / size), -(2.0**62), 2.0**62)
            return _name(steps.astype(np.int64).tobytes())

        return cut
    low, high = (bound.reshape(-1)[chosen] for bound in (space.low, space.high))
    of_part = cells(gymnasium.spaces.Box(low, high, dtype=space.dtype.type))
    return lambda observation: of_part(np.reshape(observation, -1)[chosen])


class SeenCells:
    """The different cells that observations of a space lay in, as `counts` would tell them apart.

    Attributes:
        numbers: one for each cell.
    """

    def __init__(self, space: gymnasium.Space):
        """Make an empty set; of a space that is no Box and no Discrete, nothing is counted."""
        self.numbers: set[int] = set()
        self._cell_of: CellOf | None = None
        if isinstance(space, gymnasium.spaces.Box):
            self._cell_of = make_cells(space, None, None, seed=0)
        self.counted = isinstance(space, gymnasium.spaces.Box | gymnasium.spaces.Discrete)

    def add(self, observation: Any) -> None:
        """Note an observation."""
        if self._cell_of is not None:
            number = int.from_bytes(self._cell_of(observation), "little", signed=True)
            self.numbers.add(number)
        elif self.counted:
            self.numbers.add(int(observation))


def _has_images(space: gymnasium.spaces.Box) -> bool:
    """Return whether observations are images, or stacks of images whose last is the latest."""
    return space.dtype == np.uint8 and len(space.shape) in (2, 3) and min(space.shape[-2:]) >= SIDE


def _cell_of_image(observation: np.ndarray) -> bytes:
    return cell_id(observation).to_bytes(NAME_LENGTH, "little", signed=True)


def _exactly(observation: np.ndarray) -> bytes:
    # Equal numbers have equal names, of whatever width they come.
    return _name(np.asarray(observation, np.int64).tobytes())


def _name(cell: bytes) -> bytes:
    """Return what stands for a cell of any length."""
    if len(cell) == NAME_LENGTH:
        return cell
    return hashlib.blake2b(cell, digest_size=NAME_LENGTH).digest()
