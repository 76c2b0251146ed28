"""The history: the FIFO of snapshots that rollouts restart from (the paper's H)."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from uflp.types import Snapshot, UsageError

DEFAULT_ENTRIES = 1_000_000


class History:
    """A FIFO of snapshots, each beside the key that an uncertainty knows it by.

    An entry is named by its number, counted from the first one ever added; numbers are never used
    again, so an entry that was evicted in the meantime is told from the one in its place.
    Snapshots are kept as bytes: in rows of one array where all have the same width, in a ring of
    bytes otherwise. There is no Python object per entry, but for snapshots that are objects
    themselves.
    """

    def __init__(
        self,
        simulator: str,
        *,
        key_shape: tuple[int, ...] = (),
        key_dtype: np.typing.DTypeLike = np.int64,
        width: int | None = None,
        entries: int | None = None,
        nbytes: int | None = None,
        portable: bool = True,
    ):
        """Makes an empty history.

        Args:
            simulator: stamp of the snapshots.
            key_shape: shape of one key.
            key_dtype: type of one key.
            width: length of every snapshot's data in bytes, None if it varies.
            entries: budget in entries; the oldest leave first. A million if no budget is given.
            nbytes: budget in bytes of snapshot data, may stand beside `entries`.
            portable: whether snapshots are bytes; see `Simulator.portable`.
        """
        if nbytes is not None and not portable:
            raise UsageError(
                "snapshots that are copies in memory have no size in bytes: "
                "give the history a budget in entries"
            )
        for name, budget in (("entries", entries), ("bytes", nbytes)):
            if budget is not None and budget < 1:
                raise UsageError(f"a history needs room for at least 1 of {name}, not {budget}")
        if entries is None:
            entries = DEFAULT_ENTRIES if nbytes is None else max(1, nbytes // (width or 1))
        if width is not None and nbytes is not None:
            entries = min(entries, max(1, nbytes // width))
        self.simulator = simulator
        self.oldest = 0
        self.newest = -1
        self._budget = entries
        self._rows = min(entries, 1024)
        self._keys = np.zeros((self._rows, *key_shape), key_dtype)
        self._scores = np.zeros(self._rows)
        self._store: _Store = _Objects()
        if portable:
            self._store = _Rows(width) if width is not None else _Ring(nbytes)

    def __len__(self) -> int:
        return self.newest - self.oldest + 1

    @property
    def nbytes(self) -> int:
        """Bytes of snapshot data held."""
        return self._store.nbytes(self.oldest, self.newest, self._rows)

    def add(self, snapshot: Snapshot, key: object) -> int:
        """Adds a snapshot, evicting the oldest if there is no room; returns its number."""
        if len(self) == self._budget:
            self.oldest += 1
        elif len(self) == self._rows:
            self._grow()
        self.newest += 1
        row = self.newest % self._rows
        self._keys[row] = key
        self._scores[row] = snapshot.screen_score
        self.oldest = self._store.put(snapshot.data, row, self.oldest, self.newest, self._rows)
        return self.newest

    def sample(self, rng: np.random.Generator, size: int) -> np.ndarray:
        """Draws entry numbers uniformly with replacement."""
        return rng.integers(self.oldest, self.newest + 1, size)

    def live(self) -> np.ndarray:
        """Returns the numbers of all entries, oldest first."""
        return np.arange(self.oldest, self.newest + 1)

    def keys(self, entries: np.ndarray) -> np.ndarray:
        """Returns the keys of live entries."""
        return self._keys[entries % self._rows]

    def fetch(self, entry: int) -> Snapshot | None:
        """Returns an entry's snapshot, or None if it has been evicted."""
        if not self.oldest <= entry <= self.newest:
            return None
        row = entry % self._rows
        return Snapshot(self.simulator, self._store.get(row), float(self._scores[row]))

    def _grow(self) -> None:
        rows = min(2 * self._rows, self._budget)
        live = self.live()
        self._keys = _rehoused(self._keys, live, self._rows, rows)
        self._scores = _rehoused(self._scores, live, self._rows, rows)
        self._store.grow(live, self._rows, rows)
        self._rows = rows


def _rehoused(array: np.ndarray, live: np.ndarray, old: int, new: int) -> np.ndarray:
    """Copies the rows of live entries from a ring of `old` rows into one of `new` rows."""
    larger = np.zeros((new, *array.shape[1:]), array.dtype)
    larger[live % new] = array[live % old]
    return larger


