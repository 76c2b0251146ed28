"""What runs recorded of their exploration: maps over time, and a sheet of restarted images."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np

from uflp.report.elements import embedded
from uflp.report.explored import animation, last_frame, stills
from uflp.report.groups import Group
from uflp.report.looks import labels, short
from uflp.report.runs import RunRecord, Skipped
from uflp.training.exploration_log import (
    Exploration,
    Explored,
    RestartGallery,
    Sheet,
    read_explored,
    read_sheet,
)

T = TypeVar("T")


class Finds(NamedTuple):
    """For groups that have one, a run and its record.

    Attributes:
        explored: visits and restarts on a map.
        sheets: images that were restarted from.
    """

    explored: Mapping[Group, tuple[RunRecord, Explored]]
    sheets: Mapping[Group, tuple[RunRecord, Sheet]]


def read_finds(groups: Sequence[Group], skipped: list[Skipped]) -> Finds:
    """Reads the records of one run of each group, the first that has one; names damaged ones."""

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

    return Finds(read(Exploration.file, read_explored), read(RestartGallery.file, read_sheet))


def exploration(groups: Sequence[Group], finds: Finds) -> str:
    """Returns where the groups' runs have been, as HTML; nothing where no run tells."""
    cards = [
        _explored(f"{label}, seed {run.seed}", explored)
        for label, (run, explored) in _named(groups, finds.explored)
    ]
    note = """Brighter means more, on a logarithmic scale. In the animations, white dots are
restarts, and the bar below is time."""
    return _block("Exploration", note, "explored", cards)


def sheets(groups: Sequence[Group], finds: Finds) -> str:
    """Returns the images that were restarted from most, as HTML; nothing where no run has any."""
    cards = [
        _sheet(f"{label}, seed {run.seed}", sheet)
        for label, (run, sheet) in _named(groups, finds.sheets)
    ]
    note = """The first image of each cell that a rollout restarted from, by the number of
restarts from its cell, with the screen score there."""
    return _block("Most restarted", note, "sheets", cards)


def _block(title: str, note: str, kind: str, cards: Sequence[str]) -> str:
    """Returns cards under a heading and a note; nothing if there are none."""
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


def _sheet(label: str, sheet: Sheet) -> str:
    height, width = sheet.frames.shape[1:]
    figures = ""
    for number, (frame, restarts, score) in enumerate(
        zip(sheet.frames, sheet.restarts, sheet.screen_scores, strict=True), start=1
    ):
        alt = f"Image {number} that {label} restarted from, {restarts} times"
        figures += (
            f'<figure><img width="{width}" height="{height}" alt="{escape(alt)}" '
            f'src="{embedded(_png(frame), "png")}">'
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


def _explored(label: str, explored: Explored) -> str:
    pictures = stills(explored)
    last = pictures[-1]
    restarts = int(explored.restarts.sum())
    height, width = explored.visits.shape[1:]
    size = f'width="{width}" height="{height}"'
    unit = f"{explored.unit}{'' if last.cells == 1 else 's'}"
    told = f"{label}: {last.cells:,} {unit} visited in {last.queries:,} queries"
    told += f", {restarts:,} restarts" if restarts else ", no restarts"
    strips = [("visits", [still.visits for still in pictures])]
    if restarts:
        strips.append(("restarts", [still.restarts or b"" for still in pictures]))
    rows = ""
    for kind, images in strips:
        cells = "".join(
            f'<figure><img {size} src="{embedded(image, "png")}" '
            f'alt="{escape(f"{kind.capitalize()} of {label}")} after {still.queries:,} queries">'
            f"<figcaption>{still.queries:,}</figcaption></figure>"
            for still, image in zip(pictures, images, strict=True)
        )
        rows += f'<p class="kind">{kind} after … queries</p><div class="strip">{cells}</div>'
    return f"""<article class="card wide">
<h4>{escape(label)}</h4>
<p>{escape(told.removeprefix(f"{label}: ").capitalize())}.</p>
<picture><source media="(prefers-reduced-motion: reduce)"
srcset="{embedded(last_frame(explored), "png")}"><img class="film" {size}
src="{embedded(animation(explored), "gif")}" alt="{escape(f"Animation of {told}")}"></picture>
{rows}
<p class="kind">{escape(_axes(explored))}</p>
</article>"""


def _axes(explored: Explored) -> str:
    (down, across), ((top, bottom), (left, right)) = explored.axes, explored.edges.tolist()
    return f"Down: {down}, {top:.3g} to {bottom:.3g}. Across: {across}, {left:.3g} to {right:.3g}."
