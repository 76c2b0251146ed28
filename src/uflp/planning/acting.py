"""The choice of actions: greedily or from a policy, at random, and with a bonus."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from uflp import masks
from uflp.randomness import Randomness
from uflp.spaces import RealActions, read_action
from uflp.state import State, StateError, Stateful, number, number_or_none
from uflp.types import Action, RunError
from uflp.uncertainty.base import Predict, Uncertainty

Values = Callable[[Any, int], np.ndarray]
"""Action values of what is seen at a query, by every ensemble member, [M, A]; where actions are
real-valued, the means and log deviations that they are drawn by, [2, D]."""


class Acting(Stateful, Protocol):
    """Chooses the actions of rollouts."""

    def begin_rollout(self, rng: np.random.Generator) -> None:
        """Begin a rollout."""

    def act(self, observation: Any, key: Any, query: int, mask: np.ndarray | None = None) -> Action:
        """Return an action for an observation, its uncertainty key and its mask."""


class Actor:
    """Acts ε-greedily on one ensemble member's values plus a bonus (Eq. 4 of the paper)."""

    def __init__(
        self,
        values: Values,
        predict: Predict,
        uncertainty: Uncertainty | None,
        randomness: Randomness,
        *,
        actions: int,
        members: int = 1,
        epsilon: float = 0.0,
        bonus_scale: float = 0.0,
        repeat_probability: float = 0.0,
    ):
        """Make an actor.

        Args:
            values: of one observation.
            predict: the same of several observations, for uncertainties that ask.
            uncertainty: what the bonus is made of.
            randomness: of the run.
            actions: A.
            members: M.
            epsilon: probability of a random action.
            bonus_scale: c of the bonus c·u(s, a).
            repeat_probability: probability that a random action is the last one once more.
        """
        self._values = values
        self._predict = predict
        self._randomness = randomness
        self._uncertainty = uncertainty
        self._actions = actions
        self._members = members
        self._epsilon = epsilon
        self._bonus_scale = bonus_scale
        self._repeat_probability = repeat_probability
        self._member = 0
        self._last: int | None = None

    def begin_rollout(self, rng: np.random.Generator) -> None:
        """Draw the ensemble member that acts throughout the coming rollout."""
        self._member = int(rng.integers(self._members)) if self._members > 1 else 0
        self._last = None

    def act(self, observation: Any, key: Any, query: int, mask: np.ndarray | None = None) -> int:
        """Return an action for an observation, its uncertainty key and its mask."""
        if self._epsilon:
            rng = self._randomness.at("act", query)
            if rng.random() < self._epsilon:
                return self._random(rng, mask)
        values = self._values(observation, query)[self._member]
        if self._bonus_scale:
            values = values + self._bonus_scale * self._score(key)
        return int(masks.only(values, mask).argmax())

    def _random(self, rng: np.random.Generator, mask: np.ndarray | None) -> int:
        again = self._repeat_probability and rng.random() < self._repeat_probability
        possible = self._last is not None and (mask is None or mask[self._last])
        if not (again and possible) or self._last is None:
            self._last = masks.draw(rng, self._actions, mask)
        return self._last

    def state(self) -> State:
        """Return the member that acts, and the last random action."""
        return {"member": self._member, "last": self._last}

    def load(self, state: State) -> None:
        """Take the member that acts, and the last random action."""
        self._member = number(state, "member")
        self._last = number_or_none(state, "last", self._actions - 1)
        if self._member >= self._members:
            raise StateError(f"there is no member {self._member}")

    def _score(self, key: Any) -> np.ndarray:
        assert self._uncertainty is not None, "a bonus needs an uncertainty"
        return self._uncertainty.score(np.asarray(key)[None], self._predict)[0]


class PolicyActor:
    """Draws real-valued actions from a policy: the tanh of normal numbers, scaled to the bounds.

    Before the agent has learned anything, actions are uniform. With a bonus, K actions are drawn,
    and the one with the highest Q + c·u is taken (Eq. 4 of the paper with a sampled maximum).
    """

    def __init__(
        self,
        policy: Values,
        predict: Predict,
        uncertainty: Uncertainty | None,
        randomness: Randomness,
        *,
        actions: RealActions,
        has_learned: Callable[[], bool],
        sampled_actions: int = 8,
        epsilon: float = 0.0,
        bonus_scale: float = 0.0,
        repeat_probability: float = 0.0,
    ):
        """Make an actor.

        Args:
            policy: means and log deviations of one observation.
            predict: values of actions of several observations.
            uncertainty: what the bonus is made of.
            randomness: of the run.
            actions: what they are.
            has_learned: whether the agent has learned anything yet.
            sampled_actions: K.
            epsilon: probability of a uniform action.
            bonus_scale: c of the bonus c·u(s, a).
            repeat_probability: probability that a uniform action is the last one once more.
        """
        self._policy = policy
        self._predict = predict
        self._uncertainty = uncertainty
        self._randomness = randomness
        self._actions = actions
        self._has_learned = has_learned
        self._sampled = sampled_actions
        self._epsilon = epsilon
        self._bonus_scale = bonus_scale
        self._repeat_probability = repeat_probability
        self._last: np.ndarray | None = None

    def begin_rollout(self, rng: np.random.Generator) -> None:
        """Forget the last uniform action."""
        self._last = None

    def act(
        self, observation: Any, key: Any, query: int, mask: np.ndarray | None = None
    ) -> np.ndarray:
        """Return an action for an observation and its uncertainty key."""
        rng = self._randomness.at("act", query)
        by_chance = self._epsilon and rng.random() < self._epsilon
        if by_chance or not self._has_learned():
            return self._uniform(rng)
        mean, log_std = self._policy(observation, query)
        count = self._sampled if self._bonus_scale else 1
        noise = rng.standard_normal((count, self._actions.size)).astype(np.float32)
        units = np.tanh(mean + np.exp(log_std) * noise)
        if not np.isfinite(units).all():
            raise RunError(f"an action was not finite at query {query}: the agent has diverged")
        drawn = self._actions.scaled(units)
        return drawn[0] if count == 1 else drawn[self._best(observation, key, drawn)]

    def _best(self, observation: Any, key: Any, drawn: np.ndarray) -> int:
        """Return which of several actions has the highest Q + c·u."""
        assert self._uncertainty is not None, "a bonus needs an uncertainty"
        values = self._predict(np.asarray(observation)[None], drawn[None]).min(axis=0)[0]
        bonus = self._uncertainty.score(np.asarray(key)[None], self._predict, drawn[None])[0]
        return int((values + self._bonus_scale * bonus).argmax())

    def _uniform(self, rng: np.random.Generator) -> np.ndarray:
        again = self._repeat_probability and rng.random() < self._repeat_probability
        if not again or self._last is None:
            self._last = self._actions.draw(rng)
        return self._last

    def state(self) -> State:
        """Return the last uniform action."""
        return {"last": self._last}

    def load(self, state: State) -> None:
        """Take the last uniform action."""
        last = state["last"]
        found = None if last is None else read_action(last, self._actions)
        assert not isinstance(found, int)
        self._last = found


def mean_action(distribution: np.ndarray, actions: RealActions) -> np.ndarray:
    """Return the action at the mean of a policy.

    Args:
        distribution: means and log deviations, [2, D].
        actions: what they are.
    """
    return actions.scaled(np.tanh(distribution[0]))
