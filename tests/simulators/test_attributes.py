"""The general snapshot brings back every attribute, and keeps shared objects shared."""

from __future__ import annotations

import contextlib
import enum
import random
import threading
from collections import Counter, OrderedDict, defaultdict, deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import dm_env
import gymnasium
import msgpack
import numpy as np
import pytest
from dm_env import specs
from gymnasium.wrappers import FrameStackObservation, TimeLimit
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import uflp.runs.events  # noqa: F401 (as in every process that trains)
from uflp import state_file
from uflp.simulators import SnapshotError
from uflp.simulators.action_script import same
from uflp.simulators.attributes import encode, write_back
from uflp.simulators.base import SEAL_WIDTH, seal
from uflp.simulators.lookup import named


class Thing:
    """An object with whatever attributes it is given."""

    def __init__(self, **attributes: Any):
        self.__dict__.update(attributes)


class Slotted:
    __slots__ = ("__hidden", "left", "right")

    def __init__(self, left: Any):
        self.left = left
        self.__hidden = left


class Suit(enum.Enum):
    CLUBS = 1
    HEARTS = 2


class Point(NamedTuple):
    x: float
    y: Any


@dataclass(frozen=True)
class Frozen:
    value: int


def moved(saved: Thing, target: Thing, exact: bool = True) -> Thing:
    write_back(target, encode(saved), exact=exact)
    return target


scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(st.characters(exclude_categories=["Cs"])),
    st.binary(),
    st.sampled_from(Suit),
    arrays.arrays(arrays.scalar_dtypes(), ()).map(lambda array: array[()]),
)
values = st.recursive(
    st.one_of(scalars, arrays.arrays(arrays.scalar_dtypes(), arrays.array_shapes(min_side=0))),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.lists(inner, max_size=4).map(lambda items: deque(items, maxlen=9)),
        st.dictionaries(st.one_of(st.text("ab"), st.integers()), inner, max_size=4),
        st.builds(Point, st.floats(), inner),
    ),
    max_leaves=8,
)


def equal(a: Any, b: Any) -> bool:
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return list(a) == list(b) and all(equal(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple | deque):
        return len(a) == len(b) and all(map(equal, a, b))
    return same(a, b)


@settings(max_examples=150, deadline=None)
@given(saved=values, present=values)
def test_a_value_comes_back_whatever_was_in_its_place(saved: Any, present: Any) -> None:
    target = moved(Thing(value=saved), Thing(value=present))
    assert equal(target.value, saved)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=60) | values.map(lambda value: encode(Thing(value=value))[:-1]))
def test_bytes_that_are_no_state_are_refused(data: bytes) -> None:
    with pytest.raises(SnapshotError):
        write_back(Thing(value=1), data, exact=True)


@pytest.mark.parametrize(
    "value",
    [
        {1, 2, 3},
        frozenset({4, 5}),
        range(2, 9, 3),
        2**127 - 1,
        OrderedDict(b=1, a=2),
        Counter("hello"),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.array([[1, "a"], [None, 2.5]], dtype=object),
        dm_env.restart(np.zeros(3)),
        Frozen(3),
    ],
    ids=lambda value: type(value).__name__,
)
def test_other_kinds_come_back(value: Any) -> None:
    target = moved(Thing(value=value), Thing(value=None, extra=Frozen(1)))
    assert type(target.value) is type(value)
    assert repr(target.value) == repr(value)
    assert getattr(target.value, "flags", None) == getattr(value, "flags", None)


@pytest.mark.parametrize(
    "make",
    [
        lambda: specs.Array((2,), np.float32),
        lambda: specs.BoundedArray((2,), np.float32, 0, 1),
        lambda: specs.DiscreteArray(3),
        lambda: gymnasium.spaces.Discrete(3),
    ],
)
def test_specs_and_spaces_are_constants_and_left_as_they_are(make: Any) -> None:
    own = make()
    assert moved(Thing(value=make()), Thing(value=own)).value is own
    assert encode(Thing(value=make(), other=1)) == encode(Thing(value=len, other=1))


@pytest.mark.parametrize(
    "make",
    [
        lambda seed: np.random.RandomState(seed),
        lambda seed: np.random.RandomState(np.random.PCG64(seed)),
        lambda seed: np.random.Generator(np.random.Philox(seed)),
        lambda seed: np.random.default_rng(seed),
        lambda seed: random.Random(seed),
    ],
)
def test_generators_go_back_only_when_asked(make: Any) -> None:
    def draw(generator: Any) -> float:
        return generator.gauss(0, 1) if hasattr(generator, "gauss") else generator.normal()

    saved, exact, fresh, empty = (Thing(rng=make(seed)) for seed in (0, 1, 2, 3))
    empty.rng = None
    draw(saved.rng)
    data = encode(saved)
    expected = [draw(saved.rng) for _ in range(3)]
    kept = exact.rng
    write_back(exact, data, exact=True)
    assert exact.rng is kept
    assert [draw(exact.rng) for _ in range(3)] == expected
    write_back(fresh, data, exact=False)
    untouched = make(2)
    assert [draw(fresh.rng) for _ in range(3)] == [draw(untouched) for _ in range(3)]
    write_back(empty, data, exact=False)
    assert draw(empty.rng) != expected[0]
    empty.rng = None
    write_back(empty, data, exact=True)
    assert [draw(empty.rng) for _ in range(3)] == expected


