"""A snapshot that holds only what can change in an environment, by a plan that was made once.

Attributes that never change are taken for constant: a snapshot leaves them out, and each save
verifies that they are still the same. Where one is not, that snapshot holds everything.
"""

from __future__ import annotations

import copy
import math
import zlib
from collections.abc import Mapping, Set
from operator import eq, is_
from typing import Any, NamedTuple

import msgpack
import numpy as np

from uflp.simulators import attribute_reader as reading
from uflp.simulators import attributes
from uflp.simulators.base import SnapshotError
from uflp.simulators.mujoco import CompactMjDataCodec, UnplannedError, memory

MARK = b"\xc1"
"""First byte of what a plan writes; no msgpack begins with it."""

NUMBERS = "?bBhHiIlLqQfd"
"""Kinds of arrays that are written as they lie in memory."""

LEAVES = frozenset({type(None), bool, int, float, str, bytes})
"""Classes whose instances hold no other objects."""

_HUGE = 2**63
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
    """The usual form of an attribute, which can be written without a description.

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
    """Contents of a snapshot of one environment: attributes of objects that stay the same objects.

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
        self._packages = {reading.package_of(type(item)) for item in self._objects}
        self.checksum = zlib.crc32(repr(more).encode(), checksum_of(tracked))
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
            elif kind == "pcg64" and is_pcg64(value):
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
            checksum, leaves, nodes, content = attributes.unpacked(data[1:])
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
                if not is_pcg64(old):
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
                if name not in held or frozen(held[name], links) != content:
                    return
                self._note(held[name])
            names = list(one.constant)
            self._fixed.append((held, names, [held[name] for name in names]))
        self._made = dict(self._seen.values())
        self._claimed = {key: item for key, (_, item) in self._seen.items()}
        self._bound = True

    def _note(self, value: Any) -> None:
        """Note the containers and arrays in a constant value."""
        leaf = type(value) in LEAVES or isinstance(value, np.generic)
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
                if name not in held or frozen(held[name], links) != content:
                    writer = attributes.Writer(self._skip, False, self._codecs)
                    made = dict(links.values())
                    writer.know(made, {id(item): item for item in made.values()}, self._packages)
                    held[name] = writer.write(msgpack.unpackb(content), held.get(name), name)
        self._bind()
        if not self._bound:
            raise SnapshotError("what never changes has changed, and cannot be put back")


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
        if is_pcg64(value):
            return ["pcg64", number, attributes.pack_pcg64(value)]
        return super()._shared(value, number, path)

    def _array(self, value: np.ndarray, number: int) -> list[Any]:
        node = super()._array(value, number)
        if id(_owner(value)) in self._owners:
            node[3][-1] = True
        return node


def is_pcg64(value: Any) -> bool:
    """Return whether a value is a NumPy generator of the usual kind."""
    return type(value) is np.random.Generator and type(value.bit_generator) is np.random.PCG64


def is_lone_array(value: Any) -> bool:
    """Return whether a value is an array of numbers that shares its memory with no other."""
    return (
        type(value) is np.ndarray
        and value.dtype.char in NUMBERS
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


def frozen(value: Any, links: Mapping[int, tuple[int, Any]]) -> bytes:
    """Return a constant value as bytes."""
    reader = _PlannedReader(frozenset(), reading.NO_CODECS, links, frozenset())
    return msgpack.packb(reader.read(value, ""))


def checksum_of(tracked: list[Tracked]) -> int:
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
