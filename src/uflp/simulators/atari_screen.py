"""What an agent sees of an Atari game, as in Acme's `AtariWrapper`."""

from __future__ import annotations

from typing import Any

import numpy as np
from PIL import Image

SIDE = 84
STACKED = 4

# Acme's weights of red, green and blue.
_LUMINANCE = np.array([0.299, 0.587, 1 - (0.299 + 0.587)])


class Screen:
    """The last two frames of an emulator, pooled into one gray image of 84 × 84."""

    def __init__(self, emulator: Any):
        self._emulator = emulator
        height, width = emulator.getScreenDims()
        self._frames = np.zeros((2, height, width, 3), np.uint8)
        self._pooled = np.zeros((height, width, 3), np.uint8)
        self._caught = 0

    def begin(self) -> None:
        """Forgets the frames of the last step: pooling never reaches beyond one step."""
        self._caught = 0

    def catch(self) -> None:
        """Keeps the emulator's present frame."""
        self._emulator.getScreenRGB(self._frames[self._caught % 2])
        self._caught += 1

    def gray(self) -> np.ndarray:
        """Returns the maximum over what was caught last, gray, bilinear, uint8 [84, 84]."""
        first, second = self._frames if self._caught > 1 else self._frames[[0, 0]]
        np.maximum(first, second, out=self._pooled)
        gray = (self._pooled.reshape(-1, 3) @ _LUMINANCE).astype(np.uint8)
        image = Image.fromarray(gray.reshape(self._pooled.shape[:2]))
        return np.asarray(image.resize((SIDE, SIDE), Image.Resampling.BILINEAR))


def stacked(frame: np.ndarray) -> np.ndarray:
    """Returns the observation at a reset, uint8 [4, 84, 84]: one frame after three blank ones."""
    return pushed(np.zeros((STACKED, SIDE, SIDE), np.uint8), frame)


def pushed(observation: np.ndarray, frame: np.ndarray) -> np.ndarray:
    """Returns the observation that follows: the oldest frame leaves, the new one comes last.

    It cannot be written to, so that it can be handed out and kept at the same time.
    """
    following = np.concatenate([observation[1:], frame[None]])
    following.flags.writeable = False
    return following
