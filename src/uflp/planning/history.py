"""The history: the FIFO of snapshots that rollouts restart from (the paper's H).

First the protocol, then the history, then the storage of its snapshots.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np

from uflp.simulators.base import Simulator
from uflp.state import Block, Rows, State, StateError, finite, number, spans, whole_numbers
from uflp.types import Snapshot, UsageError
from uflp.uncertainty.base import Uncertainty

DEFAULT_ENTRIES = 1_000_000

RING_BYTES = 1 << 20
"""First size of a ring of snapshots that has no budget in bytes; it doubles when it is full."""


class HistoryLike(Protocol):
    """The protocol of a history, which may lie in another process.

    Attributes:
        oldest: number of the oldest entry, as far as it is known here.
    """

    oldest: int

    def is_empty(self) -> bool:
        """Return whether it is known here that there is nothing to restart from.

        A history elsewhere may turn out to be empty later. Then its rule answers `Start()`.
        """

    def add(self, snapshot: Snapshot, key: Any, mask: np.ndarray | None) -> int | None:
        """Add a snapshot; return its number, None where only another process knows it."""

    def fetch(self, entry: int) -> Snapshot | None:
        """Return the snapshot of an entry, None if it has been evicted."""

    def sample(self, rng: np.random.Generator, size: int) -> np.ndarray:
        """Draw entry numbers uniformly with replacement."""

    def keys(self, entries: np.ndarray) -> np.ndarray:
        """Return the keys of entries that were drawn."""

    def masks(self, entries: np.ndarray) -> np.ndarray | None:
        """Return which actions they allow, bool [B, A], or None if all always are."""

    def state(self) -> State:
        """Return what is kept here."""

    def load(self, state: State) -> None:
        """Take the state of an equal history."""


class History:
    """A FIFO of snapshots, each beside the key that an uncertainty knows it by.

    An entry is named by its number, counted from the first one ever added; numbers are never used
    again, so an entry that was evicted in the meantime is never mistaken for the one in its place.
    Snapshots are kept as bytes: in rows of one array where all have the same width, in a ring of
    bytes otherwise. There is no Python object per entry, but for snapshots that are objects
    themselves.
    """

    def __init__(
        self,
        simulator: str,
        *,
        key_shape: tuple[int, ...] | None = (),
        key_dtype: np.typing.DTypeLike = np.int64,
        masked: int = 0,
        read_key: Callable[[Snapshot], Any] | None = None,
        width: int | None = None,
        entries: int | None = None,
        nbytes: int | None = None,
        portable: bool = True,
    ):
        """Make an empty history.

        Args:
            simulator: stamp of the snapshots.
            key_shape: shape of one key; None keeps no keys, but reads them when asked.
            key_dtype: type of one key.
            masked: A, the actions that a mask speaks of; 0 keeps no masks.
            read_key: reads the key of a snapshot where none is kept; None if nobody will ask.
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
        self.masked = masked
        self.oldest = 0
        self.newest = -1
        self._budget = entries
        self._rows = min(entries, 1024)
        self._keys = np.zeros((self._rows, *((0,) if key_shape is None else key_shape)), key_dtype)
        self._keeps_keys = key_shape is not None
        self._read_key = read_key
        self._scores = np.zeros(self._rows)
        self._masks = np.zeros((self._rows, -(-masked // 8)), np.uint8)
        self._store: Store = Objects()
        if portable:
            self._store = FixedWidth(width) if width is not None else Ring(nbytes)

    def __len__(self) -> int:
        return self.newest - self.oldest + 1

    def is_empty(self) -> bool:
        """Return whether there is no entry."""
        return self.newest < self.oldest

    @property
    def nbytes(self) -> int:
        """Bytes of snapshot data held."""
        return self._store.nbytes(self.oldest, self.newest, self._rows)

    def add(self, snapshot: Snapshot, key: object, mask: np.ndarray | None = None) -> int:
        """Add a snapshot, evicting the oldest if there is no room; return its number.

        Args:
            snapshot: of a state.
            key: of the same.
            mask: which actions it allows, bool [A], where the history keeps masks.
        """
        if len(self) == self._budget:
            self.oldest += 1
        elif len(self) == self._rows:
            self._grow()
        self.newest += 1
        row = self.newest % self._rows
        if self._keeps_keys:
            self._keys[row] = key
        self._scores[row] = snapshot.screen_score
        if mask is not None:
            self._masks[row] = np.packbits(mask)
        self.oldest = self._store.put(snapshot.data, row, self.oldest, self.newest, self._rows)
        return self.newest

    def sample(self, rng: np.random.Generator, size: int) -> np.ndarray:
        """Draw entry numbers uniformly with replacement."""
        return rng.integers(self.oldest, self.newest + 1, size)

    def live(self) -> np.ndarray:
        """Return the numbers of all entries, oldest first."""
        return np.arange(self.oldest, self.newest + 1)

    def keys(self, entries: np.ndarray) -> np.ndarray:
        """Return the keys of live entries."""
        if self._keeps_keys:
            return self._keys[entries % self._rows]
        assert self._read_key is not None, "this history neither keeps keys nor reads them"
        return np.stack([self._read_key(self._snapshot(entry)) for entry in entries.tolist()])

    def masks(self, entries: np.ndarray) -> np.ndarray | None:
        """Return which actions live entries allow, bool [B, A], or None if all always are."""
        if not self.masked:
            return None
        bits = self._masks[entries % self._rows]
        return np.unpackbits(bits, axis=1, count=self.masked).astype(bool)

    def screen_scores(self, entries: np.ndarray) -> np.ndarray:
        """Return the screen scores of live entries."""
        return self._scores[entries % self._rows]

    def fetch(self, entry: int) -> Snapshot | None:
        """Return an entry's snapshot, or None if it has been evicted."""
        if not self.oldest <= entry <= self.newest:
            return None
        return self._snapshot(entry)

    def state(self) -> State:
        """Return the entries, and where the data of the oldest one begins."""
        start = self._store.start(self.oldest % self._rows) if len(self) else 0
        return {
            "start": start,
            "rows": Rows("history", self.oldest, self.newest + 1, self._blocks),
        }

    def load(self, state: State) -> None:
        """Take the entries of an equal history: they are added again, to the same places."""
        rows: Rows = state["rows"]
        self.oldest, self.newest = rows.first, rows.first - 1
        self._store.begin(number(state, "start"))
        for _, data, score, key, bits in saved_entries(state):
            if key.shape != self._keys.shape[1:] or key.dtype != self._keys.dtype:
                raise StateError("the keys of the history are of another kind")
            mask = None if bits is None else np.unpackbits(bits, count=self.masked)
            self.add(Snapshot(self.simulator, data, score), key, mask)
        if (self.oldest, self.newest) != (rows.first, rows.stop - 1):
            raise StateError("the entries of the history do not fit into it")

    def _snapshot(self, entry: int) -> Snapshot:
        row = entry % self._rows
        return Snapshot(self.simulator, self._store.get(row), float(self._scores[row]))

    def _blocks(self, first: int) -> Iterator[Block]:
        width = self._keys[:1].nbytes + self.nbytes // max(1, len(self))
        for entries in spans(first, self.newest + 1, width):
            rows = entries % self._rows
            sizes, data = self._store.gather(rows)
            columns = {
                "keys": self._keys[rows],
                "scores": self._scores[rows],
                "sizes": sizes,
                "data": data,
            }
            if self.masked:
                columns["masks"] = self._masks[rows]
            yield Block(int(entries[0]), int(entries[-1]) + 1, columns)

    def _grow(self) -> None:
        rows = min(2 * self._rows, self._budget)
        live = self.live()
        self._keys = rehoused(self._keys, live, self._rows, rows)
        self._scores = rehoused(self._scores, live, self._rows, rows)
        self._masks = rehoused(self._masks, live, self._rows, rows)
        self._store.grow(live, self._rows, rows)
        self._rows = rows


def history_of(
    simulator: Simulator,
    uncertainty: Uncertainty | None,
    *,
    entries: int,
    nbytes: int | None = None,
    key_of: Callable[[Any], Any] | None = None,
) -> History:
    """Make an empty history.

    Args:
        simulator: whose snapshots it holds.
        uncertainty: what scores them; without one, all have the same key.
        entries: snapshots that it holds.
        nbytes: budget in bytes of snapshot data; None sets none.
        key_of: gives the key of an observation; None lets the uncertainty do it.
    """

    def read_key(snapshot: Snapshot) -> Any:
        assert uncertainty is not None, "who reads keys has asked for them"
        return (key_of or uncertainty.key_of)(simulator.observation_of(snapshot))

    return History(
        simulator.stamp,
        key_shape=() if uncertainty is None else uncertainty.key_shape,
        key_dtype=np.int64 if uncertainty is None else uncertainty.key_dtype,
        read_key=read_key,
        masked=simulator.mask_size,
        width=simulator.snapshot_width,
        entries=entries,
        nbytes=nbytes,
        portable=simulator.portable,
    )


def saved_entries(
    state: State,
) -> Iterator[tuple[int, bytes, float, np.ndarray, np.ndarray | None]]:
    """Yield number, data, screen score, key and packed mask of each entry in a history's state."""
    rows: Rows = state["rows"]
    for first, stop, columns in rows.blocks(rows.first):
        data = columns["data"].tobytes()
        ends = np.cumsum(whole_numbers(columns, "sizes", most=len(data))).tolist()
        held = [name for name in ("sizes", "scores", "keys", "masks") if name in columns]
        if any(len(columns[name]) != stop - first for name in held) or ends[-1] != len(data):
            raise StateError("the entries of the history are incomplete")
        finite(columns["scores"], "scores")
        for entry in range(max(rows.first, first), stop):
            row = entry - first
            begin = ends[row - 1] if row else 0
            score = float(columns["scores"][row])
            bits = columns["masks"][row] if "masks" in columns else None
            yield entry, data[begin : ends[row]], score, columns["keys"][row], bits


class Store(Protocol):
    """Storage of the data of snapshots; rows are places in the history's ring."""

    def put(self, data: Any, row: int, oldest: int, newest: int, rows: int) -> int:
        """Store data at a row and return the number of the oldest entry that still has room."""

    def get(self, row: int) -> Any:
        """Return the data at a row."""

    def gather(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the sizes of the data at some rows, and all of it end to end, as bytes."""

    def grow(self, live: np.ndarray, old: int, new: int) -> None:
        """Move the live entries from a ring of `old` rows to one of `new` rows."""

    def nbytes(self, oldest: int, newest: int, rows: int) -> int:
        """Return the bytes of the entries from `oldest` to `newest`."""

    def start(self, row: int) -> int:
        """Return where the data at a row begins, if that matters."""

    def begin(self, start: int) -> None:
        """Let the first data that is put begin there."""


class FixedWidth:
    """Data of one width, a row each."""

    def __init__(self, width: int):
        self._width = width
        self._data = bytearray()

    def put(self, data: bytes, row: int, oldest: int, newest: int, rows: int) -> int:
        """Store data at a row; return the number of the oldest entry that still has room."""
        if len(data) != self._width:
            raise ValueError(f"a snapshot has {len(data)} bytes where {self._width} were promised")
        if not self._data:
            self._data = bytearray(rows * self._width)
        self._data[row * self._width : (row + 1) * self._width] = data
        return oldest

    def get(self, row: int) -> bytes:
        """Return the data at a row."""
        return bytes(self._data[row * self._width : (row + 1) * self._width])

    def gather(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the sizes of the data at some rows, and all of it end to end, as bytes."""
        table = np.frombuffer(self._data, np.uint8).reshape(-1, self._width)
        return np.full(len(rows), self._width), table[rows].ravel()

    def grow(self, live: np.ndarray, old: int, new: int) -> None:
        """Move the live entries from a ring of `old` rows to one of `new` rows."""
        rows = np.frombuffer(self._data, np.uint8).reshape(old, self._width)
        self._data = bytearray(rehoused(rows, live, old, new).data)

    def nbytes(self, oldest: int, newest: int, rows: int) -> int:
        """Return the bytes of the entries from `oldest` to `newest`."""
        return (newest - oldest + 1) * self._width

    def start(self, row: int) -> int:
        """Return where the data at a row begins, if that matters."""
        return 0

    def begin(self, start: int) -> None:
        """Let the first data that is put begin there."""
        pass


class Ring:
    """Data of varying width, end to end in one ring of bytes; an entry never wraps around.

    Without a budget the ring doubles when it is full.
    """

    def __init__(self, budget: int | None):
        self._budget = budget
        self._data = bytearray(RING_BYTES if budget is None else budget)
        self._start = np.zeros(0, np.int64)
        self._size = np.zeros(0, np.int64)
        self._head = 0

    def put(self, data: bytes, row: int, oldest: int, newest: int, rows: int) -> int:
        """Store data at a row; return the number of the oldest entry that still has room."""
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
        """Return the data at a row."""
        start = int(self._start[row])
        return bytes(self._data[start : start + int(self._size[row])])

    def gather(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the sizes of the data at some rows, and all of it end to end, as bytes."""
        data = b"".join(map(self.get, rows.tolist()))
        return self._size[rows], np.frombuffer(data, np.uint8)

    def grow(self, live: np.ndarray, old: int, new: int) -> None:
        """Move the live entries from a ring of `old` rows to one of `new` rows."""
        self._start = rehoused(self._start, live, old, new)
        self._size = rehoused(self._size, live, old, new)

    def nbytes(self, oldest: int, newest: int, rows: int) -> int:
        """Return the bytes of the entries from `oldest` to `newest`."""
        return int(self._size[np.arange(oldest, newest + 1) % rows].sum()) if newest >= 0 else 0

    def start(self, row: int) -> int:
        """Return where the data at a row begins, if that matters."""
        # Without a budget nothing is evicted for want of bytes: any place does.
        return 0 if self._budget is None else int(self._start[row])

    def begin(self, start: int) -> None:
        """Let the first data that is put begin there."""
        self._head = start

    def _overlaps(self, start: int, size: int, row: int) -> bool:
        """Whether writing would touch the oldest entry, or skip past it to the ring's beginning."""
        first = int(self._start[row])
        skipped = start < self._head <= first
        return skipped or (start < first + int(self._size[row]) and first < start + size)

    def _double(self, oldest: int, newest: int, rows: int) -> None:
        """Lay the live entries end to end in a ring of twice the size."""
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
        """Store data at a row; return the number of the oldest entry that still has room."""
        self._data += [None] * (rows - len(self._data))
        self._data[row] = data
        return oldest

    def get(self, row: int) -> Any:
        """Return the data at a row."""
        return self._data[row]

    def gather(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the sizes of the data at some rows, and all of it end to end, as bytes."""
        raise TypeError("objects of a process cannot leave it")

    def grow(self, live: np.ndarray, old: int, new: int) -> None:
        """Move the live entries from a ring of `old` rows to one of `new` rows."""
        larger = [None] * new
        for entry in live:
            larger[entry % new] = self._data[entry % old]
        self._data = larger

    def nbytes(self, oldest: int, newest: int, rows: int) -> int:
        """Return the bytes of the entries from `oldest` to `newest`."""
        return 0

    def start(self, row: int) -> int:
        """Return where the data at a row begins, if that matters."""
        return 0

    def begin(self, start: int) -> None:
        """Let the first data that is put begin there."""


def rehoused(array: np.ndarray, live: np.ndarray, old: int, new: int) -> np.ndarray:
    """Copy the rows of live entries from a ring of `old` rows into one of `new` rows."""
    larger = np.zeros((new, *array.shape[1:]), array.dtype)
    larger[live % new] = array[live % old]
    return larger
