"""Cells: near observations of a Box share one, so that visits can be counted (Sec. 4)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import gymnasium
import numpy as np

from uflp.cells import SIDE, cell_id

CellOf = Callable[[np.ndarray], bytes]
"""Returns the name of the cell that an observation lies in."""

NAME_LENGTH = 8
"""Bytes of a name: all have this length, and by it they travel between processes."""

_FEW = 8
_UNBOUNDED = 1e6


def make_cells(space: gymnasium.spaces.Box, bins: int, bits: int, seed: int) -> CellOf:
    """Returns how to find an observation's cell; equal settings give equal names.

    Images have the paper's cells; of a stack, the latest image decides. Up to eight numbers are
    each cut into intervals of equal length. More would leave every observation in a cell of its
    own, so they are hashed by the signs of random projections, which near observations have in
    common (SimHash, Charikar 2002; for counting, Tang et al. 2017).

    A number with bounds is scaled by them; one without is first squashed by the arc tangent, which
    tells values around 1 apart and lumps together those beyond 10.

    Args:
        space: of the observations.
        bins: intervals a number.
        bits: projections of a hash.
        seed: of the projections.
    """
    if _has_images(space):
        return _cell_of_image
    low, high = space.low.astype(np.float64), space.high.astype(np.float64)
    unbounded = (low < -_UNBOUNDED) | (high > _UNBOUNDED)
    low, high = np.where(unbounded, -np.pi / 2, low), np.where(unbounded, np.pi / 2, high)
    any_unbounded = bool(unbounded.any())

    def squashed(observation: np.ndarray) -> np.ndarray:
        return np.where(unbounded, np.arctan(observation), observation)

    if low.size <= _FEW:
        # A little less, so that the upper bound itself falls into the last interval.
        scale = (bins - 1e-6) / np.maximum(high - low, np.finfo(np.float64).tiny)

        def interval(observation: np.ndarray) -> bytes:
            return _name(((observation - low) * scale).astype(np.int32).tobytes())

        return (lambda observation: interval(squashed(observation))) if any_unbounded else interval

    largest = np.maximum(np.maximum(np.abs(low), np.abs(high)), np.finfo(np.float64).tiny)
    projections = np.random.default_rng(seed).normal(size=(low.size, bits))
    projections /= largest.reshape(-1, 1)

    def hashed(observation: np.ndarray) -> bytes:
        return _name(np.packbits(squashed(observation).ravel() @ projections > 0).tobytes())

    return hashed


def _has_images(space: gymnasium.spaces.Box) -> bool:
    """Returns whether observations are images, or stacks of images whose last is the latest."""
    return space.dtype == np.uint8 and len(space.shape) in (2, 3) and min(space.shape[-2:]) >= SIDE


def _cell_of_image(observation: np.ndarray) -> bytes:
    return cell_id(observation).to_bytes(NAME_LENGTH, "little", signed=True)


def _name(cell: bytes) -> bytes:
    """Returns what stands for a cell of any length."""
    if len(cell) == NAME_LENGTH:
        return cell
    return hashlib.blake2b(cell, digest_size=NAME_LENGTH).digest()
