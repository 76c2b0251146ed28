"""Adam on a table of which each step touches few rows, without a sweep over all the others.

Adam (Kingma and Ba 2015) moves every weight at every step, also where the gradient is zero: the
running mean still pushes. Here a row of weights p, with running mean m and mean square v, is left
as it was after step τ, when it last had a gradient, and brought forward when it is next looked at.
After k steps without a gradient, at step t = τ + k, Adam would have arrived at

    m ← β₁ᵏ m,    v ← β₂ᵏ v,    p ← p - α m Σ aⱼ uⱼ / (√v + ε uⱼ)    over j = 1, …, k, where
    aⱼ = β₁ʲ / (1 - β₁^(τ+j)),    uⱼ = √((1 - β₂^(τ+j)) / β₂ʲ).

This holds weight by weight, and the sum over j is spared. With A = Σ aⱼ and the mean U and variance
V of u under the weights aⱼ / A, which depend on τ and t alone and so are one number a row,

    Σ aⱼ uⱼ / (√v + ε uⱼ) = A (U - ε √v V / D²) / D + …    where D = √v + ε U,

the expansion of u / (√v + ε u) about U. What it leaves out is at most 10⁻⁵ of a step where
gradients are above 100 ε, and soon nothing; where they are as small as ε, which is worst, it is
10⁻² in Adam's first steps and 10⁻⁵ after a hundred. Nor are A, Σ aⱼ uⱼ and Σ aⱼ uⱼ² summed. Had the
row been left alone for ever, they would come to A∞(τ) and its like, which are tabulated by step.
What is missing from that is what a row that is current at step t still has ahead of it, so

    A = A∞(τ) - β₁ᵏ A∞(t),    and likewise the others, with β₁ / √β₂ and β₁ / β₂ for β₁.

The target network is a copy of the weights as they were at some step. No copy is made: a row that
has had no gradient since is brought forward to that step only, and a row that has had one was saved
when it had the first.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

MEAN_DECAY = 0.9
SQUARE_DECAY = 0.999
EPSILON = 1e-8

_DECAYS = MEAN_DECAY / SQUARE_DECAY ** np.array([0, 0.5, 1])


def _ahead(steps: int = 1 << 14) -> np.ndarray:
    """Return A∞ and its like by step, [steps + 1, 3]; by the last, β₂ᵗ is nothing to float32."""
    numbers = np.arange(1, steps + 1)[:, None]
    terms = (1 - SQUARE_DECAY**numbers) ** np.array([0, 0.5, 1]) / (1 - MEAN_DECAY**numbers)
    ahead = np.empty((steps + 1, 3))
    ahead[-1] = _DECAYS / (1 - _DECAYS)
    for step in range(steps - 1, -1, -1):
        ahead[step] = _DECAYS * (terms[step] + ahead[step + 1])
    return ahead.astype(np.float32)


_AHEAD = _ahead()

_STEP, _SYNCED, _ROWS = 0, 1, 2
"""Places in a clock of what `start_clock` returns."""


class Weights(NamedTuple):
    """Weights, Adam's running mean and mean square of their gradient, and the target's weights."""

    value: jax.Array
    mean: jax.Array
    square: jax.Array
    target: jax.Array


class _Way(NamedTuple):
    """Steps still due to rows that were left alone: A, U and V, each [B, 1]; A is 0 for none."""

    total: jax.Array
    mean: jax.Array
    variance: jax.Array


def start(values: jax.Array) -> jax.Array:
    """Return weights [4, P] that have not moved yet, their target equal to them, as `Weights`."""
    return jnp.stack(_unmoved(values))


def start_table(values: jax.Array) -> jax.Array:
    """Return the table [N, 4 W] of the weights [N, W]: a row holds its `Weights` end to end."""
    return jnp.concatenate(_unmoved(values), axis=1)


def start_clock(rows: int) -> jax.Array:
    """Return the clock of a table with that many rows, which all members of an ensemble share.

    Returns:
        int32 [2 + N]: steps so far, the step that the target is a copy of, and then the step up to
        which each row of the table has been brought.
    """
    return jnp.zeros(_ROWS + rows, jnp.int32)


def current(table: jax.Array, clock: jax.Array, ids: jax.Array, rate: float) -> jax.Array:
    """Return the weights [B, W] of rows `ids` as they are now."""
    return _forward(_rows(table, ids), _way(clock, ids, _STEP), rate)


def target(table: jax.Array, clock: jax.Array, ids: jax.Array, rate: float) -> jax.Array:
    """Return the target's weights [B, W] of rows `ids`."""
    rows = _rows(table, ids)
    untouched = (_touched(clock, ids) <= clock[_SYNCED])[:, None]
    return jnp.where(untouched, _forward(rows, _way(clock, ids, _SYNCED), rate), rows.target)


