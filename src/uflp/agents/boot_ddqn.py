"""Bootstrapped double DQN with randomised priors (Osband et al. 2016, 2018): Eq. 6 of the paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import gymnasium
import jax
import jax.numpy as jnp

from uflp.agents.base import Agent
from uflp.agents.ddqn import DDQN, double_q_step, penalty_of
from uflp.agents.q_function import MEMBERS, QState
from uflp.agents.q_networks import make_q_function
from uflp.types import Batch, UsageError


@dataclass(frozen=True)
class BootDDQN(DDQN):
    """Ensemble of double DQNs, each with a random prior of its own.

    Attributes:
        hidden: widths of the hidden layers.
        learning_rate: step size of Adam.
        max_gradient_norm: gradients longer than this are shortened to it, member by member.
        target_period: SGD steps between copies of the parameters into the target.
        members: M, the size of the ensemble.
        prior_scale: what multiplies the outputs of the priors.
    """

    members: int = 20
    prior_scale: float = 40.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.members < 2:
            raise UsageError(f"an ensemble needs at least 2 members, not {self.members}")
        if not self.prior_scale >= 0:
            raise UsageError(f"prior_scale must not be negative, not {self.prior_scale}")

    def make(self, space: gymnasium.Space, actions: int) -> Agent:
        """Return the agent for an observation space and a number of actions."""
        return make_boot_ddqn(self, space, actions)


class BootLearner(NamedTuple):
    """The Q-functions of all members, stacked, and their priors, which never change."""

    q: QState
    prior: Any


def make_boot_ddqn(config: BootDDQN, space: gymnasium.Space, actions: int) -> Agent:
    """Build bootstrapped double DQN's compiled functions.

    Each member has a loss, a gradient and a target of its own: the paper's mean over members would
    only scale their gradients by 1 / M, which Adam undoes and clipping would not.
    """
    q = make_q_function(config, space, actions, target_period=config.target_period)

    def init(key: jax.Array) -> BootLearner:
        keys = jax.random.split(key, 2 * config.members)
        states = jax.vmap(q.init, out_axes=MEMBERS)(keys[: config.members])
        return BootLearner(states, jax.vmap(q.init_prior)(keys[config.members :]))

    def scaled_prior(prior: Any, observations: jax.Array) -> jax.Array:
        return config.prior_scale * q.prior_values(prior, observations)

    def predict(learner: BootLearner, observations: jax.Array) -> jax.Array:
        def member(state: QState, prior: Any) -> jax.Array:
            return q.values(state, observations) + scaled_prior(prior, observations)

        return jax.vmap(member, in_axes=(MEMBERS, 0))(*learner)

    def update(learner: BootLearner, batch: Batch) -> tuple[BootLearner, jax.Array]:
        def member(state: QState, prior: Any) -> tuple[QState, jax.Array]:
            return double_q_step(
                q, state, batch, lambda seen: scaled_prior(prior, seen), penalty_of(config.huber)
            )

        states, losses = q.fit_members(member, *learner)
        return BootLearner(states, learner.prior), jnp.mean(losses)

    return Agent(
        jax.jit(init),
        jax.jit(predict),
        jax.jit(update, donate_argnums=0),
        members=config.members,
    )
