"""The section on exploration: maps over time, and the images that were restarted from most.

A cell of a map is a pixel, or a square of pixels in an animation; pages scale them up. The colours
have a dark ground of their own, so that the pictures look alike on light and dark pages.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from uflp.report.formatting import short
from uflp.report.groups import Group
from uflp.report.runs import RunRecord, Skipped
from uflp.report.style import labels
from uflp.training.exploration_log import (
    Exploration,
    Explored,
    RestartGallery,
    Sheet,
    read_explored,
    read_sheet,
)

if TYPE_CHECKING:
    from PIL import Image

T = TypeVar("T")

STILLS = 4
"""Number of times in a run that are drawn."""

_FRAME_MILLISECONDS, _LAST_MILLISECONDS = 350, 2000
_ANIMATION_WIDTH = 240
_GROUND, _RESTART = 0, 255


class Records(NamedTuple):
    """Records of exploration, for the groups that have one: a run and its record.

    Attributes:
        explored: visits and restarts on a map.
        sheets: images that were restarted from.
    """

    explored: Mapping[Group, tuple[RunRecord, Explored]]
    sheets: Mapping[Group, tuple[RunRecord, Sheet]]


def read_records(groups: Sequence[Group], skipped: list[Skipped]) -> Records:
    """Read the records of one run of each group, the first that has one.

    Args:
        groups: of runs.
        skipped: where records that cannot be read are added.
    """

    def read(name: str, read_one: Callable[[Path], T]) -> dict[Group, tuple[RunRecord, T]]:
        found: dict[Group, tuple[RunRecord, T]] = {}
        for group in groups:
            for run in group.runs:
                path = run.path / name
                if group in found or not path.is_file():
                    continue
                try:
                    found[group] = run, read_one(path)
                except (OSError, ValueError) as error:
                    skipped.append(Skipped(path, f"it cannot be read and is not drawn: {error}"))
        return found

    return Records(read(Exploration.file, read_explored), read(RestartGallery.file, read_sheet))


def exploration_maps(groups: Sequence[Group], records: Records) -> str:
    """Return where the groups' runs have been, as HTML; nothing where no run tells."""
    cards = [
        _map_card(f"{label}, seed {run.seed}", explored)
        for label, (run, explored) in _named(groups, records.explored)
    ]
    note = """Brighter means more, on a logarithmic scale. In the animations, white dots are
restarts, and the bar below is time."""
    return _block("Exploration", note, "explored", cards)


def restarted_images(groups: Sequence[Group], records: Records) -> str:
    """Return the images that were restarted from most, as HTML; nothing where no run has any."""
    cards = [
        _image_card(f"{label}, seed {run.seed}", sheet)
        for label, (run, sheet) in _named(groups, records.sheets)
    ]
    note = """The first image of each cell that a rollout restarted from, by the number of
restarts from its cell, with the screen score there."""
    return _block("Most restarted", note, "sheets", cards)


def _block(title: str, note: str, kind: str, cards: Sequence[str]) -> str:
    """Return cards under a heading and a note; nothing if there are none."""
    if not cards:
        return ""
    return f"""<h3>{title}</h3>
<p class="faint">{note}</p>
<div class="{kind}">{"".join(cards)}</div>"""


def _named(
    groups: Sequence[Group], found: Mapping[Group, tuple[RunRecord, T]]
) -> list[tuple[str, tuple[RunRecord, T]]]:
    named = zip(labels(groups), groups, strict=True)
    return [(label, found[group]) for label, group in named if group in found]


def _image_card(label: str, sheet: Sheet) -> str:
    height, width = sheet.frames.shape[1:]
    figures = ""
    for number, (frame, restarts, score) in enumerate(
        zip(sheet.frames, sheet.restarts, sheet.screen_scores, strict=True), start=1
    ):
        alt = f"Image {number} that {label} restarted from, {restarts} times"
        figures += (
            f'<figure><img width="{width}" height="{height}" alt="{escape(alt)}" '
            f'src="{_embedded(_png(frame), "png")}">'
            f"<figcaption>{restarts:,} ×, score {escape(short(score))}</figcaption></figure>"
        )
    return f"""<article class="card wide">
<h4>{escape(label)}</h4>
<div class="sheet">{figures}</div>
</article>"""


