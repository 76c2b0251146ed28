"""Names, ends and spaces of bsuite's environments."""

from __future__ import annotations

import dm_env
import numpy as np
import pytest
from dm_env import specs
from gymnasium import spaces

from uflp.simulators.bsuite import Bsuite, outcome, space
from uflp.types import UsageError


def test_an_unknown_experiment_is_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="'cach/0': did you mean 'catch/0'"):
        Bsuite("cach/0")


def test_an_unknown_number_is_refused_with_those_of_the_experiment() -> None:
    with pytest.raises(UsageError, match=r"choose from catch/0, .*catch/19$"):
        Bsuite("catch/99")


def test_experiments_that_need_a_download_are_refused() -> None:
    with pytest.raises(UsageError, match="mnist_noise/3 needs MNIST"):
        Bsuite("mnist_noise/3")


def test_the_last_step_terminates_without_discount_and_truncates_with_one() -> None:
    assert outcome(dm_env.transition(1.0, "there")) == ("there", 1.0, False, False, {})
    assert outcome(dm_env.termination(1.0, "there")) == ("there", 1.0, True, False, {})
    assert outcome(dm_env.truncation(1.0, "there")) == ("there", 1.0, False, True, {})


def test_specs_become_spaces() -> None:
    assert space(specs.DiscreteArray(3)) == spaces.Discrete(3)
    bounded = specs.BoundedArray((2,), np.float32, 0, [1, 2])
    assert space(bounded) == spaces.Box(np.zeros(2, "f4"), np.array([1, 2], "f4"))
    unbounded = space(specs.Array((1, 3), np.float32))
    assert unbounded == spaces.Box(-np.inf, np.inf, (1, 3), np.float32)
