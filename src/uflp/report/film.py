"""Films of games."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

_PIXEL = (2, 1)
"""Width and height at which a pixel of the Atari is shown: its pixels are not square."""


def write_gif(path: Path, screens: Iterable[np.ndarray], seconds: float) -> int:
    """Writes screens, uint8 [H, W, 3], as a GIF that repeats; returns how many there were.

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
    first, *rest = images
    first.save(path, save_all=True, append_images=rest, duration=round(1000 * seconds), loop=0)
    return len(images)
