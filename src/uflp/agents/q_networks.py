"""Q-functions, chosen by what the observation space means.

There are two forms, which do the same: the plain one here, an MLP on vectors and convolutions on
images with optax's Adam and a full copy as target; and `lookup`, for observations that are
numbered, whose first layer is a table of which a step touches few rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import optax

from uflp import spaces
from uflp.agents.lazy_adam import EPSILON
from uflp.agents.lookup import make_lookup
from uflp.agents.q_function import Fitting, Loss, MemberStep, QFunction, QState, Values
from uflp.networks.conv import (
    TORSO,
    Convolutions,
    Torso,
    convolutions_for,
    init_torso,
    torso,
    torso_width,
)
from uflp.networks.mlp import Layers, init_layers, init_mlp, layers, mlp
from uflp.types import UsageError


def make_q_function(
    fitting: Fitting, space: gymnasium.Space, actions: int, *, target_period: int | None
) -> QFunction:
    """Return the Q-function that fits an observation space.

    Args:
        fitting: how it learns.
        space: of the observations.
        actions: A, how many there are.
        target_period: SGD steps between copies into the target; None never copies.
    """
    if isinstance(space, gymnasium.spaces.Discrete) and space.start == 0:
        if fitting.adam_epsilon != EPSILON:
            raise UsageError(
                f"on numbered observations adam_epsilon is {EPSILON}, not {fitting.adam_epsilon}"
            )
        return make_lookup(fitting, int(space.n), actions, target_period=target_period)
    if not isinstance(space, gymnasium.spaces.Box):
        raise UsageError(f"no network is known for the observation space {space}")
    # Bytes are pixels or codes, which are too large for a network as they are.
    largest = max(int(space.high.max()), 1) if space.dtype == np.uint8 else 1
    axis = spaces.channel_axis(space)
    if axis is None:

        def flat(observations: jax.Array) -> jax.Array:
            return observations.reshape(len(observations), -1) / largest

        width = int(np.prod(space.shape))
        return make_dense(fitting, width, actions, target_period=target_period, encode=flat)

    def images(observations: jax.Array) -> jax.Array:
        return jnp.moveaxis(observations, axis + 1, 1).astype(jnp.float32) / largest

    channels = space.shape[axis]
    height, width = (size for place, size in enumerate(space.shape) if place != axis)
    return make_conv(
        fitting,
        (channels, height, width),
        actions,
        target_period=target_period,
        encode=images,
        convolutions=TORSO if isinstance(space, spaces.Frames) else convolutions_for(height, width),
    )


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
    """Build the plain Q-function of an MLP, whose parameters are one vector.

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
    """Build the plain Q-function of any network.

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


class Params(NamedTuple):
    """Parameters of the network.

    Attributes:
        torso: those of the convolutions.
        head: those of the MLP.
    """

    torso: Torso
    head: Layers


def make_conv(
    fitting: Fitting,
    shape: tuple[int, ...],
    actions: int,
    *,
    target_period: int | None,
    encode: Callable[[jax.Array], jax.Array],
    convolutions: Convolutions = TORSO,
) -> QFunction:
    """Build the Q-function on images.

    Args:
        fitting: how it learns.
        shape: [C, H, W] of an image.
        actions: A, how many there are.
        target_period: SGD steps between copies into the target; None never copies.
        encode: makes images, float32 [B, C, H, W], of observations.
        convolutions: the layers of the torso.
    """
    channels, height, width = shape
    sizes = (torso_width(height, width, convolutions), *fitting.hidden, actions)

    def init(key: jax.Array) -> Params:
        keys = jax.random.split(key, len(convolutions) + 1)
        return Params(init_torso(keys[:-1], channels, convolutions), init_layers(keys[-1], sizes))

    def network(params: Params, observations: jax.Array) -> jax.Array:
        return layers(params.head, torso(params.torso, encode(observations), convolutions))

    return make_plain(fitting, network, init, target_period=target_period, unrolled=True)
