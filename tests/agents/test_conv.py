"""The network on images, against JAX's own convolutions and a network as flax users write it."""

from __future__ import annotations

import flax.linen as nn
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from uflp.agents.conv import make_conv
from uflp.agents.ddqn import DDQN, penalty_of
from uflp.agents.networks import make_q_function
from uflp.agents.q_function import Fitting
from uflp.networks.conv import TORSO, convolve, torso
from uflp.spaces import Frames
from uflp.types import Batch, UsageError

SHAPE = (4, 44, 36)
IMAGES = Frames(SHAPE)


@pytest.mark.parametrize(("side", "stride"), [(8, 4), (4, 2), (3, 1)])
@pytest.mark.parametrize("size", [(21, 20), (12, 13)])
def test_a_convolution_is_that_of_jax(side: int, stride: int, size: tuple[int, int]) -> None:
    keys = jax.random.split(jax.random.key(0))
    x = jax.random.normal(keys[0], (2, *size, 3))
    kernel = jax.random.normal(keys[1], (side, side, 3, 5))
    layout = ("NHWC", "HWIO", "NHWC")
    expected = jax.lax.conv_general_dilated(
        x, kernel, (stride, stride), "SAME", dimension_numbers=layout
    )
    np.testing.assert_allclose(convolve(x, kernel, stride), expected, rtol=1e-4, atol=1e-4)


class Reference(nn.Module):
    """Acme's torso, as flax users write it."""

    @nn.compact
    def __call__(self, images):
        x = images.transpose(0, 2, 3, 1).astype(jnp.float32) / 255
        for channels, side, stride in ((32, 8, 4), (64, 4, 2), (64, 3, 1)):
            x = nn.relu(nn.Conv(channels, (side, side), (stride, stride), padding="SAME")(x))
        return x.reshape(len(x), -1)


def test_the_torso_is_that_of_acme() -> None:
    images = np.random.default_rng(0).integers(0, 256, (2, *SHAPE)).astype(np.uint8)
    q = make_conv(Fitting(hidden=(8,)), SHAPE, 3, target_period=None)
    params = q.init(jax.random.key(0)).member.params.torso
    tree = {
        f"Conv_{number}": {"kernel": kernel, "bias": bias + 0.1}
        for number, (kernel, bias) in enumerate(zip(params.kernels, params.biases, strict=True))
    }
    params = params._replace(biases=tuple(bias + 0.1 for bias in params.biases))
    expected = Reference().apply({"params": tree}, images)
    assert expected.shape == (2, 6 * 5 * TORSO[-1].channels)
    scaled = images.transpose(0, 2, 3, 1).astype(np.float32) / 255
    np.testing.assert_allclose(torso(params, scaled), expected, rtol=1e-4, atol=1e-5)


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
