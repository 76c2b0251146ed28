"""The Q-function on images: Acme's Atari torso, and an MLP on what it sees.

A convolution is one matrix product of patches. XLA's own convolutions reach a third of a CPU's
speed; here an image is first folded, stride × stride pixels into one with as many more channels,
after which a kernel is two or three shifts wide.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

from uflp.agents.dense import make_plain
from uflp.agents.mlp import init_mlp, mlp
from uflp.agents.q_function import Fitting, QFunction


class Layer(NamedTuple):
    """A convolution with SAME padding; the kernel's side is a multiple of the stride."""

    channels: int
    side: int
    stride: int


TORSO = (Layer(32, 8, 4), Layer(64, 4, 2), Layer(64, 3, 1))


class Params(NamedTuple):
    """Parameters of the network.

    Attributes:
        kernels: float32 [side, side, in, out] for each layer.
        biases: float32 [out] for each layer.
        head: float32 [P], of the MLP.
    """

    kernels: tuple[jax.Array, ...]
    biases: tuple[jax.Array, ...]
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
    for layer in TORSO:
        height, width = -(-height // layer.stride), -(-width // layer.stride)
    sizes = (height * width * TORSO[-1].channels, *fitting.hidden, actions)

    def init(key: jax.Array) -> Params:
        *keys, last = jax.random.split(key, len(TORSO) + 1)
        kernels, biases, channels = [], [], stacked
        draw = jax.nn.initializers.lecun_normal()
        for layer, own in zip(TORSO, keys, strict=True):
            kernels.append(draw(own, (layer.side, layer.side, channels, layer.channels)))
            biases.append(jnp.zeros(layer.channels))
            channels = layer.channels
        return Params(tuple(kernels), tuple(biases), init_mlp(last, sizes))

    def network(params: Params, observations: jax.Array) -> jax.Array:
        x = torso(params, observations)
        return mlp(params.head, sizes, x)

    return make_plain(fitting, network, init, target_period=target_period)


def torso(params: Params, observations: jax.Array) -> jax.Array:
    """Maps images uint8 [B, K, H, W] to features [B, D], all at least 0."""
    x = jnp.moveaxis(observations, 1, -1).astype(jnp.float32) / 255
    for layer, kernel, bias in zip(TORSO, params.kernels, params.biases, strict=True):
        x = jax.nn.relu(convolve(x, kernel, layer.stride) + bias)
    return x.reshape(len(x), -1)


def convolve(x: jax.Array, kernel: jax.Array, stride: int) -> jax.Array:
    """Convolves [B, H, W, C] with [side, side, C, O] and SAME padding, to [B, H', W', O]."""
    side, _, channels, outputs = kernel.shape
    shifts = side // stride
    assert shifts * stride == side, "the kernel's side is a multiple of the stride"
    batch, *sizes, _ = x.shape
    results = [-(-size // stride) for size in sizes]
    pads = []
    for size, result in zip(sizes, results, strict=True):
        missing = max((result - 1) * stride + side - size, 0)
        # What is left over at the far end is never touched by a kernel.
        padded = (result - 1 + shifts) * stride
        pads.append((missing // 2, padded - size - missing // 2))
    x = jnp.pad(x, ((0, 0), *pads, (0, 0)))
    rows, columns = (result - 1 + shifts for result in results)
    x = x.reshape(batch, rows, stride, columns, stride, channels)
    x = x.transpose(0, 1, 3, 2, 4, 5).reshape(batch, rows, columns, -1)
    height, width = results
    patches = jnp.concatenate(
        [x[:, i : i + height, j : j + width] for i in range(shifts) for j in range(shifts)],
        axis=-1,
    )
    folded = kernel.reshape(shifts, stride, shifts, stride, channels, outputs)
    folded = folded.transpose(0, 2, 1, 3, 4, 5).reshape(-1, outputs)
    return patches @ folded
