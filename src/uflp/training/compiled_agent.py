"""Agents and their updates, compiled once for runs of equal shape."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np

if TYPE_CHECKING:
    from uflp.agents.base import Agent

LearnAndLook = Callable[[Any, np.ndarray, np.ndarray], tuple[Any, float, np.ndarray]]
"""From a learner's state, a sample and an observation to the new state, the loss, and the values of
the observation by every ensemble member, [M, A]."""

_COMPILED: dict[tuple[Any, str, int, np.dtype], tuple[Any, LearnAndLook]] = {}


def compiled(
    learner: Any, space: gymnasium.Space, actions: int, row: np.dtype
) -> tuple[Agent, LearnAndLook]:
    """Makes an agent, and one function for its update and the values of one observation after it.

    Those made last are kept, so that the next seed need not compile them again.

    Args:
        learner: settings of the agent.
        space: of observations.
        actions: how many there are.
        row: layout of a replay's row.
    """
    import jax
    import jax.numpy as jnp

    from uflp.agents.batches import unpack

    key = (learner, repr(space), actions, row)
    if key not in _COMPILED:
        _COMPILED.clear()
        agent = learner.make(space, actions)

        @partial(jax.jit, donate_argnums=0)
        def on_device(state: Any, sample: Any, observation: Any) -> tuple[Any, Any]:
            state, loss = agent.update(state, unpack(sample, row))
            values = agent.predict(state, observation[None])[:, 0]
            # One array: to fetch one costs more than what is in it.
            return state, jnp.append(values.ravel(), loss)

        def learn_and_look(
            state: Any, sample: np.ndarray, observation: np.ndarray
        ) -> tuple[Any, float, np.ndarray]:
            state, told = on_device(state, sample, observation)
            told = np.asarray(told)
            return state, told[-1].item(), told[:-1].reshape(-1, actions)

        _COMPILED[key] = agent, learn_and_look
    return _COMPILED[key]


def predict(agent: Agent, learner: Any, observations: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Returns action values of every ensemble member, [M, B, A].

    Batches are filled up to a power of two, so that few shapes are ever compiled.
    """
    size = len(observations)
    batch = np.zeros((1 << (size - 1).bit_length(), *observations.shape[1:]), dtype)
    batch[:size] = observations
    return np.asarray(agent.predict(learner, batch))[:, :size]
