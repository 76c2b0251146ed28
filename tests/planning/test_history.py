"""The history is a FIFO of bytes within its budgets."""

from __future__ import annotations

import gc
import tracemalloc
from collections import deque
from typing import Any
from unittest import mock

import gymnasium
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from probes import Corridor

from uflp.planning import history as module
from uflp.planning.history import History, history_of
from uflp.state import Block, StateError
from uflp.types import Snapshot, UsageError
from uflp.uncertainty.covariance import Covariance


def snapshot(data: bytes, score: float = 0.0) -> Snapshot:
    return Snapshot("probe", data, score)


def filled(count: int, **options: int | None) -> History:
    history = History("probe", **options)
    for number in range(count):
        assert history.add(snapshot(number.to_bytes(4, "little"), number / 2), number) == number
    return history


def kept_keys(history: History) -> int:
    """Returns the bytes of keys that a checkpoint of the history holds."""
    rows = history.state()["rows"]
    return sum(columns["keys"].nbytes for _, _, columns in rows.blocks(rows.first))


def payload(rng: np.random.Generator, size: int) -> bytes:
    return rng.integers(0, 256, size, np.uint8).tobytes()


class Model:
    """What the history promises, as a deque of Python objects.

    A byte budget is kept by a ring in which entries do not wrap around, so it may evict more than
    a sum of sizes would; how many more is checked apart.
    """

    def __init__(self, entries: int | None):
        self.entries: deque[tuple[int, bytes, float]] = deque(maxlen=entries)
        self.added = 0

    def add(self, data: bytes, score: float) -> None:
        self.entries.append((self.added, data, score))
        self.added += 1

    def evict_to(self, count: int) -> None:
        while len(self.entries) > count:
            self.entries.popleft()


def assert_equal(history: History, model: Model) -> None:
    numbers = [number for number, _, _ in model.entries]
    assert list(history.live()) == numbers
    assert len(history) == len(numbers)
    assert history.nbytes == sum(len(data) for _, data, _ in model.entries)
    for number, data, score in model.entries:
        assert history.fetch(number) == ("probe", data, score)
    assert history.fetch(model.added) is None
    assert history.fetch(-1) is None
    if numbers:
        assert history.fetch(numbers[0] - 1) is None
        np.testing.assert_array_equal(
            history.keys(history.live()), [7 * number for number in numbers]
        )


@pytest.mark.parametrize("width", [4, None])
def test_the_oldest_leave_first_and_numbers_are_never_used_again(width: int | None) -> None:
    history = filled(25, width=width, entries=10)
    assert list(history.live()) == list(range(15, 25))
    assert (history.oldest, history.newest) == (15, 24)
    for number in range(15):
        assert history.fetch(number) is None
    for number in range(15, 25):
        assert history.fetch(number) == ("probe", number.to_bytes(4, "little"), number / 2)
    assert history.fetch(25) is None
    assert history.add(snapshot(bytes(4)), 0) == 25


def test_an_empty_history_holds_nothing() -> None:
    for history in (History("probe"), History("probe", width=3)):
        assert len(history) == 0
        assert not history
        assert history.nbytes == 0
        assert history.fetch(0) is None
        assert history.live().size == 0


def test_a_draw_is_with_replacement_even_from_a_history_smaller_than_it() -> None:
    history = filled(3, width=4)
    drawn = history.sample(np.random.default_rng(0), 1000)
    assert drawn.shape == (1000,)
    assert set(drawn) == {0, 1, 2}
    assert np.bincount(drawn).min() > 250


def test_a_draw_takes_live_entries_only_and_all_alike() -> None:
    history = filled(3000, width=4, entries=40)
    drawn = history.sample(np.random.default_rng(1), 40_000)
    counts = np.bincount(drawn - 2960, minlength=40)
    assert drawn.min() == 2960 and drawn.max() == 2999
    # Chi-square with 39 degrees of freedom: its 1 - 1e-6 quantile is 94.
    assert np.sum((counts - 1000) ** 2 / 1000) < 94


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"width": 4, "entries": 7}, 7),
        ({"width": 4, "nbytes": 43}, 10),
        ({"width": 4, "nbytes": 43, "entries": 7}, 7),
        ({"width": 4, "nbytes": 12, "entries": 7}, 3),
        ({"entries": 7}, 7),
        ({"nbytes": 43}, 10),
        ({"nbytes": 43, "entries": 7}, 7),
        ({"nbytes": 12, "entries": 7}, 3),
    ],
)
def test_budgets_are_kept(options: dict[str, int], expected: int) -> None:
    history = filled(200, **options)
    assert len(history) == expected
    assert history.nbytes == 4 * expected
    assert list(history.live()) == list(range(200 - expected, 200))


