"""Cartpole Swingup agrees with bsuite's own environment, step by step."""

from __future__ import annotations

import inspect
from dataclasses import asdict

import numpy as np
import pytest
from bsuite.experiments.cartpole_swingup.cartpole_swingup import CartpoleSwingup

from uflp.simulators.bsuite import small_rng
from uflp.simulators.swingup import Swingup
from uflp.types import UsageError


@pytest.mark.parametrize(
    "settings",
    [
        Swingup(),
        Swingup(height_threshold=0.95, x_reward_threshold=0.05),
        Swingup(height_threshold=-1, theta_dot_threshold=9, max_time=0.5, move_cost=0.0),
        Swingup(x_threshold=0.1, timescale=0.05, init_range=0.5),
    ],
)
def test_every_step_equals_bsuite(settings: Swingup) -> None:
    simulator = settings.make(seed=0)
    env = CartpoleSwingup(**asdict(settings))
    env._rng = small_rng(4)
    rng = np.random.default_rng(0)
    for episode in range(2):
        observation, _ = simulator.reset(seed=4 if episode == 0 else None)
        timestep = env.reset()
        assert np.array_equal(observation, timestep.observation[0])
        while not timestep.last():
            action = int(rng.integers(3))
            timestep = env.step(action)
            observation, reward, terminated, truncated, _ = simulator.step(action)
            assert observation.dtype == np.float32
            assert np.array_equal(observation, timestep.observation[0])
            assert (reward, terminated, truncated) == (timestep.reward, timestep.last(), False)
    assert simulator._env.bsuite_info() == env.bsuite_info()


def test_the_defaults_are_those_of_bsuite() -> None:
    parameters = inspect.signature(CartpoleSwingup).parameters
    assert asdict(Swingup()) == {k: p.default for k, p in parameters.items() if k != "seed"}


def test_a_restore_brings_back_the_kinds_of_numbers() -> None:
    """Python and NumPy may round a square differently, so a number's type is part of the state."""
    simulator = Swingup().make(seed=0)
    simulator.reset(seed=0)
    for _ in range(3):
        saved = simulator._env._state
        simulator.restore(simulator.save())
        assert simulator._env._state == saved
        assert type(simulator._env._state.theta_dot) is type(saved.theta_dot)
        simulator.step(2)


def test_the_first_episodes_follow_from_the_seed_of_the_run() -> None:
    first, second, other = (Swingup().make(seed).reset()[0] for seed in (0, 0, 1))
    assert np.array_equal(first, second)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("height_threshold", 1.0),
        ("height_threshold", float("nan")),
        ("theta_dot_threshold", 0.0),
        ("x_reward_threshold", -1.0),
        ("move_cost", -0.1),
        ("x_threshold", 0.0),
        ("timescale", 0.0),
        ("max_time", float("inf")),
        ("init_range", -0.1),
    ],
)
def test_bad_settings_are_refused(name: str, value: float) -> None:
    with pytest.raises(UsageError, match=f"Swingup needs a {name} .*, not {value}"):
        Swingup(**{name: value})
