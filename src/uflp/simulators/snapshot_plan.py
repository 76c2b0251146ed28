"""What can change in an environment, worked out once, so that a snapshot holds only that.

An environment of a known package is played for a few steps from given seeds. Attributes that stayed
the same are taken for constant: a snapshot leaves them out, and each save verifies that they are
still the same. Where one is not, that snapshot holds everything, as it does for environments of
other people, whose constants may differ between instances.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import math
import random
import types
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping, Set
from operator import eq, is_
from typing import Any, NamedTuple

import gymnasium
import msgpack
import numpy as np
from gymnasium.wrappers import RecordEpisodeStatistics

from uflp.simulators import attribute_reader as reading
from uflp.simulators import attributes
from uflp.simulators.base import SnapshotError
from uflp.simulators.env_layers import LayeredEnv, layers, logs_of, statistics_held
from uflp.simulators.mujoco import (
    CompactMjDataCodec,
    MjDataCodec,
    MjDataWatch,
    UnplannedError,
    memory,
    needed_arrays,
)

MARK = b"\xc1"
"""First byte of what a plan writes; no msgpack begins with it."""

KNOWN = frozenset({"dm_control", "gymnasium", "gymnasium_robotics", "minigrid", "uflp"})
"""Packages whose constants follow from how an environment is made."""

_SEEDS, _STEPS = 4, 3
_WARM_UPS = (0, 3, 12)
_NUMBERS = "?bBhHiIlLqQfd"
_HUGE = 2**63
_LEAVES = frozenset({type(None), bool, int, float, str, bytes})
_PLAIN = frozenset({type(None), bool, float, str, bytes})


class Tracked(NamedTuple):
    """An object of an environment that stays the same object.

    Attributes:
        item: the object.
        size: number of all its attributes.
        kept: names of those that a snapshot holds, and what they hold most of the time.
        constant: values of those that do not change, as bytes.
    """

    item: Any
    size: int
    kept: dict[str, Form]
    constant: dict[str, bytes]


class Form(NamedTuple):
    """What an attribute holds most of the time, so that it can be written without a description.

    Attributes:
        kind: `leaf`, `array`, `arrays` (a dictionary of them), `pcg64`, `coded`, or `other`.
        arrays: key, type and shape of the arrays.
    """

    kind: str
    arrays: tuple[tuple[str, str, tuple[int, ...]], ...] = ()


class _Slot(NamedTuple):
    """An attribute that a snapshot holds: where it is, its path for messages, and its form."""

    held: dict[str, Any]
    name: str
    path: str
    kind: str
    arrays: tuple[tuple[str, np.dtype[Any], tuple[int, ...]], ...]


class Plan:
    """What a snapshot of one environment holds: attributes of objects that stay the same objects.

    Attributes:
        checksum: of all that a snapshot leaves out; equal for instances that understand each other.
    """

    def __init__(
        self, tracked: list[Tracked], skip: Set[str], codecs: attributes.Codecs, more: Any = None
    ):
        """Make a plan.

        Args:
            tracked: objects whose attributes are saved one by one.
            skip: names of attributes that are no state.
            codecs: how to read and write instances of some classes.
            more: what else must be equal between instances.
        """
        self._tracked = tracked
        self._objects = [one.item for one in tracked]
        self._skip = skip
        self._codecs = codecs
        self._held = [vars(item) for item in self._objects]
        self._sizes = [one.size for one in tracked]
        compact = any(isinstance(codec, CompactMjDataCodec) for codec in codecs.values())
        self._slots = [
            _Slot(
                vars(one.item),
                name,
                f"{type(one.item).__name__}.{name}",
                "other" if form.kind == "coded" and not compact else form.kind,
                tuple((key, np.dtype(dtype), shape) for key, dtype, shape in form.arrays),
            )
            for one in tracked
            for name, form in one.kept.items()
        ]
        self._packages = set(map(_package, self._objects))
        self.checksum = zlib.crc32(repr(more).encode(), _checksum(tracked))
        self._bound = False
        self._bind()

    def encode(self) -> bytes:
        """Return what can have changed; raise `UnplannedError` if something else has, too."""
        if not self._intact():
            self._bind()
        if not self._bound or list(map(len, self._held)) != self._sizes:
            raise UnplannedError
        leaves: list[Any] = []
        parts: list[bytes] = []
        coded: dict[int, Any] = {}
        arrays: list[np.ndarray] = []
        others: dict[int, Any] = {}
        for number, (held, name, _, kind, forms) in enumerate(self._slots):
            try:
                value = held[name]
            except KeyError as error:
                raise UnplannedError from error
            if kind == "leaf":
                plain = type(value) in _PLAIN or (type(value) is int and -_HUGE <= value < _HUGE)
                leaves.append(value if plain else None)
                if not plain:
                    others[number] = value
            elif kind == "pcg64" and _is_pcg64(value):
                parts.append(attributes.pack_pcg64(value))
            elif kind == "coded" and type(value) in self._codecs:
                if id(value) not in coded:
                    coded[id(value)] = self._codecs[type(value)].read(value)
            elif kind == "array" and _fits(value, forms[0]):
                arrays.append(value)
                parts.append(value.tobytes())
            elif kind == "arrays" and _all_fit(value, forms):
                arrays += value.values()
                parts += [part.tobytes() for part in value.values()]
            else:
                others[number] = value
        ids = {id(array) for array in arrays}
        if len(ids) < len(arrays) or not self._seen.keys().isdisjoint(ids):
            raise UnplannedError  # one array in two places: the general way keeps it one
        nodes = self._read(others, arrays, ids) if others else None
        parts += coded.values()
        return MARK + msgpack.packb([self.checksum, leaves, nodes, b"".join(parts)])

    def _read(
        self, others: Mapping[int, Any], arrays: list[np.ndarray], ids: Set[int]
    ) -> dict[int, Any]:
        """Return what is not in its usual form, by the numbers of the slots."""
        reader = _PlannedReader(self._skip, self._codecs, self._seen, self._owners)
        reader.know(arrays)
        nodes = {
            number: reader.read(value, self._slots[number].path) for number, value in others.items()
        }
        if reader.met(ids):
            raise UnplannedError  # a view of an array that is written by itself
        return nodes

    def write_back(self, data: bytes, *, exact: bool) -> None:
        """Put the environment into a state that `encode` returned."""
        try:
            checksum, leaves, nodes, content = msgpack.unpackb(data[1:], strict_map_key=False)
        except Exception as error:  # the bytes may be anything
            raise SnapshotError(f"not a snapshot: {error!r}") from error
        if checksum != self.checksum:
            raise SnapshotError(
                "the snapshot is of an environment that was made otherwise: what never changes in "
                "the one is different in the other"
            )
        if not self._intact():
            self._bind()
        if not self._bound or list(map(len, self._held)) != self._sizes:
            self._restore_constants()
        try:
            self._write(leaves, nodes or {}, content, exact=exact)
        except SnapshotError:
            raise
        except Exception as error:  # the bytes may be anything
            raise SnapshotError(f"not a snapshot: {error!r}") from error

    def _write(
        self, leaves: list[Any], nodes: Mapping[int, Any], content: bytes, *, exact: bool
    ) -> None:
        """Write what slots hold in their usual forms, then the others, then the simulation."""
        start = 0
        waiting = iter(leaves)
        arrays: list[np.ndarray] = []
        coded: dict[int, Any] = {}
        for number, (held, name, _, kind, forms) in enumerate(self._slots):
            if kind == "leaf":
                leaf = next(waiting)
                if number not in nodes:
                    held[name] = leaf
            elif number in nodes:
                continue
            elif kind == "pcg64":
                old: Any = held.get(name)
                if not _is_pcg64(old):
                    seed = zlib.crc32(content[start : start + attributes.PCG64_WIDTH])
                    held[name] = old = np.random.Generator(np.random.PCG64(seed))
                if exact:
                    attributes.unpack_pcg64(old, content, start)
                start += attributes.PCG64_WIDTH
            elif kind == "coded":
                coded[id(held[name])] = held[name]
            else:
                made = []
                for _, dtype, shape in forms:
                    size = math.prod(shape)
                    array = np.frombuffer(content, dtype, size, start).reshape(shape).copy()
                    start += array.nbytes
                    made.append(array)
                arrays += made
                keys = [key for key, _, _ in forms]
                held[name] = made[0] if kind == "array" else dict(zip(keys, made, strict=True))
        if nodes:
            writer = attributes.Writer(self._skip, exact, self._codecs)
            known = dict(enumerate(arrays, len(self._made)))
            claimed = {id(array): array for array in arrays}
            writer.know(self._made | known, self._claimed | claimed, self._packages)
            for number, node in nodes.items():
                slot = self._slots[number]
                slot.held[slot.name] = writer.write(node, slot.held.get(slot.name), slot.path)
        for value in coded.values():
            self._codecs[type(value)].write(value, content[start:])
        if not coded and start != len(content):
            raise SnapshotError("the snapshot has another length")

    def _intact(self) -> bool:
        """Return whether all that is taken for constant is as it was when it was last compared."""
        if not self._bound:
            return False
        for held, names, values in self._fixed:
            if not all(map(is_, map(held.get, names), values)):
                return False
        try:
            return all(map(eq, self._containers, self._copies)) and all(
                map(eq, self._views, self._contents)
            )
        except ValueError:  # another array in the place of one
            return False

    def _bind(self) -> None:
        """Compare all constants with what they should be, and note the objects that hold them."""
        self._bound = False
        self._fixed: list[tuple[dict[str, Any], list[str], list[Any]]] = []
        self._containers: list[Any] = []
        self._copies: list[Any] = []
        self._views: list[Any] = []
        self._contents: list[Any] = []
        self._seen: dict[int, tuple[int, Any]] = {}
        self._owners: set[int] = set()
        self._made: dict[int, Any] = {}
        self._claimed: dict[int, Any] = {}
        for number, item in enumerate(self._objects):
            self._seen[id(item)] = number, item
        links = dict(self._seen)
        for one, held in zip(self._tracked, self._held, strict=True):
            for name, content in one.constant.items():
                if name not in held or _frozen(held[name], links) != content:
                    return
                self._note(held[name])
            names = list(one.constant)
            self._fixed.append((held, names, [held[name] for name in names]))
        self._made = dict(self._seen.values())
        self._claimed = {key: item for key, (_, item) in self._seen.items()}
        self._bound = True

    def _note(self, value: Any) -> None:
        """Note the containers and arrays in a constant value."""
        leaf = type(value) in _LEAVES or isinstance(value, np.generic)
        if leaf or id(value) in self._seen:
            return
        self._seen[id(value)] = len(self._seen), value
        if type(value) is np.ndarray:
            self._views.append(memory(value))
            self._contents.append(memory(value.copy()))
            self._owners.add(id(_owner(value)))
            return
        items = value.values() if type(value) is dict else value
        if type(value) is not tuple:
            self._containers.append(value)
            self._copies.append(copy.copy(value))
        for item in items:
            self._note(item)

    def _restore_constants(self) -> None:
        """Put constants back that have changed, and remove attributes that came later."""
        links = {id(item): (number, item) for number, item in enumerate(self._objects)}
        for one, held in zip(self._tracked, self._held, strict=True):
            for name in list(held):
                known = name in one.constant or name in one.kept or name in self._skip
                if not known and not reading.is_constant(held[name]):
                    del held[name]
            for name, content in one.constant.items():
                if name not in held or _frozen(held[name], links) != content:
                    writer = attributes.Writer(self._skip, False, self._codecs)
                    made = dict(links.values())
                    writer.know(made, {id(item): item for item in made.values()}, self._packages)
                    held[name] = writer.write(msgpack.unpackb(content), held.get(name), name)
        self._bind()
        if not self._bound:
            raise SnapshotError("what never changes has changed, and cannot be put back")


def make_plan(layered: LayeredEnv, skip: Set[str], codecs: attributes.Codecs) -> Plan | None:
    """Play an environment of a known package, and return a plan for it, or None.

    The environment and all generators are then as before.
    """
    env = _known_part(layered)
    if env is None:
        return None
    present = attributes.encode(layered, skip=skip, codecs=codecs)
    trial = _Trial(layered, env, skip, codecs)
    try:
        with _undisturbed(), statistics_held(layered.env):
            found = trial.objects()
            if found is None:
                return None
            compact, arrays = trial.simulation(found)
    except Exception:  # an environment is anybody's code; it can still be saved as a whole
        return None
    finally:
        trial.undo_edits()
        attributes.write_back(layered, present, exact=True, skip=skip, codecs=codecs)
    return Plan(found, skip, compact, arrays)


class _Needs(NamedTuple):
    """What a snapshot of a simulation must hold.

    Attributes:
        edited: names of arrays of the model.
        written: names of arrays of the simulation; None means all.
        constant: contents of arrays that must stay as they are.
    """

    edited: list[str]
    written: list[str] | None
    constant: dict[str, bytes]


_SIZES = ("nq", "nv", "nu", "na", "nbody", "njnt", "ngeom", "nsite", "nmocap", "neq", "nsensor")
_SIMULATIONS: dict[tuple[Any, ...], _Needs] = {}
"""What was found out so far, by the descriptions of simulations."""


class _Trial:
    """A few steps from each of a few seeds, with a look at all attributes after each."""

    def __init__(self, layered: LayeredEnv, env: Any, skip: Set[str], codecs: attributes.Codecs):
        self._layered = layered
        self._env = env
        self._skip = skip
        # A reading of the clock is never the same twice, and decides nothing.
        timed = any(isinstance(layer, RecordEpisodeStatistics) for layer in layers(layered))
        self._skip_in_trials = skip | {"episode_start_time"} if timed else skip
        self._codecs = codecs
        self._space: gymnasium.Space[Any] = copy.deepcopy(env.action_space)
        self._outer_space: gymnasium.Space[Any] = copy.deepcopy(layered.env.action_space)
        self._outer_space.seed(0)
        self._objects = self._follow()
        self._simulation = self._find_simulation()
        data = self._simulation
        self._edits = None if data is None else MjDataWatch(data, ())

    def objects(self) -> list[Tracked] | None:
        """Return the objects that stay the same objects; None if attributes of them come and go."""
        kept = self._stable()
        links = {id(item): (number, item) for number, item in enumerate(kept)}
        found: list[dict[str, bytes]] = []
        values: list[dict[str, Any]] = []
        for number, _ in enumerate(self._looks()):
            for place, item in enumerate(kept):
                if not number:
                    values.append(dict(vars(item)))
                    found.append(self._constants(item, links))
                    continue
                now = vars(item)
                if now.keys() != values[place].keys():
                    return None
                for name in list(found[place]):
                    same = now.get(name) is values[place][name]
                    if not same or _frozen(now[name], links) != found[place][name]:
                        del found[place][name]
        return [
            Tracked(
                item,
                len(held),
                {
                    name: self._form(vars(item)[name])
                    for name, value in held.items()
                    if not (name in fixed or name in self._skip or reading.is_constant(value))
                },
                fixed,
            )
            for item, held, fixed in zip(kept, values, found, strict=True)
        ]

    def _stable(self) -> list[Any]:
        """Return the layers, and the objects that always hang from the same attribute of one."""
        looks = [[dict(vars(item)) for item in self._objects] for _ in self._looks()]
        held = {
            id(item): list(own)
            for item, own in zip(self._objects, zip(*looks, strict=True), strict=True)
        }
        stable = list(layers(self._layered))
        found = set(map(id, stable))
        for item in stable:
            for name, value in held[id(item)][0].items():
                always = all(look.get(name) is value for look in held[id(item)])
                if always and id(value) in held and id(value) not in found:
                    found.add(id(value))
                    stable.append(value)
        return stable

    def _form(self, value: Any) -> Form:
        """Return what a snapshot expects in the place of a value."""
        if type(value) in _LEAVES:
            return Form("leaf")
        if _is_pcg64(value):
            return Form("pcg64")
        if value is self._simulation:
            return Form("coded")
        if _is_lone_array(value):
            return Form("array", (("", value.dtype.str, value.shape),))
        if type(value) is dict and all(
            type(key) is str and _is_lone_array(part) for key, part in value.items()
        ):
            parts = [(key, part.dtype.str, part.shape) for key, part in value.items()]
            return Form("arrays", tuple(parts))
        return Form("other")

    def simulation(self, tracked: list[Tracked]) -> tuple[attributes.Codecs, Any]:
        """Return codecs of which that for MuJoCo writes little, and the names that it is about."""
        data = self._simulation
        if data is None:
            return self._codecs, None
        key = self._description(data, tracked)
        needs = _SIMULATIONS.get(key) if key else None
        if needs is None:
            needs = self._needs(data)
        if key:
            _SIMULATIONS[key] = needs
        codec: Any = self._codecs[type(data)]
        codec.edited = needs.edited
        if needs.written is None:
            return self._codecs, needs
        small = CompactMjDataCodec(data, needs.written, needs.constant, needs.edited)
        return {**self._codecs, type(data): small}, needs

    def _needs(self, data: Any) -> _Needs:
        """Find out what a snapshot of a simulation must hold."""
        codec: Any = self._codecs[type(data)]
        assert self._edits is not None
        watch: MjDataWatch | None = None
        for _ in self._looks():
            self._edits.look()
            if watch is None:
                watch = MjDataWatch(data, codec.fixed(data.model))
            watch.look()
        assert watch is not None
        codec.edited = self._edits.edited
        found = needed_arrays(codec, data, watch.constant, self._outcomes())
        if found is None:
            return _Needs(self._edits.edited, None, {})
        written, fixed = found
        return _Needs(self._edits.edited, written, {name: watch.constant[name] for name in fixed})

    def _description(self, data: Any, tracked: list[Tracked]) -> tuple[Any, ...] | None:
        """Return what equal environments have in common; None if there is code of other people."""
        held = list(layers(self._layered))[1:]
        values = [value for one in tracked for value in vars(one.item).values()]
        code = [value for value in values if isinstance(value, types.FunctionType)]
        if not {*map(_package, held), *(_module(value) for value in code)} <= KNOWN:
            return None
        model = data.model
        sizes = tuple(getattr(model, name) for name in _SIZES)
        return (*map(type, held), sizes, model.opt.timestep, _checksum(tracked))

    def undo_edits(self) -> None:
        """Put the arrays of the model back that were edited."""
        if self._edits is not None:
            self._edits.look()
            self._edits.undo()

    def _follow(self) -> list[Any]:
        """Return the layers, and the objects that hang from them, each once."""
        objects = list(layers(self._layered))
        seen = set(map(id, objects))
        for item in objects:
            for name, value in vars(item).items():
                cls: Any = type(value)
                frozen = getattr(getattr(cls, "__dataclass_params__", None), "frozen", False)
                if (
                    name not in self._skip
                    and hasattr(value, "__dict__")
                    and not reading.is_constant(value)
                    and reading.is_plain(cls)
                    and not reading.slots_of(cls)
                    and not frozen
                    and cls not in self._codecs
                    and cls.__name__ not in reading.GENERATORS
                    and id(value) not in seen
                ):
                    seen.add(id(value))
                    objects.append(value)
        return objects

    def _find_simulation(self) -> Any:
        """Return the one simulation of MuJoCo in the environment; None if there is not one."""
        found = {
            id(value): value
            for item in self._objects
            for value in vars(item).values()
            if isinstance(self._codecs.get(type(value)), MjDataCodec)
        }
        return next(iter(found.values())) if len(found) == 1 else None

    def _constants(self, item: Any, links: Mapping[int, Any]) -> dict[str, bytes]:
        """Return the values of attributes that may be constant, as bytes."""
        # What was seen is not up to date while only a part of the layers is played.
        known = _package(item) in KNOWN and not isinstance(item, LayeredEnv)
        # Logs of episodes change only when one ends, which a few steps may not show.
        changing = {*self._skip, *logs_of(item)}
        found = {}
        for name, value in vars(item).items():
            if name in changing or reading.is_constant(value):
                continue
            if id(value) in links or (known and _is_simple(value)):
                found[name] = _frozen(value, links)
        return found

    def _looks(self) -> Iterator[None]:
        """Play, and yield after each reset and step; the same each time."""
        self._space.seed(0)
        for seed in range(_SEEDS):
            _, info = self._env.reset(seed=seed)
            yield
            for _ in range(_STEPS):
                action = _sample(self._space, info)
                _, _, terminated, truncated, info = self._env.step(action)
                yield
                if terminated or truncated:
                    break

    def _outcomes(self) -> list[Callable[..., Any]]:
        """Return functions that go on from states that are 0, 3 and 12 steps after a reset.

        All layers are played: a wrapper may read arrays of the simulation, too.
        """
        env = self._layered.env
        states = []
        _, info = env.reset(seed=0)
        for number in range(max(_WARM_UPS) + 1):
            if number in _WARM_UPS:
                states.append(self._saved())
            *_, terminated, truncated, info = env.step(_sample(self._outer_space, info))
            if terminated or truncated:
                _, info = env.reset(seed=0)
        action = _sample(self._outer_space, info)

        def outcome(state: bytes, change: Callable[[], None]) -> Any:
            self._restore(state)
            change()
            result = env.step(copy.copy(action))
            stepped = _value_bytes(result), self._saved()
            self._restore(state)
            change()
            env.reset(seed=_SEEDS)
            return stepped, self._saved()

        return [functools.partial(outcome, state) for state in states]

    def _saved(self) -> bytes:
        return attributes.encode(self._layered, skip=self._skip_in_trials, codecs=self._codecs)

    def _restore(self, state: bytes) -> None:
        attributes.write_back(
            self._layered, state, exact=True, skip=self._skip_in_trials, codecs=self._codecs
        )


def _known_part(layered: LayeredEnv) -> Any:
    """Return the environment with the innermost wrappers that are of known packages, or None."""
    known = None
    for layer in reversed(list(layers(layered))[1:]):
        module = type(layer).__module__
        if _package(layer) not in KNOWN or module.startswith("gymnasium.wrappers.rendering"):
            break
        known = layer
    return known


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Put the generators that all share back, and let nobody hear of warnings twice."""
    numpy_state, python_state = np.random.get_state(), random.getstate()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        np.random.set_state(numpy_state)
        random.setstate(python_state)


