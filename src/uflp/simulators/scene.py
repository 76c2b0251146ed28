"""What a strategy saves: an environment with its layers, and what was seen of it last."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np

from uflp.simulators import attribute_reader as reading


@dataclass
class Scene:
    """An environment, and what was seen of it last.

    Attributes:
        env: the environment with its wrappers.
        observation: a copy, out of reach of whoever changes the one that is handed out.
        mask: `info["action_mask"]`, where there is one.
    """

    env: Any
    observation: Any = None
    mask: Any = None

    def see(self, observation: Any, info: Mapping[str, Any]) -> None:
        """Keeps what a step or a reset gave."""
        own = copied(observation)
        self.observation = copy.deepcopy(observation) if own is observation else own
        mask = info.get("action_mask")
        self.mask = copy.deepcopy(mask)

    def shown(self) -> tuple[Any, dict[str, Any]]:
        """Returns what was seen last, as a reset does."""
        info = {} if self.mask is None else {"action_mask": copy.deepcopy(self.mask)}
        return copy.deepcopy(self.observation), info


def copied(observation: Any) -> Any:
    """Returns a copy of an array, which an environment may write its next observation into.

    Anything else is returned as it is.
    """
    plain = type(observation) is np.ndarray and not observation.dtype.hasobject
    return observation.copy() if plain else observation


def layers(scene: Scene) -> Iterator[Any]:
    """Yields the scene, the wrappers from outside in, and the bare environment."""
    yield scene
    layer = scene.env
    while isinstance(layer, gymnasium.Env):  # an adapter may call anything its env
        yield layer
        layer = vars(layer).get("env")


def generators(scene: Scene) -> Iterator[tuple[tuple[int, str], Any]]:
    """Yields the generators among the attributes of the layers, each with its place."""
    kinds = tuple(reading.GENERATORS.values())
    for number, layer in enumerate(layers(scene)):
        for name, item in vars(layer).items():
            if isinstance(item, kinds):
                yield (number, name), item


def generator_states(scene: Scene) -> list[Any]:
    """Returns the states of those generators, in order."""
    return [reading.generator_state(generator)[1] for _, generator in generators(scene)]


def set_generator_states(scene: Scene, states: list[Any]) -> None:
    """Puts those generators into states that `generator_states` returned."""
    for (_, generator), state in zip(generators(scene), states, strict=True):
        reading.set_generator_state(generator, state)
