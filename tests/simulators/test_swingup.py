"""Cartpole Swingup agrees with bsuite's own environment, step by step and to the bit."""

from __future__ import annotations

import inspect
import struct
import zlib
from dataclasses import asdict
from typing import Any

import dm_env
import numpy as np
import pytest
from bsuite.environments.cartpole import CartpoleState
from bsuite.experiments.cartpole_swingup.cartpole_swingup import CartpoleSwingup
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from uflp.simulators.swingup import Swingup, SwingupSimulator
from uflp.types import Snapshot, UsageError

HARD = Swingup(height_threshold=0.95, x_reward_threshold=0.05)


def assert_equal(result: tuple[Any, ...], timestep: dm_env.TimeStep) -> None:
    observation, reward, terminated, truncated, _ = result
    assert observation.dtype == np.float32 and observation.shape == (8,)
    assert observation.tobytes() == timestep.observation.tobytes()
    assert type(reward) is float and type(terminated) is bool
    # As bytes: the reward of no push and no success is -0.0.
    assert struct.pack("<d", reward) == struct.pack("<d", timestep.reward)
    assert (terminated, truncated) == (timestep.last(), False)
    assert timestep.discount == (0.0 if terminated else 1.0)


@pytest.mark.parametrize(
    "settings",
    [
        Swingup(),
        HARD,
        Swingup(height_threshold=-1, theta_dot_threshold=9, max_time=0.5, move_cost=0.0),
        Swingup(x_threshold=0.1, timescale=0.05, init_range=0.5),
    ],
)
def test_every_step_equals_bsuite(settings: Swingup) -> None:
    simulator = settings.make(seed=0)
    env = CartpoleSwingup(**asdict(settings))
    env._rng = np.random.RandomState(np.random.PCG64(4))
    rng = np.random.default_rng(0)
    for episode in range(5):
        observation, _ = simulator.reset(seed=4 if episode == 0 else None)
        timestep = env.reset()
        assert observation.tobytes() == timestep.observation.tobytes()
        while not timestep.last():
            action = int(rng.integers(3))
            timestep = env.step(action)
            assert_equal(simulator.step(action), timestep)
            # The observation has 32 bits a number, and the state 64.
            assert struct.pack("<5d", *simulator._state) == struct.pack("<5d", *env._state)


def at(settings: Swingup, *state: float) -> tuple[SwingupSimulator, CartpoleSwingup]:
    """Return a simulator and bsuite's environment, both in one state."""
    simulator = settings.make(seed=0)
    data = struct.pack("<6d46x", *state, 0.0)
    seal = zlib.crc32(data, 1).to_bytes(4, "little")
    observation, _ = simulator.restore(Snapshot(simulator.stamp, data + seal, 0.0))
    env = CartpoleSwingup(**asdict(settings))
    x, x_dot, theta, theta_dot, time = state
    env._state = CartpoleState(x, x_dot, theta, np.float64(theta_dot), time)
    env._reset_next_step = False
    assert observation.tobytes() == env.observation.tobytes()
    return simulator, env


@pytest.mark.parametrize("settings", [Swingup(), HARD], ids=["default", "hard"])
@hypothesis_settings(max_examples=200, deadline=None)
@given(
    x=st.one_of(st.floats(-3, 3), st.floats(-0.1, 0.1)),
    x_dot=st.floats(-5, 5),
    theta=st.one_of(st.floats(0, 6.28), st.floats(0, 0.4), st.floats(5.9, 6.28)),
    theta_dot=st.one_of(st.floats(-12, 12), st.floats(-1.1, 1.1)),
    time=st.one_of(st.floats(0.01, 10), st.floats(9.8, 10)),
    actions=st.lists(st.integers(0, 2), min_size=1, max_size=30),
)
def test_steps_from_anywhere_equal_bsuite(
    settings: Swingup,
    x: float,
    x_dot: float,
    theta: float,
    theta_dot: float,
    time: float,
    actions: list[int],
) -> None:
    simulator, env = at(settings, x, x_dot, theta, theta_dot, time)
    for action in actions:
        timestep = env.step(action)
        assert_equal(simulator.step(action), timestep)
        if timestep.last():
            break


