"""Ways to save a Gymnasium environment with all its wrappers, and the choice among them.

Every strategy works on a `LayeredEnv`: the environment, and what was seen of it last. `Attributes`
and `Replay` give bytes, which travel; `Copy` gives objects, which live in this process only.
"""

from __future__ import annotations

import contextlib
import copy
import inspect
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from typing import Any, ClassVar

from uflp.registry import unknown
from uflp.simulators import attribute_reader as reading
from uflp.simulators import attributes
from uflp.simulators.action_script import same
from uflp.simulators.attribute_reader import UnreadableError
from uflp.simulators.base import SnapshotError, UnsavableError
from uflp.simulators.env_layers import (
    LayeredEnv,
    Place,
    generator_states,
    generators,
    layers,
    set_generator_states,
    set_value,
)
from uflp.simulators.mujoco import MjDataCodec, UnplannedError
from uflp.simulators.snapshot_plan import MARK, Plan
from uflp.simulators.snapshot_trial import make_plan
from uflp.types import UsageError, error_text


class Strategy(ABC):
    """A way to save one environment.

    Attributes:
        name: what users call the strategy.
        portable: whether snapshots are bytes.
        layered: what is saved.
        skip: names of attributes that are no state.
        replayed: steps that restores have cost so far.
    """

    name: ClassVar[str]
    portable: ClassVar[bool] = True

    def __init__(self, layered: LayeredEnv, skip: Set[str]):
        self.layered = layered
        self.skip = skip
        self.replayed = 0

    def reset(self, seed: int | None, options: Any) -> tuple[Any, dict[str, Any]]:
        """Start an episode."""
        return self.layered.env.reset(seed=seed, options=options)

    def stepping(self) -> Callable[[Any], tuple[Any, Any, bool, bool, dict[str, Any]]]:
        """Return the function that takes one action."""
        return self.layered.env.step

    def set_counters(self, values: Mapping[Place, int]) -> None:
        """Set counters of steps, just after a restore."""
        held = list(layers(self.layered))
        for place, value in values.items():
            set_value(held, place, value)

    def prepare(self) -> None:  # noqa: B027 (most have nothing to do)
        """Prepare for many saves, just after a reset."""

    @abstractmethod
    def save(self) -> Any:
        """Return the layered as data."""

    @abstractmethod
    def restore(self, data: Any, *, exact: bool) -> None:
        """Put the layered back; generators only if `exact`."""


class Attributes(Strategy):
    """Every attribute of every layer, and MuJoCo's state, as bytes, without constants."""

    name = "attributes"

    def __init__(self, layered: LayeredEnv, skip: Set[str]):
        super().__init__(layered, skip)
        self._codecs = self._choose_codecs()
        self._plan: Plan | None = None

    def _choose_codecs(self) -> Mapping[type, reading.Codec]:
        # Whoever has such data has imported MuJoCo.
        mujoco = sys.modules.get("mujoco")
        return {} if mujoco is None else {mujoco.MjData: MjDataCodec()}

    def prepare(self) -> None:
        """Work out what can change, so that snapshots hold only that."""
        self._plan = make_plan(self.layered, self.skip, self._codecs)

    def save(self) -> bytes:
        """Return the attributes."""
        if self._plan is not None:
            with contextlib.suppress(UnplannedError):
                return self._plan.encode()
        return attributes.encode(self.layered, path="", skip=self.skip, codecs=self._codecs)

    def restore(self, data: bytes, *, exact: bool) -> None:
        """Write the attributes back."""
        if data[:1] != MARK:
            attributes.write_back(
                self.layered, data, path="", exact=exact, skip=self.skip, codecs=self._codecs
            )
        elif self._plan is None:
            raise SnapshotError(f"{self.layered.env} cannot be restored from what another one left")
        else:
            self._plan.write_back(data, exact=exact)


class Native(Attributes):
    """The environment's own two methods, and the attributes of the wrappers around it."""

    name = "native"

    def prepare(self) -> None:
        """Leave it: what the methods exchange is not known."""

    def _choose_codecs(self) -> Mapping[type, reading.Codec]:
        env = self.layered.env.unwrapped
        codec = _native_codec(env)
        if codec is None:
            raise SnapshotError(f"{type(env).__name__} has no methods of its own to be saved by")
        return {type(env): codec}


_PAIRS = (
    ("save", "restore"),
    ("get_state", "set_state"),
    ("clone_state", "restore_state"),
    ("clone_full_state", "restore_full_state"),
)
"""Names of a method that returns a state, and of one that takes it."""


