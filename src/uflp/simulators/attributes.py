"""A snapshot of any Python object: its data attributes, read out and written back.

It understands numbers, strings, enums, NumPy arrays and generators, the standard containers, named
tuples, and instances of Python classes with all that hangs from them. Attributes that are code,
spaces or specs are constant and left out (what a function hides in its closure is not seen);
anything else is refused by name. One object that is held in two places is still one object after
it was written back.

The bytes are msgpack, and reading them calls nobody's code: values go into objects that are there
already; where one is missing, a bare instance is made of a class that is imported already and comes
from a package that the target itself is made of. Environments and wrappers are never made, nor is
anything of Gymnasium or of this package: with values of a stranger's, their methods could be led to
files that are not the stranger's.
"""

from __future__ import annotations

import enum
import math
import random
import struct
import sys
import zlib
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Set
from typing import Any, ClassVar

import gymnasium
import msgpack
import numpy as np

from uflp.simulators import attribute_reader as reading
from uflp.simulators.base import SnapshotError
from uflp.state_file import counter

Codecs = Mapping[type, reading.Codec]

FORMER = {"uflp.simulators.scene:Scene": "uflp.simulators.env_layers:LayeredEnv"}
"""Present names of classes by those that snapshots of earlier versions have."""

_LARGE = 1 << 20

_NEVER_MADE = frozenset({"gymnasium", "uflp"})
"""Packages of which all that an environment holds is there once it is made."""


def encode(
    target: Any,
    *,
    path: str | None = None,
    skip: Set[str] = frozenset(),
    codecs: Codecs = reading.NO_CODECS,
) -> bytes:
    """Return the state of an object.

    Args:
        target: an instance of a Python class.
        path: what errors call it, "" where its attributes are known by themselves; None means the
            name of its class.
        skip: names of attributes to leave out wherever they occur: logs, which are not rolled
            back, and large constants.
        codecs: how to read and write instances of some classes.

    Raises:
        SnapshotError: for an attribute that cannot be encoded; the message gives its path.
    """
    path = type(target).__name__ if path is None else path
    try:
        return msgpack.packb(reading.Reader(skip, codecs).read(target, path))
    except SnapshotError:
        raise
    except (RecursionError, ValueError) as error:
        raise SnapshotError(f"{type(target).__name__} cannot be saved: {error}") from error


def write_back(
    target: Any,
    data: bytes,
    *,
    exact: bool,
    path: str | None = None,
    skip: Set[str] = frozenset(),
    codecs: Codecs = reading.NO_CODECS,
) -> None:
    """Put an object into an encoded state.

    Args:
        target: an object of the class that was encoded.
        data: what `encode` returned.
        exact: whether random number generators go back too; else they stay as they are.
        path: see `encode`.
        skip: the names that were given to `encode`.
        codecs: likewise.

    Raises:
        SnapshotError: for data that does not fit the target, which may then be partly written.
    """
    try:
        node = unpacked(data)
        fits = isinstance(node, list) and node[0] == "object"
        if fits:
            node[2] = FORMER.get(node[2], node[2])
        if not fits or node[2] != reading.name_of(type(target)):
            raise SnapshotError(f"not a state of {type(target).__name__}")
        path = type(target).__name__ if path is None else path
        Writer(skip, exact, codecs).write(node, target, path)
    except SnapshotError:
        raise
    except Exception as error:  # the bytes may be anything, and may fail in any way
        raise SnapshotError(f"not a state of {type(target).__name__}: {error!r}") from error


def unpacked(data: bytes) -> Any:
    """Return what msgpack finds in data, if it has no more lists than there is room for."""
    # Counted only where it may matter: a call for each list takes time.
    count = counter() if len(data) > _LARGE else None
    return msgpack.unpackb(data, strict_map_key=False, list_hook=count, object_hook=count)


