"""The plan of an environment's snapshots, worked out by playing it.

An environment of a known package is played for a few steps from given seeds. Attributes that stayed
the same are taken for constant. Environments of other people have no plan, since their constants
may differ between instances; their snapshots hold everything.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import random
import types
import warnings
from collections.abc import Callable, Iterator, Mapping, Set
from typing import Any, NamedTuple

import gymnasium
import msgpack
import numpy as np
from gymnasium.wrappers import RecordEpisodeStatistics

from uflp.simulators import attribute_reader as reading
from uflp.simulators import attributes
from uflp.simulators.env_layers import LayeredEnv, frozen_statistics, layers, logs_of
from uflp.simulators.mujoco import CompactMjDataCodec, MjDataCodec, MjDataWatch, needed_arrays
from uflp.simulators.snapshot_plan import (
    LEAVES,
    NUMBERS,
    Form,
    Plan,
    Tracked,
    checksum_of,
    frozen,
    is_lone_array,
    is_pcg64,
)

KNOWN = frozenset({"dm_control", "gymnasium", "gymnasium_robotics", "minigrid", "uflp"})
"""Packages whose constants follow from how an environment is made."""

_SEEDS, _STEPS = 4, 3
_WARM_UPS = (0, 3, 12)


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
        with _undisturbed(), frozen_statistics(layered.env):
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
    """Contents that a snapshot of a simulation must have.

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
"""Plans made so far, by the descriptions of simulations."""


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
                    if not same or frozen(now[name], links) != found[place][name]:
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
        if type(value) in LEAVES:
            return Form("leaf")
        if is_pcg64(value):
            return Form("pcg64")
        if value is self._simulation:
            return Form("coded")
        if is_lone_array(value):
            return Form("array", (("", value.dtype.str, value.shape),))
        if type(value) is dict and all(
            type(key) is str and is_lone_array(part) for key, part in value.items()
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
        if not {reading.package_of(one) for one in (*map(type, held), *code)} <= KNOWN:
            return None
        model = data.model
        sizes = tuple(getattr(model, name) for name in _SIZES)
        return (*map(type, held), sizes, model.opt.timestep, checksum_of(tracked))

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
        known = reading.package_of(type(item)) in KNOWN and not isinstance(item, LayeredEnv)
        # Logs of episodes change only when one ends, which a few steps may not show.
        changing = {*self._skip, *logs_of(item)}
        found = {}
        for name, value in vars(item).items():
            if name in changing or reading.is_constant(value):
                continue
            if id(value) in links or (known and _is_simple(value)):
                found[name] = frozen(value, links)
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
        if reading.package_of(type(layer)) not in KNOWN or module.startswith(
            "gymnasium.wrappers.rendering"
        ):
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


def _value_bytes(value: Any) -> bytes:
    return msgpack.packb(reading.Reader(frozenset()).read(list(value), ""))


def _is_simple(value: Any) -> bool:
    """Return whether a value is made of numbers, words, arrays, lists, tuples and dictionaries."""
    cls = type(value)
    if cls in LEAVES or isinstance(value, np.generic):
        return True
    if cls is np.ndarray:
        return value.dtype.char in NUMBERS and value.flags.c_contiguous
    if cls in (list, tuple):
        return all(map(_is_simple, value))
    if cls is dict:
        return all(type(key) in (str, int) for key in value) and all(
            map(_is_simple, value.values())
        )
    return False
