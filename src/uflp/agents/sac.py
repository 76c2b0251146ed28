"""Soft actor-critic (Haarnoja et al. 2018) for real-valued actions.

The losses come first, then the networks they are losses of, then one SGD step made of both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, NamedTuple

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import optax

from uflp import spaces
from uflp.agents.base import Agent
from uflp.networks.mlp import mlp
from uflp.spaces import Actions, RealActions
from uflp.types import Batch, UsageError

LOG_STD_LEAST = -20.0
LOG_STD_MOST = 2.0
"""Bounds of the logarithm of the policy's deviation."""

_CHOSEN = 2
"""Members of the ensemble whose minimum is the value of the next action."""


@dataclass(frozen=True)
class SAC:
    """Soft actor-critic, for real-valued actions.

    Attributes:
        hidden: widths of the hidden layers, of the policy and of every critic.
        learning_rate: step size of Adam, for the policy, the critics and the temperature.
        adam_epsilon: what Adam adds to the root of a gradient's second moment.
        members: M, the critics; of more than two, the minimum is over a random two at every step
            (REDQ, Chen et al. 2021), and the policy follows the mean of all.
        tau: share of the critics that goes into their targets at every SGD step.
        temperature: α, the weight of the policy's entropy; None adapts it.
        target_entropy: what the temperature is adapted to; None means −D for actions of D numbers.
    """

    action_kinds: ClassVar[tuple[str, ...]] = ("real",)
    hidden: tuple[int, ...] = (256, 256)
    learning_rate: float = 3e-4
    adam_epsilon: float = 1e-8
    members: int = 2
    tau: float = 0.005
    temperature: float | None = None
    target_entropy: float | None = None

    def __post_init__(self) -> None:
        for name in ("learning_rate", "adam_epsilon"):
            if not getattr(self, name) > 0:
                raise UsageError(f"{name} must be positive, not {getattr(self, name)}")
        if not self.hidden or min(self.hidden) < 1:
            raise UsageError(f"hidden needs one or more positive widths, not {self.hidden}")
        if self.members < 1:
            raise UsageError(f"members must be at least 1, not {self.members}")
        if not 0 < self.tau <= 1:
            raise UsageError(f"tau must lie in (0, 1], not {self.tau}")
        if self.temperature is not None and not self.temperature > 0:
            raise UsageError(f"temperature must be positive or none, not {self.temperature}")
        if self.temperature is not None and self.target_entropy is not None:
            raise UsageError(
                "a fixed temperature is adapted to no entropy: leave out temperature or "
                "target_entropy"
            )

    def make(self, space: gymnasium.Space, actions: Actions) -> Agent:
        """Return the agent for an observation space and real-valued actions."""
        assert isinstance(actions, RealActions), "whoever makes agents looks at action_kinds"
        return make_sac(self, space, actions)