def add_up(clock: jax.Array, ids: jax.Array, gradient: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Add up the gradients of rows that occur more than once.

    Args:
        clock: of the table.
        ids: int32 [B].
        gradient: [B, W] by occurrence.

    Returns:
        [B, W], the sum at one occurrence of each row and zero at the others; and int32 [B], which
        occurrence that is.
    """
    numbers = jnp.arange(len(ids), dtype=jnp.int32)
    one = _take(jnp.zeros_like(clock).at[ids].set(numbers), ids)
    return jnp.zeros_like(gradient).at[one].add(gradient), one


def adam(
    weights: jax.Array, clock: jax.Array, gradient: jax.Array, rate: float, period: int | None
) -> jax.Array:
    """Return weights [4, P] after one step of Adam, and of the target where its period is over.

    Args:
        weights: of which each has a gradient at every step.
        clock: as it is before the step.
        gradient: [P].
        rate: step size.
        period: steps from one syncing of the target to the next; None never syncs.
    """
    step = clock[_STEP] + 1
    moved = _moved(Weights(*weights), gradient, step, rate)
    return jnp.stack(moved._replace(target=_synced(moved.value, moved.target, step, period)))


def adam_rows(
    table: jax.Array, clock: jax.Array, ids: jax.Array, gradient: jax.Array, rate: float
) -> jax.Array:
    """Return the table after one step of Adam in which only rows `ids` have a gradient.

    Args:
        table: [N, 4 W].
        clock: as it is before the step; `tick` then takes the step.
        ids: int32 [B].
        gradient: [B, W] of the whole row, so equal where the ids are equal.
        rate: step size.
    """
    rows, age = _rows(table, ids), clock[_STEP] - _touched(clock, ids)
    brought = Weights(
        current(table, clock, ids, rate),
        rows.mean * _power(MEAN_DECAY, age)[:, None],
        rows.square * _power(SQUARE_DECAY, age)[:, None],
        target(table, clock, ids, rate),
    )
    moved = _moved(brought, gradient, clock[_STEP] + 1, rate)
    width = gradient.shape[1]
    for place, part in enumerate(moved):  # Put together first, they would be copied once more.
        table = table.at[ids, place * width : (place + 1) * width].set(part)
    return table


def tick(clock: jax.Array, ids: jax.Array, period: int | None) -> jax.Array:
    """Return the clock after a step on rows `ids`.

    Args:
        clock: as it was before the step.
        ids: int32 [B], the rows that had a gradient.
        period: steps from one syncing of the target to the next; None never syncs.
    """
    step = clock[_STEP] + 1
    heads = jnp.stack([step, _synced(step, clock[_SYNCED], step, period)])
    return clock.at[_ROWS + ids].set(step).at[:_ROWS].set(heads)


def _unmoved(values: jax.Array) -> Weights:
    zeros = jnp.zeros_like(values)
    return Weights(values, zeros, zeros, values)


def _synced(new: jax.Array, old: jax.Array, step: jax.Array, period: int | None) -> jax.Array:
    """Return `new` at steps at which the target is synced, else `old`."""
    return old if period is None else jnp.where(step % period == 0, new, old)


def _rows(table: jax.Array, ids: jax.Array) -> Weights:
    return Weights(*jnp.split(_take(table, ids), 4, axis=1))


def _touched(clock: jax.Array, ids: jax.Array) -> jax.Array:
    return _take(clock, _ROWS + ids)


def _take(array: jax.Array | np.ndarray, ids: jax.Array) -> jax.Array:
    return jnp.take(jnp.asarray(array), ids, axis=0, mode="clip")


def _way(clock: jax.Array, ids: jax.Array, to: int) -> _Way:
    """Return the way of rows from where they are to now, or to the step of the target.

    Both are worked out together: who asks for one mostly asks for the other too, and the compiler
    sees that they are the same.
    """
    touched, steps = _touched(clock, ids), clock[:_ROWS, None]
    age = (steps - touched)[..., None]
    sums = _take(_AHEAD, touched) - _power(_DECAYS, age) * _take(_AHEAD, steps)
    total, first, second = jnp.split(jnp.where(age > 0, sums, 1.0), 3, axis=2)
    mean = first / total
    way = _Way(jnp.where(age > 0, total, 0.0), mean, second / total - jnp.square(mean))
    return jax.tree.map(lambda both: both[to], way)


def _forward(rows: Weights, way: _Way, rate: float) -> jax.Array:
    """Bring weights forward along their way, across steps in which they had no gradient."""
    root = jnp.sqrt(rows.square)
    reach = root + EPSILON * way.mean
    bend = EPSILON * way.variance * root / jnp.square(reach)
    return rows.value - rate * rows.mean * (way.total * (way.mean - bend) / reach)


def _moved(weights: Weights, gradient: jax.Array, step: jax.Array, rate: float) -> Weights:
    """Return the weights after one step of Adam, the `step`-th; the target stays."""
    mean = MEAN_DECAY * weights.mean + (1 - MEAN_DECAY) * gradient
    square = SQUARE_DECAY * weights.square + (1 - SQUARE_DECAY) * jnp.square(gradient)
    mean_bias, square_bias = _biases(step)
    change = rate * (mean / mean_bias) / (jnp.sqrt(square / square_bias) + EPSILON)
    return Weights(weights.value - change, mean, square, weights.target)


def _biases(step: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return 1 - β₁ᵗ and 1 - β₂ᵗ, what the running means fall short of for having begun at 0."""
    return -jnp.expm1(step * math.log(MEAN_DECAY)), -jnp.expm1(step * math.log(SQUARE_DECAY))


def _power(base: float | np.ndarray, exponent: jax.Array) -> jax.Array:
    return jnp.exp(exponent * np.log(base))
