"""The two forms of a Q-function, against each other and against flax and optax."""

from __future__ import annotations

from functools import partial

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import rlax
from test_mlp import Reference, as_flax

from uflp.agents.ddqn import double_q_step
from uflp.agents.lookup import make_lookup
from uflp.agents.q_function import Fitting
from uflp.agents.q_networks import make_dense, make_q_function
from uflp.networks.mlp import init_mlp
from uflp.types import Batch, UsageError

STATES, ACTIONS = 60, 3


def transitions(rng, observe, size=16):
    """Returns a random batch; `observe` makes observations of state numbers."""
    states = (STATES * rng.random((2, size)) ** 3).astype(np.int32)  # some come rarely
    return Batch(
        observe(states[0]),
        rng.integers(0, ACTIONS, size).astype(np.int32),
        (states[0] / STATES + 0.3 * rng.normal(size=size)).astype(np.float32),
        np.where(rng.random(size) < 0.2, 0, 0.9).astype(np.float32),
        observe(states[1]),
    )


# A norm of 0.05 shortens almost every gradient, one of 20 none.
@pytest.mark.parametrize(("norm", "period"), [(0.05, 4), (20.0, 1), (20.0, 50)])
def test_a_table_learns_as_the_plain_form_does_on_one_hot_vectors(norm, period):
    fitting = Fitting(hidden=(8, 8), max_gradient_norm=norm)
    table = make_lookup(fitting, STATES, ACTIONS, target_period=period)
    plain = make_dense(
        fitting,
        STATES,
        ACTIONS,
        target_period=period,
        encode=lambda observations: jax.nn.one_hot(observations, STATES),
    )
    a, b = table.init(jax.random.key(0)), plain.init(jax.random.key(0))
    step_a, step_b = (jax.jit(partial(double_q_step, q)) for q in (table, plain))
    rng, everywhere = np.random.default_rng(0), jnp.arange(STATES)
    for _ in range(303):  # so that the last step is none at which targets are copied
        batch = transitions(rng, lambda states: states)
        a, loss_a = step_a(a, batch)
        b, loss_b = step_b(b, batch)
        np.testing.assert_allclose(loss_a, loss_b, rtol=1e-4)
    values = jax.jit(plain.values)(b, everywhere)
    assert np.ptp(values) > 0.3  # something was learned
    np.testing.assert_allclose(jax.jit(table.values)(a, everywhere), values, atol=5e-5)
    targets = jax.jit(plain.target_values)(b, everywhere)
    assert period == 1 or np.abs(targets - values).max() > 1e-3
    np.testing.assert_allclose(jax.jit(table.target_values)(a, everywhere), targets, atol=5e-5)


@pytest.mark.parametrize("norm", [0.05, 20.0])
def test_the_plain_form_is_flax_optax_and_rlax(norm):
    width, period = 4, 3
    fitting = Fitting(hidden=(8, 6), learning_rate=3e-3, max_gradient_norm=norm)
    q = make_q_function(
        fitting, gymnasium.spaces.Box(-1, 1, (width,)), ACTIONS, target_period=period
    )
    sizes = (width, *fitting.hidden, ACTIONS)
    network = Reference(sizes)
    params = as_flax(init_mlp(jax.random.key(0), sizes), sizes)
    target = params
    optimizer = optax.chain(optax.clip_by_global_norm(norm), optax.adam(3e-3))
    moments = optimizer.init(params)

    @jax.jit
    def reference(params, target, moments, batch):
        def loss(params):
            errors = jax.vmap(rlax.double_q_learning)(
                network.apply(params, batch.observation),
                batch.action,
                batch.reward,
                batch.discount,
                network.apply(target, batch.next_observation),
                network.apply(params, batch.next_observation),
            )
            return jnp.mean(errors**2)

        gradient = jax.grad(loss)(params)
        change, moments = optimizer.update(gradient, moments, params)
        return optax.apply_updates(params, change), moments

    features = np.random.default_rng(1).normal(size=(STATES, width)).astype(np.float32)
    state, step = q.init(jax.random.key(0)), jax.jit(partial(double_q_step, q))
    rng = np.random.default_rng(0)
    for number in range(1, 101):
        batch = transitions(rng, lambda states: features[states])
        state, _ = step(state, batch)
        params, moments = reference(params, target, moments, batch)
        target = params if number % period == 0 else target
    expected = network.apply(params, features)
    assert np.ptp(expected) > 0.3
    np.testing.assert_allclose(q.values(state, features), expected, atol=2e-5)
    expected = network.apply(target, features)
    np.testing.assert_allclose(q.target_values(state, features), expected, atol=2e-5)


@pytest.mark.parametrize(
    "space", [gymnasium.spaces.Discrete(5), gymnasium.spaces.Box(-1, 1, (5,))], ids=str
)
def test_a_prior_is_a_network_like_a_new_one(space):
    q = make_q_function(Fitting(hidden=(8,)), space, ACTIONS, target_period=1)
    observations = np.arange(5) if isinstance(space, gymnasium.spaces.Discrete) else np.eye(5)
    key = jax.random.key(3)
    np.testing.assert_allclose(
        q.prior_values(q.init_prior(key), observations),
        q.values(q.init(key), observations),
        atol=1e-6,
    )


@pytest.mark.parametrize(
    "space",
    [
        gymnasium.spaces.Discrete(5, start=1),
        gymnasium.spaces.MultiBinary(5),
    ],
    ids=str,
)
def test_spaces_without_a_network_are_refused(space):
    with pytest.raises(UsageError, match="no network is known"):
        make_q_function(Fitting(), space, ACTIONS, target_period=1)
