"""How much an agent learns for how much it collects: plain arithmetic, with nothing to save."""

from __future__ import annotations

import math
from typing import Protocol


class Pace(Protocol):
    """Says when to learn."""

    def steps_due(self, queries: int, inserts: int, steps: int) -> int:
        """Returns how many SGD steps to take now.

        Args:
            queries: made so far.
            inserts: rows of replay added so far.
            steps: SGD steps taken so far.
        """


class SgdPeriod:
    """One SGD step every so many queries, once the replay holds enough rows."""

    def __init__(self, period: int, min_replay: int):
        self._period = period
        self._min_replay = min_replay

    def steps_due(self, queries: int, inserts: int, steps: int) -> int:
        """Returns how many SGD steps to take now."""
        return int(queries % self._period == 0 and inserts >= self._min_replay)


class SamplesPerInsert:
    """As many SGD steps as hold the samples for each row that comes in at one value.

    The rows that learning waits for at the start are not counted: they would be paid for by
    thousands of steps at once. The rate may be any positive number; several steps may be due after
    one row, or one after many.
    """

    def __init__(self, rate: float, learning_batch: int, min_replay: int):
        """Makes a pace.

        Args:
            rate: samples for each row.
            learning_batch: samples of an SGD step.
            min_replay: rows before learning starts.
        """
        self._rate = rate
        self._learning_batch = learning_batch
        self._min_replay = min_replay

    def steps_due(self, queries: int, inserts: int, steps: int) -> int:
        """Returns how many SGD steps to take now."""
        owed = (inserts - self._min_replay) * self._rate - steps * self._learning_batch
        return max(0, math.floor(owed / self._learning_batch))