def squashed(mean: jax.Array, log_std: jax.Array, noise: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return the tanh of normally distributed numbers, and the logarithm of its density.

    Args:
        mean: [D].
        log_std: [D].
        noise: [D], from the standard normal distribution.

    Returns:
        [D] numbers from -1 to 1, and a scalar.
    """
    before = mean + jnp.exp(log_std) * noise
    normal = -0.5 * jnp.square(noise) - log_std - 0.5 * np.log(2 * np.pi)
    # log(1 − tanh²), which the plain formula loses where tanh is 1 in float32.
    slope = 2 * (np.log(2) - before - jax.nn.softplus(-2 * before))
    return jnp.tanh(before), jnp.sum(normal - slope)


def soft_target(
    r_t: jax.Array, discount_t: jax.Array, q_t: jax.Array, log_prob_t: jax.Array, alpha: jax.Array
) -> jax.Array:
    """Return r + γ·(min Q − α·log π), what the critics learn.

    Args:
        r_t: reward.
        discount_t: 0 at a terminal.
        q_t: [C] values of the next action by the critics that are asked.
        log_prob_t: log π of the next action.
        alpha: the temperature.
    """
    return r_t + discount_t * (jnp.min(q_t) - alpha * log_prob_t)


def policy_loss(q_tm1: jax.Array, log_prob_tm1: jax.Array, alpha: jax.Array) -> jax.Array:
    """Return α·log π − Q: the policy seeks value and entropy."""
    return alpha * log_prob_tm1 - q_tm1


def temperature_loss(
    log_alpha: jax.Array, log_prob_tm1: jax.Array, target_entropy: float
) -> jax.Array:
    """Return −log α·(log π + H̄): the temperature rises where the entropy is below its target."""
    return -log_alpha * (log_prob_tm1 + target_entropy)


class SACState(NamedTuple):
    """The state of a learner.

    Attributes:
        policy: [P] parameters.
        critics: [M, C] parameters.
        targets: [M, C] parameters that follow the critics slowly.
        log_alpha: logarithm of the temperature.
        optimizers: states of those of the policy, the critics and the temperature.
        key: uint32, of the noise of all SGD steps; it never changes.
        steps: SGD steps so far.
    """

    policy: jax.Array
    critics: jax.Array
    targets: jax.Array
    log_alpha: jax.Array
    optimizers: tuple[optax.OptState, optax.OptState, optax.OptState]
    key: jax.Array
    steps: jax.Array


def make_sac(config: SAC, space: gymnasium.Space, actions: RealActions) -> Agent:
    """Build soft actor-critic's compiled functions."""
    encode, width = encoder(space)
    policy_sizes = (width, *config.hidden, 2 * actions.size)
    critic_sizes = (width + actions.size, *config.hidden, 1)
    optimizer = optax.adam(config.learning_rate, eps=config.adam_epsilon)
    fixed = config.temperature
    target_entropy = -actions.size if config.target_entropy is None else config.target_entropy

    def distribution(params: jax.Array, inputs: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Map [B, W] to the means and log deviations of what is squashed, [B, D] each."""
        mean, log_std = jnp.split(mlp(params, policy_sizes, inputs), 2, axis=-1)
        return mean, jnp.clip(log_std, LOG_STD_LEAST, LOG_STD_MOST)

    def critic(params: jax.Array, inputs: jax.Array, units: jax.Array) -> jax.Array:
        """Map [B, W] and actions from -1 to 1, [B, D], to values [B]."""
        return mlp(params, critic_sizes, jnp.concatenate([inputs, units], axis=-1))[:, 0]

    def each(params: jax.Array, inputs: jax.Array, units: jax.Array) -> jax.Array:
        """Return the values of several critics, [M, B]."""
        # One after the other: products of a batch of matrices are slow on a CPU.
        return jnp.stack([critic(own, inputs, units) for own in params])

    def init(key: jax.Array) -> SACState:
        own, *keys = jax.random.split(key, config.members + 2)
        policy = init_uniform(keys[0], policy_sizes)
        critics = jnp.stack([init_uniform(one, critic_sizes) for one in keys[1:]])
        log_alpha = jnp.zeros(()) if fixed is None else jnp.log(jnp.float32(fixed))
        moments = tuple(optimizer.init(part) for part in (policy, critics, log_alpha))
        return SACState(
            policy,
            critics,
            jnp.copy(critics),
            log_alpha,
            moments,
            jax.random.key_data(own),
            jnp.zeros((), jnp.int32),
        )

    def predict(learner: SACState, observations: jax.Array, candidates: jax.Array) -> jax.Array:
        count = candidates.shape[1]
        inputs = jnp.repeat(encode(observations), count, axis=0)
        units = actions.units(candidates).reshape(len(inputs), actions.size)
        return each(learner.critics, inputs, units).reshape(config.members, -1, count)

    def policy(learner: SACState, observations: jax.Array) -> jax.Array:
        return jnp.stack(distribution(learner.policy, encode(observations)))

    def update(learner: SACState, batch: Batch) -> tuple[SACState, jax.Array]:
        size = len(batch.reward)
        noise, chosen = step_noise(learner.key, learner.steps, (2, size, actions.size), config)
        now, following = encode(batch.observation), encode(batch.next_observation)
        units = actions.units(batch.action)
        alpha = jnp.exp(learner.log_alpha)
        sample = jax.vmap(squashed)

        next_units, next_log_prob = sample(*distribution(learner.policy, following), noise[0])
        q_t = each(learner.targets[chosen], following, next_units)
        target = jax.vmap(soft_target, (0, 0, 1, 0, None))(
            batch.reward, batch.discount, q_t, next_log_prob, alpha
        )

        def critic_loss(params: jax.Array) -> jax.Array:
            errors = each(params, now, units) - target
            return 0.5 * jnp.sum(jnp.mean(jnp.square(errors), axis=1))

        loss, gradient = jax.value_and_grad(critic_loss)(learner.critics)
        critics, of_critics = step(optimizer, learner.critics, learner.optimizers[1], gradient)

        def actor_loss(params: jax.Array) -> tuple[jax.Array, jax.Array]:
            drawn, log_prob = sample(*distribution(params, now), noise[1])
            values = each(critics, now, drawn)
            # REDQ's policy follows the mean of its many critics, SAC's the minimum of its two.
            value = values.min(0) if config.members <= _CHOSEN else values.mean(0)
            return jnp.mean(policy_loss(value, log_prob, alpha)), log_prob

        gradient, log_prob = jax.grad(actor_loss, has_aux=True)(learner.policy)
        params, of_policy = step(optimizer, learner.policy, learner.optimizers[0], gradient)

        log_alpha, of_alpha = learner.log_alpha, learner.optimizers[2]
        if fixed is None:
            gradient = jax.grad(
                lambda value: jnp.mean(temperature_loss(value, log_prob, target_entropy))
            )(log_alpha)
            log_alpha, of_alpha = step(optimizer, log_alpha, of_alpha, gradient)
        targets = learner.targets + config.tau * (critics - learner.targets)
        moments = of_policy, of_critics, of_alpha
        learned = SACState(
            params, critics, targets, log_alpha, moments, learner.key, learner.steps + 1
        )
        return learned, loss

    return Agent(
        jax.jit(init),
        jax.jit(predict),
        jax.jit(update, donate_argnums=0),
        config.members,
        policy=jax.jit(policy),
    )


def step(
    optimizer: optax.GradientTransformation,
    params: jax.Array,
    moments: optax.OptState,
    gradient: jax.Array,
) -> tuple[jax.Array, optax.OptState]:
    """Take one step of an optimiser; return the parameters and its new state."""
    change, moments = optimizer.update(gradient, moments, params)
    return optax.apply_updates(params, change), moments


def step_noise(
    key: jax.Array, steps: jax.Array, shape: tuple[int, ...], config: SAC
) -> tuple[jax.Array, jax.Array | slice]:
    """Return the normal noise of an SGD step, and which critics give its target.

    Both follow from the key and the number of the step alone.
    """
    own = jax.random.fold_in(jax.random.wrap_key_data(key), steps)
    if config.members <= _CHOSEN:
        return jax.random.normal(own, shape), slice(None)
    first, second = jax.random.split(own)
    chosen = jax.random.choice(second, config.members, (_CHOSEN,), replace=False)
    return jax.random.normal(first, shape), chosen


def init_uniform(key: jax.Array, sizes: tuple[int, ...]) -> jax.Array:
    """Draw the parameters of an MLP, [P], uniformly within ± fan-in^(-1/2), biases included."""
    bounds = [np.full((width + 1) * outputs, width**-0.5) for width, outputs in pairwise(sizes)]
    bound = np.concatenate(bounds).astype(np.float32)
    return jax.random.uniform(key, bound.shape, minval=-1, maxval=1) * bound


def encoder(space: gymnasium.Space) -> tuple[Callable[[jax.Array], jax.Array], int]:
    """Return what makes a network's input [B, W] of observations [B, ...], and W."""
    many = spaces.ids(space)
    if many is not None:
        return lambda ids: jax.nn.one_hot(ids, many), many
    if not isinstance(space, gymnasium.spaces.Box):
        raise UsageError(f"no network is known for the observation space {space}")
    if spaces.channel_axis(space) is not None:
        raise UsageError(
            f"sac learns from vectors, and the observations of {space} are images: choose random, "
            "or bring an agent of your own to uflp.LocalAccess"
        )
    # Bytes are codes, which are too large for a network as they are.
    largest = max(int(space.high.max()), 1) if space.dtype == np.uint8 else 1

    def flat(observations: jax.Array) -> jax.Array:
        return observations.reshape(len(observations), -1).astype(jnp.float32) / largest

    return flat, int(np.prod(space.shape))
