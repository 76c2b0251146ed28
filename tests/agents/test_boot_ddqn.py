"""Bootstrapped double DQN: an ensemble of double DQNs that have nothing to do with each other."""

from __future__ import annotations

from functools import partial
from operator import itemgetter

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from test_q_functions import ACTIONS, STATES, transitions

from uflp.agents.boot_ddqn import BootDDQN, BootLearner
from uflp.agents.ddqn import double_q_step
from uflp.agents.q_function import QState
from uflp.agents.q_networks import make_q_function
from uflp.types import Batch, UsageError

CONFIG = BootDDQN(hidden=(8, 8), members=3, prior_scale=2.0, max_gradient_norm=0.5)
FEATURES = np.random.default_rng(1).normal(size=(STATES, 4)).astype(np.float32)
IMAGES = np.random.default_rng(2).integers(0, 256, (STATES, 5, 5, 1)).astype(np.uint8)
SPACES = [
    gymnasium.spaces.Discrete(STATES),
    gymnasium.spaces.Box(-9, 9, (4,)),
    gymnasium.spaces.Box(0, 255, IMAGES.shape[1:], np.uint8),
]


def unstacked(tree):
    """Returns the trees of the members."""
    return [jax.tree.map(itemgetter(m), tree) for m in range(CONFIG.members)]


def observe(space):
    """Returns what is seen of states by their numbers."""
    return (np.arange(STATES, dtype=np.int32), FEATURES, IMAGES)[SPACES.index(space)].__getitem__


# Two members, two states s and s', two actions, γ = 1/2: all numbers are chosen by hand. Each table
# has the members' values of both actions, first in s and then in s'.
HAND = BootDDQN(
    hidden=(2,),
    members=2,
    prior_scale=3.0,
    learning_rate=0.1,
    adam_epsilon=1.0,
    max_gradient_norm=1e6,
    target_period=100,
)
TRAINABLE = [[[0.25, 0], [1, 0]], [[1.5, 0], [0, 1]]]
TARGET = [[[9, 9], [5, 2]], [[9, 9], [-1, 4]]]
PRIOR = [[[0.25, 0], [0, 0.5]], [[-0.25, 0], [0.5, -0.5]]]
S, NEXT = np.eye(2, dtype=np.float32)


def hand_made():
    """Returns the agent and the learner with these tables.

    States are unit vectors, which the hidden layer passes on, so that the columns of the last
    kernel are the values of the states. This function alone knows where a learner keeps what.
    """

    def weights(tables):
        identity, kernels = np.eye(2).ravel(), [np.transpose(table).ravel() for table in tables]
        return jnp.asarray([[*identity, 0, 0, *kernel, 0, 0] for kernel in kernels], jnp.float32)

    agent = HAND.make(gymnasium.spaces.Box(-9, 9, (2,)), 2)
    q, _ = agent.init(jax.random.key(0))
    member = q.member._replace(params=weights(TRAINABLE), target=weights(TARGET))
    return agent, BootLearner(q._replace(member=member), weights(PRIOR))


def test_the_scale_multiplies_the_prior_alone():
    """The first member's value of action 0 in s is 0.25 + 3 · 0.25 = 1, and so on."""
    agent, learner = hand_made()
    expected = [[[1, 0], [1, 1.5]], [[0.75, 0], [1.5, -0.5]]]
    np.testing.assert_allclose(agent.predict(learner, np.eye(2, dtype=np.float32)), expected)


def test_the_prior_is_in_the_choice_of_the_next_action_and_in_its_value():
    """Eq. 6 for action 0 in s, with reward 1, worked by hand.

    With its prior the first member has (1, 1.5) in s' and chooses action 1, without it action 0.
    Action 1 is worth 2 + 3 · 0.5 = 3.5 by its target network, so the target is 1 + 3.5 / 2 = 2.75,
    and the error is 2.75 - 1 = 1.75.
    The second has (1.5, -0.5) and chooses action 0, without its prior action 1. Action 0 is worth
    -1 + 3 · 0.5 = 0.5, so the target is 1 + 0.5 / 2 = 1.25, and the error is 1.25 - 0.75 = 0.5.
    """
    agent, learner = hand_made()
    one = np.ones(1, np.float32)
    batch = Batch(S[None], np.zeros(1, np.int32), one, one / 2, NEXT[None])
    learner, loss = agent.update(learner, batch)
    assert loss == pytest.approx((1.75**2 + 0.5**2) / 2)
    # The first step of Adam with rate 0.1 and ε = 1 changes a weight by 0.1 g / (|g| + 1). The
    # gradient has size 2 · error for the weight and the bias behind the hidden unit of s, and that
    # times the trainable value for those before it. Values: (w + x) (1 + 2 y) + x + prior.
    #   2 · 1.75 = 3.5, x = 0.35 / 4.5; 3.5 · 0.25 = 0.875, y = 0.0875 / 1.875; prior 3 · 0.25.
    #   2 · 0.5 = 1,    x = 0.1 / 2;    1 · 1.5 = 1.5,      y = 0.15 / 2.5;     prior -3 · 0.25.
    after = agent.predict(learner, S[None])[:, 0, 0]
    np.testing.assert_allclose(after, [1.186148, 1.036], rtol=1e-5)


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_the_loss_is_that_of_equation_6(space):
    """In NumPy, from the predictions of now and of when the target was copied."""
    config = BootDDQN(
        hidden=(8, 8), members=3, prior_scale=2.0, learning_rate=0.03, target_period=1000
    )
    agent = config.make(space, ACTIONS)
    rng, show = np.random.default_rng(0), observe(space)
    everywhere = show(np.arange(STATES, dtype=np.int32))
    learner = agent.init(jax.random.key(0))
    target = np.array(agent.predict(learner, everywhere))
    for _ in range(40):
        learner, _ = agent.update(learner, transitions(rng, show))
    online = np.array(agent.predict(learner, everywhere))
    batch = transitions(rng, lambda states: states)
    best = online[:, batch.next_observation].argmax(axis=-1)
    assert (best != target[:, batch.next_observation].argmax(axis=-1)).any()
    beyond = target[np.arange(3)[:, None], batch.next_observation, best]
    errors = online[:, batch.observation, batch.action] - batch.reward - batch.discount * beyond
    seen = batch._replace(
        observation=show(batch.observation), next_observation=show(batch.next_observation)
    )
    _, loss = agent.update(learner, seen)
    assert loss == pytest.approx(np.mean(errors**2), rel=1e-4)


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_each_member_learns_as_if_it_were_alone(space):
    """Which also says that each has its own target, prior and gradient clipping."""
    agent = CONFIG.make(space, ACTIONS)
    q = make_q_function(CONFIG, space, ACTIONS, target_period=CONFIG.target_period)
    learner = agent.init(jax.random.key(0))
    # Copies, since `update` uses up the memory of the learner it is given.
    members, clock, priors = jax.tree.map(
        np.array, (learner.q.member, learner.q.clock, learner.prior)
    )
    alone = [QState(each, clock) for each in unstacked(members)]
    priors = unstacked(priors)

    def prior_values(prior, observations):
        return CONFIG.prior_scale * q.prior_values(prior, observations)

    @jax.jit
    def step(state, prior, batch):
        return double_q_step(q, state, batch, partial(prior_values, prior))

    @jax.jit
    def values(state, prior, observations):
        return q.values(state, observations) + prior_values(prior, observations)

    rng, show = np.random.default_rng(0), observe(space)
    for _ in range(50):
        batch = transitions(rng, show)
        learner, loss = agent.update(learner, batch)
        results = [step(state, prior, batch) for state, prior in zip(alone, priors, strict=True)]
        alone = [state for state, _ in results]
        np.testing.assert_allclose(loss, np.mean([loss for _, loss in results]), rtol=1e-4)
    everywhere = show(np.arange(STATES, dtype=np.int32))
    expected = [values(*each, everywhere) for each in zip(alone, priors, strict=True)]
    np.testing.assert_allclose(agent.predict(learner, everywhere), expected, atol=1e-4)


