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

_TRUNCATED = 0.87962566103423978
"""Standard deviation of the standard normal distribution between -2 and 2."""


def init_mlp(key: jax.Array, sizes: Sequence[int]) -> jax.Array:
    """Draws the parameters of an MLP: truncated normal kernels of variance 1 / fan-in, no biases.

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
    """Maps [B, sizes[0]] to [B, sizes[-1]], with ReLU between layers."""
    lengths = [n for width, outputs in pairwise(sizes) for n in (width * outputs, outputs)]
    parts = iter(jnp.split(params, np.cumsum(lengths)[:-1]))
    for index, (width, outputs) in enumerate(pairwise(sizes)):
        if index:
            x = jax.nn.relu(x)
        x = x @ next(parts).reshape(outputs, width).T + next(parts)
    return x