@pytest.mark.parametrize("option", ["entries", "nbytes"])
def test_a_budget_below_one_is_refused(option: str) -> None:
    with pytest.raises(UsageError, match="at least 1"):
        History("probe", **{option: 0})


def test_a_snapshot_that_no_budget_of_bytes_can_hold_is_refused() -> None:
    with pytest.raises(UsageError, match="11 bytes"):
        History("probe", nbytes=10).add(snapshot(bytes(11)), 0)


def test_a_broken_promise_of_width_is_an_error() -> None:
    with pytest.raises(ValueError, match="3 bytes where 4"):
        History("probe", width=4).add(snapshot(bytes(3)), 0)


def test_keys_have_the_shape_and_type_asked_for() -> None:
    history = History("probe", key_shape=(2,), key_dtype=np.float32, entries=3)
    for number in range(5):
        history.add(snapshot(b"x"), np.array([number, -number]))
    keys = history.keys(np.array([4, 2, 2]))
    assert keys.dtype == np.float32
    np.testing.assert_array_equal(keys, [[4, -4], [2, -2], [2, -2]])


@given(
    entries=st.one_of(st.none(), st.integers(1, 30)),
    count=st.integers(0, 80),
    width=st.integers(1, 9),
    seed=st.integers(0, 999),
)
def test_rows_of_one_width_equal_a_deque(
    entries: int | None, count: int, width: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    history, model = History("probe", width=width, entries=entries), Model(entries)
    for number in range(count):
        data = payload(rng, width)
        history.add(snapshot(data, number / 4), 7 * number)
        model.add(data, number / 4)
    assert_equal(history, model)


@given(
    sizes=st.lists(st.integers(1, 40), max_size=120),
    nbytes=st.integers(40, 200),
    entries=st.one_of(st.none(), st.integers(1, 12)),
)
def test_a_ring_of_bytes_equals_a_deque(sizes: list[int], nbytes: int, entries: int | None) -> None:
    rng = np.random.default_rng(len(sizes))
    history, model = History("probe", nbytes=nbytes, entries=entries), Model(entries)
    for number, size in enumerate(sizes):
        data = payload(rng, size)
        before = len(model.entries)
        history.add(snapshot(data, number / 4), 7 * number)
        model.add(data, number / 4)
        # Within the budget, and no emptier than the two gaps of a ring explain: the one left at
        # the end because entries do not wrap, and what is free between the newest and the oldest.
        assert history.nbytes <= nbytes
        if len(history) < min(before + 1, len(model.entries)):
            assert history.nbytes > nbytes - 2 * max(sizes) - max(sizes)
        model.evict_to(len(history))
        assert len(history) >= 1
        assert_equal(history, model)


@given(sizes=st.lists(st.integers(1, 2000), min_size=1, max_size=40), entries=st.integers(1, 9))
def test_a_ring_without_a_budget_of_bytes_evicts_by_entries_alone(
    sizes: list[int], entries: int
) -> None:
    rng = np.random.default_rng(entries)
    # So small that it has to double, and wraps around before.
    with mock.patch.object(module, "RING_BYTES", 100):
        history, model = History("probe", entries=entries), Model(entries)
    for number, size in enumerate(sizes):
        data = payload(rng, size)
        history.add(snapshot(data, number / 4), 7 * number)
        model.add(data, number / 4)
        assert_equal(history, model)


@pytest.mark.parametrize("width", [8, None])
def test_growth_keeps_every_entry(width: int | None) -> None:
    rng = np.random.default_rng(0)
    history, model = History("probe", width=width, entries=5000), Model(5000)
    for number in range(12_000):
        data = payload(rng, width or int(rng.integers(1, 600)))
        history.add(snapshot(data, number / 4), 7 * number)
        model.add(data, number / 4)
        if number in (1023, 1024, 2048, 4999, 5000, 11_999):
            assert_equal(history, model)


def test_growth_keeps_every_entry_when_bytes_have_evicted_some_before() -> None:
    rng = np.random.default_rng(0)
    history, model = History("probe", nbytes=20_000), Model(None)
    # Large entries push each other out; then small ones come, more than there are rows yet.
    for number, size in enumerate([5000] * 40 + [4] * 4000):
        data = payload(rng, size)
        history.add(snapshot(data, number / 4), 7 * number)
        model.add(data, number / 4)
        model.evict_to(len(history))
        if number % 400 == 0:
            assert_equal(history, model)
    assert history.oldest > 0
    assert len(history) > 2048
    assert_equal(history, model)


@pytest.mark.parametrize("width", [16, None])
def test_entries_are_not_python_objects_and_cost_little_beyond_their_bytes(
    width: int | None,
) -> None:
    data = snapshot(bytes(16))
    gc.collect()
    objects = len(gc.get_objects())
    tracemalloc.start()
    try:
        history = History("probe", width=width)
        for number in range(50_000):
            history.add(data, number)
        gc.collect()
        blocks = sum(trace.count for trace in tracemalloc.take_snapshot().statistics("filename"))
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(gc.get_objects()) - objects < 1000
    assert blocks < 2000
    # 16 bytes of data, 8 of key, 8 of score, 16 of where it lies, in arrays of 65,536 rows that
    # grew with the entries; the ring of bytes starts at a mebibyte.
    assert held < 65_536 * 48 + (1 << 20)


def test_objects_of_this_process_are_held_as_they_are() -> None:
    history = History("toy", entries=1500, portable=False)
    items = [object() for _ in range(2000)]
    for number, item in enumerate(items):
        history.add(Snapshot("toy", item, float(number)), number)
    assert history.fetch(499) is None
    assert history.nbytes == 0, "nobody knows what they take"
    for entry in (500, 1023, 1024, 1999):
        assert history.fetch(entry) == Snapshot("toy", items[entry], float(entry))


def test_objects_have_no_budget_in_bytes() -> None:
    with pytest.raises(UsageError, match="budget in entries"):
        History("toy", nbytes=100, portable=False)


# Saved and loaded


@pytest.mark.parametrize(
    "options",
    [
        {"entries": 50, "width": 8},
        {"entries": 5000, "width": 8},
        {"entries": 50},
        {"nbytes": 900},
        {"nbytes": 900, "entries": 40},
    ],
)
@pytest.mark.parametrize("before", [0, 37, 1100])
def test_a_loaded_history_goes_on_like_the_saved_one(options: dict[str, int], before: int) -> None:
    rng = np.random.default_rng(before)

    def add(*histories: History) -> None:
        data = payload(rng, options.get("width") or int(rng.integers(1, 60)))
        key, score = int(rng.integers(9)), float(rng.random())
        for history in histories:
            history.add(snapshot(data, score), key)

    saved, loaded = History("probe", **options), History("probe", **options)
    for _ in range(before):
        add(saved)
    loaded.load(saved.state())
    for _ in range(100):
        assert (loaded.oldest, loaded.newest) == (saved.oldest, saved.newest)
        add(saved, loaded)
    np.testing.assert_array_equal(loaded.keys(loaded.live()), saved.keys(saved.live()))
    for entry in saved.live()[:200]:
        assert loaded.fetch(entry) == saved.fetch(entry)
    assert loaded.nbytes == saved.nbytes


def test_a_block_that_was_written_before_entries_left_is_not_in_the_way() -> None:
    """As on disk, where a block is written once: entries that have left since are still in it."""
    saved, loaded = filled(20, entries=10, width=4), filled(0, entries=10, width=4)
    blocks = list(filled(20, entries=20, width=4).state()["rows"].blocks(0))
    state = saved.state()
    loaded.load({**state, "rows": state["rows"]._replace(blocks=lambda first: iter(blocks))})
    assert list(loaded.live()) == list(range(10, 20))
    assert loaded.fetch(13) == saved.fetch(13)


def test_keys_of_another_kind_are_refused() -> None:
    with pytest.raises(StateError, match="keys"):
        History("probe", key_shape=(2,)).load(filled(3).state())


def test_keys_that_are_not_kept_are_read_from_their_snapshots() -> None:
    def read(snapshot: Snapshot) -> np.ndarray:
        return np.frombuffer(snapshot.data, np.uint8)

    def made() -> History:
        return History("probe", key_shape=None, read_key=read, entries=5)

    saved, loaded = made(), made()
    for number in range(8):
        saved.add(snapshot(bytes([number, 2 * number])), np.zeros(1000))
    loaded.load(saved.state())
    for history in (saved, loaded):
        np.testing.assert_array_equal(history.keys(np.array([7, 3, 7])), [[7, 14], [3, 6], [7, 14]])
        assert kept_keys(history) == 0


def blocks_of(state: Any, **changes: Any) -> Any:
    """Returns a history's state with other columns in each of its blocks."""
    blocks = [
        block._replace(columns={**block.columns, **changes})
        for block in state["rows"].blocks(state["rows"].first)
    ]
    return {**state, "rows": state["rows"]._replace(blocks=lambda first: iter(blocks))}


@pytest.mark.parametrize(
    "changes",
    [
        {"scores": np.zeros(2)},
        {"sizes": np.array([4, 4])},
        {"keys": np.zeros(4, np.int64)},
        # They add up to 12 bytes, in the 64 bits that there are.
        {"sizes": np.array([2**62, 2**62, 2**63 + 12], np.uint64)},
        {"sizes": np.array([-4, 8, 8])},
    ],
)
def test_a_state_with_parts_that_do_not_fit_is_refused(changes: dict[str, Any]) -> None:
    state = filled(3, width=4).state()
    filled(0, width=4).load(state)
    with pytest.raises(StateError):
        filled(0, width=4).load(blocks_of(state, **changes))


def test_a_history_is_made_for_what_its_uncertainty_calls_a_key() -> None:
    space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
    vectors = Covariance(feature_size=4).make(space, 2, seed=0)
    history = history_of(Corridor(length=5).make(0), vectors, entries=9)
    history.add(Snapshot("corridor/1", bytes(12), 0.0), np.array([0.5, -0.25], np.float32))
    assert history.keys(np.array([0])).tolist() == [[0.5, -0.25]]


def test_a_history_of_a_simulator_keeps_to_its_bytes() -> None:
    history = history_of(Corridor(length=5).make(0), None, entries=9, nbytes=40)
    for _ in range(9):
        history.add(Snapshot("corridor/1", bytes(12), 0.0), 0)
    assert len(history) == 3


@pytest.mark.parametrize(
    ("options", "sizes"),
    [
        # The fifth begins at the ring's beginning, just where the second begins to be in the way.
        ({"nbytes": 10}, [6, 4, 3, 3, 5]),
        *(({"entries": 8}, [1] * before + [5000, 1, 1]) for before in range(1, 12)),
    ],
)
def test_no_entry_is_written_over_while_it_is_there(
    options: dict[str, int], sizes: list[int]
) -> None:
    history = History("probe", **options)
    written = [bytes([number + 1]) * size for number, size in enumerate(sizes)]
    for data in written:
        history.add(snapshot(data), 0)
        found = [history.fetch(entry) for entry in history.live()]
        expected = [written[entry] for entry in history.live()]
        assert [one.data for one in found if one is not None] == expected


def test_sizes_that_add_up_only_beyond_64_bits_are_refused() -> None:
    """2,048 times 2⁵³ is 2⁶⁴, which 64 bits hold as 0: what is left looks like all of the data."""
    state = filled(2049).state()
    columns = [block.columns for block in state["rows"].blocks(0)]
    whole = {name: np.concatenate([one[name] for one in columns]) for name in columns[0]}
    whole["sizes"] = np.array([2**53] * 2048 + [len(whole["data"])])
    assert whole["sizes"].cumsum()[-1] == len(whole["data"])
    rows = state["rows"]._replace(blocks=lambda first: iter([Block(0, 2049, whole)]))
    with pytest.raises(StateError):
        filled(0).load({**state, "rows": rows})
