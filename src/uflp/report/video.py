"""An episode as a moving picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from uflp.files import replacing
from uflp.types import UsageError

if TYPE_CHECKING:
    from PIL.Image import Image

SUFFIXES = (".gif", ".webp", ".png")
_FRAMES = 400
_MILLISECONDS = 40


def check_video(path: Path) -> None:
    """Refuses a file that could not be written as a moving picture."""
    if path.suffix.lower() not in SUFFIXES:
        raise UsageError(f"a video ends in {', '.join(SUFFIXES)}, and {path} does not")


def write_video(path: Path, images: Sequence[Image], milliseconds: int) -> None:
    """Writes pictures, in one piece, as a file that shows them again and again.

    Args:
        path: of the file; its suffix says of which kind.
        images: in order.
        milliseconds: how long each is shown.
    """
    first, *others = images
    kind = path.suffix.removeprefix(".").upper()
    times = {"duration": milliseconds, "loop": 0}
    try:
        with replacing(path) as temporary, temporary.open("wb") as file:
            first.save(file, kind, save_all=True, append_images=others, **times)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}") from error


class Recorder:
    """Collects pictures of a simulator; of a long episode, every second one, or fourth, and so on.

    Attributes:
        frames: pictures, uint8 [H, W, 3] each.
    """

    def __init__(self) -> None:
        self.frames: list[np.ndarray] = []
        self._states = 0
        self._period = 1

    def __call__(self, simulator: Any) -> None:
        """Looks at a simulator."""
        if self._states % self._period == 0:
            self.frames.append(_picture(simulator))
        self._states += 1
        if len(self.frames) > _FRAMES:
            self.frames = self.frames[::2]
            self._period *= 2

    def write(self, path: Path) -> None:
        """Writes the pictures into one file."""
        from PIL import Image

        check_video(path)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"{path} cannot be written: {error.strerror or error}") from error
        write_video(path, [Image.fromarray(frame) for frame in self.frames], _MILLISECONDS)


def _picture(simulator: Any) -> np.ndarray:
    try:
        picture = simulator.render()
    except NotImplementedError:
        picture = None
    if not isinstance(picture, np.ndarray) or picture.dtype != np.uint8 or picture.ndim != 3:
        raise UsageError(f"{simulator.stamp.split()[0]} has no picture to show: leave out --video")
    return picture
