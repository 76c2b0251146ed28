"""Where the data of a history's snapshots lies."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from uflp.types import UsageError


class Store(Protocol):
    """Where the data of snapshots lies; rows are places in the history's ring."""

    def put(self, data: Any, row: int, oldest: int, newest: int, rows: int) -> int:
        """Stores data at a row and returns the number of the oldest entry that still has room."""

    def get(self, row: int) -> Any:
        """Returns the data at a row."""

    def gather(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns the sizes of the data at some rows, and all of it end to end, as bytes."""

    def grow(self, live: np.ndarray, old: int, new: int) -> None:
        """Moves the live entries from a ring of `old` rows to one of `new` rows."""

    def nbytes(self, oldest: int, newest: int, rows: int) -> int:
        """Returns the bytes of the entries from `oldest` to `newest`."""

    def start(self, row: int) -> int:
        """Returns where the data at a row begins, if that matters."""

    def begin(self, start: int) -> None:
        """Lets the first data that is put begin there."""


class FixedWidth:
    """Data of one width, a row each."""

    def __init__(self, width: int):
        self._width = width
        self._data = bytearray()

    def put(self, data: bytes, row: int, oldest: int, newest: int, rows: int) -> int:
        """Stores data at a row; returns the number of the oldest entry that still has room."""
        if len(data) != self._width:
            raise ValueError(f"a snapshot has {len(data)} bytes where {self._width} were promised")
        if not self._data:
            self._data = bytearray(rows * self._width)
        self._data[row * self._width : (row + 1) * self._width] = data
        return oldest

    def get(self, row: int) -> bytes:
        """Returns the data at a row."""
        return bytes(self._data[row * self._width : (row + 1) * self._width])

    def gather(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns the sizes of the data at some rows, and all of it end to end, as bytes."""
        table = np.frombuffer(self._data, np.uint8).reshape(-1, self._width)
        return np.full(len(rows), self._width), table[rows].ravel()

    def grow(self, live: np.ndarray, old: int, new: int) -> None:
        """Moves the live entries from a ring of `old` rows to one of `new` rows."""
        rows = np.frombuffer(self._data, np.uint8).reshape(old, self._width)
        self._data = bytearray(rehoused(rows, live, old, new).data)

    def nbytes(self, oldest: int, newest: int, rows: int) -> int:
        """Returns the bytes of the entries from `oldest` to `newest`."""
        return (newest - oldest + 1) * self._width

    def start(self, row: int) -> int:
        """Returns where the data at a row begins, if that matters."""
        return 0

    def begin(self, start: int) -> None:
        """Lets the first data that is put begin there."""
        pass


class Ring:
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
        """Stores data at a row; returns the number of the oldest entry that still has room."""
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
        """Returns the data at a row."""
        start = int(self._start[row])
        return bytes(self._data[start : start + int(self._size[row])])

    def gather(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns the sizes of the data at some rows, and all of it end to end, as bytes."""
        data = b"".join(map(self.get, rows.tolist()))
        return self._size[rows], np.frombuffer(data, np.uint8)

    def grow(self, live: np.ndarray, old: int, new: int) -> None:
        """Moves the live entries from a ring of `old` rows to one of `new` rows."""
        self._start = rehoused(self._start, live, old, new)
        self._size = rehoused(self._size, live, old, new)

    def nbytes(self, oldest: int, newest: int, rows: int) -> int:
        """Returns the bytes of the entries from `oldest` to `newest`."""
        return int(self._size[np.arange(oldest, newest + 1) % rows].sum()) if newest >= 0 else 0

    def start(self, row: int) -> int:
        """Returns where the data at a row begins, if that matters."""
        # Without a budget nothing is evicted for want of bytes: any place does.
        return 0 if self._budget is None else int(self._start[row])

    def begin(self, start: int) -> None:
        """Lets the first data that is put begin there."""
        self._head = start

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


class Objects:
    """Objects of this process, whose size is not known."""

    def __init__(self) -> None:
        self._data: list[Any] = []

    def put(self, data: Any, row: int, oldest: int, newest: int, rows: int) -> int:
        """Stores data at a row; returns the number of the oldest entry that still has room."""
        self._data += [None] * (rows - len(self._data))
        self._data[row] = data
        return oldest

    def get(self, row: int) -> Any:
        """Returns the data at a row."""
        return self._data[row]

    def gather(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns the sizes of the data at some rows, and all of it end to end, as bytes."""
        raise TypeError("objects of a process cannot leave it")

    def grow(self, live: np.ndarray, old: int, new: int) -> None:
        """Moves the live entries from a ring of `old` rows to one of `new` rows."""
        larger = [None] * new
        for entry in live:
            larger[entry % new] = self._data[entry % old]
        self._data = larger

    def nbytes(self, oldest: int, newest: int, rows: int) -> int:
        """Returns the bytes of the entries from `oldest` to `newest`."""
        return 0

    def start(self, row: int) -> int:
        """Returns where the data at a row begins, if that matters."""
        return 0

    def begin(self, start: int) -> None:
        """Lets the first data that is put begin there."""


def rehoused(array: np.ndarray, live: np.ndarray, old: int, new: int) -> np.ndarray:
    """Copies the rows of live entries from a ring of `old` rows into one of `new` rows."""
    larger = np.zeros((new, *array.shape[1:]), array.dtype)
    larger[live % new] = array[live % old]
    return larger
