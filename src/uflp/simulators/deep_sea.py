"""Deep Sea: one rewarded corner, which only one action sequence in 2^N reaches."""

from __future__ import annotations

import struct
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from bsuite.environments import deep_sea
from gymnasium import spaces

from uflp.randomness import Randomness
from uflp.simulators import bsuite
from uflp.simulators.base import SEAL_WIDTH, Simulator, SnapshotError
from uflp.simulators.projection import Projection, bins
from uflp.types import Outcomes, UsageError


@dataclass(frozen=True)
class DeepSea:
    """Deep Sea of bsuite: an N × N grid with one rewarded corner.

    Attributes:
        size: N, the side of the grid and the length of an episode.
        stochastic: whether moves to the right fail with probability 1/N, and the ends of the last
            row have noisy rewards.
        unscaled_move_cost: cost of moving right, multiplied by N; the best return of the
            deterministic version is one minus this.
        randomize_actions: whether each state has its own mapping from actions to left and right;
            without it, action 1 is right everywhere.
        mapping_seed: seed of that mapping; None draws it from the run's seed. bsuite uses 42.
    """

    size: int = 50
    stochastic: bool = False
    unscaled_move_cost: float = 0.01
    randomize_actions: bool = True
    mapping_seed: int | None = None

    def __post_init__(self) -> None:
        if self.size < 2:
            raise UsageError(f"Deep Sea needs a size of at least 2, not {self.size}")
        if not self.unscaled_move_cost >= 0:
            raise UsageError(
                f"Deep Sea needs an unscaled_move_cost of at least 0, not {self.unscaled_move_cost}"
            )
        if self.mapping_seed is not None and not 0 <= self.mapping_seed < 2**32:
            raise UsageError(
                f"Deep Sea needs a mapping_seed from 0 to 2^32 - 1, not {self.mapping_seed}"
            )

    def make(self, seed: int) -> DeepSeaSimulator:
        """Returns a simulator; equal seeds give equal action mappings."""
        return DeepSeaSimulator(self, seed)


