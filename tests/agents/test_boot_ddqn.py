"""Bootstrapped double DQN: an ensemble of double DQNs that have nothing to do with each other."""

from __future__ import annotations

from functools import partial
from operator import itemgetter

import gymnasium
import jax
import numpy as np
import pytest
from test_q_functions import ACTIONS, STATES, transitions

from uflp.agents.boot_ddqn import BootDDQN
from uflp.agents.ddqn import double_q_step
from uflp.agents.networks import make_q_function
from uflp.agents.q_function import QState
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