class Writer:
    """Turns what a `Reader` made back into values, using the objects that are there.

    `_claimed` holds the objects that have got their new state: what is two objects in the snapshot
    and one in the target becomes two.
    """

    _SHARED: ClassVar[Mapping[str, Callable[..., Any]]]
    """Encoders of objects that can be shared, by their kind."""

    def __init__(self, skip: Set[str], exact: bool, codecs: Codecs):
        self._skip = skip
        self._codecs = codecs
        self._exact = exact
        self._made: dict[int, Any] = {}
        self._claimed: dict[int, Any] = {}
        self._packages: set[str] = set()

    def know(self, made: Mapping[int, Any], claimed: Mapping[int, Any], packages: Set[str]) -> None:
        """Take objects that are there already.

        Args:
            made: the objects by their numbers.
            claimed: the same by their ids.
            packages: of which others may be made.
        """
        self._made, self._claimed, self._packages = dict(made), dict(claimed), set(packages)

    def write(self, node: Any, old: Any, path: str) -> Any:
        """Return the value for a place that holds `old` now."""
        if not isinstance(node, list):
            return node
        kind = node[0]
        method = self._SHARED.get(kind)
        if method is not None:
            return method(self, old, path, *node[1:])
        if kind == "same":
            return self._made[node[1]]
        rest = node[1:]
        if kind == "constant":
            if not reading.is_constant(old) or reading.label_of(old) != rest[0]:
                raise SnapshotError(f"{path} cannot be restored: there is no {rest[0]}")
            return old
        if kind == "int":
            return int(rest[0], 16)
        if kind == "range":
            return range(*rest)
        if kind == "scalar":
            return np.frombuffer(rest[1], rest[0])[0]
        if kind == "enum":
            return self._class(rest[0], old, enum.Enum, path).__members__[rest[1]]
        if kind == "namedtuple":
            cls = self._class(rest[0], old, tuple, path)
            return tuple.__new__(cls, self._items(rest[1], old, path))
        if kind in reading.SEQUENCES:
            return self._sequence(old, path, kind, *rest)
        return self._mapping(old, path, kind, *rest)

    def _keep(self, number: int, value: Any) -> Any:
        self._made[number] = self._claimed[id(value)] = value
        return value

    def _items(self, nodes: list[Any], old: Any, path: str) -> list[Any]:
        olds = list(old) if isinstance(old, list | tuple | deque | np.ndarray) else []
        olds += [None] * (len(nodes) - len(olds))
        return [self.write(node, olds[i], f"{path}[{i}]") for i, node in enumerate(nodes)]

    def _sequence(
        self, old: Any, path: str, kind: str, number: int, nodes: list[Any], maxlen: int | None
    ) -> Any:
        if kind not in ("list", "deque"):
            return self._keep(number, reading.SEQUENCES[kind](self._items(nodes, old, path)))
        # Kept before it is filled: its items may refer back to it.
        value: Any = self._keep(number, [] if kind == "list" else deque(maxlen=maxlen))
        value.extend(self._items(nodes, old, path))
        return value

    def _mapping(
        self, old: Any, path: str, kind: str, number: int, keys: list[Any], nodes: list[Any]
    ) -> Any:
        olds = old if isinstance(old, dict) else {}
        value: Any = self._keep(number, reading.MAPPINGS[kind]())
        if kind == "defaultdict":
            # The factory is code, so it comes from the dictionary that is there.
            if not isinstance(old, defaultdict):
                raise SnapshotError(f"{path} cannot be restored: there is no defaultdict yet")
            value.default_factory = old.default_factory
        for key, node in zip(keys, nodes, strict=True):
            name = self.write(key, None, path) if type(key) is list else key
            value[name] = self.write(node, olds.get(name), f"{path}[{name!r}]")
        return value

    def _objects(self, old: Any, path: str, number: int, shape: list[int], nodes: list[Any]) -> Any:
        # Before there is room for them: a few bytes may claim any number.
        if math.prod(shape) != len(nodes):
            raise SnapshotError(f"{path} cannot be restored: {len(nodes)} objects are not {shape}")
        value = self._keep(number, np.empty(shape, object))
        olds = old.ravel() if isinstance(old, np.ndarray) else None
        for index, item in enumerate(self._items(nodes, olds, path)):
            value.flat[index] = item
        return value

    def _array(
        self, old: Any, path: str, number: int, dtype: str, layout: list[Any], content: bytes
    ) -> Any:
        shape, order, in_place = layout
        value = np.frombuffer(content, dtype).reshape(shape, order=order).copy(order)
        if not in_place:
            self._made[number] = self._claimed[id(value)] = value
            return value
        if not isinstance(old, np.ndarray) or old.shape != value.shape or old.dtype != value.dtype:
            raise SnapshotError(f"{path} cannot be restored: it shares memory that is not there")
        old[...] = value
        return self._keep(number, old)

    def _generator(self, old: Any, path: str, number: int, kind: str, bits: str, node: Any) -> Any:
        value = old
        usable = type(old) is reading.GENERATORS[kind] and id(old) not in self._claimed
        if not usable or reading.generator_state(old)[0] != bits:
            # There is none to leave as it is. One that follows from the saved state, without
            # repeating its draws, keeps runs reproducible.
            value = _new_generator(kind, bits, zlib.crc32(msgpack.packb(node)))
        if self._exact:
            reading.set_generator_state(value, self.write(node, None, path))
        return self._keep(number, value)

    def _pcg64(self, old: Any, path: str, number: int, content: bytes) -> Any:
        if type(old) is not np.random.Generator or id(old) in self._claimed:
            old = None
        if not isinstance(getattr(old, "bit_generator", None), np.random.PCG64):
            old = np.random.Generator(np.random.PCG64(zlib.crc32(content)))
        if self._exact:
            unpack_pcg64(old, content)
        return self._keep(number, old)

    def _object(
        self, old: Any, path: str, number: int, name: str, nodes: dict[str, Any], left_out: Any
    ) -> Any:
        olds = reading.attributes_of(old) if reading.name_of(type(old)) == name else {}
        value = self._instance(name, left_out, olds, old, path)
        self._keep(number, value)
        cls: Any = type(value)
        self._packages.add(reading.package_of(cls))
        # Written past `setattr`, which may be somebody's code.
        for attribute, item in reading.attributes_of(value).items():
            known = attribute in nodes or attribute in left_out or attribute in self._skip
            if not known and not reading.is_constant(item):
                object.__delattr__(value, attribute)
        slots = reading.slots_of(cls)
        for attribute, node in nodes.items():
            item = self.write(node, olds.get(attribute), reading.below(path, attribute))
            if attribute in slots:
                slots[attribute].__set__(value, item)
            else:
                value.__dict__[attribute] = item
        return value

    def _coded(self, old: Any, path: str, number: int, name: str, node: Any) -> Any:
        if reading.name_of(type(old)) != name or type(old) not in self._codecs:
            raise SnapshotError(f"{path} cannot be restored: there is no {name} to write into")
        codec = self._codecs[type(old)]
        codec.write(old, self.write(node, codec.held(old), path))
        return self._keep(number, old)

    def _instance(
        self, name: str, left_out: list[str], olds: dict[str, Any], old: Any, path: str
    ) -> Any:
        cls = self._class(name, old, object, path)
        # A frozen record may be in other hands, which rely on it.
        frozen = getattr(getattr(cls, "__dataclass_params__", None), "frozen", False)
        if type(old) is cls and id(old) not in self._claimed and not frozen:
            return old
        if not olds.keys() >= set(left_out):
            raise SnapshotError(f"{path} cannot be restored: there is no {name} to write into")
        value = object.__new__(cls)
        for attribute in left_out:
            object.__setattr__(value, attribute, olds[attribute])
        return value

    def _class(self, name: str, old: Any, base: type, path: str) -> Any:
        if reading.name_of(type(old)) == name:
            return type(old)
        module, _, qualified = name.partition(":")
        found: Any = sys.modules.get(module)
        for part in qualified.split("."):
            # Not `getattr`: a module may answer it by importing another.
            found = getattr(found, "__dict__", {}).get(part)
        known = isinstance(found, type) and issubclass(found, base)
        if known and base is object:
            known = reading.package_of(found) in self._packages - _NEVER_MADE and reading.is_plain(
                found
            )
            # One that is made of a file's values would act on them when it is played, or goes.
            known = known and not issubclass(found, gymnasium.Env)
            known = known and not hasattr(found, "__del__")
        if not known:
            raise SnapshotError(f"{path} cannot be restored: {name} is not known here")
        return found