class DeepSeaSimulator(Simulator):
    """bsuite's Deep Sea, whose observation is the number of the grid cell, row · N + column.

    The deterministic version draws random numbers without using them, so only snapshots of the
    stochastic one hold the generator, and what bsuite has once answered it need not be asked again
    (its own logs, `bsuite_info`, then count only what it was asked).

    Attributes:
        mapping_seed: seed of the action mapping in use.
    """

    def __init__(self, settings: DeepSea, seed: int):
        randomness = Randomness(seed)
        self.mapping_seed = settings.mapping_seed
        if self.mapping_seed is None:
            self.mapping_seed = randomness.integer("deep-sea/mapping")
        self._env = _IndexedDeepSea(settings, self.mapping_seed)
        self._env._rng = bsuite.small_rng(randomness.integer("deep-sea/noise"))
        self._settings = settings
        self._size = settings.size
        self._stochastic = settings.stochastic
        self._answers: dict[tuple[Any, ...], tuple[Any, ...]] = {}
        self.observation_space = spaces.Discrete(settings.size**2)
        self.action_space = spaces.Discrete(2)
        mapping = self.mapping_seed if settings.randomize_actions else "identity"
        self.stamp = (
            f"deep-sea/1 size={settings.size} stochastic={settings.stochastic} "
            f"unscaled_move_cost={settings.unscaled_move_cost} mapping={mapping} "
            f"bsuite={bsuite.VERSION}"
        )
        self.snapshot_width = _STATE.size + SEAL_WIDTH
        if settings.stochastic:
            self.snapshot_width += bsuite.RNG_WIDTH
        self.projection = _grid(settings.size)

    def _reset(self, seed: int | None) -> tuple[int, dict[str, Any]]:
        if seed is not None and self._stochastic:
            self._env._rng = bsuite.small_rng(seed)
        return self._env.reset().observation, {}

    def _step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        env = self._env
        if self._stochastic:
            return bsuite.outcome(env.step(action))
        asked = (env._row, env._column, env._bad_episode, action)
        if asked not in self._answers:
            observation, reward, terminated, truncated, _ = bsuite.outcome(env.step(action))
            after = (env._row, int(env._column), env._bad_episode)
            self._answers[asked] = (observation, reward, terminated, truncated, after)
        observation, reward, terminated, truncated, after = self._answers[asked]
        env._row, env._column, env._bad_episode = after
        return observation, reward, terminated, truncated, {}

    def outcomes(self) -> Outcomes | None:
        """Returns what every action leads to, unless that is random.

        Whether the episode has left the diagonal, which no observation tells, bsuite only counts.
        """
        if self._stochastic:
            return None
        env = _IndexedDeepSea(self._settings, self.mapping_seed)
        shape = (self._size**2, 2)
        # Above the diagonal is nothing.
        outcomes = Outcomes(np.zeros(shape, np.int32), np.zeros(shape), np.ones(shape, bool))
        for row, column in zip(*np.tril_indices(self._size), strict=True):
            for action in range(2):
                env._row, env._column, env._reset_next_step = row, column, False
                observation, reward, terminated, *_ = bsuite.outcome(env.step(action))
                here = row * self._size + column, action
                for table, value in zip(outcomes, (observation, reward, terminated), strict=True):
                    table[here] = value
        return outcomes

    def render(self) -> Any:
        """Returns a picture of the grid, uint8 [H, W, 3]: the diver, and the treasure."""
        size, env = self._size, self._env
        picture = np.full((size, size, 3), (16, 42, 82), np.uint8)
        picture[np.tril_indices(size)] = (42, 104, 168)  # where the diver can get to
        picture[-1, -1] = (240, 196, 60)
        if env._row < size:
            picture[env._row, int(env._column)] = (255, 255, 255)
        scale = max(1, 320 // size)
        return picture.repeat(scale, axis=0).repeat(scale, axis=1)

    def _save(self) -> bytes:
        env = self._env
        data = _STATE.pack(env._row, env._column, env._bad_episode)
        return data + bsuite.pack_rng(env._rng) if self._stochastic else data

    def _restore(self, data: bytes, *, exact: bool) -> tuple[int, dict[str, Any]]:
        env = self._env
        try:
            row, column, bad_episode = _STATE.unpack_from(data)
            if not column <= row < self._size:
                raise SnapshotError(f"Deep Sea has no state at row {row}, column {column}")
            if exact and self._stochastic:
                bsuite.unpack_rng(env._rng, data[_STATE.size :])
        except struct.error as error:
            raise SnapshotError(f"not a snapshot of Deep Sea: {error}") from error
        env._row, env._column, env._bad_episode = row, column, bad_episode
        # A new environment would take its first step for a reset.
        env._reset_next_step = False
        return env._get_observation(), {}


def _grid(size: int) -> Projection:
    """Returns rows and columns, joined to bins where the grid is larger than a picture need be."""
    count = min(size, 100)

    def cells(observations: np.ndarray) -> np.ndarray:
        row, column = (bins(place, 0, size, count) for place in divmod(observations, size))
        return row * count + column

    return Projection(("row", "column"), ((0, size), (0, size)), (count, count), cells)


# row, column, whether the episode has left the diagonal.
_STATE = struct.Struct("<II?")


class _IndexedDeepSea(deep_sea.DeepSea):
    """bsuite's environment, spared the N × N array that it makes for every observation."""

    def __init__(self, settings: DeepSea, mapping_seed: int | None):
        with warnings.catch_warnings():
            # bsuite warns about the identity mapping, which was asked for here.
            warnings.simplefilter("ignore")
            super().__init__(
                size=settings.size,
                deterministic=not settings.stochastic,
                unscaled_move_cost=settings.unscaled_move_cost,
                randomize_actions=settings.randomize_actions,
                mapping_seed=mapping_seed,
            )

    def _get_observation(self) -> int:
        if self._row == self._size:
            return 0
        return int(self._row * self._size + self._column)
