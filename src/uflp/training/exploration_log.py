"""The exploration log: an observer of where a run has been, and of where it restarted.

It keeps up to two records, which pages show: visits and restarts over time on the grid that the
simulator offers, and images that were restarted from most often.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from uflp.arrays import read_arrays, write_arrays
from uflp.cells import cell_id
from uflp.planning import Observer, Start
from uflp.simulators.base import Simulator
from uflp.simulators.projection import Projection
from uflp.spaces import Frames
from uflp.state import State, StateError, array, finite, number, whole_numbers
from uflp.types import Transition


class ExplorationObserver(Observer, ABC):
    """Follows a simulator through its rollouts.

    Attributes:
        pictured: whether there is a projection to draw places by.
        frames: whether observations are images.
    """

    def __init__(self, simulator: Simulator):
        self.pictured = simulator.projection is not None
        self.frames = isinstance(simulator.observation_space, Frames)
        self._simulator = simulator
        self._place: Any = None

    @abstractmethod
    def visit(self, place: Any) -> None:
        """Record a query made at a place, where there is a projection."""

    @abstractmethod
    def restart(self, place: Any, observation: Any, screen_score: float) -> None:
        """Record a restart.

        Args:
            place: where, None without a projection.
            observation: what is seen there.
            screen_score: there.
        """

    def began(self, start: Start, observation: Any, queries: int) -> None:
        """Note where a rollout begins."""
        if self.pictured:
            self._place = self._simulator.place(observation)
        if start.entry is not None:
            self.restart(self._place, observation, self._simulator.screen_score)

    def stepped(self, transition: Transition, queries: int) -> None:
        """Note a query at the present place, and the place that it leads to."""
        if self.pictured:
            self.visit(self._place)
            self._place = self._simulator.place(transition.next_observation)

    def state(self) -> State:
        """Return the present place."""
        return {"place": self._place}

    def load(self, state: State) -> None:
        """Take the place where an equal simulator was."""
        self._place = state["place"]


class ExplorationLog(ExplorationObserver):
    """Keeps the records that a simulator allows.

    Attributes:
        exploration: visits and restarts over time, None without a projection.
        restarted: images that were restarted from, None where observations are none.
    """

    def __init__(self, simulator: Simulator):
        super().__init__(simulator)
        projection = simulator.projection
        self.exploration = None if projection is None else Exploration(projection)
        self.restarted = RestartGallery() if self.frames else None

    @property
    def records(self) -> list[Exploration | RestartGallery]:
        """The records that go into a run folder."""
        return [record for record in (self.exploration, self.restarted) if record is not None]

    def visit(self, place: Any) -> None:
        """Record a query made at a place."""
        assert self.exploration is not None
        self.exploration.visit(place)

    def restart(self, place: Any, observation: Any, screen_score: float) -> None:
        """Record a restart."""
        if self.exploration is not None:
            self.exploration.restart(place)
        if self.restarted is not None:
            self.restarted.restart(observation, screen_score)

    def evaluated(self, queries: int) -> None:
        """End an evaluation period, after so many queries."""
        if self.exploration is not None:
            self.exploration.evaluated(queries)

    def state(self) -> State:
        """Return the records so far."""
        return {**super().state(), "records": [record.state() for record in self.records]}

    def load(self, state: State) -> None:
        """Take the records of an equal run."""
        super().load(state)
        for record, saved in zip(self.records, state["records"], strict=True):
            record.load(saved)


SLICES = 16
"""Most slices of time that a record has: a longer run has longer slices."""

_PENDING = 4096
_LARGEST = 1 << 26
"""Bytes that the record of a run may have."""


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
        """Record a query made at a place."""
        self._visited.append(place)
        if len(self._visited) == _PENDING:
            self._count()

    def restart(self, place: Any) -> None:
        """Record a restart at a place."""
        self._restarted.append(place)

    def evaluated(self, queries: int) -> None:
        """End an evaluation period, after so many queries."""
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
        """Return what was counted up to the last evaluation."""
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
        """Write the record."""
        write_arrays(path, self.explored()._asdict())

    def state(self) -> State:
        """Return the counts so far."""
        self._count()
        return {
            "counts": self._counts,
            "ends": self._ends,
            "slice": self._slice,
            "periods": self._periods,
            "passed": self._passed,
        }

    def load(self, state: State) -> None:
        """Take the counts of an equal run."""
        self._counts = array(state["counts"], self._counts)
        self._ends = array(state["ends"], self._ends)
        self._slice = number(state, "slice", SLICES - 1)
        self._periods = max(1, number(state, "periods"))
        self._passed = number(state, "passed", self._periods - 1)

    def _count(self) -> None:
        for row, pending in enumerate((self._visited, self._restarted)):
            if pending:
                cells = self._projection.cells(np.array(pending))
                counts = self._counts[self._slice, row]
                counts += np.bincount(cells, minlength=len(counts)).astype(np.uint32)
                pending.clear()

    def _join(self) -> None:
        """Make one slice of every two."""
        half = SLICES // 2
        self._counts[:half] = self._counts[::2] + self._counts[1::2]
        self._counts[half:] = 0
        self._ends[:half] = self._ends[1::2]
        self._slice, self._periods = half, 2 * self._periods


def read_explored(path: Path) -> Explored:
    """Read a record; raise `ValueError` or `OSError` if it is none. Nothing in it is executed."""
    # Records of earlier versions have cells without a name.
    arrays = {"unit": np.array("cell"), **read_arrays(path, Explored._fields, _LARGEST)}
    if arrays.keys() != set(Explored._fields):
        raise ValueError(f"{path.name} is not a record of exploration")
    explored = Explored(**arrays)
    slices = (explored.queries.size, *explored.visits.shape[1:])
    if not (
        explored.queries.ndim == 1
        and explored.visits.ndim == 3
        and explored.visits.shape == explored.restarts.shape == slices
        and min(slices) > 0
        and explored.visits.dtype == explored.restarts.dtype == np.uint32
        and explored.axes.shape == (2,)
        and explored.edges.shape == (2, 2)
        and explored.unit.shape == ()
    ):
        raise ValueError(f"{path.name} is not a record of exploration")
    return explored


KEPT = 24
"""Most images that are kept."""

MOST_CELLS = 1 << 16
"""Cells that are counted at the same time; beyond, those restarted from least are forgotten."""


class Sheet(NamedTuple):
    """The record of a run, as `restarted.npz` holds it; most restarted first.

    Attributes:
        restarts: int64 [n], from any state of the image's cell.
        frames: uint8 [n, height, width], the first one of the cell that was restarted from.
        screen_scores: float64 [n], there.
    """

    restarts: np.ndarray
    frames: np.ndarray
    screen_scores: np.ndarray


class _Image(NamedTuple):
    frame: np.ndarray
    screen_score: float


class RestartGallery:
    """Counts restarts by cell, and keeps an image of each of the cells with most.

    A cell can only come to be among those at a restart from it, when its image is at hand; so few
    images are enough.
    """

    file = "restarted.npz"
    due = True

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}
        self._images: dict[int, _Image] = {}

    def restart(self, observation: np.ndarray, screen_score: float) -> None:
        """Record a restart at a stack of frames, the latest last."""
        cell = cell_id(observation)
        count = self._counts[cell] = self._counts.get(cell, 0) + 1
        if cell not in self._images and self._makes_room(count):
            self._images[cell] = _Image(observation[-1].copy(), screen_score)
        if len(self._counts) > MOST_CELLS:
            self._forget()

    def sheet(self) -> Sheet:
        """Return the images so far."""
        cells = sorted(self._images, key=self._counts.__getitem__, reverse=True)
        images = [self._images[cell] for cell in cells]
        return Sheet(
            np.array([self._counts[cell] for cell in cells], np.int64),
            np.array([image.frame for image in images], np.uint8),
            np.array([image.screen_score for image in images], np.float64),
        )

    def write(self, path: Path) -> None:
        """Write the record, if there is anything to show."""
        if self._images:
            write_arrays(path, self.sheet()._asdict())

    def state(self) -> State:
        """Return the counts and images, in the order in which they came to be kept."""
        images = list(self._images.values())
        return {
            "cells": np.array(list(self._counts), np.int64),
            "counts": np.array(list(self._counts.values()), np.int64),
            "kept": np.array(list(self._images), np.int64),
            "frames": np.array([image.frame for image in images], np.uint8),
            "screen_scores": np.array([image.screen_score for image in images], np.float64),
        }

    def load(self, state: State) -> None:
        """Take the counts and images of an equal run."""
        cells, kept_cells = (
            whole_numbers(state, name, least=-(2**63), most=2**63 - 1) for name in ("cells", "kept")
        )
        counts = zip(cells, whole_numbers(state, "counts", least=1), strict=True)
        frames, scores = state["frames"], state["screen_scores"]
        if len(kept_cells) > KEPT or len(cells) > MOST_CELLS:
            raise StateError("there are more images or cells than are kept")
        if kept_cells and (frames.ndim != 3 or frames.dtype != np.uint8):
            raise StateError("the images are not gray")
        kept = zip(kept_cells, frames, finite(scores, "screen_scores"), strict=True)
        self._counts = dict(counts)
        self._images = {cell: _Image(frame, float(score)) for cell, frame, score in kept}
        if not self._images.keys() <= self._counts.keys():
            raise StateError("there is an image of a cell that was not counted")

    def _makes_room(self, count: int) -> bool:
        """Return whether a count is among the highest; drop the image that it outdoes."""
        if len(self._images) < KEPT:
            return True
        least = min(self._images, key=self._counts.__getitem__)
        if self._counts[least] >= count:
            return False
        del self._images[least]
        return True

    def _forget(self) -> None:
        def rank(cell: int) -> tuple[bool, int]:
            return cell in self._images, self._counts[cell]

        kept = sorted(self._counts, key=rank, reverse=True)[: MOST_CELLS // 2]
        self._counts = {cell: self._counts[cell] for cell in kept}


def read_sheet(path: Path) -> Sheet:
    """Read a record; raise `ValueError` or `OSError` if it is none. Nothing in it is executed."""
    arrays = read_arrays(path, Sheet._fields, _LARGEST)
    if arrays.keys() != set(Sheet._fields):
        raise ValueError(f"{path.name} is not a contact sheet")
    sheet = Sheet(**arrays)
    if not (
        sheet.frames.ndim == 3
        and sheet.frames.dtype == np.uint8
        and sheet.restarts.shape == sheet.screen_scores.shape == sheet.frames.shape[:1]
        and min(sheet.frames.shape) > 0
        and sheet.restarts.dtype == np.int64
        and sheet.screen_scores.dtype == np.float64
    ):
        raise ValueError(f"{path.name} is not a contact sheet")
    return sheet
