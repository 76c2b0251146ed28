"""The data attributes of a Python object as lists, numbers and strings."""

from __future__ import annotations

import enum
import functools
import logging
import random
import types
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Mapping, Set
from typing import Any, Protocol

import gymnasium
import numpy as np
from gymnasium.envs.registration import EnvSpec

from uflp.simulators.base import SnapshotError

SEQUENCES = {kind.__name__: kind for kind in (list, tuple, set, frozenset, deque)}
MAPPINGS = {kind.__name__: kind for kind in (dict, OrderedDict, Counter, defaultdict)}
GENERATORS = {
    kind.__name__: kind for kind in (np.random.RandomState, np.random.Generator, random.Random)
}
BIT_GENERATORS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")

_LEAVES = frozenset({type(None), bool, float, str, bytes})
_CONSTANTS = (
    type,
    types.ModuleType,
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    types.GenericAlias,
    types.UnionType,
    functools.partial,
    np.dtype,
    np.ufunc,
    logging.Logger,
    gymnasium.Space,
    EnvSpec,
)
# By name, since their packages need not be installed.
_CONSTANT_NAMES = frozenset(
    # dm_control's physics is a view of a simulation, which is saved by itself.
    {"dm_env.specs:Array", "mujoco._structs:MjModel", "dm_control.mujoco.engine:Physics"}
)


class UnreadableError(SnapshotError):
    """An object whose state is not in Python attributes.

    Attributes:
        cls: its class.
    """

    def __init__(self, path: str, cls: type):
        super().__init__(
            f"{path} cannot be saved: the state of a {name_of(cls)} is not in Python attributes"
        )
        self.cls = cls


class Codec(Protocol):
    """Reads and writes objects whose state is not, or not all, in Python attributes."""

    def read(self, value: Any) -> Any:
        """Return the state of an object, made of what the reader understands."""

    def held(self, value: Any) -> Any:
        """Return the parts of that state that are generators, in their places, or None."""

    def write(self, value: Any, state: Any) -> None:
        """Put an object into a state."""


NO_CODECS: Mapping[type, Codec] = types.MappingProxyType({})


class Reader:
    """Turns a value into lists, numbers and strings.

    A leaf stands for itself. Anything else is a list that begins with its kind; what can be shared
    has a number next, and is `["same", number]` where it is met again.
    """

    def __init__(self, skip: Set[str], codecs: Mapping[type, Codec] = NO_CODECS):
        self._skip = skip
        self._codecs = codecs
        # Values are kept beside their numbers: an id is unique only while its value lives.
        self._seen: dict[int, tuple[int, Any]] = {}
        self._arrays: dict[int, list[list[Any]]] = defaultdict(list)

    def read(self, value: Any, path: str) -> Any:
        """Return the encoded form of a value that was found at a path."""
        cls: Any = type(value)
        if cls in _LEAVES:
            return value
        if cls is int:
            return value if -(2**63) <= value < 2**63 else ["int", hex(value)]
        if _is_special(cls):
            node = self._special(value, path)
            if node is not None:
                return node
        if id(value) in self._seen:
            return ["same", self._seen[id(value)][0]]
        number = len(self._seen)
        self._seen[id(value)] = (number, value)
        return self._shared(value, number, path)

    def _special(self, value: Any, path: str) -> list[Any] | None:
        """Return the form of what is a value in itself, or None if it is none after all."""
        if isinstance(value, np.generic) and _is_simple(value.dtype):
            return ["scalar", value.dtype.str, value.tobytes()]
        if isinstance(value, enum.Enum) and value.name in type(value).__members__:
            return ["enum", name_of(type(value)), value.name]
        if type(value) is range:
            return ["range", value.start, value.stop, value.step]
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return ["namedtuple", name_of(type(value)), self._items(value, path)]
        return ["constant", label_of(value)] if is_constant(value) else None

    def _shared(self, value: Any, number: int, path: str) -> list[Any]:
        cls: Any = type(value)
        kind = cls.__name__
        if cls is np.ndarray:
            if _is_simple(value.dtype):
                return self._array(value, number)
            if value.dtype == object:
                return ["objects", number, value.shape, self._items(value.ravel(), path)]
        if cls in self._codecs:
            parts = self.read(self._codecs[cls].read(value), path)
            return ["coded", number, name_of(cls), parts]
        if GENERATORS.get(kind) is cls:
            bits, state = generator_state(value)
            if bits in BIT_GENERATORS:
                return ["generator", number, kind, bits, self.read(state, path)]
        if SEQUENCES.get(kind) is cls:
            return [kind, number, self._items(value, path), getattr(value, "maxlen", None)]
        if MAPPINGS.get(kind) is cls:
            keys = [
                key if type(key) is str else self.read(key, f"{path} key {key!r}") for key in value
            ]
            items = [self.read(item, f"{path}[{key!r}]") for key, item in value.items()]
            return [kind, number, keys, items]
        return self._object(value, cls, number, path)

    def _object(self, value: Any, cls: Any, number: int, path: str) -> list[Any]:
        name, plain, slots = _facts(cls)
        if not plain:
            raise UnreadableError(path, cls)
        kept, left_out = {}, []
        held = attributes_of(value) if slots else value.__dict__
        for attribute, item in held.items():
            kind: Any = type(item)
            if attribute in self._skip:
                left_out.append(attribute)
            elif kind in _LEAVES:
                kept[attribute] = item
            elif _is_constant_class(kind):
                left_out.append(attribute)
            else:
                kept[attribute] = self.read(item, below(path, attribute))
        return ["object", number, name, kept, left_out]

    def _items(self, values: Any, path: str) -> list[Any]:
        return [self.read(value, f"{path}[{index}]") for index, value in enumerate(values)]

    def _array(self, value: np.ndarray, number: int) -> list[Any]:
        order: Any = "F" if value.ndim > 1 and value.flags.fnc else "C"
        layout = [value.shape, order, False]
        owner: Any = value
        while owner.base is not None and isinstance(owner.base, np.ndarray):
            owner = owner.base
        sharers = self._arrays[id(owner)]
        sharers.append(layout)
        # Memory with a second owner must keep it, so such an array is written in place. Others are
        # replaced, because whoever was handed one as an observation must not see it change.
        if len(sharers) > 1 or (owner.base is not None and value.flags.writeable):
            for sharer in sharers:
                sharer[-1] = True
        return ["array", number, value.dtype.str, layout, value.tobytes(order)]


