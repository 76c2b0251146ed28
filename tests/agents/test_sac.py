"""Soft actor-critic against hand-worked values, SciPy, and a second implementation in NumPy."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import gymnasium
import jax
import numpy as np
import pytest
from scipy import stats

from uflp.agents.sac import (
    SAC,
    encoder,
    policy_loss,
    soft_target,
    squashed,
    step_noise,
    temperature_loss,
)
from uflp.spaces import RealActions
from uflp.types import Batch, UsageError

SPACE = gymnasium.spaces.Box(-np.inf, np.inf, (3,), np.float32)
ACTIONS = RealActions((2,), (-2.0, 0.0), (2.0, 1.0))


def test_the_density_of_a_squashed_normal_is_that_of_scipy() -> None:
    rng = np.random.default_rng(0)
    mean, log_std, noise = rng.normal(size=4), rng.normal(size=4), rng.normal(size=4)
    action, log_prob = squashed(*(x.astype(np.float32) for x in (mean, log_std, noise)))
    before = mean + np.exp(log_std) * noise
    assert np.allclose(action, np.tanh(before), atol=1e-6)
    density = stats.norm(mean, np.exp(log_std)).logpdf(before) - np.log1p(-(np.tanh(before) ** 2))
    assert np.allclose(log_prob, density.sum(), rtol=1e-4)


def test_the_density_is_finite_where_tanh_is_one() -> None:
    mean = np.array([30.0, -30.0], np.float32)
    _, log_prob = squashed(mean, np.zeros(2, np.float32), np.zeros(2, np.float32))
    # log(1 − tanh²(30)) = log 4 − 60, and the same at −30.
    assert np.allclose(log_prob, -np.log(2 * np.pi) + 2 * (60 - np.log(4)), rtol=1e-6)


def test_losses_worked_by_hand() -> None:
    f = np.float32
    # 1 + 0.9·(min(3, 2) − 0.5·(−4)) = 4.6
    assert np.isclose(soft_target(f(1), f(0.9), np.array([3, 2], f), f(-4), f(0.5)), 4.6)
    assert np.isclose(soft_target(f(1), f(0), np.array([3, 2], f), f(-4), f(0.5)), 1)
    assert np.isclose(policy_loss(f(3), f(-2), f(0.5)), -4)
    # −log α·(log π + H̄) = −0.5·(−1 − 2) = 1.5; its slope 3 says: less temperature.
    assert np.isclose(temperature_loss(f(0.5), f(-1), -2), 1.5)


def forward(params: np.ndarray, sizes: list[int], x: np.ndarray) -> tuple[np.ndarray, list[Any]]:
    """Returns the outputs of an MLP in float64, and what its backward pass needs."""
    kept, start = [], 0
    for number, (width, out) in enumerate(pairwise(sizes)):
        kernel = params[start : start + width * out].reshape(out, width)
        bias = params[start + width * out : start + (width + 1) * out]
        start += (width + 1) * out
        kept.append((x, kernel))
        x = x @ kernel.T + bias
        if number < len(sizes) - 2:
            x = np.maximum(x, 0)
    return x, kept


def backward(kept: list[Any], slope: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the slopes of parameters and inputs."""
    parts: list[np.ndarray] = []
    for number in reversed(range(len(kept))):
        x, kernel = kept[number]
        parts = [(slope.T @ x).ravel(), slope.sum(0), *parts]
        slope = slope @ kernel
        if number:
            slope = slope * (x > 0)
    return np.concatenate(parts), slope


def adam_first(params: np.ndarray, slope: np.ndarray, rate: float) -> np.ndarray:
    """Returns parameters after the first step of Adam, whose moments are unbiased."""
    return params - rate * slope / (np.abs(slope) + 1e-8)


def log_density(mean: Any, log_std: Any, noise: Any) -> tuple[Any, Any]:
    before = mean + np.exp(log_std) * noise
    action = np.tanh(before)
    each = stats.norm.logpdf(noise) - log_std - np.log1p(-(action**2))
    return action, each.sum(-1)


