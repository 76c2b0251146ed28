"""A replay for images and stacks of images: each frame is stored once, compressed."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import gymnasium
import numpy as np

from uflp.replay.transitions import Replay, drawn, layout_of_row
from uflp.spaces import Actions, Frames, channel_axis
from uflp.state import Block, Rows, State, StateError, spans, whole_numbers
from uflp.types import Action, UsageError

_LEVEL = 1
_LARGE = 4096
"""Bytes of an image from which on it is worth compressing, and storing once."""
# What the places of one frame take beside its data: a bytes object, and its slot in the table.
_OBJECT = 100


class Stack(NamedTuple):
    """An observation whose frames are stored.

    Attributes:
        frames: number of each frame, in order.
        latest: the last frame itself, uint8.
    """

    frames: tuple[int, ...]
    latest: np.ndarray


class FrameReplay:
    """A ring of learning rows that name their frames, sampled uniformly with replacement.

    An observation is `keep`t once, which stores the frames that are new. Frames are named by
    explicit numbers, since a restart breaks any order that they might have. A frame leaves with the
    last row that can name it.

    Attributes:
        row: the layout of a row of a sample, with the columns of a `Batch`.
        added: rows so far, also those that were overwritten.
    """

    def __init__(
        self,
        space: gymnasium.Space,
        capacity: int,
        masked: int = 0,
        recent: int = 0,
        dictionary: bytes = b"",
    ):
        """Make an empty replay.

        Args:
            space: `Frames`, or a Box of uint8 whose observations are one frame each.
            capacity: rows; the oldest is overwritten when all are in use.
            masked: A, the actions that a mask speaks of; 0 keeps no masks.
            recent: rows of each sample that are the most recent.
            dictionary: a frame that most look like, as those have it who compress them elsewhere;
                the first one that shows something if none is given.
        """
        if capacity < 1:
            raise UsageError(f"a replay needs room for at least 1 row, not {capacity}")
        self.row = layout_of_row(space, masked)
        self._stack, *self._image = frames_of(space)
        self._rows = np.zeros(capacity, naming_row(self._stack, masked))
        self._recent = recent
        self.added = 0
        self._frames: dict[int, bytes] = {}
        self._oldest = self._next = 0
        self._dictionary = dictionary
        self._compressed = 0

    def __len__(self) -> int:
        return min(self.added, len(self._rows))

    @property
    def nbytes(self) -> int:
        """Bytes held for the rows in use and their frames."""
        return len(self) * self._rows.itemsize + self._compressed + _OBJECT * len(self._frames)

    def keep(self, observation: np.ndarray, after: Stack | None) -> Stack:
        """Store what is new of an observation, and return what to call it by.

        Args:
            observation: uint8, of the replay's space.
            after: the observation one query before; None at the beginning of a rollout.
        """
        observation = observation.reshape(self._stack, *self._image)
        if after is None:
            return Stack(tuple(self._store(frame) for frame in observation), observation[-1])
        latest = observation[-1]
        same = np.array_equal(latest, after.latest)
        return Stack((*after.frames[1:], after.frames[-1] if same else self._store(latest)), latest)

    def add(
        self,
        observation: Stack,
        action: Action,
        reward: float,
        discount: float,
        next_observation: Stack,
        next_mask: np.ndarray | None = None,
    ) -> None:
        """Add one row; see `Batch` for what the columns mean, and `Replay.add` for masks."""
        mask = 0 if next_mask is None else next_mask
        row = (observation.frames, action, reward, discount, next_observation.frames, mask)
        self._rows[self.added % len(self._rows)] = row
        self._count()

    def extend(self, rows: bytes, frames: Sequence[bytes]) -> None:
        """Add rows and the frames that they name, which `squeezed` has compressed.

        Args:
            rows: as `naming_row` lays them out; frames are numbered from 0, in the order in which
                rows name them.
            frames: every frame that is named.
        """
        start = self._next
        for frame in frames:
            self._put(frame)
        new: np.ndarray = np.frombuffer(rows, self._rows.dtype).copy()
        for column in ("observation", "next_observation"):
            new[column] += start
        last = self.added + len(new)
        new = new[-len(self._rows) :]
        self._rows[np.arange(last - len(new), last) % len(self._rows)] = new
        self._count(last - self.added)

    def name(self, kept: Stack) -> np.ndarray:
        """Return a kept observation as a checkpoint holds it: the numbers of its frames."""
        return np.array(kept.frames)

    def named(self, name: np.ndarray) -> Stack:
        """Return the kept observation that a checkpoint held."""
        frames = tuple(name.tolist())
        return Stack(frames, self._fetch(frames[-1]))

    def sample(self, uniforms: np.ndarray) -> np.ndarray:
        """Draw one row for each of some numbers in [0, 1), as uint32 [B, words of a row]."""
        rows = self._rows[drawn(uniforms, self.added, len(self._rows), self._recent)]
        sample = np.zeros(len(rows), self.row)
        for column in ("action", "reward", "discount", "next_mask"):
            if column in sample.dtype.names:
                sample[column] = rows[column]
        for column in ("observation", "next_observation"):
            numbers, places = np.unique(rows[column], return_inverse=True)
            frames = np.stack([self._fetch(number) for number in numbers.tolist()])
            sample[column] = frames[places].reshape(sample[column].shape)
        return sample.view(np.uint32).reshape(len(rows), -1)

    def state(self) -> State:
        """Return the rows and the frames."""
        return {
            "dictionary": self._dictionary,
            "rows": Rows("replay", self.added - len(self), self.added, self._row_blocks),
            "frames": Rows("frames", self._oldest, self._next, self._frame_blocks),
        }

    def load(self, state: State) -> None:
        """Take the rows and the frames of an equal replay."""
        self._dictionary = state["dictionary"]
        if type(self._dictionary) is not bytes:
            raise StateError("the dictionary of the frames is not bytes")
        rows: Rows = state["rows"]
        for first, stop, columns in rows.blocks(rows.first):
            layout = (stop - first, self._rows.itemsize)
            if columns["rows"].shape != layout or columns["rows"].dtype != np.uint8:
                raise StateError("the rows of the replay have another layout")
            places = np.arange(first, stop) % len(self._rows)
            self._rows[places] = np.ascontiguousarray(columns["rows"]).view(self._rows.dtype)[:, 0]
        self.added = rows.stop
        frames: Rows = state["frames"]
        for first, stop, columns in frames.blocks(frames.first):
            data = columns["data"].tobytes()
            ends = np.cumsum(whole_numbers(columns, "sizes", most=len(data))).tolist()
            if len(ends) != stop - first or ends[-1] != len(data):
                raise StateError("the frames of the replay are incomplete")
            for place, (start, end) in enumerate(pairwise([0, *ends])):
                if first + place >= frames.first:
                    self._frames[first + place] = data[start:end]
        self._oldest, self._next = frames.first, frames.stop
        named = self._rows[np.arange(self.added - len(self), self.added) % len(self._rows)]
        for column in ("observation", "next_observation"):
            if (
                len(named)
                and not self._oldest <= named[column].min() <= named[column].max() < self._next
            ):
                raise StateError("a row of the replay names a frame that is not there")
        self._compressed = sum(map(len, self._frames.values()))

    def _row_blocks(self, first: int) -> Iterator[Block]:
        for numbers in spans(first, self.added, self._rows.itemsize):
            rows = self._rows[numbers % len(self._rows)]
            raw = rows.view(np.uint8).reshape(len(rows), -1)
            yield Block(int(numbers[0]), int(numbers[-1]) + 1, {"rows": raw})

    def _frame_blocks(self, first: int) -> Iterator[Block]:
        for numbers in spans(first, self._next, self._compressed // max(1, len(self._frames))):
            data = [self._frames[number] for number in numbers.tolist()]
            columns: dict[str, np.ndarray] = {
                "sizes": np.array([len(frame) for frame in data], np.int64),
                "data": np.frombuffer(b"".join(data), np.uint8),
            }
            yield Block(int(numbers[0]), int(numbers[-1]) + 1, columns)

    def _store(self, frame: np.ndarray) -> int:
        """Return the number of a new frame."""
        if not self._dictionary and frame.any():
            # The first frame that shows something: most of a game looks a little like it.
            self._dictionary = frame.tobytes()
        return self._put(squeezed(frame, self._dictionary))

    def _put(self, data: bytes) -> int:
        self._frames[self._next] = data
        self._compressed += len(data)
        self._next += 1
        return self._next - 1

    def _fetch(self, number: int) -> np.ndarray:
        data = expanded(self._frames[number], self._dictionary)
        return np.frombuffer(data, np.uint8).reshape(self._image)

    def _count(self, rows: int = 1) -> None:
        """Record new rows, and forget the frames that only those before them named."""
        self.added += rows
        if self.added > len(self._rows):
            self._forget(int(self._rows["observation"][self.added % len(self._rows)].min()))

    def _forget(self, oldest: int) -> None:
        """Drop all frames before one that is still named."""
        for number in range(self._oldest, oldest):
            self._compressed -= len(self._frames.pop(number))
        self._oldest = max(self._oldest, oldest)


_LARGEST_FRAME = 1 << 26
"""Bytes that a damaged frame could ask for at most."""


def squeezed(frame: np.ndarray, dictionary: bytes) -> bytes:
    """Return a frame as a replay holds it."""
    squeeze = zlib.compressobj(_LEVEL, zdict=dictionary)
    return squeeze.compress(frame.tobytes()) + squeeze.flush()


def expanded(data: bytes, dictionary: bytes) -> bytes:
    """Return the bytes of a frame that `squeezed` has compressed."""
    return zlib.decompressobj(zdict=dictionary).decompress(data, _LARGEST_FRAME)


def replay_of(
    space: gymnasium.Space,
    capacity: int,
    *,
    masked: int = 0,
    recent: int = 0,
    dictionary: bytes = b"",
    actions: Actions = 1,
) -> Replay | FrameReplay:
    """Make an empty replay that suits observations and actions; see `FrameReplay`, `Replay`."""
    if has_frames(space):
        return FrameReplay(space, capacity, masked, recent, dictionary)
    return Replay(space, capacity, masked, recent, actions)


def has_frames(space: gymnasium.Space) -> bool:
    """Return whether observations are best stored frame by frame: stacks, and large images."""
    large = channel_axis(space) is not None and np.prod(space.shape or ()) >= _LARGE
    return bool(large) or isinstance(space, Frames)


def frames_of(space: gymnasium.Space) -> tuple[int, ...]:
    """Return the shape of an observation as K frames, [K, ...]."""
    assert space.shape is not None
    return space.shape if isinstance(space, Frames) else (1, *space.shape)


def naming_row(stack: int, masked: int) -> np.dtype:
    """Return the columns of a row that names its frames, `stack` of them an observation."""
    named = np.dtype((np.int64, (stack,)))
    return np.dtype(
        [
            *(("observation", named), ("action", np.int32), ("reward", np.float32)),
            *(("discount", np.float32), ("next_observation", named)),
            ("next_mask", np.uint8, (masked,)),
        ]
    )
