"""Pictures of exploration: where a run made its queries and where it restarted, over time.

A cell of the grid is a pixel, or a square of pixels in an animation; pages scale them up. The
colours have a dark ground of their own, so that the pictures look alike on light and dark pages.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from uflp.training.exploration_log import Explored

if TYPE_CHECKING:
    from PIL import Image

STILLS = 4
"""How many times of a run are drawn."""

_FRAME_MILLISECONDS, _LAST_MILLISECONDS = 350, 2000
_ANIMATION_WIDTH = 240
_GROUND, _RESTART = 0, 255


class Still(NamedTuple):
    """What had been explored after some queries.

    Attributes:
        queries: made so far.
        cells: visited so far.
        visits: PNG.
        restarts: PNG, None where there were none in the whole run.
    """

    queries: int
    cells: int
    visits: bytes
    restarts: bytes | None


def stills(explored: Explored) -> list[Still]:
    """Returns pictures of all visits and of all restarts, at a few evenly spaced times."""
    slices = len(explored.queries)
    chosen = np.unique(np.ceil(np.linspace(slices / STILLS, slices, STILLS)).astype(int)) - 1
    visits, restarts = (_cumulative(grids) for grids in (explored.visits, explored.restarts))
    return [
        Still(
            int(explored.queries[n]),
            int((visits[n] > 0).sum()),
            _image(_levels(visits[n], visits.max()), "visits"),
            _image(_levels(restarts[n], restarts.max()), "restarts") if restarts.any() else None,
        )
        for n in chosen
    ]


def animation(explored: Explored) -> bytes:
    """Returns a GIF of the visits so far, the restarts of each slice of time as white dots.

    A bar along the lower edge shows how much of the run has passed.
    """
    visits = _cumulative(explored.visits)
    side = max(3, _ANIMATION_WIDTH // visits.shape[2])
    frames = []
    for n, restarts in enumerate(explored.restarts):
        frame = np.kron(_levels(visits[n], visits.max()), np.ones((side, side), np.uint8))
        dot = slice(side // 3, side - side // 3)
        for row, column in np.argwhere(restarts):
            square = frame[row * side : (row + 1) * side, column * side : (column + 1) * side]
            square[dot, dot] = _RESTART
        bar = np.full((6, frame.shape[1]), _GROUND, np.uint8)
        passed = explored.queries[n] / explored.queries[-1]
        bar[2:, : round(passed * frame.shape[1])] = _RESTART - 1
        frames.append(np.concatenate([frame, bar]))
    pictures = [_picture(frame, "visits") for frame in frames]
    file = io.BytesIO()
    durations = [_FRAME_MILLISECONDS] * (len(frames) - 1) + [_LAST_MILLISECONDS]
    pictures[0].save(
        file,
        format="GIF",
        save_all=True,
        append_images=pictures[1:],
        duration=durations,
        loop=0,
        optimize=False,
    )
    return file.getvalue()


def last_frame(explored: Explored) -> bytes:
    """Returns all visits as a PNG, for readers who want nothing to move."""
    visits = explored.visits.sum(axis=0, dtype=np.int64)
    return _image(_levels(visits, visits.max()), "visits")


def _cumulative(grids: np.ndarray) -> np.ndarray:
    return np.cumsum(grids, axis=0, dtype=np.int64)


def _levels(counts: np.ndarray, largest: int) -> np.ndarray:
    """Returns colours 1 to 254 by the logarithm of the counts, and the ground for no count."""
    share = np.log1p(counts) / np.log1p(max(1, largest))
    return np.where(counts > 0, 1 + np.round(253 * share), _GROUND).astype(np.uint8)


def _image(levels: np.ndarray, kind: str) -> bytes:
    file = io.BytesIO()
    _picture(levels, kind).save(file, format="PNG", optimize=True)
    return file.getvalue()


def _picture(levels: np.ndarray, kind: str) -> Image.Image:
    from PIL import Image

    height, width = levels.shape
    picture = Image.frombytes("P", (width, height), levels.tobytes())
    picture.putpalette(_palette(kind))
    return picture


def _palette(kind: str) -> Sequence[int]:
    """Returns 256 colours, three bytes each: ground, a scale from few to many, white."""
    from matplotlib import colormaps

    scale = {"visits": ("viridis", 0.15, 0.88), "restarts": ("inferno", 0.3, 0.95)}
    name, low, high = scale[kind]
    colours = colormaps[name](np.linspace(low, high, 254))[:, :3]
    ground, white = [[16 / 255, 20 / 255, 28 / 255]], [[1, 1, 1]]
    return (np.concatenate([ground, colours, white]) * 255).round().astype(int).ravel().tolist()