_PCG64 = struct.Struct("<16s16s?I")
PCG64_WIDTH = _PCG64.size
"""Bytes that `pack_pcg64` returns."""


def pack_pcg64(generator: np.random.Generator) -> bytes:
    """Return the state of a generator on PCG64 as 37 bytes."""
    state: Any = generator.bit_generator.state
    words = state["state"]
    return _PCG64.pack(
        words["state"].to_bytes(16, "little"),
        words["inc"].to_bytes(16, "little"),
        bool(state["has_uint32"]),
        state["uinteger"],
    )


def unpack_pcg64(generator: np.random.Generator, content: bytes, start: int = 0) -> None:
    """Put a generator on PCG64 into the state that `pack_pcg64` returned."""
    state, inc, has_uint32, uinteger = _PCG64.unpack_from(content, start)
    words = {"state": int.from_bytes(state, "little"), "inc": int.from_bytes(inc, "little")}
    generator.bit_generator.state = {
        "bit_generator": "PCG64",
        "state": words,
        "has_uint32": int(has_uint32),
        "uinteger": uinteger,
    }


Writer._SHARED = {
    "array": Writer._array,
    "objects": Writer._objects,
    "generator": Writer._generator,
    "pcg64": Writer._pcg64,
    "object": Writer._object,
    "coded": Writer._coded,
}


def _new_generator(kind: str, bits: str, seed: int) -> Any:
    if kind == "Random":
        return random.Random(seed)
    if bits not in reading.BIT_GENERATORS:
        raise SnapshotError(f"{bits} is not a bit generator of NumPy")
    return reading.GENERATORS[kind](getattr(np.random, bits)(seed))
