"""Observers that count what happens between two rows of metrics, and that stop bad numbers."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import gymnasium
import numpy as np

from uflp import spaces
from uflp.planning import Observer, Start
from uflp.state import State, array, finite, number, real
from uflp.types import RunError, Transition


class BadNumberError(RunError):
    """A number was not finite; the message says which, and at which query."""


def require_finite(what: str, value: Any, query: int) -> None:
    """Raise `BadNumberError` unless a number, or every number of an array, is finite."""
    if not (math.isfinite(value) if isinstance(value, float) else np.isfinite(value).all()):
        raise BadNumberError(f"{what} was {value} at query {query}")


class Counted(NamedTuple):
    """Counts of an actor since its last report.

    Attributes:
        positive_rewards: queries with a positive reward.
        returns: of rollouts that ended.
        dropped: rollouts in which the simulator raised an error.
    """

    positive_rewards: int
    returns: list[float]
    dropped: int


class SinceLastRow(NamedTuple):
    """Counts that go into a row of metrics.

    Attributes:
        train_return_mean: of rollouts that ended since the last row.
        loss: mean of the SGD steps since the last row.
        positive_rewards: queries with a positive reward so far.
    """

    train_return_mean: float
    loss: float
    positive_rewards: int


class FiniteCheck(Observer):
    """Stops a run whose rewards or observations are not finite."""

    def __init__(self, space: gymnasium.Space[Any]):
        # Whole numbers are always finite.
        self._floats = np.issubdtype(spaces.layout(space)[1], np.floating)

    def began(self, start: Start, observation: Any, queries: int) -> None:
        """Check the first observation."""
        if self._floats:
            require_finite("the observation", observation, queries)

    def stepped(self, transition: Transition, queries: int) -> None:
        """Check reward and observation of a query."""
        require_finite("the reward", transition.reward, queries)
        if self._floats:
            require_finite("the observation", transition.next_observation, queries)


class Counters(Observer):
    """Counts over the whole run, and what has happened since the last row.

    Attributes:
        positive_rewards: queries so far whose reward was positive.
        dropped_rollouts: rollouts so far in which the simulator raised an error.
    """

    def __init__(self) -> None:
        self.positive_rewards = 0
        self.dropped_rollouts = 0
        self._losses: list[float] = []
        self._returns: list[float] = []
        self._return = 0.0

    def stepped(self, transition: Transition, queries: int) -> None:
        """Count the reward of a query."""
        self.positive_rewards += bool(transition.reward > 0)
        self._return += transition.reward
        if transition.terminated or transition.truncated:
            self._returns.append(self._return)
            self._return = 0.0

    def failed(self) -> None:
        """Count a rollout that is dropped; its return will never be known."""
        self._return = 0.0
        self.dropped_rollouts += 1

    def take(self) -> Counted:
        """Return what was counted since the last time, for another to join."""
        taken = Counted(self.positive_rewards, self._returns, self.dropped_rollouts)
        self.positive_rewards, self._returns, self.dropped_rollouts = 0, [], 0
        return taken

    def join(self, counted: Counted) -> None:
        """Add the counts of an actor in another process."""
        self.positive_rewards += counted.positive_rewards
        self._returns += counted.returns
        self.dropped_rollouts += counted.dropped

    def loss(self, loss: float) -> None:
        """Record the loss of an SGD step."""
        self._losses.append(loss)

    def since_last_row(self) -> SinceLastRow:
        """Return the means since the last row, NaN where there was nothing, and the totals."""
        counted = SinceLastRow(
            float(np.mean(self._returns)) if self._returns else math.nan,
            float(np.mean(self._losses)) if self._losses else math.nan,
            self.positive_rewards,
        )
        self._losses.clear()
        self._returns.clear()
        return counted

    def state(self) -> State:
        """Return the counts."""
        return {
            "positive_rewards": self.positive_rewards,
            "dropped_rollouts": self.dropped_rollouts,
            "losses": np.array(self._losses),
            "returns": np.array(self._returns),
            "return": self._return,
        }

    def load(self, state: State) -> None:
        """Take the counts of an equal run."""
        self.positive_rewards = number(state, "positive_rewards")
        self.dropped_rollouts = number(state, "dropped_rollouts")
        empty = np.empty(0)
        for name in ("losses", "returns"):
            values = state[name]
            finite(array(values, np.resize(empty, np.shape(values)[:1]), name), name)
        self._losses = state["losses"].tolist()
        self._returns = state["returns"].tolist()
        self._return = real(state, "return")
