"""The network on images: convolutions.

Images come with their channels first, as frames are stacked, which spares turning them. XLA's
convolutions run forward at the speed of its matrix products; gathering patches for one product a
layer took about a third longer over an update.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp


class Convolution(NamedTuple):
    """A convolution with SAME padding."""

    channels: int
    side: int
    stride: int


Convolutions = tuple[Convolution, ...]

TORSO: Convolutions = (Convolution(32, 8, 4), Convolution(64, 4, 2), Convolution(64, 3, 1))
"""Acme's Atari torso."""

_LARGE, _SMALL = 48, 8


def convolutions_for(height: int, width: int) -> Convolutions:
    """Return convolutions that suit the size of an image.

    Large ones have the Atari torso, which looks at every fourth place. A grid of a few cells would
    vanish in it: its first layer looks at every one, and the others halve it until few are left.
    """
    if min(height, width) >= _LARGE:
        return TORSO
    layers = [Convolution(16, 3, 1)]
    while len(layers) == 1 or max(height, width) > _SMALL:
        layers.append(Convolution(32, 4, 2))
        height, width = -(-height // 2), -(-width // 2)
    return tuple(layers)


class Torso(NamedTuple):
    """Parameters of the convolutions.

    Attributes:
        kernels: float32 [side, side, in, out] for each layer.
        biases: float32 [out] for each layer.
    """

    kernels: tuple[jax.Array, ...]
    biases: tuple[jax.Array, ...]


def torso_width(height: int, width: int, layers: Convolutions = TORSO) -> int:
    """Return how many features convolutions give of images of a size."""
    for layer in layers:
        height, width = -(-height // layer.stride), -(-width // layer.stride)
    return height * width * layers[-1].channels


def init_torso(keys: jax.Array, channels: int, layers: Convolutions = TORSO) -> Torso:
    """Draw the parameters: truncated normal kernels of variance 1 / fan-in, no biases.

    Args:
        keys: of the random numbers, one for each layer.
        channels: of the images.
        layers: the convolutions.
    """
    kernels, biases = [], []
    draw = jax.nn.initializers.lecun_normal()
    for layer, key in zip(layers, keys, strict=True):
        kernels.append(draw(key, (layer.side, layer.side, channels, layer.channels)))
        biases.append(jnp.zeros(layer.channels))
        channels = layer.channels
    return Torso(tuple(kernels), tuple(biases))


def torso(params: Torso, images: jax.Array, layers: Convolutions = TORSO) -> jax.Array:
    """Map images [B, C, H, W] to features [B, D], all at least 0, a pixel's channels together."""
    x = images
    for layer, kernel, bias in zip(layers, params.kernels, params.biases, strict=True):
        strides = (layer.stride, layer.stride)
        x = jax.lax.conv_general_dilated(x, kernel, strides, "SAME", dimension_numbers=_LAYOUT)
        x = jax.nn.relu(x + bias[:, None, None])
    return jnp.moveaxis(x, 1, -1).reshape(len(x), -1)


# Of images, kernels and results.
_LAYOUT = ("NCHW", "HWIO", "NCHW")