@pytest.mark.parametrize(("temperature", "members"), [(None, 2), (0.3, 2), (None, 4)])
def test_an_update_equals_one_in_numpy(temperature: float | None, members: int) -> None:
    config = SAC(
        hidden=(5,), learning_rate=0.01, members=members, tau=0.25, temperature=temperature
    )
    agent = config.make(SPACE, ACTIONS)
    learner = agent.init(jax.random.key(3))
    rng = np.random.default_rng(1)
    size = 6
    units = rng.uniform(-1, 1, (size, 2))
    raw = (
        rng.normal(size=(size, 3)),
        ACTIONS.scaled(units),
        rng.normal(size=size),
        np.array([0.9, 0, 0.9, 0.9, 0, 0.9]),
        rng.normal(size=(size, 3)),
    )
    batch = Batch(*(np.asarray(column, np.float32) for column in raw))
    drawn, two = step_noise(learner.key, learner.steps, (2, size, 2), config)
    noise = np.asarray(drawn, np.float64)
    before = jax.tree.map(lambda leaf: np.asarray(leaf, np.float64), learner)
    learned, loss = agent.update(learner, batch)

    alpha = np.exp(before.log_alpha)
    policy_sizes, critic_sizes = [3, 5, 4], [5, 5, 1]
    seen, _, reward, discount, following = (np.asarray(column, np.float64) for column in raw)

    def both(params: Any, states: Any, acts: Any) -> list[Any]:
        pairs = np.concatenate([states, acts], 1)
        return [forward(own, critic_sizes, pairs) for own in params]

    out, _ = forward(before.policy, policy_sizes, following)
    next_action, next_log_prob = log_density(out[:, :2], out[:, 2:], noise[0])
    asked = both(before.targets[two], following, next_action)
    assert len(asked) == 2
    q_t = np.min([q[:, 0] for q, _ in asked], axis=0)
    target = reward + discount * (q_t - alpha * next_log_prob)
    errors = [(q[:, 0] - target, kept) for q, kept in both(before.critics, seen, units)]
    assert np.isclose(loss, sum(0.5 * np.mean(error**2) for error, _ in errors), rtol=1e-4)
    critics = np.stack(
        [
            adam_first(own, backward(kept, error[:, None] / size)[0], 0.01)
            for own, (error, kept) in zip(before.critics, errors, strict=True)
        ]
    )
    assert np.allclose(learned.critics, critics, atol=2e-4)
    assert np.allclose(learned.targets, 0.75 * before.targets + 0.25 * critics, atol=1e-4)

    out, kept_policy = forward(before.policy, policy_sizes, seen)
    mean, log_std = out[:, :2], out[:, 2:]
    action, log_prob = log_density(mean, log_std, noise[1])
    values = both(np.asarray(learned.critics, np.float64), seen, action)
    lower = np.argmin([q[:, 0] for q, _ in values], axis=0)
    slope_action = np.zeros_like(action)
    for number, (_, kept) in enumerate(values):
        # Of two critics the policy follows the lower, of more their mean.
        share = (lower == number) if members == 2 else np.full(size, 1 / members)
        chosen = share[:, None] / size
        slope_action -= backward(kept, chosen)[1][:, 3:]
    # d log π / d u = 2·tanh(u), and −1 for the log deviation itself.
    slope_u = slope_action * (1 - action**2) + alpha * 2 * action / size
    slope_out = np.concatenate([slope_u, slope_u * np.exp(log_std) * noise[1] - alpha / size], 1)
    policy = adam_first(before.policy, backward(kept_policy, slope_out)[0], 0.01)
    assert np.allclose(learned.policy, policy, atol=2e-4)
    change = 0.0 if temperature else 0.01 * np.sign(np.mean(log_prob) - 2)
    assert np.isclose(learned.log_alpha, before.log_alpha + change, atol=1e-5)


def test_the_noise_of_a_step_follows_from_its_number_alone() -> None:
    config = SAC(members=5)
    learner = SAC(hidden=(4,), members=5).make(SPACE, ACTIONS).init(jax.random.key(0))
    first, chosen = step_noise(learner.key, np.int32(7), (2, 3), config)
    again, same = step_noise(learner.key, np.int32(7), (2, 3), config)
    other, _ = step_noise(learner.key, np.int32(8), (2, 3), config)
    assert np.array_equal(first, again) and np.array_equal(chosen, same)
    assert not np.array_equal(first, other)
    assert len(set(np.asarray(chosen).tolist())) == 2


def test_an_ensemble_has_a_value_of_each_member_for_each_action() -> None:
    agent = SAC(hidden=(4,), members=4).make(SPACE, ACTIONS)
    learner = agent.init(jax.random.key(0))
    states = np.ones((2, 3), np.float32)
    actions = ACTIONS.draw(np.random.default_rng(0), 2, 3)
    values = np.asarray(agent.predict(learner, states, actions))
    assert values.shape == (4, 2, 3)
    one = np.asarray(agent.predict(learner, states[1:], actions[1:, 2:]))
    assert np.allclose(values[:, 1, 2], one[:, 0, 0], atol=1e-6)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"tau": 0.0}, "tau must lie in"),
        ({"members": 0}, "members must be at least 1"),
        ({"temperature": -1.0}, "temperature must be positive or none"),
        ({"temperature": 1.0, "target_entropy": -1.0}, "leave out temperature or target_entropy"),
    ],
)
def test_settings_that_cannot_be(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        SAC(**settings)


def test_images_are_refused() -> None:
    images = gymnasium.spaces.Box(0, 255, (3, 64, 64), np.uint8)
    with pytest.raises(UsageError, match="sac learns from vectors"):
        SAC().make(images, ACTIONS)


def test_the_input_of_a_network_by_hand() -> None:
    encode, width = encoder(gymnasium.spaces.Discrete(3))
    assert width == 3
    assert encode(np.array([2, 0])).tolist() == [[0, 0, 1], [1, 0, 0]]
    encode, width = encoder(gymnasium.spaces.Box(0, 8, (2, 2), np.uint8))
    assert width == 4
    assert encode(np.array([[[0, 2], [4, 8]]], np.uint8)).tolist() == [[0, 0.25, 0.5, 1]]
    encode, _ = encoder(gymnasium.spaces.Box(0, 1, (2,), np.uint8))
    assert encode(np.array([[0, 1]], np.uint8)).tolist() == [[0, 1]]
    encode, _ = encoder(gymnasium.spaces.Box(0, 0, (2,), np.uint8))
    assert encode(np.array([[0, 0]], np.uint8)).tolist() == [[0, 0]]
    encode, _ = encoder(gymnasium.spaces.Box(-8, 8, (2,), np.float32))
    assert encode(np.array([[3, -2]], np.float32)).tolist() == [[3, -2]]


def test_defaults_are_those_of_stable_baselines3() -> None:
    stated = {"hidden": (256, 256), "learning_rate": 3e-4, "adam_epsilon": 1e-8, "tau": 0.005}
    assert SAC() == SAC(**stated, members=2, temperature=None, target_entropy=None)