def test_members_and_their_priors_differ():
    agent = CONFIG.make(SPACES[0], ACTIONS)
    learner = agent.init(jax.random.key(0))
    values = np.asarray(agent.predict(learner, np.arange(STATES)))
    assert values.shape == (3, STATES, ACTIONS)
    assert agent.members == 3
    for x in (values, np.asarray(learner.prior), np.asarray(learner.q.member.table)):
        assert all(np.abs(x[a] - x[b]).max() > 1e-3 for a, b in [(0, 1), (0, 2), (1, 2)])


def test_priors_are_part_of_the_values_and_never_learn():
    space = SPACES[0]
    with_prior = CONFIG.make(space, ACTIONS)
    without = BootDDQN(hidden=(8, 8), members=3, prior_scale=0.0).make(space, ACTIONS)
    learner = with_prior.init(jax.random.key(0))
    everywhere = np.arange(STATES)
    difference = with_prior.predict(learner, everywhere) - without.predict(learner, everywhere)
    np.testing.assert_allclose(difference, 2.0 * learner.prior, atol=1e-6)
    prior = np.array(learner.prior)
    rng = np.random.default_rng(0)
    for _ in range(5):
        learner, _ = with_prior.update(learner, transitions(rng, observe(space)))
    np.testing.assert_array_equal(learner.prior, prior)


def test_members_agree_where_there_is_data_and_differ_where_there_is_none():
    config = BootDDQN(hidden=(16, 16), members=4, prior_scale=10.0, learning_rate=0.01)
    agent = config.make(gymnasium.spaces.Discrete(4), 2)
    learner = agent.init(jax.random.key(0))
    states, actions = np.divmod(np.arange(4, dtype=np.int32), 2)  # states 0 and 1 only
    rewards = np.array([1, -1, 0, 2], np.float32)
    batch = Batch(states, actions, rewards, np.zeros(4, np.float32), states)
    for _ in range(600):
        learner, _ = agent.update(learner, batch)
    values = np.asarray(agent.predict(learner, np.arange(4)))
    np.testing.assert_allclose(values[:, :2].mean(0), [[1, -1], [0, 2]], atol=0.03)
    spread = values.std(axis=0).max(axis=1)
    assert spread[:2].max() < 0.03 < 0.3 < spread[2:].min()


@pytest.mark.parametrize("wrong", [{"members": 0}, {"prior_scale": -1.0}, {"hidden": ()}], ids=str)
def test_bad_settings_are_refused(wrong):
    with pytest.raises(UsageError, match=next(iter(wrong))):
        BootDDQN(**wrong)


def test_hubers_loss_holds_for_every_member():
    space = gymnasium.spaces.Discrete(4)
    ids, zeros = np.zeros(8, np.int32), np.zeros(8, np.float32)
    batch = Batch(ids, ids, np.full(8, 100, np.float32), zeros, ids)
    losses = []
    for huber in (None, 1.0):
        agent = BootDDQN(hidden=(4,), members=2, prior_scale=0.0, huber=huber).make(space, 2)
        losses.append(float(agent.update(agent.init(jax.random.key(0)), batch)[1]))
    # Errors near 100: their square, and their size less one half.
    assert losses[0] == pytest.approx(100**2, rel=0.1)
    assert losses[1] == pytest.approx(99.5, rel=0.05)


def test_defaults_are_those_of_the_paper():
    assert BootDDQN() == BootDDQN(members=20, prior_scale=40.0)
