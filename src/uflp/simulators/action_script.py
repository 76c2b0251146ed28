"""Playing a simulator along a fixed list of actions, and comparing what it gave."""

from __future__ import annotations

import copy
import reprlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from uflp.simulators.base import Simulator

# Resets at the end of a script: they show chance that acts on initial states only.
_RESETS = 5
# How many times the length of a script an episode may take to end.
_PATIENCE = 10


class Event(NamedTuple):
    """Outcome of one step or one reset; a reset has no reward and no end."""

    observation: Any
    reward: float | None = None
    terminated: bool | None = None
    truncated: bool | None = None
    mask: np.ndarray | None = None


class ActionScript:
    """A list of actions, played through as many episodes as it takes, and a few resets.

    Attributes:
        make: returns a new simulator, the same each time.
        seed: of the first reset and of the actions.
        actions: the list.
        tolerance: how far numbers may lie apart and count as equal; 0 means to the bit.
        warm_ups: numbers of steps after which it is worth saving.
    """

    def __init__(
        self, make: Callable[[], Simulator], steps: int, seed: int, tolerance: float = 0.0
    ):
        self.make = make
        self.seed = seed
        self.tolerance = tolerance
        space = make().action_space
        space.seed(seed)
        self.actions = [space.sample() for _ in range(steps)]
        self.warm_ups = sorted({0, 1, steps // 3, steps // 2})

    def started(self, warm_up: int = 0) -> Simulator:
        """Return a simulator with an episode under way, some steps after a seeded reset."""
        simulator = self.make()
        simulator.reset(seed=self.seed)
        for action in self.actions[:warm_up]:
            if ended(step(simulator, action)):
                simulator.reset()
        return simulator

    def play(
        self, simulator: Simulator, before: Callable[[], object] = lambda: None
    ) -> list[Event]:
        """Play on from where the simulator is, calling `before` ahead of each step."""
        events = []
        for action in self.actions:
            before()
            result = step(simulator, action)
            events.append(copy.deepcopy(Event(*result[:4], simulator.mask)))
            if ended(result):
                events.append(_reset(simulator))
        return events + [_reset(simulator) for _ in range(_RESETS)]

    def finished(self) -> Simulator | None:
        """Return a simulator whose episode has just ended, or None if that takes too long."""
        simulator = self.started()
        for _ in range(_PATIENCE):
            if any(ended(step(simulator, action)) for action in self.actions):
                return simulator
        return None


def step(simulator: Simulator, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
    """Take an action, or another one in its place where a mask does not allow it."""
    if simulator.mask is not None:
        allowed = np.flatnonzero(simulator.mask) + getattr(simulator.action_space, "start", 0)
        action = allowed[action % len(allowed)]
    return simulator.step(action)


def _reset(simulator: Simulator) -> Event:
    observation, _ = simulator.reset()
    return copy.deepcopy(Event(observation, mask=simulator.mask))


def ended(result: tuple[Any, ...]) -> bool:
    """Return whether the result of a step is the last of its episode."""
    return bool(result[2] or result[3])


def difference(expected: list[Event], found: list[Event], tolerance: float = 0.0) -> Iterator[str]:
    """Yield one sentence about the first difference beyond a tolerance, or nothing."""
    for number, (one, two) in enumerate(zip(expected, found, strict=False)):
        for name, a, b in zip(Event._fields, one, two, strict=True):
            if not (same(a, b) or (tolerance and distance(a, b)[1] <= tolerance)):
                yield f"{name} {number} {_told(a, b)}"
                return
    if len(expected) != len(found):
        yield f"{len(found)} steps and resets instead of {len(expected)}"


class Deviation(NamedTuple):
    """Differences between two plays of one script.

    Attributes:
        largest: largest difference of two numbers up to where they diverge.
        first: steps up to the first difference, None if there is none.
        diverged: steps up to the first difference beyond the tolerance, None if there is none.
    """

    largest: float = 0.0
    first: int | None = None
    diverged: int | None = None

    def joined(self, other: Deviation) -> Deviation:
        """Return the worse of the two in each respect."""
        return Deviation(
            max(self.largest, other.largest),
            _sooner(self.first, other.first),
            _sooner(self.diverged, other.diverged),
        )


def deviation(expected: list[Event], found: list[Event], tolerance: float) -> Deviation:
    """Return how far apart two plays are. Numbers that are no fractions must be equal.

    The tolerance is relative to numbers larger than 1.
    """
    steps, largest, first = 0, 0.0, None
    for one, two in zip(expected, found, strict=False):
        if not same(tuple(one), tuple(two)):
            first = steps if first is None else first
            apart, relative = distance(tuple(one), tuple(two))
            if relative > tolerance:
                largest = max(largest, apart if np.isfinite(apart) else largest)
                return Deviation(largest, first, steps)
            largest = max(largest, apart)
        steps += one.reward is not None
    if len(expected) != len(found):
        return Deviation(largest, steps if first is None else first, steps)
    return Deviation(largest, first)


def distance(a: Any, b: Any) -> tuple[float, float]:
    """Return the largest difference of numbers in two values, absolute and relative.

    Both are infinite where the values differ in another way: in kind, in shape, in whole numbers.
    """
    if isinstance(a, Mapping) and isinstance(b, Mapping) and a.keys() == b.keys():
        return _largest(distance(a[key], b[key]) for key in a)
    if isinstance(a, tuple | list) and isinstance(b, tuple | list) and len(a) == len(b):
        return _largest(map(distance, a, b))
    if same(a, b):
        return 0.0, 0.0
    one, two = np.asarray(a), np.asarray(b)
    if one.dtype != two.dtype or one.shape != two.shape or one.dtype.kind != "f":
        return np.inf, np.inf
    equal = (one == two) | (np.isnan(one) & np.isnan(two))
    apart = np.where(equal, 0.0, np.abs(one.astype(np.float64) - two.astype(np.float64)))
    if not np.isfinite(apart).all():
        return np.inf, np.inf
    return float(apart.max()), float((apart / np.maximum(1, np.abs(one))).max())


def _largest(pairs: Iterable[tuple[float, float]]) -> tuple[float, float]:
    found = list(pairs)
    absolute, relative = ([pair[i] for pair in found] for i in (0, 1))
    return max(absolute, default=0.0), max(relative, default=0.0)


def _sooner(a: int | None, b: int | None) -> int | None:
    return min((steps for steps in (a, b) if steps is not None), default=None)


def _told(a: Any, b: Any) -> str:
    """Say how b differs from a, at one place where all of them would fill the screen."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and a.size > 8:
        if a.dtype != b.dtype or a.shape != b.shape:
            return f"is {b.dtype} {b.shape} instead of {a.dtype} {a.shape}"
        differ = np.argwhere(a != b)
        if len(differ):
            place = tuple(map(int, differ[0]))
            return f"has {b[place]!r} instead of {a[place]!r} at {place}"
    return f"is {reprlib.repr(b)} instead of {reprlib.repr(a)}"


def same(a: Any, b: Any) -> bool:
    """Return whether two values are equal in type, shape and every bit."""
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, tuple | list) and isinstance(b, tuple | list):
        return len(a) == len(b) and all(map(same, a, b))
    one, two = np.asarray(a), np.asarray(b)
    if one.dtype != two.dtype or one.shape != two.shape:
        return False
    return a == b if one.dtype.hasobject else one.tobytes() == two.tobytes()
