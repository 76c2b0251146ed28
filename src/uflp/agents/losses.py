"""Errors of the values of single transitions; callers `vmap` over the batch.

Names follow the field: `q_tm1, a_tm1` before the query, `r_t, discount_t, q_t` after it.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp


def double_q(
    q_tm1: jax.Array,
    a_tm1: jax.Array,
    r_t: jax.Array,
    discount_t: jax.Array,
    q_t_value: jax.Array,
    q_t_selector: jax.Array,
) -> jax.Array:
    """Double Q-learning error, Eq. 3 of the paper (van Hasselt et al. 2016).

    Args:
        q_tm1: [A] values before the query, under the parameters that learn.
        a_tm1: [] action taken.
        r_t: [] reward, or a discounted sum of several.
        discount_t: [] what multiplies the value beyond; 0 at a terminal.
        q_t_value: [A] values after the query, under the target parameters.
        q_t_selector: [A] values after the query that choose the action.

    Returns:
        [] target minus prediction; no gradient flows through the target.
    """
    target = r_t + discount_t * q_t_value[jnp.argmax(q_t_selector)]
    return jax.lax.stop_gradient(target) - _of_action(q_tm1, a_tm1)


def categorical_double_q(
    atoms: jax.Array,
    logits_tm1: jax.Array,
    a_tm1: jax.Array,
    r_t: jax.Array,
    discount_t: jax.Array,
    logits_t: jax.Array,
    q_t_selector: jax.Array,
) -> jax.Array:
    """Categorical double Q-learning (Bellemare et al. 2017).

    Args:
        atoms: [N] returns, evenly spaced.
        logits_tm1: [A, N] before the query, under the parameters that learn.
        a_tm1: [] action taken.
        r_t: [] reward, or a discounted sum of several.
        discount_t: [] what multiplies the returns beyond; 0 at a terminal.
        logits_t: [A, N] after the query, under the target parameters.
        q_t_selector: [A] values after the query that choose the action.

    Returns:
        [] cross-entropy from the target distribution; no gradient flows through it.
    """
    beyond = jax.nn.softmax(logits_t[jnp.argmax(q_t_selector)])
    target = jax.lax.stop_gradient(_projected(r_t + discount_t * atoms, beyond, atoms))
    log_p = jax.vmap(_of_action, in_axes=(1, None))(jax.nn.log_softmax(logits_tm1), a_tm1)
    return -jnp.sum(target * log_p)


def allowed(q: jax.Array, mask: jax.Array | None) -> jax.Array:
    """Return values [..., A] for an action to be chosen by: −∞ where it is not allowed.

    Args:
        q: [..., A] values.
        mask: [..., A], 0 for each action that is not allowed; None allows all.
    """
    return q if mask is None else jnp.where(mask != 0, q, -jnp.inf)


def _projected(returns: jax.Array, probabilities: jax.Array, atoms: jax.Array) -> jax.Array:
    """Share the probability [N] of any returns [N] out among the atoms [N] on either side."""
    gap = atoms[1] - atoms[0]
    places = jnp.clip(returns, atoms[0], atoms[-1])
    shares = jnp.clip(1 - jnp.abs(places[None, :] - atoms[:, None]) / gap, 0, 1)
    return shares @ probabilities


def monte_carlo(q_tm1: jax.Array, a_tm1: jax.Array, g_tm1: jax.Array) -> jax.Array:
    """Error against a return, Eq. 7 of the paper.

    Args:
        q_tm1: [A] values before the query.
        a_tm1: [] action taken.
        g_tm1: [] discounted sum of the rewards from that query on.

    Returns:
        [] return minus prediction.
    """
    return g_tm1 - _of_action(q_tm1, a_tm1)


def _of_action(q: jax.Array, action: jax.Array) -> jax.Array:
    """Return q[action], by a product: its gradient is one too, where that of indexing scatters."""
    return jnp.sum(q * jax.nn.one_hot(action, len(q), dtype=q.dtype))