def _sample(space: gymnasium.Space[Any], info: Mapping[str, Any]) -> Any:
    mask = info.get("action_mask")
    if mask is None or not isinstance(space, gymnasium.spaces.Discrete):
        return space.sample()
    return space.sample(np.asarray(mask, np.int8))


class _PlannedReader(reading.Reader):
    """A reader that knows the objects and constants of a plan by their numbers."""

    def __init__(
        self,
        skip: Set[str],
        codecs: attributes.Codecs,
        seen: Mapping[int, tuple[int, Any]],
        owners: Set[int],
    ):
        super().__init__(skip, codecs)
        self._seen = dict(seen)
        self._owners = owners

    def know(self, arrays: list[np.ndarray]) -> None:
        """Take arrays that are written elsewhere, and number them."""
        for array in arrays:
            self._seen[id(array)] = len(self._seen), array

    def met(self, ids: Set[int]) -> bool:
        """Return whether it has read an array whose memory is that of one of these arrays."""
        return not self._arrays.keys().isdisjoint(ids)

    def _shared(self, value: Any, number: int, path: str) -> list[Any]:
        if _is_pcg64(value):
            return ["pcg64", number, attributes.pack_pcg64(value)]
        return super()._shared(value, number, path)

    def _array(self, value: np.ndarray, number: int) -> list[Any]:
        node = super()._array(value, number)
        if id(_owner(value)) in self._owners:
            node[3][-1] = True
        return node


