"""Running mean and standard deviation of observations, element by element."""

from __future__ import annotations

import numpy as np

from uflp.state import State, array, number

_LEAST_DEVIATION = 1e-4


class RunningMoments:
    """Mean and variance of all that was added, in float64.

    Attributes:
        count: observations so far.
        mean: of them, [...].
    """

    def __init__(self, shape: tuple[int, ...]):
        self.count = 0
        self.mean = np.zeros(shape)
        self._squares = np.zeros(shape)

    @property
    def deviation(self) -> np.ndarray:
        """Standard deviation [...], never 0: what never changed will stand out when it does."""
        return np.maximum(np.sqrt(self._squares / max(1, self.count)), _LEAST_DEVIATION)

    def add(self, batch: np.ndarray) -> None:
        """Adds observations [B, ...], by the pairwise formula of Chan et al. (1979)."""
        total = self.count + len(batch)
        mean = batch.mean(axis=0, dtype=np.float64)
        difference = mean - self.mean
        self._squares += np.square(batch - mean).sum(axis=0)
        self._squares += np.square(difference) * (self.count * len(batch) / total)
        self.mean += difference * (len(batch) / total)
        self.count = total

    def state(self) -> State:
        """Returns the sums."""
        return {"count": self.count, "mean": self.mean, "squares": self._squares}

    def load(self, state: State) -> None:
        """Takes the sums of equal observations."""
        self.count = number(state, "count")
        self.mean = array(state["mean"], self.mean, "mean")
        self._squares = array(state["squares"], self._squares, "squares")