def below(path: str, attribute: str) -> str:
    """Return the path of an attribute of what is at a path."""
    return f"{path}.{attribute}" if path else attribute


def is_constant(value: Any) -> bool:
    """Return whether a value is code or a description, which no step changes."""
    cls: Any = type(value)
    return _is_constant_class(cls)


@functools.cache
def _is_constant_class(cls: Any) -> bool:
    if issubclass(cls, _CONSTANTS):
        return True
    return not _CONSTANT_NAMES.isdisjoint(name_of(part) for part in cls.__mro__)


@functools.cache
def _is_special(cls: Any) -> bool:
    """Return whether instances may be values in themselves, which nothing can share."""
    kinds = (enum.Enum, range, np.generic)
    return issubclass(cls, kinds) or hasattr(cls, "_fields") or _is_constant_class(cls)


def label_of(constant: Any) -> str:
    """Return a name by which a constant among data is recognised."""
    return getattr(constant, "__qualname__", type(constant).__qualname__)


def package_of(definition: Any) -> str:
    """Return the name of the package that defines a class or a function."""
    return definition.__module__.partition(".")[0]


def name_of(cls: type) -> str:
    """Return where a class is defined, as `module:name`; some classes in C do not know it."""
    return f"{getattr(cls, '__module__', '?')}:{cls.__qualname__}"


def attributes_of(value: Any) -> dict[str, Any]:
    """Return what an instance holds in its dictionary and in its slots."""
    found = dict(getattr(value, "__dict__", {}))
    cls: Any = type(value)
    for name, member in slots_of(cls).items():
        try:
            found[name] = member.__get__(value)
        except AttributeError:
            continue  # an empty slot
    return found


@functools.cache
def _facts(cls: Any) -> tuple[str, bool, dict[str, Any]]:
    """Return a class's name, whether it is plain, and its slots, looked up once."""
    return name_of(cls), is_plain(cls), slots_of(cls)


@functools.cache
def slots_of(cls: Any) -> dict[str, Any]:
    """Return the descriptors of all slots that a class and its bases reserve."""
    return {name: member for part in cls.__mro__ for name, member in _own_slots(part)}


def _own_slots(cls: type) -> list[tuple[str, Any]]:
    if "__slots__" not in vars(cls):
        return []  # what a class in C calls members is not all of its state
    kind = types.MemberDescriptorType
    return [(name, member) for name, member in vars(cls).items() if isinstance(member, kind)]


@functools.cache
def is_plain(cls: Any) -> bool:
    """Return whether instances keep all their state in attributes, and none of it in C."""
    for part in cls.__mro__[:-1]:
        own = len(_own_slots(part)) + ("__dict__" in vars(part)) + ("__weakref__" in vars(part))
        if part.__basicsize__ > part.__base__.__basicsize__ + 8 * own:
            return False
    return cls is not object


def generator_state(value: Any) -> tuple[str, Any]:
    """Return the kind of bits that a generator draws from, and its state."""
    if isinstance(value, random.Random):
        return "MT19937", value.getstate()
    if isinstance(value, np.random.RandomState):
        state: Any = value.get_state(legacy=False)
    else:
        state = value.bit_generator.state
    return state["bit_generator"], state


def set_generator_state(value: Any, state: Any) -> None:
    """Put a generator into a state that `generator_state` returned."""
    if isinstance(value, random.Random):
        value.setstate(state)
    elif isinstance(value, np.random.RandomState):
        value.set_state(state)
    else:
        value.bit_generator.state = state


def _is_simple(dtype: np.dtype) -> bool:
    return dtype.kind in _SIMPLE or (dtype.kind == "V" and np.dtype(dtype.str) == dtype)


_SIMPLE = frozenset("?biufcmMSU")
