"""The network, against flax."""

from __future__ import annotations

from itertools import pairwise

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np

from uflp.agents.lookup import make_lookup
from uflp.agents.q_function import Fitting
from uflp.networks.mlp import init_mlp, mlp

SIZES = (7, 5, 6, 3)


class Reference(nn.Module):
    """The same network, as flax users write it."""

    sizes: tuple[int, ...]

    @nn.compact
    def __call__(self, x):
        for index, width in enumerate(self.sizes[1:]):
            x = nn.relu(x) if index else x
            x = nn.Dense(width)(x)
        return x


def as_flax(params, sizes):
    """Returns the parameters of an MLP in flax's shape."""
    tree, start = {}, 0
    for index, (width, outputs) in enumerate(pairwise(sizes)):
        end = start + width * outputs
        kernel = params[start:end].reshape(outputs, width).T
        tree[f"Dense_{index}"] = {"kernel": kernel, "bias": params[end : end + outputs]}
        start = end + outputs
    assert start == len(params)
    return {"params": tree}


def some_params(sizes, seed=0):
    """Returns parameters with biases that are not zero."""
    params = init_mlp(jax.random.key(seed), sizes)
    return params + 0.1 * jax.random.normal(jax.random.key(seed + 1), params.shape)


def test_values_and_gradients_are_those_of_flax_dense():
    params, x = some_params(SIZES), jax.random.normal(jax.random.key(3), (4, SIZES[0]))

    def ours(params):
        return jnp.sum(jnp.sin(mlp(params, SIZES, x)))

    def theirs(params):
        return jnp.sum(jnp.sin(Reference(SIZES).apply(as_flax(params, SIZES), x)))

    np.testing.assert_allclose(ours(params), theirs(params), rtol=1e-6)
    np.testing.assert_allclose(jax.grad(ours)(params), jax.grad(theirs)(params), atol=1e-6)


def test_kernels_have_variance_one_over_fan_in_and_biases_are_zero():
    width, outputs = 300, 200
    params = init_mlp(jax.random.key(0), (width, outputs))
    np.testing.assert_allclose(jnp.var(params[:-outputs]) * width, 1, atol=0.03)
    np.testing.assert_array_equal(params[-outputs:], 0)


def test_a_looked_up_row_is_flax_dense_on_a_one_hot_vector():
    states, actions = 11, 3
    fitting = Fitting(hidden=(6, 5), max_gradient_norm=1e9)
    q = make_lookup(fitting, states, actions, target_period=1)
    state = q.init(jax.random.key(0))
    sizes = (states, *fitting.hidden, actions)
    tree = as_flax(init_mlp(jax.random.key(0), sizes), sizes)
    ids = jnp.array([4, 0, 4, 10])

    def reference(tree):
        return Reference(sizes).apply(tree, jax.nn.one_hot(ids, states))

    np.testing.assert_allclose(q.values(state, ids), reference(tree), atol=1e-6)

    # Adam's running mean after one step is a tenth of the gradient: read the gradient from there.
    fitted, loss = q.fit(state, ids, lambda values: jnp.sum(jnp.sin(values)))
    expected_loss, gradient = jax.value_and_grad(lambda t: jnp.sum(jnp.sin(reference(t))))(tree)
    gradient = gradient["params"]
    np.testing.assert_allclose(loss, expected_loss, rtol=1e-6)
    table = fitted.member.table.reshape(states, 4, fitting.hidden[0])[:, 1]
    np.testing.assert_allclose(10 * table, gradient["Dense_0"]["kernel"], atol=1e-6)
    rest = jnp.concatenate(
        [
            gradient["Dense_0"]["bias"],
            gradient["Dense_1"]["kernel"].T.ravel(),
            gradient["Dense_1"]["bias"],
            gradient["Dense_2"]["kernel"].T.ravel(),
            gradient["Dense_2"]["bias"],
        ]
    )
    np.testing.assert_allclose(10 * fitted.member.rest[1], rest, atol=1e-6)
