"""Films of games."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from uflp.report.video import check_video, write_video
from uflp.types import UsageError

_PIXEL = (2, 1)
"""Width and height at which a pixel of the Atari is shown: its pixels are not square."""


def check_film(path: Path) -> None:
    """Refuses a file that could not be written, before what it is to show has been played."""
    check_video(path)
    if path.is_dir():
        raise UsageError(f"{path} is a folder: name a file")
    if not path.parent.is_dir():
        raise UsageError(f"{path} cannot be written: there is no folder {path.parent}")


def write_film(path: Path, screens: Iterable[np.ndarray], seconds: float) -> int:
    """Writes screens, uint8 [H, W, 3], as a film that repeats; returns how many there were.

    Args:
        path: of the file.
        screens: in order.
        seconds: how long each is shown.
    """
    from PIL import Image

    images = []
    for screen in screens:
        height, width = screen.shape[:2]
        image = Image.fromarray(screen).quantize(64, Image.Quantize.FASTOCTREE)
        size = (_PIXEL[0] * width, _PIXEL[1] * height)
        images.append(image.resize(size, Image.Resampling.NEAREST))
    write_video(path, images, round(1000 * seconds))
    return len(images)
