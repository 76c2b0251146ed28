"""Rows on their way to a replay elsewhere: a batch of them at a time, compressed."""

from __future__ import annotations

import zlib
from typing import Any, NamedTuple

import gymnasium
import numpy as np

from uflp.replay.frames import (
    FrameReplay,
    expanded,
    frames_of,
    has_frames,
    naming_row,
    squeezed,
)
from uflp.replay.transitions import Replay, Whole, layout_of_row
from uflp.spaces import Actions
from uflp.types import Action

_LEVEL = 1


class Parcel(NamedTuple):
    """Rows that belong together, complete in themselves.

    Attributes:
        size: how many rows there are.
        rows: all of them, compressed.
        frames: those that the rows name, each compressed; none where rows hold observations.
    """

    size: int
    rows: bytes
    frames: list[bytes]

    @property
    def nbytes(self) -> int:
        """Bytes that travel."""
        return len(self.rows) + sum(map(len, self.frames))


class Outbox(Whole):
    """Stand-in for a `Replay` in another process."""

    def __init__(self, space: gymnasium.Space, masked: int, actions: Actions = 1):
        self.row = layout_of_row(space, masked, actions)
        self._masked = masked > 0
        self._rows: list[tuple[Any, ...]] = []

    def add(
        self,
        observation: Any,
        action: Action,
        reward: float,
        discount: float,
        next_observation: Any,
        next_mask: np.ndarray | None = None,
        /,
    ) -> None:
        """Add one row; see `Replay.add`."""
        mask = (0 if next_mask is None else next_mask,) if self._masked else ()
        self._rows.append((observation, action, reward, discount, next_observation, *mask))

    def pack(self) -> Parcel:
        """Return the rows since the last parcel."""
        rows = np.zeros(len(self._rows), self.row)
        for place, row in enumerate(self._rows):
            rows[place] = row
        self._rows.clear()
        return Parcel(len(rows), zlib.compress(rows.tobytes(), _LEVEL), [])


class Squeezed(NamedTuple):
    """An observation whose frames are compressed.

    Attributes:
        frames: the frames in order; one that several observations share is one object.
        latest: the last frame itself, uint8 [H, W].
    """

    frames: tuple[bytes, ...]
    latest: np.ndarray


class FrameOutbox:
    """Stand-in for a `FrameReplay` in another process.

    A frame is compressed here, once, and stays so until it is sampled.
    """

    def __init__(self, space: gymnasium.Space, masked: int, dictionary: bytes):
        self.row = layout_of_row(space, masked)
        self._shape = frames_of(space)
        self._layout = naming_row(self._shape[0], masked)
        self._dictionary = dictionary
        self._rows: list[tuple[Squeezed, Action, float, float, Squeezed, Any]] = []

    def keep(self, observation: np.ndarray, after: Squeezed | None) -> Squeezed:
        """Compress what is new of an observation, given the one a query before it."""
        observation = observation.reshape(self._shape)
        latest = observation[-1]
        if after is None:
            return Squeezed(tuple(map(self._squeezed, observation)), latest)
        same = np.array_equal(latest, after.latest)
        new = after.frames[-1] if same else self._squeezed(latest)
        return Squeezed((*after.frames[1:], new), latest)

    def add(
        self,
        observation: Squeezed,
        action: Action,
        reward: float,
        discount: float,
        next_observation: Squeezed,
        next_mask: np.ndarray | None = None,
        /,
    ) -> None:
        """Add one row; see `Replay.add`."""
        mask = 0 if next_mask is None else next_mask
        self._rows.append((observation, action, reward, discount, next_observation, mask))

    def name(self, kept: Squeezed) -> np.ndarray:
        """Return a kept observation as a checkpoint holds it: its images."""
        frames = [expanded(frame, self._dictionary) for frame in kept.frames]
        return np.frombuffer(b"".join(frames), np.uint8).reshape(-1, *kept.latest.shape)

    def named(self, name: np.ndarray) -> Squeezed:
        """Return the kept observation that a checkpoint held."""
        return self.keep(name, None)

    def pack(self) -> Parcel:
        """Return the rows since the last parcel, with every frame that they name."""
        places: dict[int, int] = {}
        frames: list[bytes] = []

        def numbers(stack: Squeezed) -> list[int]:
            for frame in stack.frames:
                if id(frame) not in places:
                    places[id(frame)] = len(frames)
                    frames.append(frame)
            return [places[id(frame)] for frame in stack.frames]

        rows = np.zeros(len(self._rows), self._layout)
        for place, (observation, *numbered, next_observation, mask) in enumerate(self._rows):
            rows[place] = (numbers(observation), *numbered, numbers(next_observation), mask)
        self._rows.clear()
        return Parcel(len(rows), zlib.compress(rows.tobytes(), _LEVEL), frames)

    def _squeezed(self, frame: np.ndarray) -> bytes:
        return squeezed(frame, self._dictionary)


def make_outbox(
    space: gymnasium.Space, masked: int, dictionary: bytes, actions: Actions = 1
) -> Outbox | FrameOutbox:
    """Return the outbox for the replay that suits observations and actions; see `FrameReplay`."""
    if has_frames(space):
        return FrameOutbox(space, masked, dictionary)
    return Outbox(space, masked, actions)


def unpack(parcel: Parcel, replay: Replay | FrameReplay) -> None:
    """Add the rows of a parcel to a replay."""
    rows = zlib.decompress(parcel.rows)
    if isinstance(replay, FrameReplay):
        replay.extend(rows, parcel.frames)
    else:
        replay.extend(rows)
