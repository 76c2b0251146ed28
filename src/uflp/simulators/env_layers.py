"""An environment with its layers, and its last observation: all that a strategy saves."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
from gymnasium.wrappers import NormalizeObservation, NormalizeReward

from uflp.simulators import attribute_reader as reading

Place = tuple[int, tuple[str, ...]]
"""Number of a layer, and the names of the attributes that lead from it to a value."""


@dataclass
class LayeredEnv:
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
        """Keep what a step or a reset gave."""
        self.observation = _copy_of(observation)
        mask = info.get("action_mask")
        self.mask = None if mask is None else copy.deepcopy(mask)

    def shown(self) -> tuple[Any, dict[str, Any]]:
        """Return what was seen last, as a reset does."""
        info = {} if self.mask is None else {"action_mask": copy.deepcopy(self.mask)}
        return _copy_of(self.observation), info


def copied(observation: Any) -> Any:
    """Return a copy of an array, which an environment may write its next observation into.

    Anything else is returned as it is.
    """
    plain = type(observation) is np.ndarray and not observation.dtype.hasobject
    return observation.copy() if plain else observation


def _copy_of(observation: Any) -> Any:
    """Return a copy that shares nothing; quickly for arrays and dictionaries of them."""
    cls = type(observation)
    if cls is np.ndarray and not observation.dtype.hasobject:
        return observation.copy()
    if cls is dict:
        parts = {}
        for name, part in observation.items():
            if type(part) is not np.ndarray or part.dtype.hasobject:
                return copy.deepcopy(observation)
            parts[name] = part.copy()
        return parts
    return observation if cls is int else copy.deepcopy(observation)


def layers(layered: LayeredEnv) -> Iterator[Any]:
    """Yield the layered, the wrappers from outside in, and the bare environment."""
    yield layered
    layer = layered.env
    while isinstance(layer, gymnasium.Env):  # an adapter may call anything its env
        yield layer
        layer = vars(layer).get("env")


def normalisers(env: Any) -> list[Any]:
    """Return the layers of an environment that scale by statistics which they go on learning."""
    every = layers(LayeredEnv(env))
    return [layer for layer in every if isinstance(layer, NormalizeObservation | NormalizeReward)]


@contextlib.contextmanager
def frozen_statistics(env: Any) -> Iterator[None]:
    """Let normalisers learn nothing meanwhile: their statistics do not go back with a state."""
    before = [(layer, layer.update_running_mean) for layer in normalisers(env)]
    for layer, _ in before:
        layer.update_running_mean = False
    try:
        yield
    finally:
        for layer, learns in before:
            layer.update_running_mean = learns


_LOGS = {
    "RecordEpisodeStatistics": ("episode_count", "time_queue", "return_queue", "length_queue"),
    "Monitor": ("episode_returns", "episode_lengths", "episode_times", "total_steps"),
}
"""Attributes of Gymnasium's and Stable-Baselines3's wrappers that are logs of all episodes."""

_RECORDERS = {
    "RecordVideo": (
        "_video_name",
        "episode_id",
        "name_prefix",
        "recorded_frames",
        "recording",
        "render_history",
        "step_id",
        "video_folder",
        "video_length",
    ),
}
"""Attributes of wrappers that write files: what is written, and where to."""


def logs_of(layer: Any, *, exact: bool = False) -> tuple[str, ...]:
    """Return the names of attributes of a known wrapper that do not go back with a state.

    Args:
        layer: the wrapper.
        exact: whether the future is to be the same, too: then logs go back, and films do not.
    """
    known = reading.package_of(type(layer)) in ("gymnasium", "stable_baselines3")
    if not known:
        return ()
    name = type(layer).__name__
    return _RECORDERS.get(name, ()) + (() if exact else _LOGS.get(name, ()))


@contextlib.contextmanager
def preserving_logs(layered: LayeredEnv, *, exact: bool) -> Iterator[None]:
    """Put logs of episodes back to what they are now, whatever is restored meanwhile."""
    before = [
        (vars(layer), {name: copy.copy(vars(layer)[name]) for name in names})
        for layer in layers(layered)
        if (names := [name for name in logs_of(layer, exact=exact) if name in vars(layer)])
    ]
    try:
        yield
    finally:
        for held, logs in before:
            held.update(logs)


def set_value(held: Sequence[Any], place: Place, value: int) -> None:
    """Write a whole number into its place in the layers, past anybody's `__setattr__`."""
    number, names = place
    owner = held[number]
    for name in names[:-1]:
        owner = vars(owner)[name]
    kind: Any = type(vars(owner)[names[-1]])
    vars(owner)[names[-1]] = kind(value)


def generators(layered: LayeredEnv) -> Iterator[tuple[tuple[int, str], Any]]:
    """Yield the generators among the attributes of the layers, each with its place."""
    kinds = tuple(reading.GENERATORS.values())
    for number, layer in enumerate(layers(layered)):
        for name, item in vars(layer).items():
            if isinstance(item, kinds):
                yield (number, name), item


def generator_states(layered: LayeredEnv) -> list[Any]:
    """Return the states of those generators, in order."""
    return [reading.generator_state(generator)[1] for _, generator in generators(layered)]


def set_generator_states(layered: LayeredEnv, states: list[Any]) -> None:
    """Put those generators into states that `generator_states` returned."""
    for (_, generator), state in zip(generators(layered), states, strict=True):
        reading.set_generator_state(generator, state)
