"""Two coordinates of what a simulator shows, in bins: where it has been, as a picture."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Projection:
    """Projection of a simulator's states onto the cells of a grid.

    Attributes:
        axes: what the rows and the columns of the grid are.
        edges: value at the (top, bottom) edge and at the (left, right) edge of the grid.
        shape: number of rows and of columns.
        cells: takes places [n, ...], which `Simulator.place` gave, and returns the cell of each,
            row · columns + column, int [n].
        unit: what a cell of the grid is called.
    """

    axes: tuple[str, str]
    edges: tuple[tuple[float, float], tuple[float, float]]
    shape: tuple[int, int]
    cells: Callable[[np.ndarray], np.ndarray]
    unit: str = "cell"


def bins(values: np.ndarray, first: float, last: float, count: int) -> np.ndarray:
    """Return which of `count` equal bins from one edge to the other each value falls in.

    Values beyond an edge count in the bin at that edge.
    """
    places = np.floor((values - first) * (count / (last - first)))
    return np.clip(places, 0, count - 1).astype(np.int64)
