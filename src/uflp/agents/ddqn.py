"""Double DQN (van Hasselt et al. 2016): Eq. 3 of the paper."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import gymnasium
import jax
import jax.numpy as jnp
import optax

from uflp.agents import losses
from uflp.agents.base import Agent
from uflp.agents.q_function import QFunction, QState, TargetFitting
from uflp.agents.q_networks import make_q_function
from uflp.types import Batch, UsageError


@dataclass(frozen=True)
class DDQN(TargetFitting):
    """Double deep Q-network.

    Attributes:
        hidden: widths of the hidden layers.
        learning_rate: step size of Adam.
        max_gradient_norm: gradients longer than this are shortened to it.
        adam_epsilon: what Adam adds to the root of a gradient's second moment.
        target_period: SGD steps between copies of the parameters into the target.
        huber: errors larger than this count linearly, and smaller ones half their square; None
            squares them all.
    """

    huber: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.huber is not None and not self.huber > 0:
            raise UsageError(f"huber must be positive or none, not {self.huber}")

    def make(self, space: gymnasium.Space, actions: int) -> Agent:
        """Return the agent for an observation space and a number of actions."""
        return make_ddqn(self, space, actions)


def make_ddqn(config: DDQN, space: gymnasium.Space, actions: int) -> Agent:
    """Build double DQN's compiled functions."""
    q = make_q_function(config, space, actions, target_period=config.target_period)

    def predict(learner: QState, observations: jax.Array) -> jax.Array:
        return q.values(learner, observations)[None]

    def update(learner: QState, batch: Batch) -> tuple[QState, jax.Array]:
        return double_q_step(q, learner, batch, penalty=penalty_of(config.huber))

    return Agent(jax.jit(q.init), jax.jit(predict), jax.jit(update, donate_argnums=0))


def penalty_of(huber: float | None) -> Callable[[jax.Array], jax.Array]:
    """Return the square, or Huber's loss, which goes on linearly beyond a width."""
    return jnp.square if huber is None else partial(optax.losses.huber_loss, delta=huber)


def double_q_step(
    q: QFunction,
    state: QState,
    batch: Batch,
    prior: Callable[[jax.Array], jax.Array | float] = lambda observations: 0.0,
    penalty: Callable[[jax.Array], jax.Array] = jnp.square,
) -> tuple[QState, jax.Array]:
    """Take one SGD step on the mean penalty of the double-Q errors of a batch.

    Args:
        q: the Q-function.
        state: of the Q-function.
        batch: transitions.
        prior: action values [B, A] to add to those of the Q-function, in the target too.
        penalty: of errors [B].

    Returns:
        The new state, and the loss.
    """
    next_prior = prior(batch.next_observation)
    q_t_selector = losses.allowed(
        q.values(state, batch.next_observation) + next_prior, batch.next_mask
    )
    q_t_value = q.target_values(state, batch.next_observation) + next_prior

    def loss(values: jax.Array) -> jax.Array:
        q_tm1 = values + prior(batch.observation)
        errors = jax.vmap(losses.double_q)(
            q_tm1, batch.action, batch.reward, batch.discount, q_t_value, q_t_selector
        )
        return jnp.mean(penalty(errors))

    return q.fit(state, batch.observation, loss)
