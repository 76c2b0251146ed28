"""What is broadcast of a learner is what its action values are read from, and no more."""

import math

import jax
import numpy as np
import pytest

from uflp import spaces
from uflp.distributed.parameters import published, read_by_predict, updated
from uflp.experiments.resolve import resolve


@pytest.mark.parametrize("agent", ["ddqn", "boot-ddqn"])
@pytest.mark.parametrize(("preset", "at_home"), [("swingup", 5), ("deep-sea", 0)])
def test_a_learner_is_known_by_what_was_published(preset, at_home, agent):
    values = {"hidden": (8,)} | ({"members": 3} if agent == "boot-ddqn" else {})
    settings = resolve(preset, agent=agent, overrides=values)
    space = settings.simulator.make(0).observation_space
    made = settings.agent_config.make(space, 2)
    learner, other = made.init(jax.random.key(1)), made.init(jax.random.key(2))
    read = read_by_predict(made, learner, space)
    arrays = published(learner, read)
    # The optimiser's moments and the target network stay at home; a table has them in its rows.
    assert sum(array is None for array in arrays) == at_home
    known = updated(other, arrays)
    shape, dtype = spaces.layout(space)
    states = np.arange(25 * math.prod(shape)).reshape(25, *shape).astype(dtype)
    np.testing.assert_array_equal(made.predict(known, states), made.predict(learner, states))
    assert not np.array_equal(made.predict(other, states), made.predict(learner, states))


def test_a_policy_is_published_beside_its_critics():
    settings = resolve("gym:Pendulum-v1", agent="sac", overrides={"hidden": (8,)})
    simulator = settings.simulator.make(0)
    actions = spaces.actions(simulator.action_space)
    made = settings.agent_config.make(simulator.observation_space, actions)
    learner, other = made.init(jax.random.key(1)), made.init(jax.random.key(2))
    read = read_by_predict(made, learner, simulator.observation_space, actions)
    assert sum(read) == 2, "not the targets, the temperature or the optimisers"
    known = updated(other, published(learner, read))
    states = np.linspace(-1, 1, 15, dtype=np.float32).reshape(5, 3)
    some = np.linspace(-2, 2, 10, dtype=np.float32).reshape(5, 2, 1)
    np.testing.assert_array_equal(made.policy(known, states), made.policy(learner, states))
    np.testing.assert_array_equal(
        made.predict(known, states, some), made.predict(learner, states, some)
    )
    assert not np.array_equal(made.policy(other, states), made.policy(learner, states))
