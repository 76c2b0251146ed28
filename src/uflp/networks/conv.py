"""The network on images: Acme's Atari torso.

Images come with their channels first, as frames are stacked, which spares turning them. XLA's
convolutions run forward at the speed of its matrix products; gathering patches for one product a
layer took half as long again over an update.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp


class Layer(NamedTuple):
    """A convolution with SAME padding."""

    channels: int
    side: int
    stride: int


TORSO = (Layer(32, 8, 4), Layer(64, 4, 2), Layer(64, 3, 1))


class Torso(NamedTuple):
    """Parameters of the torso.

    Attributes:
        kernels: float32 [side, side, in, out] for each layer.
        biases: float32 [out] for each layer.
    """

    kernels: tuple[jax.Array, ...]
    biases: tuple[jax.Array, ...]


def torso_width(height: int, width: int) -> int:
    """Returns how many features the torso gives of images of a size."""
    for layer in TORSO:
        height, width = -(-height // layer.stride), -(-width // layer.stride)
    return height * width * TORSO[-1].channels


def init_torso(keys: jax.Array, channels: int) -> Torso:
    """Draws the parameters: truncated normal kernels of variance 1 / fan-in, no biases.

    Args:
        keys: of the random numbers, one for each layer.
        channels: of the images.
    """
    kernels, biases = [], []
    draw = jax.nn.initializers.lecun_normal()
    for layer, key in zip(TORSO, keys, strict=True):
        kernels.append(draw(key, (layer.side, layer.side, channels, layer.channels)))
        biases.append(jnp.zeros(layer.channels))
        channels = layer.channels
    return Torso(tuple(kernels), tuple(biases))


def torso(params: Torso, images: jax.Array) -> jax.Array:
    """Maps images [B, C, H, W] to features [B, D], all at least 0, a pixel's channels together."""
    x = images
    for layer, kernel, bias in zip(TORSO, params.kernels, params.biases, strict=True):
        strides = (layer.stride, layer.stride)
        x = jax.lax.conv_general_dilated(x, kernel, strides, "SAME", dimension_numbers=_LAYOUT)
        x = jax.nn.relu(x + bias[:, None, None])
    return jnp.moveaxis(x, 1, -1).reshape(len(x), -1)


# Of images, kernels and results.
_LAYOUT = ("NCHW", "HWIO", "NCHW")