def test_what_is_shared_stays_shared_and_what_is_not_does_not() -> None:
    rng, board, part = np.random.RandomState(0), [1, 2], Thing(n=1)
    saved = Thing(rng=rng, board=board, part=part, inner=Thing(rng=rng, board=board, part=part))
    apart = Thing(
        **{"rng": np.random.RandomState(1), "board": [], "part": Thing(n=0)},
        inner=Thing(rng=np.random.RandomState(2), board=[], part=Thing(n=0)),
    )
    separate = encode(apart)
    moved(saved, apart)
    for name in ("rng", "board", "part"):
        assert getattr(apart, name) is getattr(apart.inner, name)
    write_back(saved, separate, exact=True)
    for name in ("rng", "board", "part"):
        assert getattr(saved, name) is not getattr(saved.inner, name)


def test_cycles_come_back() -> None:
    saved, target = Thing(items=[]), Thing(items=[])
    saved.items += [saved, saved.items]
    moved(saved, target)
    assert target.items[0] is target
    assert target.items[1] is target.items


def test_views_still_show_the_array_behind_them() -> None:
    def make(fill: float) -> Thing:
        board = np.full((3, 3), fill)
        return Thing(board=board, row=board[1])

    target = moved(make(1.0), make(2.0))
    assert target.row.tolist() == [1, 1, 1]
    target.board[1] = 7
    assert target.row.tolist() == [7, 7, 7]


def test_arrays_that_were_handed_out_do_not_change() -> None:
    target = Thing(board=np.zeros(3))
    handed_out = target.board
    moved(Thing(board=np.ones(3)), target)
    assert handed_out.tolist() == [0, 0, 0]
    assert target.board.tolist() == [1, 1, 1]


def test_frozen_records_in_other_hands_do_not_change() -> None:
    record = Frozen(1)
    assert moved(Thing(record=Frozen(2)), Thing(record=record)).record == Frozen(2)
    assert record == Frozen(1)


def test_slots_come_back_and_empty_ones_are_emptied() -> None:
    target = Thing(part=Slotted(1))
    target.part.right = 5
    moved(Thing(part=Slotted(2)), target)
    assert (target.part.left, target.part._Slotted__hidden) == (2, 2)
    assert not hasattr(target.part, "right")


def test_attributes_that_came_later_are_gone_and_code_stays() -> None:
    target = Thing(count=3, late=1, double=lambda x: 2 * x, table=defaultdict(list, a=[1]))
    saved = Thing(count=1, double=len, table=defaultdict(list, b=[2]))
    moved(saved, target)
    assert target.count == 1
    assert not hasattr(target, "late")
    assert target.double(4) == 8
    assert target.table["b"] == [2]
    assert target.table["new"] == []


def test_code_in_a_container_stays_and_must_be_the_same() -> None:
    target = moved(Thing(rules=[len, 1], by={"a": max}), Thing(rules=[len, 2], by={"a": max}))
    assert target.rules == [len, 1]
    assert target.by == {"a": max}
    with pytest.raises(SnapshotError, match=r"Thing\.rules\[0\] .* there is no len"):
        moved(Thing(rules=[len]), Thing(rules=[max]))


def test_a_function_over_its_object_sees_the_restored_state() -> None:
    def make(place: int) -> Thing:
        thing = Thing(place=place)
        thing.look = lambda: thing.place
        return thing

    assert moved(make(4), make(0)).look() == 4


def test_missing_objects_are_made_from_the_packages_of_the_target_only() -> None:
    parts = [Thing(n=n) for n in range(3)]
    target = moved(Thing(parts=parts), Thing(parts=[]))
    assert [part.n for part in target.parts] == [0, 1, 2]
    foreign = encode(Thing(event=threading.Event))  # a class is code, and left out
    node = msgpack.unpackb(foreign)
    node[3] = {"event": ["object", 1, "threading:Event", {}, []]}
    with pytest.raises(SnapshotError, match=r"Thing\.event .* threading:Event is not known here"):
        write_back(Thing(event=None), msgpack.packb(node), exact=True)


class Cleaner(Thing):
    """Acts on its attributes when it goes, as temporary files do."""

    cleaned: list[str] = []  # noqa: RUF012 (shared on purpose)

    def __del__(self) -> None:
        self.cleaned.append(self.name)


