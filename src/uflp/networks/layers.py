"""Multi-layer perceptrons with large kernels, each an array of its own.

Taking a kernel of megabytes out of one vector, as `mlp` does, copies it at every call.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import jax
import jax.numpy as jnp

Layers = list[tuple[jax.Array, jax.Array]]
"""The kernel [out, in] and the bias [out] of each layer."""


def init_layers(key: jax.Array, sizes: Sequence[int]) -> Layers:
    """Draws truncated normal kernels of variance 1 / fan-in; biases are 0.

    Args:
        key: of the random numbers.
        sizes: width of the input, of each hidden layer, and of the output.
    """
    draw = jax.nn.initializers.lecun_normal(in_axis=1, out_axis=0)
    keys = jax.random.split(key, len(sizes) - 1)
    return [
        (draw(own, (outputs, inputs)), jnp.zeros(outputs))
        for own, (inputs, outputs) in zip(keys, pairwise(sizes), strict=True)
    ]


def layers(params: Layers, x: jax.Array) -> jax.Array:
    """Maps [B, inputs] to [B, outputs], with ReLU between layers."""
    for index, (kernel, bias) in enumerate(params):
        if index:
            x = jax.nn.relu(x)
        # In this order: so few rows times so large a kernel would take XLA many times as long.
        x = (kernel @ x.T).T + bias
    return x
