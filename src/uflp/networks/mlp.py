"""Multi-layer perceptrons, in two forms.

Small ones have one vector of parameters: one argument of a compiled function, each of which costs
about a microsecond a call, and one array for the optimiser to sweep. Large ones have an array for
each kernel, because taking a kernel of megabytes out of one vector copies it at every call.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np

_TRUNCATED = 0.87962566103423978
"""Standard deviation of the standard normal distribution between -2 and 2."""


def init_mlp(key: jax.Array, sizes: Sequence[int]) -> jax.Array:
    """Draw the parameters of an MLP: truncated normal kernels of variance 1 / fan-in, no biases.

    Args:
        key: of the random numbers.
        sizes: width of the input, of each hidden layer, and of the output.

    Returns:
        [P], for each layer in turn its kernel [out, in] and its bias [out].
    """
    scales = np.concatenate(
        [
            np.repeat([width**-0.5 / _TRUNCATED, 0], [width * outputs, outputs])
            for width, outputs in pairwise(sizes)
        ]
    )
    return jax.random.truncated_normal(key, -2, 2, scales.shape) * scales


def mlp(params: jax.Array, sizes: Sequence[int], x: jax.Array) -> jax.Array:
    """Map [B, sizes[0]] to [B, sizes[-1]], with ReLU between layers."""
    lengths = [n for width, outputs in pairwise(sizes) for n in (width * outputs, outputs)]
    parts = iter(jnp.split(params, np.cumsum(lengths)[:-1]))
    for index, (width, outputs) in enumerate(pairwise(sizes)):
        if index:
            x = jax.nn.relu(x)
        x = x @ next(parts).reshape(outputs, width).T + next(parts)
    return x


Layers = list[tuple[jax.Array, jax.Array]]
"""The kernel [out, in] and the bias [out] of each layer."""


def init_layers(key: jax.Array, sizes: Sequence[int]) -> Layers:
    """Draw truncated normal kernels of variance 1 / fan-in; biases are 0.

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
    """Map [B, inputs] to [B, outputs], with ReLU between layers."""
    for index, (kernel, bias) in enumerate(params):
        if index:
            x = jax.nn.relu(x)
        # In this order: so few rows times so large a kernel would take XLA many times as long.
        x = (kernel @ x.T).T + bias
    return x
