"""The plain Q-function: an MLP on vectors, with optax's Adam and a full copy as target."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax

from uflp.agents.mlp import init_mlp, mlp
from uflp.agents.q_function import Fitting, Loss, QFunction, QState


class DenseMember(NamedTuple):
    """Parameters θ and θ', each one vector, and the optimiser's state."""

    params: jax.Array
    target: jax.Array
    optimizer: optax.OptState


def make_dense(
    fitting: Fitting,
    width: int,
    actions: int,
    *,
    target_period: int | None,
    encode: Callable[[jax.Array], jax.Array] = lambda observations: observations,
) -> QFunction:
    """Builds the plain Q-function.

    Args:
        fitting: how it learns.
        width: D, the size of the network's input.
        actions: A, how many there are.
        target_period: SGD steps between copies into the target; None never copies.
        encode: makes the network's input [B, D] of observations.
    """
    sizes = (width, *fitting.hidden, actions)
    optimizer = optax.chain(
        optax.clip_by_global_norm(fitting.max_gradient_norm), optax.adam(fitting.learning_rate)
    )

    def network(params: jax.Array, observations: jax.Array) -> jax.Array:
        return mlp(params, sizes, encode(observations))

    def init(key: jax.Array) -> QState:
        params = init_mlp(key, sizes)
        member = DenseMember(params, jnp.copy(params), optimizer.init(params))
        return QState(member, jnp.zeros((), jnp.int32))

    def values(state: QState, observations: jax.Array) -> jax.Array:
        return network(state.member.params, observations)

    def target_values(state: QState, observations: jax.Array) -> jax.Array:
        return network(state.member.target, observations)

    def fit(state: QState, observations: jax.Array, loss: Loss) -> tuple[QState, jax.Array]:
        params, target, moments = state.member
        value, gradient = jax.value_and_grad(lambda p: loss(network(p, observations)))(params)
        change, moments = optimizer.update(gradient, moments, params)
        params = optax.apply_updates(params, change)
        step = state.clock + 1
        if target_period is not None:
            target = optax.periodic_update(params, target, step, target_period)
        return QState(DenseMember(params, target, moments), step), value

    def init_prior(key: jax.Array) -> jax.Array:
        return init_mlp(key, sizes)

    return QFunction(init, values, target_values, fit, init_prior, network)