@pytest.mark.parametrize(
    ("settings", "state", "reward", "terminated"),
    [
        (Swingup(), (0.9, 0, 0, 0.5, 1), 1.0, False),
        (Swingup(), (1.1, 0, 0, 0.5, 1), 0.0, False),
        (Swingup(), (0.9, 0, 0, 1.5, 1), 0.0, False),
        (Swingup(), (0.9, 0, 1.0, 0.5, 1), 1.0, False),  # cos 1 = 0.54
        (Swingup(), (0.9, 0, 1.1, 0.5, 1), 0.0, False),  # cos 1.1 = 0.45
        (HARD, (0.04, 0, 0.3, 0.5, 1), 1.0, False),  # cos 0.3 = 0.955
        (HARD, (0.06, 0, 0.3, 0.5, 1), 0.0, False),
        (HARD, (0.04, 0, 0.33, 0.5, 1), 0.0, False),  # cos 0.33 = 0.946
        (Swingup(), (2.99, 2.0, 3.0, 0, 1), 0.0, True),
        (Swingup(), (-2.99, -2.0, 3.0, 0, 1), 0.0, True),
        (Swingup(), (0.9, 0, 0, 0.5, 9.995), 1.0, True),
    ],
)
def test_where_reward_and_ends_are(
    settings: Swingup, state: tuple[float, ...], reward: float, terminated: bool
) -> None:
    simulator, _ = at(settings, *state)
    assert simulator.step(1)[1:4] == (reward, terminated, False)


def test_the_defaults_are_those_of_bsuite() -> None:
    parameters = inspect.signature(CartpoleSwingup).parameters
    assert asdict(Swingup()) == {k: p.default for k, p in parameters.items() if k != "seed"}


def test_a_restore_brings_back_the_kinds_of_numbers() -> None:
    """Python and NumPy may round a square differently, so a number's type is part of the state."""
    simulator = Swingup().make(seed=0)
    simulator.reset(seed=0)
    for _ in range(3):
        saved = simulator._state
        simulator.restore(simulator.save())
        assert simulator._state == saved
        assert type(simulator._state.theta_dot) is type(saved.theta_dot)
        simulator.step(2)


def test_a_snapshot_of_an_earlier_version_is_read() -> None:
    """One that version 0.1.0 wrote when it stepped bsuite 0.3.6 itself, and what it did next."""
    stamp = (
        "swingup/1 height_threshold=0.5 theta_dot_threshold=1.0 x_reward_threshold=1.0 "
        "move_cost=0.1 x_threshold=3.0 timescale=0.01 max_time=10.0 init_range=0.05 bsuite=0.3.6"
    )
    data = bytes.fromhex(
        "5f1a5489f7bea03ff14f72d71c6cc03f465147c454260940e0bfe0ad92aabf3f7b14ae47e17aa43f"
        "343333333333d3bf7a986cca7936c0e295d04903f7d6ea764d23102d7b0b024fa4b46a938c7b6faf"
        "0000000000000000000000000000f72d37bf"
    )
    simulator = Swingup().make(seed=1)
    here, _ = simulator.restore(Snapshot(stamp, data, -0.3), randomness="exact")
    steps = [simulator.step(action) for action in (2, 2, 0)]
    assert [step[1:4] for step in steps] == [(-0.1, False, False)] * 3
    observations = [here, *(step[0] for step in steps), simulator.reset()[0]]
    assert [observation.tobytes().hex() for observation in observations] == [
        "a69f323cde2b2f3dfa2d0bbbdaff7fbf9554fd3d6f12833b0000803f0000803f",
        "67a1393c482d9a3db93e5cbba1ff7fbf73168a3e0ad7a33b0000803f0000803f",
        "f2f6453c0dc3dc3d647fc6bbccfe7fbf14bed43ea69bc43b0000803f0000803f",
        "26a0573c66219a3df95227bc95fc7fbfdc53893e4260e53b0000803f0000803f",
        "029d73bcd9c87ebb96f4153c41fd7fbf5a413abd000000000000803f0000803f",
    ]


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
