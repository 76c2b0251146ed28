"""The replay: the transitions that an agent learns from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np

from uflp.spaces import Actions, action_layout, layout
from uflp.state import Block, Rows, State, StateError, spans
from uflp.types import Action, Batch, UsageError

_WORD = 4  # bytes


class Whole:
    """Encodes each observation as itself, because rows hold observations whole."""

    def keep(self, observation: Any, after: Any) -> Any:
        """Return what to call an observation by: itself."""
        return observation

    def name(self, kept: Any) -> np.ndarray:
        """Return a kept observation as a checkpoint holds it."""
        return np.asarray(kept)

    def named(self, name: np.ndarray) -> Any:
        """Return the kept observation that a checkpoint held."""
        return name


class Replay(Whole):
    """A ring of learning rows, sampled uniformly with replacement; see `drawn`.

    A row's columns lie side by side, so that a sample is one array of words: it is gathered in one
    go, and is one thing to hand to the device, where `uflp.agents.base` takes it apart.

    Attributes:
        row: the layout of a row, with the columns of a `Batch`, each beginning at a word.
        added: rows so far, also those that were overwritten.
    """

    def __init__(
        self,
        space: gymnasium.Space,
        capacity: int,
        masked: int = 0,
        recent: int = 0,
        actions: Actions = 1,
    ):
        """Make an empty replay for one observation space.

        Args:
            space: a Box, or a Discrete whose observations take four bytes each.
            capacity: rows; the oldest is overwritten when all are in use.
            masked: A, the actions that a mask speaks of; 0 keeps no masks.
            recent: rows of each sample that are the most recent.
            actions: how many there are, or what they are where they are real-valued.
        """
        if capacity < 1:
            raise UsageError(f"a replay needs room for at least 1 row, not {capacity}")
        self.row = layout_of_row(space, masked, actions)
        self._masked = masked > 0
        self._recent = recent
        self._rows = np.zeros(capacity, self.row)
        self._words = self._rows.view(np.uint32).reshape(capacity, -1)
        self.added = 0

    def __len__(self) -> int:
        return min(self.added, len(self._rows))

    def add(
        self,
        observation: Any,
        action: Action,
        reward: float,
        discount: float,
        next_observation: Any,
        next_mask: np.ndarray | None = None,
    ) -> None:
        """Add one row; see `Batch` for what the columns mean.

        A mask is only asked for where the replay keeps masks, and where the discount is not 0.
        """
        values = (observation, action, reward, discount, next_observation)
        self._rows[self.added % len(self._rows)] = (
            (*values, 0 if next_mask is None else next_mask) if self._masked else values
        )
        self.added += 1

    def extend(self, rows: bytes) -> None:
        """Add rows as they lie in memory, in order."""
        words = np.frombuffer(rows, np.uint32).reshape(-1, self._words.shape[1])
        self.added += len(words)
        words = words[-len(self._rows) :]
        places = np.arange(self.added - len(words), self.added) % len(self._rows)
        self._words[places] = words

    def sample(self, uniforms: np.ndarray) -> np.ndarray:
        """Draw one row for each of some numbers in [0, 1), as uint32 [B, words of a row]."""
        rows = drawn(uniforms, self.added, len(self._rows), self._recent)
        # `clip` spares a check of what is in range.
        return self._words.take(rows, axis=0, mode="clip")

    def state(self) -> State:
        """Return the rows."""
        return {"rows": Rows("replay", self.added - len(self), self.added, self._blocks)}

    def load(self, state: State) -> None:
        """Take the rows of an equal replay."""
        rows: Rows = state["rows"]
        for first, stop, columns in rows.blocks(rows.first):
            words = columns["words"]
            if words.dtype != np.uint32 or words.shape != (stop - first, *self._words.shape[1:]):
                raise StateError("the rows of the replay have another layout")
            # Rows that had been dropped since their block was written are overwritten again.
            self._words[np.arange(first, stop) % len(self._rows)] = words
        self.added = rows.stop

    def _blocks(self, first: int) -> Iterator[Block]:
        for numbers in spans(first, self.added, self.row.itemsize):
            words = self._words[numbers % len(self._rows)]
            yield Block(int(numbers[0]), int(numbers[-1]) + 1, {"words": words})


def drawn(uniforms: np.ndarray, added: int, capacity: int, recent: int) -> np.ndarray:
    """Return the places of a sample's rows in a ring: the most recent ones, then some of all.

    Args:
        uniforms: [B] numbers in [0, 1); where they are uniform, so are the rows, with replacement.
        added: rows so far, at least 1.
        capacity: of the ring.
        recent: rows that are the most recent, in place of the first ones drawn.
    """
    places = (uniforms * min(added, capacity)).astype(np.intp)
    if recent:
        latest = np.arange(added - 1, added - 1 - min(recent, added, capacity), -1)
        places[: len(latest)] = latest[: len(places)] % capacity
    return places


def layout_of_row(space: gymnasium.Space, masked: int = 0, actions: Actions = 1) -> np.dtype:
    """Return the columns of a `Batch` of observations of a space, each beginning at a word.

    Args:
        space: of the observations.
        masked: A, the actions that a mask speaks of; 0 has no column of masks.
        actions: how many there are, or what they are where they are real-valued.
    """
    shape, dtype = layout(space)
    acted, action = action_layout(actions)
    kinds = [(dtype, shape), (action, acted), (np.float32, ()), (np.float32, ()), (dtype, shape)]
    kinds += [(np.uint8, (masked,))] if masked else []
    formats = [np.dtype(kind) for kind in kinds]
    ends = np.cumsum([-(-kind.itemsize // _WORD) * _WORD for kind in formats]).tolist()
    columns: Any = {
        "names": Batch._fields[: len(formats)],
        "formats": formats,
        "offsets": [0, *ends[:-1]],
        "itemsize": ends[-1],
    }
    return np.dtype(columns)
