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
