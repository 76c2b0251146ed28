"""The table's Adam, against Adam in float64 that sweeps over all rows at every step.

float32 itself is the yardstick: optax's Adam, which sweeps too, is as far from float64 as any
implementation in float32 may be.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from uflp.agents import lazy_adam

ROWS, WIDTH, BATCH, RATE = 40, 3, 6, 1e-2
EVERY = jnp.arange(ROWS)


class Float64Adam:
    """Adam as its paper writes it."""

    def __init__(self, weights):
        self.weights = weights.astype(np.float64)
        self.mean, self.square, self.step = np.zeros_like(weights), np.zeros_like(weights), 0

    def update(self, gradient):
        self.step += 1
        self.mean = 0.9 * self.mean + 0.1 * gradient
        self.square = 0.999 * self.square + 0.001 * gradient**2
        mean = self.mean / (1 - 0.9**self.step)
        square = self.square / (1 - 0.999**self.step)
        self.weights = self.weights - RATE * mean / (np.sqrt(square) + 1e-8)


@jax.jit
def lazy_step(table, clock, ids, gradient, period):
    summed, one = lazy_adam.add_up(clock, ids, gradient)
    table = lazy_adam.adam_rows(table, clock, ids, summed[one], RATE)
    return table, lazy_adam.tick(clock, ids, period)


lazy_current = jax.jit(lambda table, clock: lazy_adam.current(table, clock, EVERY, RATE))
lazy_target = jax.jit(lambda table, clock: lazy_adam.target(table, clock, EVERY, RATE))
sweep = jax.jit(optax.adam(RATE).update)


def distance(a, b):
    return np.abs(np.asarray(a, np.float64) - b).max()


def batches(steps, scale, seed=0):
    """Yields rows and gradients; the k-th row comes about (k / ROWS)⁴ as often as the last.

    The first row has a gradient in the first step, and never again.
    """
    rng = np.random.default_rng(seed)
    for step in range(steps):
        ids = 1 + (rng.random(BATCH) ** 0.25 * (ROWS - 1)).astype(np.int32)
        if step == 0:
            ids[0] = 0
        yield ids, (scale * rng.normal(0.5, 1, (BATCH, WIDTH))).astype(np.float32)


# Gradients far above Adam's ε = 1e-8 and far below it; where they are near, some are off by at most
# 2 % of a step, which happens in the first few steps.
@pytest.mark.parametrize(
    ("scale", "slack"), [(1.0, 0), (1e-4, 0), (1e-6, 0.02), (1e-8, 0.02), (1e-10, 0)]
)
@pytest.mark.parametrize("period", [4, 300])
def test_as_near_to_float64_as_a_sweep_in_float32(scale, slack, period):
    start = np.random.default_rng(1).normal(size=(ROWS, WIDTH)).astype(np.float32)
    table, clock = lazy_adam.start_table(jnp.array(start)), lazy_adam.start_clock(ROWS)
    exact, exact_target = Float64Adam(start), start
    swept, moments = jnp.array(start), optax.adam(RATE).init(jnp.array(start))
    lazy_errors, swept_errors, target_errors = [], [], []
    for step, (ids, gradient) in enumerate(batches(1200, scale), start=1):
        table, clock = lazy_step(table, clock, ids, gradient, period)
        dense = np.zeros((ROWS, WIDTH))
        np.add.at(dense, ids, gradient)
        exact.update(dense)
        change, moments = sweep(jnp.float32(dense), moments)
        swept = optax.apply_updates(swept, change)
        if step % period == 0:
            exact_target = exact.weights
        if step % 50 == 0 or step < 10:
            lazy_errors.append(distance(lazy_current(table, clock), exact.weights))
            swept_errors.append(distance(swept, exact.weights))
            target_errors.append(distance(lazy_target(table, clock), exact_target))
    moved = np.abs(exact.weights - start)
    assert np.median(moved) > 10 * RATE * min(1, scale / 1e-8)  # or nothing was tested
    assert max(lazy_errors) <= max(swept_errors) + slack * RATE
    assert max(target_errors) <= max(swept_errors) + slack * RATE


def test_a_row_left_alone_for_long_goes_where_adam_takes_it():
    """Adam's corrections for its start change all the while that the row stands still."""
    start = np.ones((ROWS, WIDTH), np.float32)
    table, clock = lazy_adam.start_table(jnp.array(start)), lazy_adam.start_clock(ROWS)
    exact = Float64Adam(start)
    for step in range(2000):
        ids = np.full(BATCH, 0 if step < 3 else 1, np.int32)
        gradient = np.full((BATCH, WIDTH), 0.1, np.float32)
        table, clock = lazy_step(table, clock, ids, gradient, 4)
        dense = np.zeros((ROWS, WIDTH))
        np.add.at(dense, ids, gradient)
        exact.update(dense)
        if step in (3, 4, 10, 100, 300, 1999):
            np.testing.assert_allclose(
                lazy_current(table, clock)[0], exact.weights[0], atol=1e-7, rtol=0
            )


def test_the_table_of_what_lies_ahead_is_the_sum_it_stands_for():
    for step in (0, 1, 7, 900, 16_000):
        ages = np.arange(1, 2000)
        first = 0.9**ages / (1 - 0.9 ** (step + ages))
        size = np.sqrt(0.999**ages / (1 - 0.999 ** (step + ages)))
        expected = [first.sum(), (first / size).sum(), (first / size**2).sum()]
        np.testing.assert_allclose(lazy_adam._AHEAD[step], expected, rtol=1e-6)


def test_gradients_of_equal_rows_are_added_up():
    clock = lazy_adam.start_clock(9)
    gradient = jnp.array([[1.0], [2.0], [4.0], [8.0]])
    summed, one = lazy_adam.add_up(clock, jnp.array([5, 3, 5, 5]), gradient)
    np.testing.assert_array_equal(summed[one], [[13], [2], [13], [13]])
    assert float(jnp.sum(summed)) == 15  # each row counts once towards the norm


def test_the_target_is_saved_when_its_row_first_moves_on():
    table, clock = lazy_adam.start_table(jnp.zeros((ROWS, WIDTH))), lazy_adam.start_clock(ROWS)
    ids, gradient = jnp.array([5]), jnp.ones((1, WIDTH))
    seen = []
    for _ in range(4):
        table, clock = lazy_step(table, clock, ids, gradient, 2)
        of_row = lazy_current(table, clock)[5, 0], lazy_target(table, clock)[5, 0]
        seen.append([round(float(weight) / RATE, 4) for weight in of_row])
    # A constant gradient moves a weight by the step size; the target follows every two steps.
    assert seen == [[-1, 0], [-2, -2], [-3, -2], [-4, -4]]
