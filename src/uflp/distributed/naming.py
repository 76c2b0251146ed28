"""What the keys of an uncertainty are called between processes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from uflp.uncertainty import Uncertainty
from uflp.uncertainty.counts import CellCounts


class Naming(Protocol):
    """Turns keys into names that mean the same everywhere, and back; both have the same shape."""

    def names(self, keys: Sequence[Any]) -> np.ndarray:
        """Returns the names of keys, [B, …]."""

    def keys(self, names: np.ndarray) -> np.ndarray:
        """Returns the keys that names stand for."""


class _Same:
    """Keys that are ids or observations are their own names."""

    def __init__(self, uncertainty: Uncertainty):
        # What is read from the snapshots need not be sent along with them.
        self._sent = uncertainty.key_shape is not None
        self._shape, self._dtype = uncertainty.key_shape or (), uncertainty.key_dtype

    def names(self, keys: Sequence[Any]) -> np.ndarray:
        """Returns the keys, or nothing of them where the history reads them itself."""
        if not self._sent:
            return np.zeros((len(keys), 0), self._dtype)
        return np.array(keys, self._dtype).reshape(len(keys), *self._shape)

    def keys(self, names: np.ndarray) -> np.ndarray:
        """Returns the names."""
        return names


class _Cells:
    """Cells are numbered as each actor comes upon them: their names travel."""

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