def _is_pcg64(value: Any) -> bool:
    return type(value) is np.random.Generator and type(value.bit_generator) is np.random.PCG64


def _is_lone_array(value: Any) -> bool:
    """Return whether a value is an array of numbers that shares its memory with no other."""
    return (
        type(value) is np.ndarray
        and value.dtype.char in _NUMBERS
        and value.base is None
        and value.flags.c_contiguous
    )


def _fits(value: Any, form: tuple[str, np.dtype[Any], tuple[int, ...]]) -> bool:
    """Return whether a value is a lone array of a type and shape; the type is one of numbers."""
    return (
        type(value) is np.ndarray
        and value.dtype == form[1]
        and value.shape == form[2]
        and value.base is None
        and value.flags.c_contiguous
    )


def _all_fit(value: Any, forms: tuple[tuple[str, np.dtype[Any], tuple[int, ...]], ...]) -> bool:
    return (
        type(value) is dict
        and list(value) == [key for key, _, _ in forms]
        and all(map(_fits, value.values(), forms))
    )


def _frozen(value: Any, links: Mapping[int, tuple[int, Any]]) -> bytes:
    """Return a constant value as bytes."""
    reader = _PlannedReader(frozenset(), reading.NO_CODECS, links, frozenset())
    return msgpack.packb(reader.read(value, ""))


