"""The errors that agents square, against rlax."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import rlax
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from uflp.agents import losses

ACTIONS = 4
number = st.floats(-1e3, 1e3, width=32)
values = hnp.arrays(np.float32, ACTIONS, elements=number)
action = st.integers(0, ACTIONS - 1)


@given(values, action, number, st.floats(0, 1, width=32), values, values)
def test_double_q_is_rlax(q_tm1, a_tm1, r_t, discount_t, q_t_value, q_t_selector):
    ours = losses.double_q(
        jnp.array(q_tm1), a_tm1, r_t, discount_t, jnp.array(q_t_value), jnp.array(q_t_selector)
    )
    theirs = rlax.double_q_learning(
        jnp.array(q_tm1),
        jnp.array(a_tm1),
        jnp.array(r_t),
        jnp.array(discount_t),
        jnp.array(q_t_value),
        jnp.array(q_t_selector),
    )
    np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-3)


def test_double_q_by_hand():
    # The selector prefers action 1, whose target value is 5: 2 + 0.5 · 5 - 3.
    error = losses.double_q(
        jnp.array([3.0, 7.0]), 0, 2.0, 0.5, jnp.array([9.0, 5.0]), jnp.array([0.0, 1.0])
    )
    assert error == pytest.approx(1.5)


def test_no_gradient_flows_through_the_target():
    def error(q_tm1, q_t):
        return losses.double_q(q_tm1, 1, 1.0, 0.9, q_t, q_t)

    q = jnp.array([1.0, 2.0])
    of_prediction, of_target = jax.grad(error, argnums=(0, 1))(q, q)
    np.testing.assert_array_equal(of_prediction, [0, -1])
    np.testing.assert_array_equal(of_target, [0, 0])


@given(values, action, number)
def test_monte_carlo_is_return_minus_value(q_tm1, a_tm1, g_tm1):
    error, gradient = jax.value_and_grad(losses.monte_carlo)(jnp.array(q_tm1), a_tm1, g_tm1)
    np.testing.assert_allclose(error, g_tm1 - q_tm1[a_tm1], rtol=1e-6, atol=1e-3)
    np.testing.assert_array_equal(gradient, -np.eye(ACTIONS, dtype=np.float32)[a_tm1])