def test_no_object_is_made_that_would_act_when_it_goes() -> None:
    node = msgpack.unpackb(encode(Thing(part=None)))
    name = f"{Cleaner.__module__}:{Cleaner.__qualname__}"
    node[3] = {"part": ["object", 1, name, {"name": "a file of the user"}, []]}
    with pytest.raises(SnapshotError, match="Cleaner is not known here"):
        write_back(Thing(part=None), msgpack.packb(node), exact=True)
    assert Cleaner.cleaned == []


def test_lists_of_a_snapshot_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """One byte of a snapshot makes an empty list, of 64 bytes."""
    monkeypatch.setattr(state_file, "_MOST_CONTAINERS", 1 << 19)
    node = msgpack.unpackb(encode(Thing(held=[])))
    node[3]["held"] = [[]] * (1 << 20)
    with pytest.raises(SnapshotError, match="too many lists"):
        write_back(Thing(held=None), msgpack.packb(node), exact=True)


def test_objects_are_counted_before_there_is_room_for_them() -> None:
    node = msgpack.unpackb(encode(Thing(held=np.array([None], object))))
    node[3]["held"][2] = [1 << 40]
    with pytest.raises(SnapshotError, match=r"1 objects are not \[1099511627776\]"):
        write_back(Thing(held=None), msgpack.packb(node), exact=True)


def test_no_wrapper_is_made_that_would_act_when_it_is_played(tmp_path: Path) -> None:
    """The file that the events of a run go to would be written in the place of a queue."""
    precious = tmp_path / "precious"
    precious.write_text("mine")
    simulator = named("gym:CartPole-v1").make(0)
    simulator.reset(seed=0)
    saved = simulator.save()
    node = msgpack.unpackb(saved.data[:-SEAL_WIDTH])

    def restore() -> None:
        body = msgpack.packb(node)
        simulator.restore(saved._replace(data=body + seal(body)))

    limit = node[3]["env"]
    inside = limit[3]["env"]
    limit[3]["aux"] = ["same", inside[1]]  # A second way to what the wrapper is around.
    restore()
    queue = {"_path": str(precious), "_begun": False}
    wrapper = {
        "env": ["same", inside[1]],
        "return_queue": ["object", 101, "uflp.runs.events:EventFile", queue, []],
        **{"episode_start_time": 0.0, "episode_returns": 0.0, "episode_lengths": 0},
        **{"episode_count": 0, "_stats_key": "episode"},
    }
    name = "gymnasium.wrappers.common:RecordEpisodeStatistics"
    limit[3] = {"aux": inside, **limit[3], "env": ["object", 100, name, wrapper, []]}
    limit[3]["aux"] = inside
    with contextlib.suppress(SnapshotError, AttributeError):
        restore()
        while not simulator.step(1)[2]:
            pass
    assert precious.read_text() == "mine"
    with pytest.raises(SnapshotError, match="RecordEpisodeStatistics is not known here"):
        restore()


class Wrapped(gymnasium.Wrapper[Any, Any, Any, Any]):
    """A wrapper of the package that the target is of."""


def test_no_wrapper_of_any_package_is_made() -> None:
    node = msgpack.unpackb(encode(Thing(part=None)))
    node[3] = {"part": ["object", 1, f"{__name__}:Wrapped", {}, []]}
    with pytest.raises(SnapshotError, match="Wrapped is not known here"):
        write_back(Thing(part=None), msgpack.packb(node), exact=True)


def test_names_to_skip_are_neither_saved_nor_rolled_back() -> None:
    saved, target = Thing(log=1, deep=Thing(log=2, n=3)), Thing(log=8, deep=Thing(log=9, n=0))
    write_back(target, encode(saved, skip={"log"}), exact=True, skip={"log"})
    assert (target.log, target.deep.log, target.deep.n) == (8, 9, 3)


@pytest.mark.parametrize(
    "value",
    [threading.Lock(), iter([1]), memoryview(b"1"), 1j, np.ma.array([1]), object()],
    ids=lambda value: type(value).__name__,
)
def test_what_cannot_be_saved_is_refused_by_name(value: Any) -> None:
    with pytest.raises(SnapshotError, match=r"Thing\.parts\[1\]\.value cannot be saved"):
        encode(Thing(parts=[0, Thing(value=value)]))


def test_another_class_is_refused() -> None:
    with pytest.raises(SnapshotError, match="not a state of Thing"):
        write_back(Thing(), encode(Slotted(1)), exact=True)


def test_a_stack_of_gymnasium_wrappers_replays() -> None:
    def make() -> gymnasium.Env:
        env = FrameStackObservation(TimeLimit(gymnasium.make("CartPole-v1"), 30), 3)
        env.reset(seed=0)
        return env

    env, other = make(), make()
    for action in (0, 1, 1):
        env.step(action)
    data = encode(env)
    expected = [env.step(a)[:4] for a in (1, 0, 1, 0)]
    for target in (env, other):
        write_back(target, data, exact=True)
        assert all(map(same, expected, [target.step(a)[:4] for a in (1, 0, 1, 0)]))
