"""Ways to save a Gymnasium environment with all its wrappers.

Every strategy works on a `Scene`: the environment, and what was seen of it last. `Attributes` and
`Replay` give bytes, which travel; `Copy` gives objects, which live in this process only.
"""

from __future__ import annotations

import copy
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from typing import Any, ClassVar

from uflp.simulators import attribute_reader as reading
from uflp.simulators import attributes
from uflp.simulators.base import SnapshotError
from uflp.simulators.course import same
from uflp.simulators.mujoco import MjDataCodec
from uflp.simulators.native import native_codec
from uflp.simulators.scene import (
    Scene,
    generator_states,
    generators,
    layers,
    set_generator_states,
)


class Strategy(ABC):
    """How one environment is saved.

    Attributes:
        name: what users call the strategy.
        portable: whether snapshots are bytes.
        scene: what is saved.
        skip: names of attributes that are no state.
        replayed: steps that restores have cost so far.
    """

    name: ClassVar[str]
    portable: ClassVar[bool] = True

    def __init__(self, scene: Scene, skip: Set[str]):
        self.scene = scene
        self.skip = skip
        self.replayed = 0

    def reset(self, seed: int | None, options: Any) -> tuple[Any, dict[str, Any]]:
        """Starts an episode."""
        return self.scene.env.reset(seed=seed, options=options)

    def stepping(self) -> Callable[[Any], tuple[Any, Any, bool, bool, dict[str, Any]]]:
        """Returns the function that takes one action."""
        return self.scene.env.step

    @abstractmethod
    def save(self) -> Any:
        """Returns the scene as data."""

    @abstractmethod
    def restore(self, data: Any, *, exact: bool) -> None:
        """Puts the scene back; generators only if `exact`."""


class Attributes(Strategy):
    """Every attribute of every layer, and MuJoCo's state, as bytes."""

    name = "attributes"

    def __init__(self, scene: Scene, skip: Set[str]):
        super().__init__(scene, skip)
        self._codecs = self._choose_codecs()

    def _choose_codecs(self) -> Mapping[type, reading.Codec]:
        # Whoever has such data has imported MuJoCo.
        mujoco = sys.modules.get("mujoco")
        return {} if mujoco is None else {mujoco.MjData: MjDataCodec()}

    def save(self) -> bytes:
        """Returns the attributes."""
        return attributes.encode(self.scene, skip=self.skip, codecs=self._codecs)

    def restore(self, data: bytes, *, exact: bool) -> None:
        """Writes the attributes back."""
        attributes.write_back(self.scene, data, exact=exact, skip=self.skip, codecs=self._codecs)


class Native(Attributes):
    """The environment's own two methods, and the attributes of the wrappers around it."""

    name = "native"

    def _choose_codecs(self) -> Mapping[type, reading.Codec]:
        env = self.scene.env.unwrapped
        codec = native_codec(env)
        if codec is None:
            raise SnapshotError(f"{type(env).__name__} has no methods of its own to be saved by")
        return {type(env): codec}


class Copy(Strategy):
    """A deep copy of what every layer holds, as objects of this process.

    The layers themselves stay, so that whoever refers to them (a function over `self`, a caller)
    still does after a restore. Generators among a layer's attributes go back only if asked; of
    those further down nothing is known, so they always do.
    """

    name = "copy"
    portable = False

    def save(self) -> _Copied:
        """Returns copies, in which marks stand for layers and generators."""
        fixed = self._fixed()
        marks = {place: _Mark() for place in fixed}
        memo: dict[int, Any] = {id(value): marks[place] for place, value in fixed.items()}
        contents = [self._contents(layer) for layer in layers(self.scene)]
        try:
            copied = copy.deepcopy(contents, memo)
        except Exception as error:  # copying runs anybody's code
            raise SnapshotError(f"{self.scene.env} cannot be copied: {error}") from error
        return _Copied(copied, marks, generator_states(self.scene))

    def restore(self, data: _Copied, *, exact: bool) -> None:
        """Fills the layers with copies of the copies."""
        fixed = self._fixed()
        if data.marks.keys() - fixed.keys():
            raise SnapshotError(f"{self.scene.env} has not the layers and generators of the copy")
        memo: dict[int, Any] = {id(mark): fixed[place] for place, mark in data.marks.items()}
        for layer, contents in zip(
            list(layers(self.scene)), copy.deepcopy(data.contents, memo), strict=True
        ):
            for name in self._contents(layer):
                del vars(layer)[name]
            vars(layer).update(contents)
        if exact:
            set_generator_states(self.scene, data.generators)

    def _contents(self, layer: Any) -> dict[str, Any]:
        return {
            name: item
            for name, item in vars(layer).items()
            if name not in self.skip and not reading.is_constant(item)
        }

    def _fixed(self) -> dict[tuple[int, str], Any]:
        """Returns layers and generators by their places, which are the same in another instance."""
        held = {(number, ""): layer for number, layer in enumerate(layers(self.scene))}
        return held | dict(generators(self.scene))


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

    def __init__(self, scene: Scene, skip: Set[str]):
        super().__init__(scene, skip)
        self._tape = _Tape()

    def reset(self, seed: int | None, options: Any) -> tuple[Any, dict[str, Any]]:
        """Starts an episode, and a new tape."""
        self._tape = _Tape([["generators", generator_states(self.scene)]])
        self._tape.events.append(["reset", seed, options])
        return super().reset(seed, options)

    def stepping(self) -> Callable[[Any], tuple[Any, Any, bool, bool, dict[str, Any]]]:
        """Returns a function that notes the action first."""

        def step(action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
            self._tape.events.append(["step", copy.copy(action)])
            return self.scene.env.step(action)

        return step

    def save(self) -> bytes:
        """Returns the tape."""
        self._tape.observation = self.scene.observation
        return attributes.encode(self._tape)

    def restore(self, data: bytes, *, exact: bool) -> None:
        """Plays the tape."""
        tape = _Tape()
        attributes.write_back(tape, data, exact=True)
        before = generator_states(self.scene)
        for event in tape.events:
            self._play(*event)
        if not same(self.scene.observation, tape.observation):
            raise SnapshotError(
                "the same actions led elsewhere: something besides actions and seeds decides "
                "where this environment goes, so it cannot be restored by replay"
            )
        if not exact:
            set_generator_states(self.scene, before)
            tape.events.append(["generators", before])
        self._tape = tape

    def _play(self, kind: str, *rest: Any) -> None:
        scene = self.scene
        if kind == "generators":
            set_generator_states(scene, *rest)
        elif kind == "reset":
            seed, options = rest
            scene.see(*scene.env.reset(seed=seed, options=options))
        else:
            observation, _, _, _, info = scene.env.step(*rest)
            scene.see(observation, info)
            self.replayed += 1


@dataclass
class _Tape:
    """What happened since the episode began, and what it led to."""

    events: list[list[Any]] = field(default_factory=list)
    observation: Any = None


STRATEGIES = {strategy.name: strategy for strategy in (Native, Attributes, Copy, Replay)}
