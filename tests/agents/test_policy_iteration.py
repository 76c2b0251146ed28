"""Policy iteration: least squares on returns."""

from __future__ import annotations

import gymnasium
import jax
import numpy as np
import pytest

from uflp.agents.policy_iteration import PolicyIteration
from uflp.types import Batch, UsageError

SPACES = [gymnasium.spaces.Discrete(3), gymnasium.spaces.Box(0, 1, (3,))]


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_values_become_the_mean_return(space):
    agent = PolicyIteration(hidden=(16, 16), learning_rate=0.01).make(space, 2)
    assert (agent.members, agent.target) == (1, "return")
    states = np.array([0, 0, 0, 1, 1, 2, 2], np.int32)
    actions = np.array([0, 0, 1, 0, 1, 0, 1], np.int32)
    returns = np.array([1, 3, 4, -1, 0, 2, 5], np.float32)
    shown = states if space is SPACES[0] else np.eye(3, dtype=np.float32)[states]
    # What follows must not matter: returns are complete.
    batch = Batch(shown, actions, returns, np.full(7, 0.99, np.float32), shown)
    learner = agent.init(jax.random.key(0))
    for _ in range(600):
        learner, loss = agent.update(learner, batch)
    values = agent.predict(learner, np.arange(3) if space is SPACES[0] else np.eye(3))
    np.testing.assert_allclose(values, [[[2, 4], [-1, 0], [2, 5]]], atol=0.05)
    np.testing.assert_allclose(loss, 2 / 7, atol=0.01)  # the two returns of (0, 0) differ


def test_bad_settings_are_refused():
    with pytest.raises(UsageError, match="learning_rate"):
        PolicyIteration(learning_rate=-1.0)
