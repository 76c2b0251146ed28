"""Deep Sea: one rewarded corner, which only one action sequence in 2^N reaches."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces

from uflp.randomness import Randomness
from uflp.simulators.base import SEAL_WIDTH, Simulator, SnapshotError
from uflp.simulators.projection import Projection, bins
from uflp.simulators.small_rng import RNG_WIDTH, pack_rng, small_rng, unpack_rng
from uflp.types import UsageError


@dataclass(frozen=True)
class DeepSea:
    """Deep Sea: an N × N grid with one rewarded corner.

    The diver starts in the top left corner, sinks one row a step, and moves left or right. A move
    to the right costs a little, and only N of them in a row earn the reward of 1 in the bottom
    right corner. The rules are those of bsuite 0.3.6.

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
        """Return a simulator; equal seeds give equal action mappings."""
        return DeepSeaSimulator(self, seed)


class DeepSeaSimulator(Simulator):
    """Deep Sea, whose observation is the number of the grid cell, row · N + column.

    After the last step, which has no cell, the observation is 0. Only the stochastic version draws
    random numbers, so only its snapshots hold the generator.

    Attributes:
        mapping_seed: seed of the action mapping in use.
        action_mapping: the action that moves right in each cell, int [N, N].
    """

    def __init__(self, settings: DeepSea, seed: int):
        randomness = Randomness(seed)
        self.mapping_seed = settings.mapping_seed
        if self.mapping_seed is None:
            self.mapping_seed = randomness.integer("deep-sea/mapping")
        size = settings.size
        self.action_mapping = np.ones((size, size), int)
        if settings.randomize_actions:
            # bsuite's own draw: its mapping seed gives its mapping.
            self.action_mapping = np.random.RandomState(self.mapping_seed).binomial(
                1, 0.5, (size, size)
            )
        self._right = self.action_mapping.tolist()  # A list is quicker to look up one cell in.
        self._size = size
        self._stochastic = settings.stochastic
        self._move_cost = settings.unscaled_move_cost / size
        self._rng = small_rng(randomness.integer("deep-sea/noise"))
        self._row = self._column = 0
        self.observation_space = spaces.Discrete(size**2)
        self.action_space = spaces.Discrete(2)
        mapping = self.mapping_seed if settings.randomize_actions else "identity"
        # bsuite's version names the rules, and is part of the stamps of snapshots on disk.
        self.stamp = (
            f"deep-sea/1 size={size} stochastic={settings.stochastic} "
            f"unscaled_move_cost={settings.unscaled_move_cost} mapping={mapping} bsuite=0.3.6"
        )
        self.snapshot_width = _STATE.size + SEAL_WIDTH
        if settings.stochastic:
            self.snapshot_width += RNG_WIDTH
        self.projection = _grid(size)

    def _reset(self, seed: int | None) -> tuple[int, dict[str, Any]]:
        if seed is not None and self._stochastic:
            self._rng = small_rng(seed)
        self._row = self._column = 0
        return 0, {}

    def _step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        row, column, last = self._row, self._column, self._size - 1
        moves_right = action == self._right[row][column]
        reward = 1.0 if moves_right and column == last else 0.0
        if self._stochastic and row == last and column in (0, last):
            reward += self._rng.randn()
        if moves_right:
            reward -= self._move_cost
            if not self._stochastic or self._rng.rand() > 1 / self._size:
                column = min(column + 1, last)
        else:
            column = max(column - 1, 0)
        self._row, self._column = row + 1, column
        if row == last:
            return 0, reward, True, False, {}
        return self._observation(), reward, False, False, {}

    def _observation(self) -> int:
        return self._row * self._size + self._column

    def _save(self) -> bytes:
        data = _STATE.pack(self._row, self._column)
        return data + pack_rng(self._rng) if self._stochastic else data

    def _restore(self, data: bytes, *, exact: bool) -> tuple[int, dict[str, Any]]:
        row, column = _STATE.unpack_from(data)
        if not column <= row < self._size:
            raise SnapshotError(f"Deep Sea has no state at row {row}, column {column}")
        if exact and self._stochastic:
            unpack_rng(self._rng, data[_STATE.size :])
        self._row, self._column = row, column
        return self._observation(), {}

    def render(self) -> Any:
        """Return a picture of the grid, uint8 [H, W, 3]: the diver, and the treasure."""
        size = self._size
        picture = np.full((size, size, 3), (16, 42, 82), np.uint8)
        picture[np.tril_indices(size)] = (42, 104, 168)  # where the diver can get to
        picture[-1, -1] = (240, 196, 60)
        if self._row < size:
            picture[self._row, self._column] = (255, 255, 255)
        scale = max(1, 320 // size)
        return picture.repeat(scale, axis=0).repeat(scale, axis=1)


# Row and column; the last byte is spare, and set in some snapshots of earlier versions.
_STATE = struct.Struct("<IIx")


def _grid(size: int) -> Projection:
    """Return rows and columns, joined to bins where the grid is larger than a picture need be."""
    count = min(size, 100)

    def cells(observations: np.ndarray) -> np.ndarray:
        row, column = (bins(place, 0, size, count) for place in divmod(observations, size))
        return row * count + column

    return Projection(("row", "column"), ((0, size), (0, size)), (count, count), cells)
