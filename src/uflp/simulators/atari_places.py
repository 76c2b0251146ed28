"""Where in a game the player is, for games whose memory tells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from uflp.simulators.projection import Projection


@dataclass(frozen=True)
class Places:
    """Numbered places of a game, and how they lie.

    Attributes:
        byte: of the console's memory, holds the number of the present place.
        unit: what a place is called.
        rows: numbers of the places from left to right, top row first; each row is centred.
    """

    byte: int
    unit: str
    rows: tuple[tuple[int, ...], ...]

    def projection(self) -> Projection:
        """Returns the places as a map; numbers that are not on it count in its first corner."""
        height, width = len(self.rows), max(map(len, self.rows))
        cells = np.zeros(256, np.int64)
        for row, places in enumerate(self.rows):
            first = row * width + (width - len(places)) // 2
            cells[list(places)] = first + np.arange(len(places))
        return Projection(
            axes=("floor", f"{self.unit} of the floor"),
            edges=((0, height), (0, width)),
            shape=(height, width),
            cells=lambda places: cells[places],
            unit=self.unit,
        )


PLACES: Mapping[str, Places] = {
    "montezuma-revenge": Places(
        byte=3,
        unit="room",
        rows=(tuple(range(3)), tuple(range(3, 8)), tuple(range(8, 15)), tuple(range(15, 24))),
    )
}