def _value_bytes(value: Any) -> bytes:
    return msgpack.packb(reading.Reader(frozenset()).read(list(value), ""))


def _is_simple(value: Any) -> bool:
    """Return whether a value is made of numbers, words, arrays, lists, tuples and dictionaries."""
    cls = type(value)
    if cls in _LEAVES or isinstance(value, np.generic):
        return True
    if cls is np.ndarray:
        return value.dtype.char in _NUMBERS and value.flags.c_contiguous
    if cls in (list, tuple):
        return all(map(_is_simple, value))
    if cls is dict:
        return all(type(key) in (str, int) for key in value) and all(
            map(_is_simple, value.values())
        )
    return False


def _checksum(tracked: list[Tracked]) -> int:
    """Return a checksum of all that is known of objects, names of files aside."""
    told = [
        [reading.name_of(type(one.item)), repr(one.kept), _without_paths(one.constant)]
        for one in tracked
    ]
    return zlib.crc32(msgpack.packb(told))


def _without_paths(constants: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return constants but for words with a slash: names of files differ between instances."""
    return {name: content for name, content in constants.items() if b"/" not in content}


def _owner(array: np.ndarray) -> Any:
    owner: Any = array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    return owner


def _package(value: Any) -> str:
    return _module(type(value))


def _module(value: Any) -> str:
    return value.__module__.partition(".")[0]
