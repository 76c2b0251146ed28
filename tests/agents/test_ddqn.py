"""Double DQN, on problems whose values are known by hand."""

from __future__ import annotations

import gymnasium
import jax
import numpy as np
import pytest

from uflp.agents.ddqn import DDQN
from uflp.types import Batch, UsageError

DISCRETE, BOX = gymnasium.spaces.Discrete(3), gymnasium.spaces.Box(0, 1, (3,))
SMALL = DDQN(hidden=(16, 16), learning_rate=0.01)


def observe(space, states):
    """Returns states 0, 1, 2 as a space shows them."""
    if isinstance(space, gymnasium.spaces.Discrete):
        return np.asarray(states, np.int32)
    return np.eye(3, dtype=np.float32)[states]


def all_transitions(space, rows):
    """Returns the batch of (state, action, reward, discount, next state)."""
    states, actions, rewards, discounts, nexts = zip(*rows, strict=True)
    return Batch(
        observe(space, list(states)),
        np.array(actions, np.int32),
        np.array(rewards, np.float32),
        np.array(discounts, np.float32),
        observe(space, list(nexts)),
    )


def learn(config, space, rows, steps, seed=0):
    """Returns the values [3, 2] after learning from the same transitions over and over."""
    agent = config.make(space, 2)
    learner, batch = agent.init(jax.random.key(seed)), all_transitions(space, rows)
    losses = []
    for _ in range(steps):
        learner, loss = agent.update(learner, batch)
        losses.append(float(loss))
    return np.asarray(agent.predict(learner, observe(space, [0, 1, 2])))[0], losses


@pytest.mark.parametrize("space", [DISCRETE, BOX], ids=str)
def test_a_bandit_is_worth_its_rewards(space):
    rows = [(0, 0, 1.0, 0.0, 2), (0, 1, -1.0, 0.0, 2), (1, 0, 0.5, 0.0, 2), (1, 1, 2.0, 0.0, 2)]
    values, losses = learn(SMALL, space, rows, 400)
    np.testing.assert_allclose(values[:2], [[1, -1], [0.5, 2]], atol=0.02)
    assert losses[-1] < 1e-3 < losses[0]


@pytest.mark.parametrize("space", [DISCRETE, BOX], ids=str)
def test_a_chain_bootstraps_from_its_end(space):
    # 0 → 1 → 2 → end, action 1 goes on and action 0 stays for nothing; the end pays 1.
    discount = 0.5
    rows = [(s, 1, 0.0, discount, s + 1) for s in (0, 1)] + [(2, 1, 1.0, 0.0, 0)]
    rows += [(s, 0, 0.0, discount, s) for s in (0, 1, 2)]
    values, _ = learn(SMALL, space, rows, 1000)
    expected = [[0.125, 0.25], [0.25, 0.5], [0.5, 1]]
    np.testing.assert_allclose(values, expected, atol=0.03)


def test_the_target_decides_what_is_bootstrapped():
    """With a target that never moves, the value beyond stays what it was at the start."""
    config = DDQN(hidden=(16, 16), learning_rate=0.01, target_period=10**6)
    rows = [(0, 0, 0.0, 1.0, 1), (1, 0, 5.0, 0.0, 2), (1, 1, 5.0, 0.0, 2)]
    agent = config.make(DISCRETE, 2)
    beyond = agent.predict(agent.init(jax.random.key(0)), observe(DISCRETE, [1]))[0, 0]
    values, _ = learn(config, DISCRETE, rows, 600)
    np.testing.assert_allclose(values[1], [5, 5], atol=0.05)
    assert min(abs(values[0, 0] - beyond)) < 0.1
    values, _ = learn(SMALL, DISCRETE, rows, 600)
    np.testing.assert_allclose(values[0, 0], 5, atol=0.1)


def test_shapes_and_types():
    agent = SMALL.make(DISCRETE, 2)
    assert (agent.members, agent.target) == (1, "td")
    learner = agent.init(jax.random.key(0))
    values = agent.predict(learner, np.zeros(5, np.int32))
    assert values.shape == (1, 5, 2)
    assert values.dtype == np.float32
    batch = all_transitions(DISCRETE, [(0, 0, 1.0, 0.9, 1), (0, 0, 1.0, 0.9, 1)])
    _, loss = agent.update(learner, batch)
    assert loss.shape == ()
    assert loss.dtype == np.float32


def test_equal_keys_give_equal_learners():
    agent = SMALL.make(DISCRETE, 2)
    first, second, other = (
        np.asarray(agent.predict(agent.init(jax.random.key(seed)), np.arange(3)))
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, second)
    assert np.abs(first - other).min() > 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"hidden": ()},
        {"hidden": (0,)},
        {"learning_rate": 0.0},
        {"learning_rate": float("nan")},
        {"max_gradient_norm": -1.0},
        {"target_period": 0},
    ],
    ids=str,
)
def test_bad_settings_are_refused(wrong):
    with pytest.raises(UsageError, match=next(iter(wrong))):
        DDQN(**wrong)


def test_the_loss_is_the_one_that_was_asked_for():
    """Errors near 100: their square, and with Huber's their size less one half."""
    ids, zeros = np.zeros(8, np.int32), np.zeros(8, np.float32)
    batch = Batch(ids, ids, np.full(8, 100, np.float32), zeros, ids)
    losses = []
    for huber in (None, 1.0):
        agent = DDQN(hidden=(4,), huber=huber).make(gymnasium.spaces.Discrete(4), 2)
        losses.append(float(agent.update(agent.init(jax.random.key(0)), batch)[1]))
    assert losses == pytest.approx([100**2, 99.5], rel=0.1)
