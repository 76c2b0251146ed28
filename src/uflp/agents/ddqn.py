"""Double DQN (van Hasselt et al. 2016): Eq. 3 of the paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import gymnasium
import jax
import jax.numpy as jnp
import optax

from uflp.agents import losses
from uflp.agents.base import Agent
from uflp.agents.networks import make_network
from uflp.types import Batch, UsageError


@dataclass(frozen=True)
class DDQN:
    """Double deep Q-network.

    Attributes:
        hidden: widths of the hidden layers.
        learning_rate: step size of Adam.
        max_gradient_norm: gradients longer than this are shortened to it.
        target_period: SGD steps between copies of the parameters into the target.
    """

    hidden: tuple[int, ...] = (64, 64)
    learning_rate: float = 1e-3
    max_gradient_norm: float = 20.0
    target_period: int = 4

    def __post_init__(self) -> None:
        if self.learning_rate <= 0 or self.max_gradient_norm <= 0:
            raise UsageError("learning_rate and max_gradient_norm must be positive")
        if self.target_period < 1:
            raise UsageError(f"target_period must be at least 1, not {self.target_period}")
        if not self.hidden or min(self.hidden) < 1:
            raise UsageError(f"hidden needs one or more positive widths, not {self.hidden}")

    def make(self, space: gymnasium.Space, actions: int) -> Agent:
        """Returns the agent for an observation space and a number of actions."""
        return make_ddqn(self, space, actions)


class DDQNLearner(NamedTuple):
    """Parameters θ and θ', the optimiser's state, and the number of SGD steps so far."""

    params: optax.Params
    target: optax.Params
    optimizer: optax.OptState
    steps: jax.Array


def make_ddqn(config: DDQN, space: gymnasium.Space, actions: int) -> Agent:
    """Builds double DQN's compiled functions."""
    network = make_network(space, hidden=config.hidden, outputs=actions)
    optimizer = optax.chain(
        optax.clip_by_global_norm(config.max_gradient_norm), optax.adam(config.learning_rate)
    )

    def init(key: jax.Array) -> DDQNLearner:
        params = network.init(key, jnp.asarray(space.sample())[None])
        target = jax.tree.map(jnp.copy, params)
        return DDQNLearner(params, target, optimizer.init(params), jnp.zeros((), jnp.int32))

    def predict(learner: DDQNLearner, observations: jax.Array) -> jax.Array:
        return network.apply(learner.params, observations)[None]

    def loss(params: optax.Params, target: optax.Params, batch: Batch) -> jax.Array:
        q_tm1 = network.apply(params, batch.observation)
        q_t_selector = network.apply(jax.lax.stop_gradient(params), batch.next_observation)
        q_t_value = network.apply(target, batch.next_observation)
        errors = jax.vmap(losses.double_q)(
            q_tm1, batch.action, batch.reward, batch.discount, q_t_value, q_t_selector
        )
        return jnp.mean(jnp.square(errors))

    def update(learner: DDQNLearner, batch: Batch) -> tuple[DDQNLearner, jax.Array]:
        value, gradient = jax.value_and_grad(loss)(learner.params, learner.target, batch)
        change, optimizer_state = optimizer.update(gradient, learner.optimizer, learner.params)
        params = optax.apply_updates(learner.params, change)
        steps = learner.steps + 1
        target = optax.periodic_update(params, learner.target, steps, config.target_period)
        return DDQNLearner(params, target, optimizer_state, steps), value

    return Agent(jax.jit(init), jax.jit(predict), jax.jit(update, donate_argnums=0))
