"""The Q-function of numbered observations, whose first layer is a table.

A dense layer on the one-hot vector of a number is a row of its kernel. So the first layer is looked
up instead of multiplied, and only the rows in a batch have a gradient, which is what
`lazy_adam` makes use of. The rest of the network is one vector under the usual Adam.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from uflp.agents import lazy_adam
from uflp.agents.lazy_adam import Weights
from uflp.agents.q_function import MEMBERS, Fitting, Loss, MemberStep, QFunction, QState
from uflp.networks.mlp import init_mlp, mlp


class LookupMember(NamedTuple):
    """The first layer's kernel, and the rest.

    Attributes:
        table: [N, 4 W], `lazy_adam.Weights` of each of N observations.
        rest: [4, P], `lazy_adam.Weights` of the first layer's bias and of the layers after it.
    """

    table: jax.Array
    rest: jax.Array


def make_lookup(
    fitting: Fitting, observations: int, actions: int, *, target_period: int | None
) -> QFunction:
    """Build the Q-function of observations 0, 1, …, N - 1.

    Args:
        fitting: how it learns.
        observations: N, how many there are.
        actions: A, how many there are.
        target_period: SGD steps between copies into the target; None never copies.
    """
    rate, width = fitting.learning_rate, fitting.hidden[0]
    sizes = (*fitting.hidden, actions)

    def network(rows: jax.Array, rest: jax.Array) -> jax.Array:
        """Map rows of the first kernel [B, W] to action values [B, A]."""
        bias, rest = jnp.split(rest, [width])
        return mlp(rest, sizes, jax.nn.relu(rows + bias))

    def draw(key: jax.Array) -> tuple[jax.Array, jax.Array]:
        first, rest = jnp.split(init_mlp(key, (observations, *sizes)), [observations * width])
        return first.reshape(width, observations).T, rest

    def init(key: jax.Array) -> QState:
        first, rest = draw(key)
        member = LookupMember(lazy_adam.start_table(first), lazy_adam.start(rest))
        return QState(member, lazy_adam.start_clock(observations))

    def values(state: QState, ids: jax.Array) -> jax.Array:
        (table, rest), clock = state
        return network(lazy_adam.current(table, clock, ids, rate), Weights(*rest).value)

    def target_values(state: QState, ids: jax.Array) -> jax.Array:
        (table, rest), clock = state
        return network(lazy_adam.target(table, clock, ids, rate), Weights(*rest).target)

    def fit(state: QState, ids: jax.Array, loss: Loss) -> tuple[QState, jax.Array]:
        (table, rest), clock = state
        value, (of_rows, of_rest) = jax.value_and_grad(
            lambda rows, rest: loss(network(rows, rest)), argnums=(0, 1)
        )(lazy_adam.current(table, clock, ids, rate), Weights(*rest).value)
        summed, one = lazy_adam.add_up(clock, ids, of_rows)
        norm = jnp.sqrt(jnp.sum(jnp.square(summed)) + jnp.sum(jnp.square(of_rest)))
        scale = jnp.minimum(1.0, fitting.max_gradient_norm / norm)
        gradient = jnp.take(summed, one, axis=0, mode="clip") * scale
        table = lazy_adam.adam_rows(table, clock, ids, gradient, rate)
        rest = lazy_adam.adam(rest, clock, of_rest * scale, rate, target_period)
        clock = lazy_adam.tick(clock, ids, target_period)
        return QState(LookupMember(table, rest), clock), value

    def fit_members(step: MemberStep, states: QState, priors: Any) -> tuple[QState, jax.Array]:
        # Side by side: in turn, the whole table of each would be copied out and in again.
        axes = (MEMBERS, 0)
        return jax.vmap(step, in_axes=axes, out_axes=axes)(states, priors)

    def init_prior(key: jax.Array) -> jax.Array:
        return network(*draw(key))

    def prior_values(prior: jax.Array, ids: jax.Array) -> jax.Array:
        return jnp.take(prior, ids, axis=0, mode="clip")

    return QFunction(init, values, target_values, fit, fit_members, init_prior, prior_values)
