"""Time limits that truncate: which counter of steps decides them, and starting it anew.

A limit that truncates an episode is not part of the task, so a restart starts it anew; otherwise no
chain of restarts reaches further than one episode. A limit that terminates, or that the observation
shows, is part of the state and goes on from the saved step.
"""

from __future__ import annotations

import contextlib
import copy
import random
import warnings
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium.wrappers import TimeAwareObservation, TimeLimit

from uflp.registry import unknown
from uflp.simulators import attribute_reader as reading
from uflp.simulators.action_script import same
from uflp.simulators.env_layers import LayeredEnv, Place, frozen_statistics, layers, set_value
from uflp.simulators.strategies import Replay, Strategy
from uflp.state import State
from uflp.types import UsageError

RESTART, CONTINUE = "restart", "continue"

_DEPTH = 3
"""Levels of objects below a layer in which counters are looked for."""
_OBJECTS = 300
"""Objects that are looked into at most."""
_STEPS = 8
"""Steps of a trial. Fewer show too little: a position may happen to grow by one a step."""
_FEWEST = 3
"""Steps that a trial must have to show anything."""
_SCRIPTS = 32
"""Scripts of actions that a trial tries at most: some actions may end the episode at once."""
_TRIES = 5
"""Restores at which to look for a counter before giving up."""


def check_time_limit(choice: str) -> None:
    """Refuse what is neither `restart`, nor `continue`, nor the name of an attribute."""
    if type(choice) is str and all(part.isidentifier() for part in choice.split(".")):
        return
    raise UsageError(
        f"time_limit is {RESTART!r}, {CONTINUE!r} or the name of an attribute that counts steps, "
        f"not {choice!r}"
    )


