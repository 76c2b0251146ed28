"""Demonstrations: episodes that somebody else has played, for the history to begin with.

A file of them is an `.npz` of four arrays, which is read without executing anything:

    simulator  the stamp of the simulator that they were played in, a string
    seeds      of the reset that each episode began with, int64 [E]
    lengths    of the episodes, int64 [E]
    actions    of all episodes end to end, int64 [sum of lengths], or float32 [sum of lengths, ...]
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from uflp import spaces
from uflp.arrays import read_arrays
from uflp.files import replacing
from uflp.planning.planner import LocalPlanner
from uflp.planning.rules.base import Start
from uflp.simulators.base import Simulator
from uflp.state import State, StateError
from uflp.types import Action, UsageError

_COLUMNS = ("seeds", "lengths", "actions")


class Demonstrations:
    """Episodes by their seeds and actions: playing them again gives the same states."""

    def __init__(self) -> None:
        self._episodes: list[tuple[int, list[Action]]] = []

    def __len__(self) -> int:
        """Return how many episodes there are."""
        return len(self._episodes)

    def add(self, seed: int, actions: list[Action]) -> None:
        """Add an episode."""
        self._episodes.append((seed, actions))

    def seed(self, number: int) -> int:
        """Return the seed of the reset that an episode began with."""
        return self._episodes[number][0]

    def actions(self, number: int) -> list[Action]:
        """Return what was done in an episode."""
        return self._episodes[number][1]

    def state(self) -> State:
        """Return all episodes as arrays."""
        actions = [action for _, played in self._episodes for action in played]
        real = bool(actions) and isinstance(actions[0], np.ndarray)
        return {
            "seeds": np.array([seed for seed, _ in self._episodes], np.int64),
            "lengths": np.array([len(played) for _, played in self._episodes], np.int64),
            "actions": np.array(actions, np.float32 if real else np.int64),
        }

    def load(self, state: State) -> None:
        """Take such arrays."""
        seeds, lengths, actions = (state[name] for name in _COLUMNS)
        real = actions.dtype == np.float32 and actions.ndim > 0
        for column in (seeds, lengths) if real else (seeds, lengths, actions):
            if column.ndim != 1 or column.dtype.kind not in "iu" or (column < 0).any():
                raise ValueError("seeds, lengths and actions are rows of whole numbers")
        if len(seeds) != len(lengths) or lengths.sum() != len(actions) or not lengths.all():
            raise ValueError("there must be a seed and at least one action for each episode")
        # What is behind the last episode is empty.
        parts = np.split(actions, np.cumsum(lengths))[:-1]
        self._episodes = [
            (int(seed), list(part) if real else part.tolist())
            for seed, part in zip(seeds, parts, strict=True)
        ]

    def read(self, path: Path, simulator: Simulator) -> None:
        """Take the episodes of a file, if they were played in an equal simulator."""
        try:
            arrays = read_arrays(path, ("simulator", *_COLUMNS))
            stamp = str(arrays["simulator"])
            self.load(arrays)
        except OSError as error:
            raise UsageError(f"{path} cannot be read: {error.strerror or error}") from error
        except KeyError as error:
            raise UsageError(f"{path} does not hold demonstrations: no {error}") from error
        except ValueError as error:
            raise UsageError(f"{path} does not hold demonstrations: {error}") from error
        if not self._episodes:
            raise UsageError(f"{path} holds demonstrations of no episode")
        if stamp != simulator.stamp:
            raise UsageError(
                f"{path} holds demonstrations in {stamp!r}, and this is {simulator.stamp!r}"
            )
        known = spaces.actions(simulator.action_space)
        try:
            for _, played in self._episodes:
                for action in played:
                    spaces.read_action(action, known)
        except StateError as error:
            raise UsageError(f"{path} has an action that is none here: {error}") from error

    def write(self, path: Path, stamp: str) -> None:
        """Write a file, in one piece, of episodes played in a simulator with this stamp."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with replacing(path) as file:
                np.savez_compressed(file, simulator=np.array(stamp), **self.state())
        except OSError as error:
            raise UsageError(f"{path} cannot be written: {error.strerror}") from error


class DemonstratedStarts:
    """Starts of rollouts: one for each demonstration, then those of a planner.

    Attributes:
        begun: rollouts so far, of either kind.
    """

    def __init__(self, demonstrations: Demonstrations, planner: LocalPlanner):
        self.begun = 0
        self._demonstrations = demonstrations
        self._planner = planner

    @property
    def demonstrating(self) -> bool:
        """Whether the rollout that began last plays a demonstration."""
        return 0 < self.begun <= len(self._demonstrations)

    def start(self, rng: np.random.Generator) -> Start:
        """Return where the next rollout begins, and what it plays if it is a demonstration."""
        number = self.begun
        self.begun += 1
        if number < len(self._demonstrations):
            seed, actions = self._demonstrations.seed(number), self._demonstrations.actions(number)
            return Start(seed=seed, script=actions)
        return self._planner.start(rng)


class DemonstrationRecorder(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Writes down what anybody plays in a simulator, as demonstrations.

    Every reset has a seed, drawn where none is given, so that the episode can be played again.

    Attributes:
        demonstrations: the episodes so far; one without a step is none.
    """

    def __init__(self, simulator: Simulator):
        super().__init__(simulator)
        self.demonstrations = Demonstrations()
        self._simulator = simulator
        self._seed: int | None = None
        self._actions: list[Action] = []

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode."""
        self._seed = int(np.random.default_rng().integers(2**32)) if seed is None else seed
        self._actions = []
        return super().reset(seed=self._seed, options=options)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Take an action, and write it down."""
        result = super().step(action)
        if not self._actions and self._seed is not None:
            self.demonstrations.add(self._seed, self._actions)
        real = isinstance(self.action_space, gymnasium.spaces.Box)
        self._actions.append(np.array(action, np.float32) if real else int(action))
        return result

    @property
    def mask(self) -> np.ndarray | None:
        """Which actions the present state allows; see `Simulator`."""
        return self._simulator.mask

    def write(self, path: str | Path) -> None:
        """Write all episodes into a file."""
        self.demonstrations.write(Path(path), self._simulator.stamp)
