"""The agent of a run in one process: its values, and its SGD steps, compiled once."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np

from uflp.networks.parameters import loaded_tree, saved_tree
from uflp.randomness import Randomness
from uflp.replay import FrameReplay, Replay
from uflp.spaces import Actions
from uflp.state import State, StateError, finite, number, number_or_none

if TYPE_CHECKING:
    from uflp.agents.base import Agent

LearnAndLook = Callable[[Any, np.ndarray, np.ndarray], tuple[Any, float, np.ndarray]]
"""From a learner's state, a sample and an observation to the new state, the loss, and what the
observation is acted in by: values of every ensemble member, [M, A], or a policy's means and log
deviations, [2, D]."""

_COMPILED: dict[tuple[Any, str, Actions, np.dtype], tuple[Any, LearnAndLook]] = {}


class AgentRunner:
    """Runs an agent: learns after a query, and looks at the state to act in next.

    Attributes:
        agent: what learns.
        learner: its present state.
        steps: SGD steps so far.
    """

    def __init__(
        self,
        agent: Agent,
        learn_and_look: LearnAndLook,
        replay: Replay | FrameReplay,
        randomness: Randomness,
        *,
        size: int,
        dtype: np.dtype,
    ):
        """Make a learner that has learned nothing.

        Args:
            agent: what learns.
            learn_and_look: its compiled update.
            replay: what it learns from.
            randomness: of the run.
            size: of the sample that an SGD step takes.
            dtype: of observations.
        """
        self.agent = agent
        self._learn_and_look = learn_and_look
        self._replay = replay
        self._randomness = randomness
        self._size = size
        self._dtype = dtype
        self.learner = initial_learner(agent, randomness)
        self.steps = 0
        # Values of the state to act in at query `_looked_at`: they come with an update at less than
        # a call's cost.
        self._looked_at: int | None = None
        self._next_values = np.empty(0)

    def predict(self, observations: np.ndarray, actions: np.ndarray | None = None) -> np.ndarray:
        """Return action values of every ensemble member, [M, B, A], or [M, B, K] of K actions."""
        return predict(self.agent, self.learner, observations, self._dtype, actions)

    def policy(self, observations: np.ndarray) -> np.ndarray:
        """Return the means and log deviations of real-valued actions, [2, B, D]."""
        return look(self.agent, self.learner, observations, self._dtype)

    def values(self, observation: Any, query: int) -> np.ndarray:
        """Return action values by every ensemble member, [M, A], of what is seen at a query.

        Where actions are real-valued, return the policy's means and log deviations, [2, D].
        """
        if self._looked_at == query:
            return self._next_values
        return look(self.agent, self.learner, np.asarray(observation)[None], self._dtype)[:, 0]

    @property
    def has_learned(self) -> bool:
        """Whether the agent is another than the one it was at the beginning."""
        return self.steps > 0

    def forget(self) -> None:
        """Forget the values of a state that is never acted in, since its rollout is dropped."""
        self._looked_at = None

    def learn(self, observation: Any, query: int | None) -> float:
        """Run one SGD step; return the loss.

        Args:
            observation: what is seen now.
            query: number of the query that will be made there, None if the rollout is over.
        """
        sample = self._replay.sample(self._randomness.uniforms("replay", self.steps, self._size))
        seen = np.asarray(observation, self._dtype)
        self.learner, loss, self._next_values = self._learn_and_look(self.learner, sample, seen)
        self._looked_at = query
        self.steps += 1
        return loss

    def adopt(self, learner: State) -> None:
        """Go on from the learner of another run, which `networks.parameters` made a state of."""
        self.learner = loaded_tree(learner, self.learner)
        self._looked_at = None

    def state(self) -> State:
        """Return the learner, and what it has looked at."""
        return {
            "sgd_steps": self.steps,
            "looked_at": self._looked_at,
            "next_values": self._next_values,
            "learner": saved_tree(self.learner),
        }

    def load(self, state: State) -> None:
        """Take such a state of an equal run."""
        self.steps = number(state, "sgd_steps")
        # Version 0.1.0 wrote −1 for none.
        none = {**state, "looked_at": None} if state["looked_at"] == -1 else state
        self._looked_at = number_or_none(none, "looked_at")
        self.learner = loaded_tree(state["learner"], self.learner)
        self._next_values = state["next_values"]
        if self._looked_at is not None:
            values = finite(np.asarray(self._next_values), "next_values")
            rows = self.agent.members if self.agent.policy is None else 2
            if values.ndim != 2 or len(values) != rows:
                raise StateError("next_values is of another ensemble")


def initial_learner(agent: Agent, randomness: Randomness) -> Any:
    """Return the learner that a run begins with, the same in every process."""
    import jax

    return agent.init(jax.random.key(randomness.integer("agent")))


def compiled(
    learner: Any, space: gymnasium.Space, actions: Actions, row: np.dtype
) -> tuple[Agent, LearnAndLook]:
    """Make an agent, and one function for its update and the values of one observation after it.

    Those made last are kept, so that the next seed need not compile them again.

    Args:
        learner: settings of the agent.
        space: of observations.
        actions: how many there are, or what they are where they are real-valued.
        row: layout of a replay's row.
    """
    import jax
    import jax.numpy as jnp

    from uflp.agents.base import unpack

    key = (learner, repr(space), actions, row)
    if key not in _COMPILED:
        _COMPILED.clear()
        agent = learner.make(space, actions)
        seen_by = agent.policy or agent.predict
        width = actions if isinstance(actions, int) else actions.size

        @partial(jax.jit, donate_argnums=0)
        def on_device(state: Any, sample: Any, observation: Any) -> tuple[Any, Any]:
            state, loss = agent.update(state, unpack(sample, row))
            values = seen_by(state, observation[None])[:, 0]
            # One array: to fetch one costs more than what is in it.
            return state, jnp.append(values.ravel(), loss)

        def learn_and_look(
            state: Any, sample: np.ndarray, observation: np.ndarray
        ) -> tuple[Any, float, np.ndarray]:
            state, told = on_device(state, sample, observation)
            told = np.asarray(told)
            return state, told[-1].item(), told[:-1].reshape(-1, width)

        _COMPILED[key] = agent, learn_and_look
    return _COMPILED[key]


def predict(
    agent: Agent,
    learner: Any,
    observations: np.ndarray,
    dtype: np.dtype,
    actions: np.ndarray | None = None,
) -> np.ndarray:
    """Return action values of every ensemble member, [M, B, A].

    Batches are filled up to a power of two, so that few shapes are ever compiled.

    Args:
        agent: whose values.
        learner: its state.
        observations: [B, ...].
        dtype: of observations.
        actions: real-valued ones, K of each state, [B, K, ...]; then the values are [M, B, K].
    """
    inputs = [_filled(observations, dtype)]
    if actions is not None:
        inputs.append(_filled(actions, np.dtype(np.float32)))
    return np.asarray(agent.predict(learner, *inputs))[:, : len(observations)]


def look(agent: Agent, learner: Any, observations: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return what observations are acted in by: action values, or a policy's distribution."""
    if agent.policy is None:
        return predict(agent, learner, observations, dtype)
    found = agent.policy(learner, _filled(observations, dtype))
    return np.asarray(found)[:, : len(observations)]


def _filled(rows: np.ndarray, dtype: np.dtype) -> np.ndarray:
    size = len(rows)
    batch = np.zeros((1 << (size - 1).bit_length(), *rows.shape[1:]), dtype)
    batch[:size] = rows
    return batch
