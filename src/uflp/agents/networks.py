"""Q-networks, chosen by what the observation space means."""

from __future__ import annotations

from collections.abc import Sequence

import flax.linen as nn
import gymnasium
import jax
import jax.numpy as jnp

from uflp.types import UsageError

_fan_in = nn.initializers.lecun_normal()


class OneHotDense(nn.Module):
    """A dense layer on the one-hot vector of an integer, computed as a table look-up.

    Equal to `nn.Dense(features)(one_hot(x))`, initialisation included, without the product.
    """

    size: int
    features: int

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        """Maps integers [...] to [..., features]."""
        kernel = self.param("kernel", _fan_in, (self.size, self.features))
        bias = self.param("bias", nn.initializers.zeros_init(), (self.features,))
        return jnp.take(kernel, x, axis=0, mode="clip") + bias


class MLP(nn.Module):
    """A multi-layer perceptron with ReLU between layers; `ids` marks an integer input."""

    layers: Sequence[int]
    ids: int | None = None

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        """Maps [B, D] vectors, or [B] integers, to [B, layers[-1]]."""
        for index, width in enumerate(self.layers):
            if index:
                x = nn.relu(x)
            if index == 0 and self.ids is not None:
                x = OneHotDense(self.ids, width)(x)
            else:
                x = nn.Dense(width, kernel_init=_fan_in)(x)
        return x


def make_network(space: gymnasium.Space, *, hidden: Sequence[int], outputs: int) -> nn.Module:
    """Returns the network that fits an observation space: a look-up for ids, else an MLP."""
    layers = (*hidden, outputs)
    if isinstance(space, gymnasium.spaces.Discrete):
        return MLP(layers, ids=int(space.n))
    if isinstance(space, gymnasium.spaces.Box) and len(space.shape) == 1:
        return MLP(layers)
    raise UsageError(f"no network is known for the observation space {space}")
