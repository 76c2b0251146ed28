"""Random numbers as a function of (seed, stream, number).

No generator is carried along: whoever needs randomness for query 17 asks for it by that number, so
a resumed run, a compiled loop and a one-actor cluster all draw alike.
"""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

_BLOCK = 64


class Randomness:
    """All the randomness of one run, addressed by stream name and number.

    Of several actors, each has its own; the first one's is that of a run without others.
    """

    def __init__(self, seed: int, actor: int = 0):
        self.seed = seed
        self._actor = actor
        self._streams: dict[str, tuple[np.random.Generator, Any]] = {}
        self._blocks: dict[str, tuple[Any, np.ndarray]] = {}

    def at(self, stream: str, number: int) -> np.random.Generator:
        """Return the generator of one stream at one number; equal arguments draw equally.

        Each stream has one generator that is wound to `number` (building a new one costs ten
        times as much), so use what is returned before asking for the same stream again.
        """
        if stream not in self._streams:
            bits = np.random.Philox(key=self._key(stream))
            self._streams[stream] = np.random.Generator(bits), bits.state
        generator, start = self._streams[stream]
        start["state"]["counter"][1] = number
        generator.bit_generator.state = start
        return generator

    def uniforms(self, stream: str, number: int, size: int) -> np.ndarray:
        """Return floats in [0, 1) for one stream at one number; equal arguments draw equally.

        Those of several numbers in a row are drawn in one go, which is ten times quicker.
        """
        block, place = divmod(number, _BLOCK)
        if self._blocks.get(stream, (None,))[0] != (block, size):
            drawn = self.at(stream, block).random((_BLOCK, size))
            self._blocks[stream] = (block, size), drawn
        return self._blocks[stream][1][place]

    def integer(self, stream: str) -> int:
        """Return one 32-bit integer for a stream, to seed a generator of another library."""
        return int(self._key(stream)[0] & 0xFFFFFFFF)

    def _key(self, stream: str) -> np.ndarray:
        entropy = [self.seed, zlib.crc32(stream.encode()), *([self._actor] if self._actor else [])]
        return np.random.SeedSequence(entropy).generate_state(2, np.uint64)
