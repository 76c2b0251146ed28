"""The Q-function on images: Acme's Atari torso, and an MLP on what it sees."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

from uflp.agents.dense import make_plain
from uflp.agents.q_function import Fitting, QFunction
from uflp.networks.conv import TORSO, Torso, init_torso, torso, torso_width
from uflp.networks.mlp import init_mlp, mlp


class Params(NamedTuple):
    """Parameters of the network.

    Attributes:
        torso: those of the convolutions.
        head: float32 [P], of the MLP.
    """

    torso: Torso
    head: jax.Array


def make_conv(
    fitting: Fitting, shape: tuple[int, ...], actions: int, *, target_period: int | None
) -> QFunction:
    """Builds the Q-function on images.

    Args:
        fitting: how it learns.
        shape: [K, H, W] of an observation, K images of uint8.
        actions: A, how many there are.
        target_period: SGD steps between copies into the target; None never copies.
    """
    stacked, height, width = shape
    sizes = (torso_width(height, width), *fitting.hidden, actions)

    def init(key: jax.Array) -> Params:
        keys = jax.random.split(key, len(TORSO) + 1)
        return Params(init_torso(keys[:-1], stacked), init_mlp(keys[-1], sizes))

    def network(params: Params, observations: jax.Array) -> jax.Array:
        images = jnp.moveaxis(observations, 1, -1).astype(jnp.float32) / 255
        return mlp(params.head, sizes, torso(params.torso, images))

    return make_plain(fitting, network, init, target_period=target_period)