class TimeLimits:
    """Counters of steps of one environment that start anew at a restart.

    Gymnasium's `TimeLimit` is known. Another counter is found when it has truncated an episode: it
    is a whole number that has changed by one a step, and trials show that it decides truncation and
    nothing else. Trials are a few dozen steps, taken once, just before a restart; the environment
    and all generators are then put back. An environment that is never restored has none.

    Attributes:
        counters: value after a reset of every counter that starts anew, by its place.
    """

    def __init__(self, layered: LayeredEnv, strategy: Strategy, choice: str):
        """Take an environment that was just reset.

        Args:
            layered: the environment, and what was seen of it last.
            strategy: how it is saved.
            choice: `restart`, `continue`, or the name of the attribute that counts steps.
        """
        check_time_limit(choice)
        self.counters: dict[Place, int] = {}
        self._layered = layered
        self._strategy = strategy
        self._layers = list(layers(layered))
        self._limits = [
            number for number, layer in enumerate(self._layers) if isinstance(layer, TimeLimit)
        ]
        self._reset = dict(_whole_numbers(self._layers))
        # Values when the episode began, where that was noted.
        self._anchor: dict[Place, int] | None = self._reset
        self._note_restores = False
        self._steps = 0
        self._suspects: dict[Place, tuple[int, int]] = {}  # Value that truncated, and direction.
        self._tries = 0
        # What is still to be found out.
        # Trials by replay would cost as many steps as the episode is long.
        replays = isinstance(strategy, Replay)
        self._limits_untried = choice != CONTINUE and bool(self._limits) and not replays
        self._looking = choice == RESTART
        self._unexplained = self._warned = False
        if choice == CONTINUE:
            return
        if any(isinstance(layer, TimeAwareObservation) for layer in self._layers):
            self._limits_untried = False
        else:
            self.counters = {(number, ("_elapsed_steps",)): 0 for number in self._limits}
        if choice != RESTART:
            place = _named(self._reset, choice)
            self.counters[place] = self._reset[place]

    def reset(self) -> None:
        """Note that the environment was reset."""
        if self._looking:
            self._reset = self._anchor = dict(_whole_numbers(self._layers))
            self._steps = 0

    def stepped(self, terminated: bool, truncated: bool) -> None:
        """Note a step. When it truncated, note which counters may be the reason."""
        self._steps += 1
        if not self._looking or not truncated or terminated:
            return
        for number in self._limits:
            limit = self._layers[number]
            if limit._elapsed_steps >= limit._max_episode_steps:
                self._looking = False  # It explains the truncation.
                return
        if self._anchor is None:
            self._note_restores = True
            return
        now = dict(_whole_numbers(self._layers))
        then = self._anchor
        changes = {place: now[place] - then[place] for place in now.keys() & then}
        self._suspects = {
            place: (now[place], 1 if change > 0 else -1)
            for place, change in changes.items()
            if abs(change) == self._steps and place in self._reset
        }
        self._unexplained = True

    def restoring(self, data: Any) -> None:
        """Find out what is still unknown by trials from a snapshot, about to be restored fresh."""
        if not self._limits_untried and not self._unexplained:
            return
        conclusive = False
        # The environment is anybody's code: where it fails, nothing was found out.
        with contextlib.suppress(Exception), self._put_back():
            begun = {place: self._reset[place] for place in self._suspects} | self.counters
            trials = _Trials(self._layered, self._strategy, self._layers, data, begun)
            if trials.conclusive:
                self._try_limits(trials)
                self._try_suspects(trials)
                conclusive = True
        self._tries += 1
        last = self._tries >= _TRIES
        if self._unexplained and (conclusive or last) and not self._warned:
            self._warn()
        self._unexplained = False
        if last:
            self._limits_untried = self._looking = False

    def restored(self, *, fresh: bool) -> None:
        """Note a restore; after a fresh one the counters start anew."""
        if fresh and self.counters:
            self._strategy.set_counters(self.counters)
        if self._looking:
            # All whole numbers are looked at only if limits turn out to end such episodes.
            noted = self._note_restores
            self._anchor = dict(_whole_numbers(self._layers)) if noted else None
            self._steps = 0

    def state(self) -> State:
        """Return what was found out so far, which no snapshot holds."""
        return {
            "counters": [[*_listed(place), value] for place, value in self.counters.items()],
            "suspects": [
                [*_listed(place), value, direction]
                for place, (value, direction) in self._suspects.items()
            ],
            "limits_untried": self._limits_untried,
            "looking": self._looking,
            "unexplained": self._unexplained,
            "warned": self._warned,
            "note_restores": self._note_restores,
            "tries": self._tries,
        }

    def load(self, state: State) -> None:
        """Take what an equal environment's limits have found out."""
        self.counters = {
            (number, tuple(names)): value for number, names, value in state["counters"]
        }
        self._suspects = {
            (number, tuple(names)): (value, direction)
            for number, names, value, direction in state["suspects"]
        }
        self._limits_untried = state["limits_untried"]
        self._looking = state["looking"]
        self._unexplained = state["unexplained"]
        self._warned = state["warned"]
        self._note_restores = state["note_restores"]
        self._tries = state["tries"]

    def _try_limits(self, trials: _Trials) -> None:
        """Let Gymnasium's limits go on where the observation shows the time."""
        if not self._limits_untried:
            return
        self._limits_untried = False
        for number in self._limits:
            place = (number, ("_elapsed_steps",))
            if trials.decides_more(place, 0) or trials.shows_time():
                self.counters.pop(place, None)

    def _try_suspects(self, trials: _Trials) -> None:
        """Adopt the counters that truncate, and decide nothing else."""
        for place, (value, direction) in self._suspects.items():
            if not trials.truncates_at(place, value - direction):
                continue
            self._looking = self._unexplained = False
            base = self._reset[place]
            if not trials.decides_more(place, base) and not trials.shows_time():
                self.counters[place] = base
        self._suspects = {}

    @contextlib.contextmanager
    def _put_back(self) -> Iterator[None]:
        """Put the environment and all generators back, whatever happens in between."""
        numpy_state, python_state = np.random.get_state(), random.getstate()
        present = self._strategy.save()
        try:
            with frozen_statistics(self._layered.env):
                yield
        finally:
            self._strategy.restore(present, exact=True)
            np.random.set_state(numpy_state)
            random.setstate(python_state)

    def _warn(self) -> None:
        self._warned = True
        name = type(self._layered.env.unwrapped).__name__
        warnings.warn(
            f"{name} truncates its episodes, and no counter of steps was found that decides it: "
            "the limit goes on from the saved step at a restart, so no chain of restarts reaches "
            "further than one episode; name the attribute that counts the steps, such as "
            'time_limit="step_count", put the limit into gymnasium.wrappers.TimeLimit, or say '
            'time_limit="continue" if that is meant',
            stacklevel=2,
        )


class _Event(NamedTuple):
    """Result of one step."""

    observation: Any
    reward: float
    terminated: bool
    truncated: bool


