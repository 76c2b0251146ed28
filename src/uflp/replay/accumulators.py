"""From transitions to the rows that replay holds: what an agent's target needs to be known."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from uflp.state import State, StateError, Stateful
from uflp.types import Action, Transition

Value = Callable[[Any, np.ndarray | None], float]
"""Of a state, by its observation and mask."""


class RowStore(Protocol):
    """A replay, seen from here.

    Attributes:
        row: the layout of a row, with the columns of a `Batch`.
    """

    row: np.dtype

    def keep(self, observation: Any, after: Any) -> Any:
        """Return what to call an observation by, given the one before it in the rollout."""

    def add(
        self,
        observation: Any,
        action: Action,
        reward: float,
        discount: float,
        next_observation: Any,
        next_mask: np.ndarray | None = None,
        /,
    ) -> None:
        """Add one row of observations that are kept."""

    def name(self, kept: Any) -> np.ndarray:
        """Return a kept observation as a checkpoint holds it."""

    def named(self, name: np.ndarray) -> Any:
        """Return the kept observation that a checkpoint held."""


class Accumulator(Stateful, Protocol):
    """Turns the transitions of rollouts, in order, into rows of a replay."""

    def add(self, transition: Transition) -> None:
        """Take the next transition of the present rollout."""

    def drop(self) -> None:
        """Forget what waits for the end of the present rollout, which will never come."""


class NoAccumulator:
    """No rows at all, for agents that do not learn."""

    def add(self, transition: Transition) -> None:
        """Forget the transition."""

    def drop(self) -> None:
        """Do nothing: nothing waits."""

    def state(self) -> State:
        """Return nothing."""
        return {}

    def load(self, state: State) -> None:
        """Take nothing."""


class NStep:
    """Rows (s_t, a_t, Σ γᵏ r_{t+k}, γⁿ, s_{t+n}), of rewards of n queries of one rollout.

    Where the rollout ends sooner, rows are shorter: nothing lies beyond a terminal, and the value
    of the state where it was truncated stands for the rest. The reward sum is clipped, and what is
    intrinsic comes on top.
    """

    def __init__(self, replay: RowStore, discount: float, steps: int, clip: float | None):
        """Make targets.

        Args:
            replay: that takes the rows.
            discount: γ.
            steps: n.
            clip: reward sums lie within ± this; None clips nothing.
        """
        self._replay = replay
        self._discount = discount
        self._steps = steps
        self._clip = math.inf if clip is None else clip
        self._now: Any = None
        self._window: deque[tuple[Any, Action, float, float]] = deque()

    def add(self, transition: Transition) -> None:
        """Add the row that this transition completes, and at a rollout's end all that are left."""
        if self._now is None:
            self._now = self._replay.keep(transition.observation, None)
        following = self._replay.keep(transition.next_observation, self._now)
        step = (self._now, transition.action, transition.reward, transition.intrinsic)
        self._window.append(step)
        self._now = following
        over = transition.terminated or transition.truncated
        if over:
            self._now = None
        while self._window and (over or len(self._window) == self._steps):
            self._emit(following, transition)

    def _emit(self, following: Any, last: Transition) -> None:
        """Add the row of the oldest query in the window, which the last one completes."""
        reward = intrinsic = 0.0
        discount = 1.0
        for _, _, gained, uncertain in self._window:
            reward += discount * gained
            intrinsic += discount * uncertain
            discount *= self._discount
        reward = min(max(reward, -self._clip), self._clip) + intrinsic
        observation, action, *_ = self._window.popleft()
        discount = 0.0 if last.terminated else discount
        self._replay.add(observation, action, reward, discount, following, last.next_mask)

    def drop(self) -> None:
        """Forget the queries whose rows are not complete."""
        self._window.clear()
        self._now = None

    def state(self) -> State:
        """Return the queries whose rows are not complete, and where the rollout is."""
        return {
            "now": None if self._now is None else self._replay.name(self._now),
            "window": [[self._replay.name(kept), *rest] for kept, *rest in self._window],
        }

    def load(self, state: State) -> None:
        """Take such queries, once the replay has its rows again."""
        now, window = state["now"], state["window"]
        self._now = None if now is None else self._replay.named(now)
        self._window = deque(
            (self._replay.named(name), self._checked(action), reward, intrinsic)
            for name, action, reward, intrinsic in window
        )

    def _checked(self, action: Any) -> Action:
        """Return an action that waits, if it fits the rows of real-valued ones."""
        column = self._replay.row["action"]
        if column.kind != "V" and column.shape == () and column.kind != "f":
            return action
        fits = isinstance(action, np.ndarray) and action.dtype == column.base
        if not fits or action.shape != column.shape or not np.isfinite(action).all():
            raise StateError("an action that waits for its row is not one of this simulator")
        return action


class MonteCarlo:
    """Rows (s_t, a_t, g_t) with the return to the rollout's end, added when that is reached.

    Where a rollout was truncated, the value of the state it stopped in stands for the rest.
    """

    def __init__(self, replay: RowStore, discount: float, value: Value):
        self._replay = replay
        self._discount = discount
        self._value = value
        self._rollout: list[Transition] = []

    def add(self, transition: Transition) -> None:
        """Keep the transition until the rollout ends."""
        self._rollout.append(transition)
        if not (transition.terminated or transition.truncated):
            return
        beyond = 0.0
        if not transition.terminated:
            beyond = self._value(transition.next_observation, transition.next_mask)
        for step in reversed(self._rollout):
            beyond = step.reward + step.intrinsic + self._discount * beyond
            self._replay.add(step.observation, step.action, beyond, 0.0, step.next_observation)
        self._rollout.clear()

    def drop(self) -> None:
        """Forget the present rollout: its returns will never be known."""
        self._rollout.clear()

    def state(self) -> State:
        """Return the present rollout, whose returns are not known yet."""
        if not self._rollout:
            return {}
        columns = zip(*self._rollout, strict=True)
        # The masks on the way decide nothing.
        return {name: np.array(column) for name, column in zip(_COLUMNS, columns, strict=False)}

    def load(self, state: State) -> None:
        """Take such a rollout."""
        columns = [state[name] for name in _COLUMNS] if state else []
        self._rollout = [Transition(*row) for row in zip(*columns, strict=True)]


_COLUMNS = Transition._fields[:-1]
