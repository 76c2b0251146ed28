"""Distributional double DQN (Bellemare et al. 2017): values as categorical distributions."""

from __future__ import annotations

from dataclasses import dataclass

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np

from uflp.agents import losses
from uflp.agents.base import Agent
from uflp.agents.q_function import QState, TargetFitting
from uflp.agents.q_networks import make_q_function
from uflp.types import Batch, UsageError


@dataclass(frozen=True)
class DistDDQN(TargetFitting):
    """Double DQN that learns the distribution of returns.

    Attributes:
        hidden: widths of the hidden layers.
        learning_rate: step size of Adam.
        max_gradient_norm: gradients longer than this are shortened to it.
        adam_epsilon: what Adam adds to the root of a gradient's second moment.
        target_period: SGD steps between copies of the parameters into the target.
        atoms: returns that a distribution tells apart, evenly spaced.
        v_min: the lowest of them.
        v_max: the highest of them.
    """

    atoms: int = 201
    v_min: float = -1.0
    v_max: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.atoms < 2:
            raise UsageError(f"atoms must be at least 2, not {self.atoms}")
        if not self.v_min < self.v_max:
            raise UsageError(f"v_min must lie below v_max: {self.v_min} and {self.v_max}")

    def make(self, space: gymnasium.Space, actions: int) -> Agent:
        """Return the agent for an observation space and a number of actions."""
        return make_dist_ddqn(self, space, actions)


def make_dist_ddqn(config: DistDDQN, space: gymnasium.Space, actions: int) -> Agent:
    """Build distributional double DQN's compiled functions.

    The Q-function has one output for each action and atom: a logit.
    """
    q = make_q_function(config, space, actions * config.atoms, target_period=config.target_period)
    atoms = jnp.asarray(np.linspace(config.v_min, config.v_max, config.atoms), jnp.float32)

    def by_action(logits: jax.Array) -> jax.Array:
        return logits.reshape(-1, actions, config.atoms)

    def mean(logits: jax.Array) -> jax.Array:
        return jax.nn.softmax(by_action(logits)) @ atoms

    def predict(learner: QState, observations: jax.Array) -> jax.Array:
        return mean(q.values(learner, observations))[None]

    def update(learner: QState, batch: Batch) -> tuple[QState, jax.Array]:
        q_t_selector = losses.allowed(
            mean(q.values(learner, batch.next_observation)), batch.next_mask
        )
        logits_t = by_action(q.target_values(learner, batch.next_observation))

        def loss(logits: jax.Array) -> jax.Array:
            errors = jax.vmap(losses.categorical_double_q, in_axes=(None, *[0] * 6))(
                atoms,
                by_action(logits),
                batch.action,
                batch.reward,
                batch.discount,
                logits_t,
                q_t_selector,
            )
            return jnp.mean(errors)

        return q.fit(learner, batch.observation, loss)

    return Agent(jax.jit(q.init), jax.jit(predict), jax.jit(update, donate_argnums=0))