class _NativeCodec:
    """Reads and writes an environment through its own two methods.

    Its random generators go beside the state that they exchange: whether an author thought of them
    or not, an exact restore sets them, and a fresh one leaves them as they were.
    """

    def __init__(self, get: str, set_: str):
        self._get = get
        self._set = set_

    def read(self, env: Any) -> dict[str, Any]:
        """Return the environment's generators, and what it says its state is."""
        # Generators come first: where the state refers to one, it is the environment's own.
        return {**self.held(env), "state": getattr(env, self._get)()}

    def held(self, env: Any) -> dict[str, Any]:
        """Return the generators: Gymnasium's, and those under other names, if there are any."""
        kinds = reading.GENERATORS.values()
        others = {
            name: item
            for name, item in vars(env).items()
            if type(item) in kinds and reading.generator_state(item)[0] in reading.BIT_GENERATORS
        }
        others.pop(_OWN_GENERATOR, None)
        own = getattr(env, _OWN_GENERATOR, None)
        return {"generator": own, **({"generators": others} if others else {})}

    def write(self, env: Any, parts: dict[str, Any]) -> None:
        """Hand a state to the environment."""
        # Snapshots of version 0.2.0 have none under other names.
        generators = {_OWN_GENERATOR: parts["generator"], **parts.get("generators", {})}
        bits = {
            name: reading.generator_state(generator)[1]
            for name, generator in generators.items()
            if generator is not None
        }
        getattr(env, self._set)(parts["state"])
        for name, state in bits.items():
            reading.set_generator_state(generators[name], state)
            setattr(env, name, generators[name])


_OWN_GENERATOR = "_np_random"
"""Where Gymnasium keeps the generator of an environment."""


def _native_codec(env: Any) -> _NativeCodec | None:
    """Return a codec for an environment that has two such methods, else None."""
    for get, set_ in _PAIRS:
        if _required_arguments(env, get) == 0 and _required_arguments(env, set_) == 1:
            return _NativeCodec(get, set_)
    return None


def _required_arguments(env: Any, method: str) -> int | None:
    """Return how many arguments a method cannot do without; None if there is no such method.

    It tells MuJoCo's `set_state(qpos, qvel)`, which is not the state, from one that takes it.
    """
    function = getattr(type(env), method, None)
    if not callable(function):
        return None
    parameters = list(inspect.signature(function).parameters.values())[1:]
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return sum(p.default is p.empty and p.kind not in kinds for p in parameters)


class Copy(Strategy):
    """A deep copy of what every layer holds, as objects of this process.

    The layers themselves stay, so that whoever refers to them (a function over `self`, a caller)
    still does after a restore. Generators among a layer's attributes go back only if asked; of
    those further down nothing is known, so they always do.
    """

    name = "copy"
    portable = False

    def save(self) -> _Copied:
        """Return copies, in which marks stand for layers and generators."""
        fixed = self._fixed()
        marks = {place: _Mark() for place in fixed}
        memo: dict[int, Any] = {id(value): marks[place] for place, value in fixed.items()}
        contents = [self._contents(layer) for layer in layers(self.layered)]
        try:
            copied = copy.deepcopy(contents, memo)
        except Exception as error:  # copying runs anybody's code
            raise SnapshotError(
                f"{self.layered.env} cannot be copied: {error_text(error, str)}"
            ) from error
        return _Copied(copied, marks, generator_states(self.layered))

    def restore(self, data: _Copied, *, exact: bool) -> None:
        """Fill the layers with copies of the copies."""
        fixed = self._fixed()
        if data.marks.keys() - fixed.keys():
            raise SnapshotError(f"{self.layered.env} has not the layers and generators of the copy")
        memo: dict[int, Any] = {id(mark): fixed[place] for place, mark in data.marks.items()}
        for layer, contents in zip(
            list(layers(self.layered)), copy.deepcopy(data.contents, memo), strict=True
        ):
            for name in self._contents(layer):
                del vars(layer)[name]
            vars(layer).update(contents)
        if exact:
            set_generator_states(self.layered, data.generators)

    def _contents(self, layer: Any) -> dict[str, Any]:
        return {
            name: item
            for name, item in vars(layer).items()
            if name not in self.skip and not reading.is_constant(item)
        }

    def _fixed(self) -> dict[tuple[int, str], Any]:
        """Return layers and generators by their places, which are the same in another instance."""
        held = {(number, ""): layer for number, layer in enumerate(layers(self.layered))}
        return held | dict(generators(self.layered))


class _Mark:
    """Stands in a copy for an object that is not copied."""


@dataclass(frozen=True)
class _Copied:
    """A snapshot of `Copy`: what the layers held, the marks in it, and the generators' states."""

    contents: list[dict[str, Any]]
    marks: dict[tuple[int, str], _Mark]
    generators: list[Any]