class _Trials:
    """The same few steps from one snapshot, with counters changed beforehand.

    Attributes:
        conclusive: whether they can be compared: equal ones give equal results, and the episode
            does not end at once.
    """

    def __init__(
        self,
        layered: LayeredEnv,
        strategy: Strategy,
        held: list[Any],
        data: Any,
        begun: Mapping[Place, int],
    ):
        """Take the first steps.

        Args:
            layered: the environment.
            strategy: how it is restored.
            held: its layers.
            data: the snapshot.
            begun: values after a reset of what may count steps, taken where the snapshot is too
                close to the limit for a trial.
        """
        self._layered = layered
        self._strategy = strategy
        self._layers = held
        self._data = data
        self._start: Mapping[Place, int] = {}
        self._actions: list[Any] = []
        self._space = copy.deepcopy(layered.env.action_space)
        self._paths: list[dict[Place, int]] = []
        for script in range(_SCRIPTS):
            self._space.seed(script)
            self._start, self._actions, self._paths = {}, [], []
            self._plain = self._play({})
            if len(self._plain) < _FEWEST and self._plain[-1].truncated:
                self._start, self._paths = begun, []
                self._plain = self._play({})
            if len(self._plain) >= _FEWEST:
                break
        self.conclusive = len(self._plain) >= _FEWEST and _equal(self._plain, self._play({}))
        self._in_step = {
            place: value
            for place, value in self._paths[0].items()
            if any(
                all(
                    path.get(place) == value + sign * number
                    for number, path in enumerate(self._paths)
                )
                for sign in (1, -1)
            )
        }

    def truncates_at(self, place: Place, value: int) -> bool:
        """Return whether an episode whose counter has the value is truncated by the next step."""
        event = self._play({place: value}, 1)[0]
        return event.truncated and not event.terminated and not self._plain[0].truncated

    def decides_more(self, place: Place, value: int) -> bool:
        """Return whether a counter changes anything but truncation."""
        if place not in self._in_step:
            return False
        return not _equal(self._plain, self._play({place: self._other(place, value)}))

    def shows_time(self) -> bool:
        """Return whether a part of the observation rises or falls steadily with such counters."""
        changed = self._play({place: self._other(place, 0) for place in self._in_step})
        number = min(len(changed), len(self._plain))
        if number < _FEWEST:
            return False
        one, two = (
            np.stack([_numbers(event.observation) for event in events[:number]])
            for events in (self._plain, changed)
        )
        slopes = np.diff(one, axis=0)
        steady = (slopes != 0).all(0) & np.isclose(slopes, slopes[0], rtol=1e-4).all(0)
        return bool((steady & (one != two).any(0)).any())

    def _other(self, place: Place, value: int) -> int:
        """Return the value, or another one if the counter has it already."""
        return value if self._in_step[place] != value else value + _STEPS + 1

    def _play(self, values: Mapping[Place, int], steps: int = _STEPS) -> list[_Event]:
        """Take the steps; the first time, choose the actions and follow all whole numbers."""
        self._strategy.restore(self._data, exact=True)
        for place, value in {**self._start, **values}.items():
            set_value(self._layers, place, value)
        first = not self._paths
        if first:
            self._paths.append(dict(_whole_numbers(self._layers)))
        mask = self._layered.mask
        events = []
        for number in range(steps):
            if number == len(self._actions):
                self._actions.append(_sample(self._space, mask))
            observation, reward, terminated, truncated, info = self._layered.env.step(
                copy.copy(self._actions[number])
            )
            mask = info.get("action_mask")
            events.append(
                _Event(copy.deepcopy(observation), float(reward), bool(terminated), bool(truncated))
            )
            if first:
                self._paths.append(dict(_whole_numbers(self._layers)))
            if terminated or truncated:
                break
        return events


def _sample(space: gymnasium.Space[Any], mask: Any) -> Any:
    if mask is None or not isinstance(space, gymnasium.spaces.Discrete):
        return space.sample()
    return space.sample(np.asarray(mask, np.int8))


def _equal(one: list[_Event], two: list[_Event]) -> bool:
    """Return whether two trials agree in all but truncation, as far as both go.

    The reward of a step that terminates is left out: a bonus for an early success, such as
    MiniGrid's, depends on the time and does not make it part of the state.
    """
    return all(
        same(a.observation, b.observation)
        and a.terminated == b.terminated
        and (a.terminated or same(a.reward, b.reward))
        for a, b in zip(one, two, strict=False)
    )


def _numbers(observation: Any) -> np.ndarray:
    """Return all numbers in an observation, float64 [n]."""
    if isinstance(observation, Mapping):
        observation = tuple(observation.values())
    if isinstance(observation, tuple | list):
        parts = [_numbers(part) for part in observation]
        return np.concatenate(parts) if parts else np.empty(0)
    array = np.asarray(observation)
    return array.ravel().astype(np.float64) if array.dtype.kind in "buif" else np.empty(0)


def _whole_numbers(held: list[Any]) -> Iterator[tuple[Place, int]]:
    """Yield the whole numbers among the attributes of layers and of objects in them."""
    seen = {id(layer) for layer in held}
    # The first layer is the layered: what was seen is no state of the environment.
    waiting: list[tuple[Place, Any]] = [
        ((number, ()), layer) for number, layer in enumerate(held) if number
    ]
    for (number, names), owner in waiting:
        for name, item in vars(owner).items():
            place: Place = (number, (*names, name))
            if type(item) is int or isinstance(item, np.integer):
                yield place, int(item)
            elif (
                len(names) + 1 < _DEPTH
                and hasattr(item, "__dict__")
                and id(item) not in seen
                and len(seen) < _OBJECTS
                and not reading.is_constant(item)
            ):
                seen.add(id(item))
                waiting.append((place, item))


def _named(numbers: Mapping[Place, int], name: str) -> Place:
    """Return the place of an attribute: the outermost one that has the name."""
    names = tuple(name.split("."))
    for number, path in numbers:
        if path[-len(names) :] == names:
            return number, path
    choices = dict.fromkeys(".".join(path) for _, path in numbers)
    raise UsageError(unknown("time_limit", name, [RESTART, CONTINUE, *choices]))


def _listed(place: Place) -> list[Any]:
    return [place[0], list(place[1])]
