"""What a run keeps count of between two rows of metrics, and the numbers that must stop it."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from uflp.state import State, number
from uflp.types import RunError


class BadNumberError(RunError):
    """A number was not finite; the message says which, and at which query."""


def require_finite(what: str, value: Any, query: int) -> None:
    """Raises `BadNumberError` unless a number, or every number of an array, is finite."""
    if not (math.isfinite(value) if isinstance(value, float) else np.isfinite(value).all()):
        raise BadNumberError(f"{what} was {value} at query {query}")


class Counted(NamedTuple):
    """What an actor has counted since it last said so.

    Attributes:
        positive_rewards: queries with a positive reward.
        returns: of rollouts that ended.
        dropped: rollouts in which the simulator raised an error.
    """

    positive_rewards: int
    returns: list[float]
    dropped: int


class Tally:
    """Counts over the whole run, and what has happened since the last row.

    Attributes:
        positive_rewards: queries so far whose reward was positive.
        dropped_rollouts: rollouts so far in which the simulator raised an error.
        failures: how many of them came in a row until now.
    """

    def __init__(self) -> None:
        self.positive_rewards = 0
        self.dropped_rollouts = 0
        self.failures = 0
        self._losses: list[float] = []
        self._returns: list[float] = []
        self._return = 0.0

    def reward(self, reward: float, over: bool) -> None:
        """Takes note of a query, and of whether its rollout is over."""
        self.positive_rewards += bool(reward > 0)
        self._return += reward
        if over:
            self._returns.append(self._return)
            self._return = 0.0
            self.failures = 0

    def take(self) -> Counted:
        """Returns what was counted since the last time, for another to join."""
        taken = Counted(self.positive_rewards, self._returns, self.dropped_rollouts)
        self.positive_rewards, self._returns, self.dropped_rollouts = 0, [], 0
        return taken

    def join(self, counted: Counted) -> None:
        """Takes note of what an actor elsewhere has counted."""
        self.positive_rewards += counted.positive_rewards
        self._returns += counted.returns
        self.dropped_rollouts += counted.dropped

    def loss(self, loss: float) -> None:
        """Takes note of an SGD step."""
        self._losses.append(loss)

    def drop(self) -> None:
        """Takes note of a rollout that failed; its return will never be known."""
        self._return = 0.0
        self.dropped_rollouts += 1
        self.failures += 1

    def row(self) -> dict[str, float]:
        """Returns the means since the last row, NaN where there was nothing."""
        means = {
            "train_return_mean": float(np.mean(self._returns)) if self._returns else math.nan,
            "loss": float(np.mean(self._losses)) if self._losses else math.nan,
        }
        self._losses.clear()
        self._returns.clear()
        return means

    def state(self) -> State:
        """Returns the counts."""
        return {
            "positive_rewards": self.positive_rewards,
            "dropped_rollouts": self.dropped_rollouts,
            # Those who resume have looked into it: all patience is there again.
            "failures": min(1, self.failures),
            "losses": np.array(self._losses),
            "returns": np.array(self._returns),
            "return": self._return,
        }

    def load(self, state: State) -> None:
        """Takes the counts of an equal run."""
        self.positive_rewards = number(state, "positive_rewards")
        self.dropped_rollouts = number(state, "dropped_rollouts")
        self.failures = number(state, "failures")
        self._losses = state["losses"].tolist()
        self._returns = state["returns"].tolist()
        self._return = state["return"]
