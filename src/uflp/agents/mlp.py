"""Multi-layer perceptrons whose parameters are one vector.

One vector is one argument of a compiled function, each of which costs about a microsecond a call,
and one array for the optimiser to sweep.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np

_fan_in = jax.nn.initializers.lecun_normal(in_axis=-1, out_axis=-2)


def init_mlp(key: jax.Array, sizes: Sequence[int]) -> jax.Array:
    """Draws the parameters of an MLP: kernels of variance 1 / fan-in, biases zero.

    Args:
        key: of the random numbers.
        sizes: width of the input, of each hidden layer, and of the output.

    Returns:
        [P], for each layer in turn its kernel [out, in] and its bias [out].
    """
    parts = []
    for index, (width, outputs) in enumerate(pairwise(sizes)):
        kernel = _fan_in(jax.random.fold_in(key, index), (outputs, width))
        parts += [kernel.ravel(), jnp.zeros(outputs)]
    return jnp.concatenate(parts)


def mlp(params: jax.Array, sizes: Sequence[int], x: jax.Array) -> jax.Array:
    """Maps [B, sizes[0]] to [B, sizes[-1]], with ReLU between layers."""
    lengths = [n for width, outputs in pairwise(sizes) for n in (width * outputs, outputs)]
    parts = iter(jnp.split(params, np.cumsum(lengths)[:-1]))
    for index, (width, outputs) in enumerate(pairwise(sizes)):
        if index:
            x = jax.nn.relu(x)
        x = x @ next(parts).reshape(outputs, width).T + next(parts)
    return x
