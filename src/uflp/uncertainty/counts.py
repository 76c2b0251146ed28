"""Visit counts: u(s, a) = (n(s, a) + λ)^(-1/2), Eq. 10 of the paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import gymnasium
import numpy as np

from uflp import spaces
from uflp.cells import NAME_LENGTH, CellOf, cells_of_entries, make_cells
from uflp.spaces import Actions, RealActions
from uflp.state import LARGEST, State, StateError, array
from uflp.types import Action, UsageError
from uflp.uncertainty.base import Predict


@dataclass(frozen=True)
class Counts:
    """Visit counts: of states where observations are discrete, of cells elsewhere.

    Attributes:
        regularization: λ, added to every count.
        bins: cells a dimension, for observations of up to eight numbers; None means 20, and that
            whole numbers are told apart exactly.
        hash_bits: bits of the hash (SimHash) that stands for the cell of longer ones; None means
            64, and that whole numbers are told apart exactly.
        cells: places of the numbers of an observation that cells are made of, such as 0,1 for x and
            y; None takes all of them.
        cell_size: width of a cell in each number; None cuts each into `bins` by its bounds.
    """

    action_kinds: ClassVar[tuple[str, ...]] = ("numbered", "real")
    regularization: float = 0.01
    bins: int | None = None
    hash_bits: int | None = None
    cells: tuple[int, ...] | None = None
    cell_size: float | None = None

    def __post_init__(self) -> None:
        if not self.regularization > 0:
            raise UsageError(f"regularization must be positive, not {self.regularization}")
        for name in ("bins", "hash_bits"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UsageError(f"{name} must be at least 1, not {value}")
        if self.cells is not None and (not self.cells or min(self.cells) < 0):
            raise UsageError(f"cells needs places from 0 on, not {self.cells}")
        if self.cell_size is not None and not 0 < self.cell_size < np.inf:
            raise UsageError(f"cell_size must be positive or none, not {self.cell_size}")

    def make(self, space: gymnasium.Space, actions: Actions, seed: int) -> TableCounts | CellCounts:
        """Return counts for an observation space; of states alone where actions are real-valued."""
        if isinstance(space, gymnasium.spaces.Box):
            counts: TableCounts | CellCounts = CellCounts(
                self._cell_of(space, seed), _columns(actions), self.regularization
            )
        else:
            ids = spaces.ids(space)
            if ids is None:
                raise UsageError(
                    f"observations of {space} cannot be counted: use a Box or a Discrete"
                )
            if self.cells is not None or self.cell_size is not None:
                raise UsageError("cells and cell_size are of vectors, and here states are numbered")
            counts = TableCounts(ids, _columns(actions), self.regularization)
        counts.knows_actions = not isinstance(actions, RealActions)
        return counts

    def _cell_of(self, space: gymnasium.spaces.Box, seed: int) -> CellOf:
        if self.cells is None and self.cell_size is None:
            return make_cells(space, self.bins, self.hash_bits, seed)
        return cells_of_entries(
            space,
            self.cells,
            self.cell_size,
            lambda part: make_cells(part, self.bins, self.hash_bits, seed),
        )


def _columns(actions: Actions) -> int:
    return 1 if isinstance(actions, RealActions) else actions


class TableCounts:
    """One count for each of finitely many states and each action.

    Attributes:
        visits: int64 [ids, A].
    """

    monotone = True
    key_shape = ()
    key_dtype = np.dtype(np.int64)

    def __init__(self, ids: int, actions: int, regularization: float):
        self.knows_actions = True
        self.ids: int | None = ids
        self.visits = np.zeros((ids, actions), np.int64)
        self._regularization = regularization

    def key_of(self, observation: Any) -> int:
        """Return the observation, which is its own id."""
        return observation

    def observe(self, key: int, action: Action) -> None:
        """Count one visit."""
        self.visits[key, action if self.knows_actions else 0] += 1

    def score(
        self, keys: np.ndarray, predict: Predict, actions: np.ndarray | None = None
    ) -> np.ndarray:
        """Return u(s, a) as [B, A], or u(s) as [B] where actions are real-valued."""
        if not self.knows_actions:
            return self.score_states(keys, predict)
        return 1 / np.sqrt(self.visits[keys] + self._regularization)

    def score_states(
        self, keys: np.ndarray, predict: Predict, allowed: np.ndarray | None = None
    ) -> np.ndarray:
        """Return u(s) as [B]; a state's count is the sum over its actions."""
        return 1 / np.sqrt(self.visits[keys].sum(axis=-1) + self._regularization)

    def state(self) -> State:
        """Return the counts."""
        return {"visits": self.visits}

    def load(self, state: State) -> None:
        """Take the counts of an equal table."""
        self.visits = array(state["visits"], self.visits, "visits")
        if self.visits.size and not 0 <= self.visits.min() <= self.visits.max() <= LARGEST:
            raise StateError("a state was visited less than never, or too often")


class CellCounts(TableCounts):
    """One count for each cell that was seen and each action; a key is the number of a cell.

    Attributes:
        cells: how many cells were seen.
    """

    def __init__(self, cell_of: CellOf, actions: int, regularization: float):
        super().__init__(_FIRST_CELLS, actions, regularization)
        self.ids = None  # nobody knows how many there will be
        self.cells = 0
        self._cell_of = cell_of
        self._numbers: dict[bytes, int] = {}
        self._names: list[bytes] = []

    def key_of(self, observation: Any) -> int:
        """Return the number of the observation's cell, a new one where it is new."""
        return self._number(self._cell_of(observation))

    def names(self, keys: Sequence[int]) -> np.ndarray:
        """Return the names of cells, int64 [B], by which other counts know them too."""
        return np.frombuffer(b"".join([self._names[key] for key in keys]), np.int64)

    def numbers(self, names: np.ndarray) -> np.ndarray:
        """Return the numbers of cells that are known by name, new ones where they are new."""
        each = range(0, names.nbytes, NAME_LENGTH)
        data = np.ascontiguousarray(names).tobytes()
        return np.array([self._number(data[n : n + NAME_LENGTH]) for n in each], np.int64)

    def _number(self, cell: bytes) -> int:
        number = self._numbers.get(cell)
        if number is None:
            number = self._numbers[cell] = self.cells
            self._names.append(cell)
            self.cells += 1
            if self.cells > len(self.visits):
                self.visits = np.concatenate([self.visits, np.zeros_like(self.visits)])
        return number

    def state(self) -> State:
        """Return the names of the cells, end to end, and their counts."""
        return {"names": b"".join(self._names), "visits": self.visits[: self.cells]}

    def load(self, state: State) -> None:
        """Take the cells and their counts."""
        visits = state["visits"]
        self.cells = len(visits)
        visits = array(visits, np.empty((self.cells, self.visits.shape[1]), np.int64), "visits")
        if type(state["names"]) is not bytes or (visits < 0).any() or (visits > LARGEST).any():
            raise StateError("the cells or their counts are of another kind")
        ends = range(0, len(state["names"]), NAME_LENGTH)
        self._names = [state["names"][end : end + NAME_LENGTH] for end in ends]
        self._numbers = {name: number for number, name in enumerate(self._names)}
        if not len(self._numbers) == len(self._names) == self.cells:
            raise StateError("there are not as many cells as counts")
        # As much room as when they were counted: what is in use, doubled as often as needed.
        rooms = len(self.visits)
        while rooms < self.cells:
            rooms *= 2
        self.visits = np.zeros((rooms, visits.shape[1]), np.int64)
        self.visits[: self.cells] = visits


_FIRST_CELLS = 1024
