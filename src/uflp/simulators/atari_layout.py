"""The fields of an emulator's serialised state, and what each may be.

The emulator takes a state at its word: a bank that its cartridge does not have, or a position
beside the screen, makes it read and write memory that is not its own. So every field of a state
that is to be restored is looked at first. Strings are preceded by their length, everything else is
words of four bytes, and truth values have patterns of their own:

    left, right paddle, frame, episode frame, mode, difficulty
    length of what follows, up to the last two words
        checksum of the game, "System", cycles, state of a random generator as text
        name of the CPU, its registers
        "M6532", RAM and timers
        "TIA", the state of the picture, "TIASound", registers
        name of the cartridge, its banks and RAM
        what the game's own code keeps, whether another random generator follows
    lowest, highest value of a paddle
"""

from __future__ import annotations

import re
import struct

import numpy as np

from uflp.simulators.base import SnapshotError

_TRUE, _FALSE = -0x54E054E, -0x452E452E
_ANY = (-(2**31), 2**31 - 1)
_BYTE = (0, 255)
_FLAG = (_FALSE, _TRUE)
_WORD, _CLOCKS = struct.Struct("<i"), struct.Struct("<4i")

_PADDLE = (0, 2**21)
_OUTER = [_PADDLE, _PADDLE, (0, 2**31 - 1), (0, 2**31 - 1)]
_CPU = [*([_BYTE] * 5), (0, 65535), *([_FLAG] * 7), _BYTE]
_RIOT = [(128, 128), *([_BYTE] * 128), _BYTE, (0, 10), _ANY, _ANY, _FLAG, _BYTE, _BYTE]
_TIA = [
    *([_ANY] * 4),  # Clocks, which are compared with one another below.
    (0, 228),
    *([_ANY] * 3),
    *([_BYTE] * 5),
    *([_ANY] * 4),  # Colours.
    _BYTE,
    _BYTE,
    _FLAG,
    _FLAG,
    (0, 2**20 - 1),
    *([_BYTE] * 4),
    *([_FLAG] * 4),
    *([(0, 15)] * 5),  # Motion, an index.
    *([_FLAG] * 5),
    (0, 65535),
    *([(0, 159)] * 5),  # Positions on a line of the screen.
    *(_BYTE, _BYTE, _ANY, _FLAG, _FLAG, (0, 3), _FLAG, _ANY),
]
_PARTS = [b"System", b"M6502Low", b"M6532", b"TIA", b"TIASound"]
_FETCHERS = [
    *((8, 8), *([_BYTE] * 8), (8, 8), *([_BYTE] * 8), (8, 8), *([(0, 2047)] * 8)),
    *((8, 8), *([_BYTE] * 8), (3, 3), _FLAG, _FLAG, _FLAG),
]
_RAM = [(128, 128), *([_BYTE] * 128)]
_CARTRIDGES: dict[bytes, list[tuple[int, int]]] = {
    b"Cartridge2K": [],
    b"Cartridge4K": [],
    b"CartridgeFE": [],
    b"CartridgeF8": [(0, 1)],
    b"CartridgeF6": [(0, 3)],
    b"CartridgeF4": [(0, 7)],
    b"CartridgeF8SC": [(0, 1), *_RAM],
    b"CartridgeF6SC": [(0, 3), *_RAM],
    b"CartridgeF4SC": [(0, 7), *_RAM],
    b"CartridgeE0": [(4, 4), *([(0, 7)] * 4)],
    b"CartridgeDPC": [(0, 1), *_FETCHERS, _BYTE, _ANY, (0, 10**8)],
}
_NUMBERS = re.compile(rb"\d{1,10}( \d{1,10}){600,700}\s?")