class Replay(Strategy):
    """The way here: how the episode began, and every action since.

    For environments that cannot be copied, and whose course is decided by their actions and the
    generators among their attributes. Each restore costs as many steps as the episode is long; a
    restore that does not lead to the saved observation is refused.
    """

    name = "replay"

    def __init__(self, layered: LayeredEnv, skip: Set[str]):
        super().__init__(layered, skip)
        self._tape = _Tape()

    def reset(self, seed: int | None, options: Any) -> tuple[Any, dict[str, Any]]:
        """Start an episode, and a new tape."""
        self._tape = _Tape([["generators", generator_states(self.layered)]])
        self._tape.events.append(["reset", seed, options])
        return super().reset(seed, options)

    def stepping(self) -> Callable[[Any], tuple[Any, Any, bool, bool, dict[str, Any]]]:
        """Return a function that notes the action first."""

        def step(action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
            self._tape.events.append(["step", copy.copy(action)])
            return self.layered.env.step(action)

        return step

    def save(self) -> bytes:
        """Return the tape."""
        self._tape.observation = self.layered.observation
        return attributes.encode(self._tape, path="")

    def restore(self, data: bytes, *, exact: bool) -> None:
        """Play the tape."""
        tape = _Tape()
        attributes.write_back(tape, data, path="", exact=True)
        before = generator_states(self.layered)
        for event in tape.events:
            self._play(*event)
        if not same(self.layered.observation, tape.observation):
            raise SnapshotError(
                "the same actions led elsewhere: something besides actions and seeds decides "
                "where this environment goes, so it cannot be restored by replay"
            )
        if not exact:
            set_generator_states(self.layered, before)
            tape.events.append(["generators", before])
        self._tape = tape

    def set_counters(self, values: Mapping[Place, int]) -> None:
        """Set counters, also when the tape is played again."""
        super().set_counters(values)
        for (number, names), value in values.items():
            self._tape.events.append(["counter", number, list(names), value])

    def _play(self, kind: str, *rest: Any) -> None:
        layered = self.layered
        if kind == "generators":
            set_generator_states(layered, *rest)
        elif kind == "counter":
            number, names, value = rest
            super().set_counters({(number, tuple(names)): value})
        elif kind == "reset":
            seed, options = rest
            layered.see(*layered.env.reset(seed=seed, options=options))
        else:
            observation, _, _, _, info = layered.env.step(*rest)
            layered.see(observation, info)
            self.replayed += 1


@dataclass
class _Tape:
    """The events of the episode so far, and the observation that they led to."""

    events: list[list[Any]] = field(default_factory=list)
    observation: Any = None


STRATEGIES = {strategy.name: strategy for strategy in (Native, Attributes, Copy, Replay)}


def check_strategy(name: str) -> None:
    """Refuse what is neither `auto` nor the name of a strategy."""
    if name != "auto" and name not in STRATEGIES:
        raise UsageError(unknown("strategy", name, ["auto", *STRATEGIES]))


_NO_STATE = frozenset(
    {
        # What a wrapper was made with, and what it has looked up.
        "_saved_kwargs",
        "_cached_spec",
        "_metadata",
        # Statistics of normalisers are learned: they stay, and so does whether they go on learning.
        "obs_rms",
        "return_rms",
        "_update_running_mean",
    }
)
_TABLES = frozenset({"P", "desc", "initial_state_distrib"})
"""Constants of Gymnasium's toy texts, large enough to leave out; the stamp has their checksum."""

_WAYS_OUT = {
    "pygame": "make it with render_mode=None, and render another one",
    "glfw": "make it with render_mode=None, and render another one",
    "OpenGL": "make it with render_mode=None, and render another one",
    "Box2D": 'if its episodes follow from seed and actions, use strategy="replay"',
    "jaxlib": 'a random key cannot be told from other arrays: if it has none, use strategy="copy"',
    "ale_py": "its wrappers lose the state: use the simulators for Atari",
}
"""Packages whose objects only look as if they could be copied, and what to do instead."""

_OWN_METHODS = "give it two methods, get_state() and set_state(state)"


def choose_strategy(layered: LayeredEnv, name: str) -> Strategy:
    """Return the strategy of a name; of `auto`, the first but `replay` that can save the layers."""
    skip = _NO_STATE
    if type(layered.env.unwrapped).__module__.startswith("gymnasium.envs.toy_text"):
        skip |= _TABLES
    candidates = [STRATEGIES[name]] if name != "auto" else [Native, Attributes, Copy]
    reasons: list[str] = []
    out = _OWN_METHODS
    for candidate in candidates:
        if candidate is Copy and out in _WAYS_OUT.values():
            break
        try:
            strategy = candidate(layered, skip)
            strategy.save()
        except SnapshotError as error:
            reasons.append(str(error))
            if isinstance(error, UnreadableError):
                out = way_out(error, otherwise=out)
        else:
            return strategy
    if Replay.name not in out and name != Replay.name:
        out += ', or, if its episodes follow from seed and actions, use strategy="replay"'
    # That it has no methods of its own, which comes first, goes without saying for most.
    why = "; ".join(reasons[1:] or reasons)
    raise UnsavableError(f"{layered.env} cannot be saved: {why}; the way out: {out}")


def way_out(error: UnreadableError, otherwise: str = _OWN_METHODS) -> str:
    """Return what to do about an object that cannot be saved, by the package that it is from."""
    # Some classes in C do not know their module.
    package = reading.name_of(error.cls).partition(":")[0].partition(".")[0]
    return _WAYS_OUT.get(package, otherwise)
