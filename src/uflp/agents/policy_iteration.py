"""Approximate policy iteration by least squares on Monte Carlo returns: Eq. 7 of the paper."""

from __future__ import annotations

from dataclasses import dataclass

import gymnasium
import jax
import jax.numpy as jnp

from uflp.agents import losses
from uflp.agents.base import Agent
from uflp.agents.q_function import Fitting, QState
from uflp.agents.q_networks import make_q_function
from uflp.types import Batch


@dataclass(frozen=True)
class PolicyIteration(Fitting):
    """Policy iteration: regresses Q on the returns in replay, old ones too.

    Attributes:
        hidden: widths of the hidden layers.
        learning_rate: step size of Adam.
        max_gradient_norm: gradients longer than this are shortened to it.
    """

    def make(self, space: gymnasium.Space, actions: int) -> Agent:
        """Return the agent for an observation space and a number of actions."""
        return make_policy_iteration(self, space, actions)


def make_policy_iteration(config: PolicyIteration, space: gymnasium.Space, actions: int) -> Agent:
    """Build policy iteration's compiled functions."""
    q = make_q_function(config, space, actions, target_period=None)

    def predict(learner: QState, observations: jax.Array) -> jax.Array:
        return q.values(learner, observations)[None]

    def update(learner: QState, batch: Batch) -> tuple[QState, jax.Array]:
        def loss(values: jax.Array) -> jax.Array:
            errors = jax.vmap(losses.monte_carlo)(values, batch.action, batch.reward)
            return jnp.mean(jnp.square(errors))

        return q.fit(learner, batch.observation, loss)

    return Agent(
        jax.jit(q.init), jax.jit(predict), jax.jit(update, donate_argnums=0), target="return"
    )
