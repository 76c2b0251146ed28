"""The inverse of a growing covariance matrix, kept up to date by rank-one corrections."""

from __future__ import annotations

import numpy as np
from scipy.linalg import blas

from uflp.state import State, StateError, array, number

PENDING = 64


class InverseCovariance:
    """Φ⁻¹ for Φ = Φ₀ + Σ x xᵀ, by the Sherman–Morrison formula, in float64.

    Writing each correction into the matrix would sweep all of it twice a query. The latest ones
    wait as columns instead, Φ⁻¹ = base − U Uᵀ, and go in together as one matrix product once U is
    full. Only the lower triangle of `base` is kept.
    """

    def __init__(self, start: np.ndarray):
        """Takes Φ₀⁻¹, symmetric [n, n]."""
        size = len(start)
        self._base = np.array(start, np.float64, order="F")  # a copy: it is overwritten
        self._columns = np.zeros((size, PENDING), order="F")
        self._pending = 0

    def row(self, index: int) -> np.ndarray:
        """Returns row `index` of Φ⁻¹: its product with a one-hot vector."""
        base = self._base
        row = np.concatenate([base[index, :index], base[index:, index]])
        if self._pending:
            columns = self._columns[:, : self._pending]
            row -= columns @ columns[index]
        return row

    def times(self, vectors: np.ndarray) -> np.ndarray:
        """Returns Φ⁻¹x for one vector [n], or for each column of [n, B]."""
        multiply = blas.dsymv if vectors.ndim == 1 else blas.dsymm
        product = multiply(1.0, self._base, vectors, lower=1)
        columns = self._columns[:, : self._pending]
        return product - columns @ (columns.T @ vectors)

    def add(self, product: np.ndarray, gain: float) -> None:
        """Adds x xᵀ to Φ, given Φ⁻¹x (`product`) and xᵀΦ⁻¹x (`gain`)."""
        self._columns[:, self._pending] = product / np.sqrt(1 + gain)
        self._pending += 1
        if self._pending == PENDING:
            self._base = blas.dsyrk(
                -1.0, self._columns, beta=1.0, c=self._base, lower=1, overwrite_c=1
            )
            self._pending = 0

    def state(self) -> State:
        """Returns the matrix and the corrections that wait, each transposed: as they lie."""
        return {
            "base": self._base.T,
            "columns": self._columns.T,
            "pending": self._pending,
        }

    def load(self, state: State) -> None:
        """Takes the matrix and the corrections of one of equal size."""
        self._base = array(state["base"], self._base.T, "base").T
        self._columns = array(state["columns"], self._columns.T, "columns").T
        self._pending = number(state, "pending")
        if self._pending >= PENDING:
            raise StateError(f"{self._pending} corrections wait where {PENDING - 1} can")
