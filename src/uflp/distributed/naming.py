"""What the keys of an uncertainty are called between processes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from uflp.uncertainty import Uncertainty
from uflp.uncertainty.counts import CellCounts


class Naming(Protocol):
    """Turns keys into names that mean the same everywhere, and back.

    Attributes:
        key_shape: shape of a name.
        key_dtype: type of a name.
    """

    key_shape: tuple[int, ...]
    key_dtype: np.dtype

    def names(self, keys: Sequence[Any]) -> np.ndarray:
        """Returns the names of keys, [B, …]."""

    def keys(self, names: np.ndarray) -> np.ndarray:
        """Returns the keys that names stand for."""


class _Same:
    """Keys that are ids or observations are their own names."""

    def __init__(self, uncertainty: Uncertainty):
        self.key_shape, self.key_dtype = uncertainty.key_shape, uncertainty.key_dtype

    def names(self, keys: Sequence[Any]) -> np.ndarray:
        """Returns the keys."""
        return np.array(keys, self.key_dtype).reshape(len(keys), *self.key_shape)

    def keys(self, names: np.ndarray) -> np.ndarray:
        """Returns the names."""
        return names


class _Cells:
    """Cells are numbered as each actor comes upon them: their names travel."""

    key_shape = ()
    key_dtype = np.dtype(np.int64)

    def __init__(self, counts: CellCounts):
        self._counts = counts

    def names(self, keys: Sequence[int]) -> np.ndarray:
        """Returns the names of the cells with these numbers."""
        return self._counts.names(keys)

    def keys(self, names: np.ndarray) -> np.ndarray:
        """Returns the numbers that cells of these names have here."""
        return self._counts.numbers(names)


def naming_of(uncertainty: Uncertainty) -> Naming:
    """Returns how the keys of an uncertainty are called between processes."""
    return _Cells(uncertainty) if isinstance(uncertainty, CellCounts) else _Same(uncertainty)
