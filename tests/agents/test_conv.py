"""The network on images, against one as flax users write it."""

from __future__ import annotations

from typing import Any

import flax.linen as nn
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from uflp.agents.ddqn import DDQN, penalty_of
from uflp.agents.q_function import Fitting
from uflp.agents.q_networks import make_q_function
from uflp.networks.conv import TORSO, Torso, convolutions_for, init_torso, torso, torso_width
from uflp.spaces import Frames, channel_axis
from uflp.types import Batch, UsageError

SHAPE = (4, 44, 36)
IMAGES = Frames(SHAPE)


class Reference(nn.Module):
    """Acme's torso, as flax users write it."""

    @nn.compact
    def __call__(self, images):
        x = images.transpose(0, 2, 3, 1).astype(jnp.float32) / 255
        for channels, side, stride in ((32, 8, 4), (64, 4, 2), (64, 3, 1)):
            x = nn.relu(nn.Conv(channels, (side, side), (stride, stride), padding="SAME")(x))
        return x.reshape(len(x), -1)


def convolutions(params: Torso) -> dict[str, Any]:
    """Returns the parameters of a torso as flax has them."""
    return {
        f"Conv_{number}": {"kernel": kernel, "bias": bias}
        for number, (kernel, bias) in enumerate(zip(*params, strict=True))
    }


def test_the_torso_is_that_of_acme_and_so_are_its_gradients() -> None:
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (2, *SHAPE)).astype(np.uint8)
    params = init_torso(jax.random.split(jax.random.key(0), 3), SHAPE[0])
    params = params._replace(biases=tuple(bias + 0.1 for bias in params.biases))
    tree = convolutions(params)
    weights = rng.normal(size=(2, torso_width(*SHAPE[1:]))).astype(np.float32)
    assert weights.shape == (2, 6 * 5 * TORSO[-1].channels)

    def own(params: Torso) -> jax.Array:
        return jnp.sum(weights * torso(params, images.astype(np.float32) / 255))

    def reference(tree: dict[str, Any]) -> jax.Array:
        return jnp.sum(weights * Reference().apply({"params": tree}, images))

    (value, gradient), (expected, wanted) = (
        jax.value_and_grad(function)(argument)
        for function, argument in ((own, params), (reference, tree))
    )
    np.testing.assert_allclose(value, expected, rtol=1e-4)
    for number, (kernel, bias) in enumerate(zip(*gradient, strict=True)):
        layer = wanted[f"Conv_{number}"]
        np.testing.assert_allclose(kernel, layer["kernel"], rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(bias, layer["bias"], rtol=1e-3, atol=1e-4)


def test_a_q_function_on_frames_is_the_torso_of_scaled_pixels_and_an_mlp() -> None:
    images = np.random.default_rng(0).integers(0, 256, (2, *SHAPE)).astype(np.uint8)
    q = make_q_function(Fitting(hidden=(8,)), IMAGES, 3, target_period=None)
    state = q.init(jax.random.key(0))
    params = state.member.params
    tree = convolutions(params.torso)
    features = Reference().apply({"params": tree}, images)
    (first, first_bias), (second, second_bias) = params.head
    expected = np.maximum(features @ first.T + first_bias, 0) @ second.T + second_bias
    np.testing.assert_allclose(q.values(state, images), expected, rtol=1e-4, atol=1e-5)


class Small(nn.Module):
    """What a grid of 7 × 9 cells is looked at with, as flax users write it."""

    @nn.compact
    def __call__(self, x):
        for channels, side, stride in ((16, 3, 1), (32, 4, 2)):
            x = nn.relu(nn.Conv(channels, (side, side), (stride, stride), padding="SAME")(x))
        x = nn.relu(nn.Dense(8)(x.reshape(len(x), -1)))
        return nn.Dense(3)(x)


@pytest.mark.parametrize("axis", [0, 2])
def test_small_images_have_a_network_that_looks_at_every_cell(axis: int) -> None:
    rng = np.random.default_rng(0)
    cells = rng.integers(0, 11, (2, 7, 9, 3)).astype(np.uint8)
    seen = np.moveaxis(cells, -1, axis + 1)
    space = gymnasium.spaces.Box(0, 10, seen.shape[1:], np.uint8)
    q = make_q_function(Fitting(hidden=(8,)), space, 3, target_period=None)
    state = q.init(jax.random.key(0))
    params = state.member.params
    tree = convolutions(params.torso)
    for number, (kernel, bias) in enumerate(params.head):
        tree[f"Dense_{number}"] = {"kernel": kernel.T, "bias": bias}
    expected = Small().apply({"params": tree}, cells / np.float32(10))
    np.testing.assert_allclose(q.values(state, seen), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("size", "strides"),
    [((7, 7), 1), ((5, 5), 1), ((10, 10), 1), ((30, 40), 3), ((84, 84), 3), ((210, 160), 3)],
)
def test_convolutions_suit_the_size_of_an_image(size: tuple[int, int], strides: int) -> None:
    layers = convolutions_for(*size)
    if min(size) >= 48:
        assert layers == TORSO
    else:
        assert len(layers) == 1 + strides
        assert max(-(-side // 2**strides) for side in size) <= 8


@pytest.mark.parametrize(
    ("space", "axis"),
    [
        (gymnasium.spaces.Box(0, 255, (7, 7, 3), np.uint8), 2),
        (gymnasium.spaces.Box(0, 255, (4, 84, 84), np.uint8), 0),
        (Frames((4, 3, 3)), 0),
        (gymnasium.spaces.Box(0, 1, (7, 7, 3), np.float32), None),
        (gymnasium.spaces.Box(0, 255, (128,), np.uint8), None),
        (gymnasium.spaces.Discrete(3), None),
    ],
    ids=str,
)
def test_which_spaces_are_images(space: gymnasium.Space, axis: int | None) -> None:
    assert channel_axis(space) == axis


def test_a_step_learns_what_a_batch_says() -> None:
    """With discount 0 the target is the reward, so the values go there."""
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (4, *SHAPE)).astype(np.uint8)
    agent = DDQN(hidden=(16,), learning_rate=3e-3, huber=1.0).make(IMAGES, 3)
    batch = Batch(
        images, np.array([0, 1, 2, 0]), np.array([1.0, -1, 0.5, 0], np.float32), np.zeros(4), images
    )
    learner = agent.init(jax.random.key(0))
    first = None
    for _ in range(12):
        learner, loss = agent.update(learner, batch)
        first = loss if first is None else first
    assert loss < first / 10


def test_hubers_loss_by_hand() -> None:
    errors = jnp.array([0.5, -0.5, 3.0, -3.0])
    np.testing.assert_allclose(penalty_of(1.0)(errors), [0.125, 0.125, 2.5, 2.5])
    np.testing.assert_allclose(penalty_of(None)(errors), [0.25, 0.25, 9, 9])


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(UsageError, match="huber must be positive or none"):
        DDQN(huber=0.0)
    with pytest.raises(UsageError, match="adam_epsilon must be positive"):
        DDQN(adam_epsilon=0.0)
    with pytest.raises(UsageError, match="on numbered observations adam_epsilon is 1e-08"):
        make_q_function(
            Fitting(adam_epsilon=1e-5), gymnasium.spaces.Discrete(3), 2, target_period=1
        )
