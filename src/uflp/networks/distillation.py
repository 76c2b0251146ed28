"""Random network distillation (Burda et al. 2018): a network learns what another one says.

The target is drawn once and never changes; the predictor is of the same architecture. Where the
predictor has seen much it says the same, and elsewhere it errs.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from uflp.networks.conv import TORSO, init_torso, torso, torso_width
from uflp.networks.mlp import Layers, init_layers, layers

CLIP = 5.0
"""Normalised observations lie within ± this."""


class Fitted(NamedTuple):
    """The predictor's parameters, and its optimiser's state."""

    params: Any
    optimizer: optax.OptState


Scaling = tuple[Any, Any]
"""A mean and a factor, float32 [...]: observations count as (observation − mean) · factor."""


class Distillation(NamedTuple):
    """Compiled functions over a target's parameters and a predictor.

    Attributes:
        init: from a seed to the target's parameters and a new predictor.
        errors: from target, predictor, observations [B, ...] and scaling to mean squares [B].
        fit: the same arguments to the predictor after one SGD step on them, which uses up the one
            before.
    """

    init: Callable[[int], tuple[Any, Fitted]]
    errors: Callable[[Any, Fitted, Any, Scaling], jax.Array]
    fit: Callable[[Any, Fitted, Any, Scaling], Fitted]


@functools.lru_cache(maxsize=4)  # so that the next seed need not compile them again
def make_distillation(
    shape: tuple[int, ...], ids: int | None, width: int, learning_rate: float
) -> Distillation:
    """Build both networks: a torso, and an MLP of two layers.

    Args:
        shape: of an observation: [K, H, W] are K stacked images, any other shape is a vector.
        ids: how many observations there are where they are numbers, else None.
        width: of both layers, and of the torso where that has no width of its own.
        learning_rate: step size of Adam.
    """
    draw_torso, see, features = _torso(shape, ids, width)
    sizes = (features, width, width)
    optimizer = optax.adam(learning_rate)

    def draw(key: jax.Array) -> tuple[Any, Layers]:
        first, last = jax.random.split(key)
        return draw_torso(first), init_layers(last, sizes)

    def network(params: tuple[Any, Layers], observations: jax.Array) -> jax.Array:
        return layers(params[1], see(params[0], observations))

    def prepared(observations: jax.Array, scaling: Scaling) -> jax.Array:
        if ids is not None:
            return observations
        mean, factor = scaling
        return jnp.clip((observations.astype(jnp.float32) - mean) * factor, -CLIP, CLIP)

    def init(seed: int) -> tuple[Any, Fitted]:
        target, params = map(draw, jax.random.split(jax.random.key(seed)))
        return target, Fitted(params, optimizer.init(params))

    def errors(target: Any, fitted: Fitted, observations: Any, scaling: Scaling) -> jax.Array:
        x = prepared(observations, scaling)
        squares = jnp.square(network(fitted.params, x) - network(target, x))
        # A product, since XLA merges a sum with all the products before it, and is slow at that.
        return squares @ jnp.full(width, 1 / width)

    def fit(target: Any, fitted: Fitted, observations: Any, scaling: Scaling) -> Fitted:
        x = prepared(observations, scaling)
        wanted = network(target, x)

        def loss(params: Any) -> jax.Array:
            return jnp.mean(jnp.sum(jnp.square(network(params, x) - wanted), axis=-1))

        gradient = jax.grad(loss)(fitted.params)
        change, state = optimizer.update(gradient, fitted.optimizer, fitted.params)
        return Fitted(optax.apply_updates(fitted.params, change), state)

    return Distillation(jax.jit(init), jax.jit(errors), jax.jit(fit, donate_argnums=1))


def _torso(
    shape: tuple[int, ...], ids: int | None, width: int
) -> tuple[Callable[[jax.Array], Any], Callable[[Any, jax.Array], jax.Array], int]:
    """Return how to draw a torso's parameters, the torso, and how many features it gives."""
    if ids is not None:
        return lambda key: jax.random.normal(key, (ids, width)), _embedding, width
    if len(shape) == 3:
        stacked, height, columns = shape
        return (
            lambda key: init_torso(jax.random.split(key, len(TORSO)), stacked),
            torso,
            torso_width(height, columns),
        )
    (inputs,) = shape
    return (
        lambda key: init_layers(key, (inputs, width)),
        lambda params, x: jax.nn.relu(layers(params, x)),
        width,
    )


def _embedding(table: jax.Array, ids: jax.Array) -> jax.Array:
    return jnp.take(table, ids, axis=0, mode="clip")
