"""Which images a run restarted from most often: a contact sheet."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from uflp.arrays import read_arrays, write_arrays
from uflp.cells import cell_id
from uflp.state import State, StateError

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


class Restarted:
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
        """Takes note of a restart at a stack of frames, the latest last."""
        cell = cell_id(observation)
        count = self._counts[cell] = self._counts.get(cell, 0) + 1
        if cell not in self._images and self._makes_room(count):
            self._images[cell] = _Image(observation[-1].copy(), screen_score)
        if len(self._counts) > MOST_CELLS:
            self._forget()

    def sheet(self) -> Sheet:
        """Returns the images so far."""
        cells = sorted(self._images, key=self._counts.__getitem__, reverse=True)
        images = [self._images[cell] for cell in cells]
        return Sheet(
            np.array([self._counts[cell] for cell in cells], np.int64),
            np.array([image.frame for image in images], np.uint8),
            np.array([image.screen_score for image in images], np.float64),
        )

    def write(self, path: Path) -> None:
        """Writes the record, if there is anything to show."""
        if self._images:
            write_arrays(path, self.sheet()._asdict())

    def state(self) -> State:
        """Returns the counts and images, in the order in which they came to be kept."""
        images = list(self._images.values())
        return {
            "cells": np.array(list(self._counts), np.int64),
            "counts": np.array(list(self._counts.values()), np.int64),
            "kept": np.array(list(self._images), np.int64),
            "frames": np.array([image.frame for image in images], np.uint8),
            "screen_scores": np.array([image.screen_score for image in images], np.float64),
        }

    def load(self, state: State) -> None:
        """Takes the counts and images of an equal run."""
        counts = zip(state["cells"].tolist(), state["counts"].tolist(), strict=True)
        kept = zip(state["kept"].tolist(), state["frames"], state["screen_scores"], strict=True)
        self._counts = dict(counts)
        self._images = {cell: _Image(frame, float(score)) for cell, frame, score in kept}
        if not self._images.keys() <= self._counts.keys():
            raise StateError("there is an image of a cell that was not counted")

    def _makes_room(self, count: int) -> bool:
        """Returns whether a count is among the highest; drops the image that it outdoes."""
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
    """Reads a record; raises `ValueError` or `OSError` if it is none. Nothing in it is executed."""
    arrays = read_arrays(path, Sheet._fields)
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