class Layout:
    """The layout of the states of one game, read off its initial state.

    A state is a head of a fixed length, the text of a random generator, and a tail of a fixed
    length.
    """

    def __init__(self, initial: bytes):
        """Learn the layout.

        Args:
            initial: a serialised state of the emulator.

        Raises:
            SnapshotError: if this version of the emulator has a layout that is not known here.
        """
        head = _Reader(initial)
        outer = head.words(6)
        self._outer = [*_OUTER, *_exactly(outer[4:])]
        head.words(1)
        md5 = head.place, head.string(), head.string()
        self._names = initial[md5[0] : head.place]
        self._names_at = md5[0]
        head.words(1)
        self._generator_at = head.place
        self._generator = head.string()
        self._tail = initial[head.place :]
        tail = _Reader(self._tail)
        bounds: list[tuple[int, tuple[int, int]]] = []
        self._strings: list[tuple[int, int]] = []

        def name() -> bytes:
            start = tail.place
            found = tail.string()
            self._strings.append((start, tail.place))
            return found

        def words(of: list[tuple[int, int]]) -> list[int]:
            bounds.extend((tail.place + 4 * number, bound) for number, bound in enumerate(of))
            return tail.words(len(of))

        found = [md5[2], name()]
        words(_CPU)
        found.append(name())
        words(_RIOT)
        found.append(name())
        self._clocks_at = tail.place
        clocks = words(_TIA)
        # Later versions say here whether the frame is complete.
        words([_FLAG] if tail.peek() in _FLAG else [])
        found.append(name())
        words(_exactly(tail.peek_words(7)))
        cartridge = name()
        if found != _PARTS or cartridge not in _CARTRIDGES:
            raise SnapshotError(f"the layout of {found} with a {cartridge!r} is not known")
        words(_CARTRIDGES[cartridge])
        rest = tail.peek_words(tail.left // 4)
        own = [_FLAG if word in _FLAG else _ANY for word in rest[:-3]]
        # The last words: no other generator follows, and the reach of the paddles.
        words([*own, (_FALSE, _FALSE), *_exactly(rest[-2:])])
        self._places = np.add.outer([place for place, _ in bounds], np.arange(4)).ravel()
        self._least = np.array([least for _, (least, _) in bounds], np.int32)
        self._most = np.array([most for _, (_, most) in bounds], np.int32)
        self._flags = np.array([bound == _FLAG for _, bound in bounds])
        self._display = clocks[1] - clocks[0], clocks[2] - clocks[1]
        self.checked(initial)

    def checked(self, state: bytes) -> bytes:
        """Return a state that the emulator can restore, if each of its fields can be.

        Raises:
            SnapshotError: if a field cannot be.
        """
        head = _Reader(state)
        for word, (least, most) in zip(head.words(6), self._outer, strict=True):
            if not least <= word <= most:
                raise SnapshotError(f"the emulator cannot have {word} in its frame")
        (inner,) = head.words(1)
        at = self._generator_at
        if inner != len(state) - 9 * 4 or state[self._names_at : at - 4] != self._names:
            raise SnapshotError("the emulator's state is of another length or another game")
        head.place = at
        generator = head.string()
        if generator != self._generator and not _NUMBERS.fullmatch(generator):
            raise SnapshotError("the random generator of the emulator is damaged")
        tail, known = state[head.place :], self._tail
        if len(tail) != len(known) or any(tail[a:b] != known[a:b] for a, b in self._strings):
            raise SnapshotError("the emulator's state has other parts")
        words = np.frombuffer(tail, np.uint8)[self._places].view("<i4")
        good = (words >= self._least) & (words <= self._most)
        good &= ~self._flags | (words == _TRUE) | (words == _FALSE)
        if not good.all():
            place = int(np.argmin(good))
            raise SnapshotError(f"the emulator cannot have {words[place]} in field {place}")
        started, start, stop, last = _CLOCKS.unpack_from(tail, self._clocks_at)
        if (start - started, stop - start) != self._display or not start <= last <= stop:
            raise SnapshotError("the clocks of the emulator contradict one another")
        if last == stop:
            return state
        # A frame that is begun anew sets this clock itself. One that went on would draw from where
        # the emulator's own pointer, which is not part of the state, happens to be.
        changed = bytearray(state)
        _WORD.pack_into(changed, head.place + self._clocks_at + 12, stop)
        return bytes(changed)


class _Reader:
    """Reads a state field by field, from its beginning on."""

    def __init__(self, state: bytes):
        self._state = state
        self.place = 0

    @property
    def left(self) -> int:
        """Bytes that are left."""
        return len(self._state) - self.place

    def words(self, count: int) -> list[int]:
        """Return the next words."""
        words = self.peek_words(count)
        self.place += 4 * count
        return words

    def peek_words(self, count: int) -> list[int]:
        """Return the next words without going on."""
        self._require(4 * count)
        return list(struct.unpack_from(f"<{count}i", self._state, self.place))

    def peek(self) -> int:
        """Return the next word without going on."""
        return self.peek_words(1)[0]

    def string(self) -> bytes:
        """Return the next string."""
        (size,) = self.words(1)
        self._require(size)
        self.place += size
        return self._state[self.place - size : self.place]

    def _require(self, size: int) -> None:
        if not 0 <= size <= self.left:
            raise SnapshotError("the emulator's state is cut short")


def _exactly(words: list[int]) -> list[tuple[int, int]]:
    return [(word, word) for word in words]
