"""Atari snapshots as few bytes: what changed, compressed.

Raw, a snapshot has 36 KB: four frames of 7 KB, and an emulator state of 8 KB, most of it the same
throughout a game. Frames are written as differences to the one before, the emulator's state as the
difference to the initial one, and the game's first frame is the dictionary of the compression.
"""

from __future__ import annotations

import contextlib
import struct
import zlib
from typing import NamedTuple

import numpy as np

from uflp.simulators.atari_layout import Layout
from uflp.simulators.base import SnapshotError

SIDE = 84
"""Rows and columns of a frame."""

STACKED = 4
"""Frames of an observation."""

# Frames so far, last action executed, state and increment of the noise.
_HEADER = struct.Struct("<IB16s16s")
_SHAPE = (STACKED, SIDE, SIDE)
_IMAGES = STACKED * SIDE * SIDE
# Of zlib; higher ones take twice the time and spare a tenth.
_LEVEL = 3
# What a damaged length could ask for at most, in bytes.
_LARGEST = 1 << 20


class GameState(NamedTuple):
    """All that decides the future of a game, and what is seen of it.

    Attributes:
        frames: emulator frames since the initial state.
        action: the one executed last, which a sticky action repeats.
        noise: state and increment of the generator of sticky actions.
        emulator: the emulator's own serialised state.
        observation: uint8 [4, 84, 84], which cannot be written to.
    """

    frames: int
    action: int
    noise: tuple[int, int]
    emulator: bytes
    observation: np.ndarray


class Codec:
    """Packs states of one game, given its initial one.

    Attributes:
        start: checksum of the initial state: codecs of equal `start` read each other's data.
    """

    def __init__(self, emulator: bytes, frame: np.ndarray):
        self._reference = np.frombuffer(emulator, np.uint8)
        # Without a layout, of another version of the emulator, states are taken as they are.
        self._layout: Layout | None = None
        with contextlib.suppress(SnapshotError):
            self._layout = Layout(emulator)
        self._dictionary = frame.tobytes()
        self.start = zlib.crc32(self._dictionary, zlib.crc32(emulator))

    def pack(self, state: GameState) -> bytes:
        """Return a state as bytes."""
        changes = state.observation.copy()
        changes[1:] ^= state.observation[:-1]
        header = _HEADER.pack(
            state.frames, state.action, *(word.to_bytes(16, "little") for word in state.noise)
        )
        squeeze = zlib.compressobj(_LEVEL, zdict=self._dictionary)
        body = squeeze.compress(changes.data) + squeeze.compress(self._difference(state.emulator))
        return header + body + squeeze.flush()

    def unpack(self, data: bytes) -> GameState:
        """Return the state that `pack` wrote, with an emulator's state that can be restored."""
        try:
            frames, action, *noise = _HEADER.unpack_from(data)
            expand = zlib.decompressobj(zdict=self._dictionary)
            body = expand.decompress(data[_HEADER.size :], _LARGEST)
        except (struct.error, zlib.error) as error:
            raise SnapshotError(f"not a snapshot of an Atari game: {error}") from error
        if len(body) <= _IMAGES or not expand.eof:
            raise SnapshotError("not a snapshot of an Atari game: it is cut short")
        changes = np.frombuffer(body, np.uint8, _IMAGES).reshape(_SHAPE)
        observation = np.bitwise_xor.accumulate(changes, axis=0)
        observation.flags.writeable = False
        state, increment = (int.from_bytes(word, "little") for word in noise)
        emulator = self._difference(body[_IMAGES:])
        if self._layout is not None:
            emulator = self._layout.checked(emulator)
        return GameState(frames, action, (state, increment), emulator, observation)

    def _difference(self, emulator: bytes) -> bytes:
        """Return what is different from the initial state, or from the difference the state."""
        difference = np.frombuffer(emulator, np.uint8).copy()
        shared = min(len(difference), len(self._reference))
        difference[:shared] ^= self._reference[:shared]
        return difference.tobytes()
