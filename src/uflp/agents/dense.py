"""The plain Q-function: a network with optax's Adam and a full copy as target; MLPs on vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from uflp.agents.q_function import Fitting, Loss, MemberStep, QFunction, QState, Values
from uflp.networks.mlp import init_mlp, mlp


class DenseMember(NamedTuple):
    """Parameters θ and θ', the optimiser's state, and SGD steps so far."""

    params: Any
    target: Any
    optimizer: optax.OptState
    steps: jax.Array


def make_dense(
    fitting: Fitting,
    width: int,
    actions: int,
    *,
    target_period: int | None,
    encode: Callable[[jax.Array], jax.Array] = lambda observations: observations,
) -> QFunction:
    """Builds the plain Q-function of an MLP, whose parameters are one vector.

    Args:
        fitting: how it learns.
        width: D, the size of the network's input.
        actions: A, how many there are.
        target_period: SGD steps between copies into the target; None never copies.
        encode: makes the network's input [B, D] of observations.
    """
    sizes = (width, *fitting.hidden, actions)

    def network(params: jax.Array, observations: jax.Array) -> jax.Array:
        return mlp(params, sizes, encode(observations))

    def draw(key: jax.Array) -> jax.Array:
        return init_mlp(key, sizes)

    return make_plain(fitting, network, draw, target_period=target_period)


def make_plain(
    fitting: Fitting,
    network: Values,
    draw: Callable[[jax.Array], Any],
    *,
    target_period: int | None,
    unrolled: bool = False,
) -> QFunction:
    """Builds the plain Q-function of any network.

    Args:
        fitting: how it learns.
        network: action values [B, A] of parameters and observations.
        draw: parameters of a new network.
        target_period: SGD steps between copies into the target; None never copies.
        unrolled: whether to compile every member of an ensemble by itself instead of one loop over
            them, in which XLA's convolutions on a CPU take many times as long.
    """
    optimizer = optax.chain(
        optax.clip_by_global_norm(fitting.max_gradient_norm),
        optax.adam(fitting.learning_rate, eps=fitting.adam_epsilon),
    )

    def init(key: jax.Array) -> QState:
        params = draw(key)
        target = jax.tree.map(jnp.copy, params)
        steps = jnp.zeros((), jnp.int32)
        return QState(DenseMember(params, target, optimizer.init(params), steps), ())

    def values(state: QState, observations: jax.Array) -> jax.Array:
        return network(state.member.params, observations)

    def target_values(state: QState, observations: jax.Array) -> jax.Array:
        return network(state.member.target, observations)

    def fit(state: QState, observations: jax.Array, loss: Loss) -> tuple[QState, jax.Array]:
        params, target, moments, steps = state.member
        value, gradient = jax.value_and_grad(lambda p: loss(network(p, observations)))(params)
        change, moments = optimizer.update(gradient, moments, params)
        params = optax.apply_updates(params, change)
        steps += 1
        if target_period is not None:
            target = optax.periodic_update(params, target, steps, target_period)
        return QState(DenseMember(params, target, moments, steps), ()), value

    def fit_members(step: MemberStep, states: QState, priors: Any) -> tuple[QState, jax.Array]:
        # In turn: side by side, all that lies between the layers outgrows the caches of a CPU.
        _, fitted = jax.lax.scan(
            lambda _, member: (None, step(*member)), None, (states, priors), unroll=unrolled
        )
        return fitted

    return QFunction(init, values, target_values, fit, fit_members, draw, network)
