"""The Q-function on images: convolutions, and an MLP on what they see."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax

from uflp.agents.dense import make_plain
from uflp.agents.q_function import Fitting, QFunction
from uflp.networks.conv import TORSO, Convolutions, Torso, init_torso, torso, torso_width
from uflp.networks.layers import Layers, init_layers, layers


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
    """Builds the Q-function on images.

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
