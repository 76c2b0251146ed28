"""What a run explored: visits and restarts over time, on the grid that its simulator offers."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from uflp.arrays import read_arrays, write_arrays
from uflp.simulators.projection import Projection
from uflp.state import State, array, number

SLICES = 16
"""Most slices of time that a record has: a longer run has longer slices."""

_PENDING = 4096


class Explored(NamedTuple):
    """The record of a run, as `exploration.npz` holds it.

    Attributes:
        queries: int64 [T], at the end of each slice of time.
        visits: uint32 [T, rows, columns], queries made in each cell during the slice.
        restarts: uint32 [T, rows, columns], restarts from each cell during the slice.
        axes: str [2], what rows and columns are.
        edges: float64 [2, 2], values at the top and bottom, and at the left and right edge.
        unit: str [], what a cell is called.
    """

    queries: np.ndarray
    visits: np.ndarray
    restarts: np.ndarray
    axes: np.ndarray
    edges: np.ndarray
    unit: np.ndarray


class Exploration:
    """Counts where a run makes its queries, and where it restarts.

    Places are only put aside when they come, and counted together later. A slice spans one
    evaluation period at first. Whenever all slices are used, neighbours are joined, so that the
    record has the same size after any number of queries.
    """

    file = "exploration.npz"

    def __init__(self, projection: Projection):
        self._projection = projection
        rows, columns = projection.shape
        self._counts = np.zeros((SLICES, 2, rows * columns), np.uint32)
        self._ends = np.zeros(SLICES, np.int64)
        self._slice = 0  # The one that is being filled.
        self._periods = 1  # Evaluation periods to a slice.
        self._passed = 0  # How many of them the present slice has.
        self._visited: list[Any] = []
        self._restarted: list[Any] = []

    @property
    def due(self) -> bool:
        """Whether a slice has just been completed, so that it is time to write."""
        return self._passed == 0

    def visit(self, place: Any) -> None:
        """Takes note of a query made at a place."""
        self._visited.append(place)
        if len(self._visited) == _PENDING:
            self._count()

    def restart(self, place: Any) -> None:
        """Takes note of a restart at a place."""
        self._restarted.append(place)

    def evaluated(self, queries: int) -> None:
        """Ends an evaluation period, after so many queries."""
        self._count()
        self._ends[self._slice] = queries
        self._passed += 1
        if self._passed < self._periods:
            return
        self._passed = 0
        self._slice += 1
        if self._slice == SLICES:
            self._join()

    def explored(self) -> Explored:
        """Returns what was counted up to the last evaluation."""
        count = self._slice + (self._passed > 0)
        grids = self._counts[:count].reshape(count, 2, *self._projection.shape)
        return Explored(
            self._ends[:count],
            grids[:, 0],
            grids[:, 1],
            np.array(self._projection.axes),
            np.array(self._projection.edges, np.float64),
            np.array(self._projection.unit),
        )

    def write(self, path: Path) -> None:
        """Writes the record."""
        write_arrays(path, self.explored()._asdict())

    def state(self) -> State:
        """Returns the counts so far."""
        self._count()
        return {
            "counts": self._counts,
            "ends": self._ends,
            "slice": self._slice,
            "periods": self._periods,
            "passed": self._passed,
        }

    def load(self, state: State) -> None:
        """Takes the counts of an equal run."""
        self._counts = array(state["counts"], self._counts)
        self._ends = array(state["ends"], self._ends)
        self._slice = number(state, "slice")
        self._periods = number(state, "periods")
        self._passed = number(state, "passed")

    def _count(self) -> None:
        for row, pending in enumerate((self._visited, self._restarted)):
            if pending:
                cells = self._projection.cells(np.array(pending))
                counts = self._counts[self._slice, row]
                counts += np.bincount(cells, minlength=len(counts)).astype(np.uint32)
                pending.clear()

    def _join(self) -> None:
        """Makes one slice of every two."""
        half = SLICES // 2
        self._counts[:half] = self._counts[::2] + self._counts[1::2]
        self._counts[half:] = 0
        self._ends[:half] = self._ends[1::2]
        self._slice, self._periods = half, 2 * self._periods


def read_explored(path: Path) -> Explored:
    """Reads a record; raises `ValueError` or `OSError` if it is none. Nothing in it is executed."""
    # Records of earlier versions have cells without a name.
    arrays = {"unit": np.array("cell"), **read_arrays(path, Explored._fields)}
    if arrays.keys() != set(Explored._fields):
        raise ValueError(f"{path.name} is not a record of exploration")
    explored = Explored(**arrays)
    slices = (len(explored.queries), *explored.visits.shape[1:])
    if not (
        explored.visits.ndim == 3
        and explored.visits.shape == explored.restarts.shape == slices
        and min(slices) > 0
        and explored.visits.dtype == explored.restarts.dtype == np.uint32
        and explored.axes.shape == (2,)
        and explored.edges.shape == (2, 2)
        and explored.unit.shape == ()
    ):
        raise ValueError(f"{path.name} is not a record of exploration")
    return explored