def _png(frame: np.ndarray) -> bytes:
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(frame).save(file, format="PNG", optimize=True)
    return file.getvalue()


def _map_card(label: str, explored: Explored) -> str:
    pictures = stills(explored)
    last = pictures[-1]
    restarts = int(explored.restarts.sum())
    height, width = explored.visits.shape[1:]
    size = f'width="{width}" height="{height}"'
    unit = f"{explored.unit}{'' if last.cells == 1 else 's'}"
    text = f"{label}: {last.cells:,} {unit} visited in {last.queries:,} queries"
    text += f", {restarts:,} restarts" if restarts else ", no restarts"
    strips = [("visits", [still.visits for still in pictures])]
    if restarts:
        strips.append(("restarts", [still.restarts or b"" for still in pictures]))
    rows = ""
    for kind, images in strips:
        cells = "".join(
            f'<figure><img {size} src="{_embedded(image, "png")}" '
            f'alt="{escape(f"{kind.capitalize()} of {label}")} after {still.queries:,} queries">'
            f"<figcaption>{still.queries:,}</figcaption></figure>"
            for still, image in zip(pictures, images, strict=True)
        )
        rows += f'<p class="kind">{kind} after … queries</p><div class="strip">{cells}</div>'
    return f"""<article class="card wide">
<h4>{escape(label)}</h4>
<p>{escape(text.removeprefix(f"{label}: ").capitalize())}.</p>
<picture><source media="(prefers-reduced-motion: reduce)"
srcset="{_embedded(last_frame(explored), "png")}"><img class="film" {size}
src="{_embedded(animation(explored), "gif")}" alt="{escape(f"Animation of {text}")}"></picture>
{rows}
<p class="kind">{escape(_axes(explored))}</p>
</article>"""


def _axes(explored: Explored) -> str:
    (down, across), ((top, bottom), (left, right)) = explored.axes, explored.edges.tolist()
    return f"Down: {down}, {top:.3g} to {bottom:.3g}. Across: {across}, {left:.3g} to {right:.3g}."


def _embedded(data: bytes, kind: str) -> str:
    """Return a picture, `png` or `gif`, as an address that holds it."""
    return f"data:image/{kind};base64,{base64.b64encode(data).decode()}"


class Still(NamedTuple):
    """Pictures of what had been explored after some queries.

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
    """Return pictures of all visits and of all restarts, at a few evenly spaced times."""
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
    """Return a GIF of the visits so far, the restarts of each slice of time as white dots.

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
    """Return all visits as a PNG, for readers who want nothing to move."""
    visits = explored.visits.sum(axis=0, dtype=np.int64)
    return _image(_levels(visits, visits.max()), "visits")


def _cumulative(grids: np.ndarray) -> np.ndarray:
    return np.cumsum(grids, axis=0, dtype=np.int64)


def _levels(counts: np.ndarray, largest: int) -> np.ndarray:
    """Return colours 1 to 254 by the logarithm of the counts, and the ground for no count."""
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
    """Return 256 colours, three bytes each: ground, a scale from few to many, white."""
    from matplotlib import colormaps

    scale = {"visits": ("viridis", 0.15, 0.88), "restarts": ("inferno", 0.3, 0.95)}
    name, low, high = scale[kind]
    colours = colormaps[name](np.linspace(low, high, 254))[:, :3]
    ground, white = [[16 / 255, 20 / 255, 28 / 255]], [[1, 1, 1]]
    return (np.concatenate([ground, colours, white]) * 255).round().astype(int).ravel().tolist()