class _Store(Protocol):
    """Where the data of snapshots lies; rows are places in the history's ring."""

    def put(self, data: Any, row: int, oldest: int, newest: int, rows: int) -> int:
        """Stores data at a row and returns the number of the oldest entry that still has room."""

    def get(self, row: int) -> Any: ...

    def grow(self, live: np.ndarray, old: int, new: int) -> None: ...

    def nbytes(self, oldest: int, newest: int, rows: int) -> int: ...


class _Rows:
    """Data of one width, a row each."""

    def __init__(self, width: int):
        self._width = width
        self._data = bytearray()

    def put(self, data: bytes, row: int, oldest: int, newest: int, rows: int) -> int:
        if len(data) != self._width:
            raise ValueError(f"a snapshot has {len(data)} bytes where {self._width} were promised")
        if not self._data:
            self._data = bytearray(rows * self._width)
        self._data[row * self._width : (row + 1) * self._width] = data
        return oldest

    def get(self, row: int) -> bytes:
        return bytes(self._data[row * self._width : (row + 1) * self._width])

    def grow(self, live: np.ndarray, old: int, new: int) -> None:
        rows = np.frombuffer(self._data, np.uint8).reshape(old, self._width)
        self._data = bytearray(_rehoused(rows, live, old, new).data)

    def nbytes(self, oldest: int, newest: int, rows: int) -> int:
        return (newest - oldest + 1) * self._width


class _Ring:
    """Data of varying width, end to end in one ring of bytes; an entry never wraps around.

    Without a budget the ring doubles when it is full.
    """

    def __init__(self, budget: int | None):
        self._budget = budget
        self._data = bytearray(1 << 20 if budget is None else budget)
        self._start = np.zeros(0, np.int64)
        self._size = np.zeros(0, np.int64)
        self._head = 0

    def put(self, data: bytes, row: int, oldest: int, newest: int, rows: int) -> int:
        if len(self._start) != rows:
            self._start, self._size = np.zeros(rows, np.int64), np.zeros(rows, np.int64)
        if len(data) > len(self._data):
            if self._budget is not None:
                raise UsageError(
                    f"one snapshot has {len(data)} bytes and the whole history {self._budget}"
                )
            self._double(oldest, newest - 1, rows)
            return self.put(data, row, oldest, newest, rows)
        start = self._head if self._head + len(data) <= len(self._data) else 0
        while oldest < newest and self._overlaps(start, len(data), oldest % rows):
            if self._budget is None:
                self._double(oldest, newest - 1, rows)
                return self.put(data, row, oldest, newest, rows)
            oldest += 1
        self._data[start : start + len(data)] = data
        self._start[row], self._size[row] = start, len(data)
        self._head = start + len(data)
        return oldest

    def get(self, row: int) -> bytes:
        start = int(self._start[row])
        return bytes(self._data[start : start + int(self._size[row])])

    def grow(self, live: np.ndarray, old: int, new: int) -> None:
        self._start = _rehoused(self._start, live, old, new)
        self._size = _rehoused(self._size, live, old, new)

    def nbytes(self, oldest: int, newest: int, rows: int) -> int:
        return int(self._size[np.arange(oldest, newest + 1) % rows].sum()) if newest >= 0 else 0

    def _overlaps(self, start: int, size: int, row: int) -> bool:
        """Whether writing would touch the oldest entry, or skip past it to the ring's beginning."""
        first = int(self._start[row])
        skipped = start < self._head <= first
        return skipped or (start < first + int(self._size[row]) and first < start + size)

    def _double(self, oldest: int, newest: int, rows: int) -> None:
        """Lays the live entries end to end in a ring of twice the size."""
        larger = bytearray(2 * len(self._data))
        head = 0
        for entry in range(oldest, newest + 1):
            row = entry % rows
            data = self.get(row)
            larger[head : head + len(data)] = data
            self._start[row] = head
            head += len(data)
        self._data, self._head = larger, head


class _Objects:
    """Objects of this process, whose size is not known."""

    def __init__(self) -> None:
        self._data: list[Any] = []

    def put(self, data: Any, row: int, oldest: int, newest: int, rows: int) -> int:
        self._data += [None] * (rows - len(self._data))
        self._data[row] = data
        return oldest

    def get(self, row: int) -> Any:
        return self._data[row]

    def grow(self, live: np.ndarray, old: int, new: int) -> None:
        larger = [None] * new
        for entry in live:
            larger[entry % new] = self._data[entry % old]
        self._data = larger

    def nbytes(self, oldest: int, newest: int, rows: int) -> int:
        return 0
