"""Moving pictures: of an episode, and of the frames of a game."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from uflp.arguments import argument
from uflp.files import replacing
from uflp.types import UsageError, name_and_text

if TYPE_CHECKING:
    from PIL.Image import Image

SUFFIXES = (".gif", ".webp", ".png")
_FRAMES = 400
_MILLISECONDS = 40
_ATARI_PIXEL = (2, 1)
"""Width and height at which a pixel of the Atari is shown: its pixels are not square."""


def check_video(path: Path) -> None:
    """Refuse a file that could not be written as a moving picture."""
    if path.suffix.lower() not in SUFFIXES:
        raise UsageError(f"a video ends in {', '.join(SUFFIXES)}, and {path} does not")


def write_video(path: Path, images: Sequence[Image], milliseconds: int) -> None:
    """Write pictures, in one piece, as a file that shows them again and again.

    Args:
        path: of the file; its suffix says of which kind.
        images: in order.
        milliseconds: how long each is shown.
    """
    first, *others = images
    kind = path.suffix.removeprefix(".").upper()
    times = {"duration": milliseconds, "loop": 0}
    try:
        with replacing(path) as file:
            first.save(file, kind, save_all=True, append_images=others, **times)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}") from error


class Recorder:
    """Recorder of pictures; of a long episode it keeps every second one, or fourth, and so on.

    Attributes:
        frames: pictures, uint8 [H, W, 3] each.
    """

    def __init__(self) -> None:
        self.frames: list[np.ndarray] = []
        self._states = 0
        self._period = 1

    def __call__(self, simulator: Any) -> None:
        """Take a picture of a simulator."""
        if self._states % self._period == 0:
            self.frames.append(_picture(simulator))
        self._states += 1
        if len(self.frames) > _FRAMES:
            self.frames = self.frames[::2]
            self._period *= 2

    def write(self, path: Path) -> None:
        """Write the pictures into one file."""
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
    except Exception as error:  # drawing is anybody's code, and may need a screen
        why = " ".join(name_and_text(error).split()).rstrip(".")
        raise UsageError(
            f"this simulator cannot draw pictures here: {why}{_way_to_a_screen()}"
        ) from error
    if not isinstance(picture, np.ndarray) or picture.dtype != np.uint8 or picture.ndim != 3:
        raise UsageError(f"this simulator draws no pictures: leave out {argument('video')}")
    return picture


def _way_to_a_screen() -> str:
    """Return what MuJoCo asks for where there is no screen, else nothing."""
    if "mujoco" not in sys.modules or "MUJOCO_GL" in os.environ or os.environ.get("DISPLAY"):
        return ""
    return "; where there is no screen, set MUJOCO_GL=egl, which MuJoCo reads when it starts"


def check_film(path: Path) -> None:
    """Refuse a file that could not be written, before what it is to show has been played."""
    check_video(path)
    if path.is_dir():
        raise UsageError(f"{path} is a folder: name a file")
    if not path.parent.is_dir():
        raise UsageError(f"{path} cannot be written: there is no folder {path.parent}")


def write_film(path: Path, screens: Iterable[np.ndarray], seconds: float) -> int:
    """Write screens, uint8 [H, W, 3], as a film that repeats, and return their number.

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
        size = (_ATARI_PIXEL[0] * width, _ATARI_PIXEL[1] * height)
        images.append(image.resize(size, Image.Resampling.NEAREST))
    write_video(path, images, round(1000 * seconds))
    return len(images)
