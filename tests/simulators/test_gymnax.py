"""Environments of gymnax: what they do is what gymnax does, and they go back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from gymnasium import spaces
from resuming import rows_of, small, stopped_rows

from uflp.experiments.resolve import resolve
from uflp.simulators.contract import check
from uflp.spaces import channel_axis
from uflp.training.run import Run
from uflp.types import UsageError

gymnax = pytest.importorskip("gymnax")

from uflp.simulators.gymnax import Gymnax, GymnaxSimulator, Layout, compiled  # noqa: E402


@pytest.mark.parametrize("name", ["CartPole-v1", "DeepSea-bsuite", "Breakout-MinAtar"])
def test_an_environment_of_gymnax_keeps_every_promise(name: str) -> None:
    assert check(lambda: Gymnax(name).make(0), steps=60) == []


@pytest.mark.parametrize("name", ["CartPole-v1", "Catch-bsuite", "Pendulum-v1"])
def test_it_does_what_gymnax_does(name: str) -> None:
    env, params = gymnax.make(name)
    simulator = Gymnax(name).make(0)
    data = jax.random.wrap_key_data(np.random.SeedSequence(7).generate_state(2, np.uint32))
    seen, state = env.reset_env(jax.random.fold_in(data, 0), params)
    observation, _ = simulator.reset(seed=7)
    np.testing.assert_allclose(observation, seen, rtol=1e-6)
    simulator.action_space.seed(0)
    for count in range(1, 6):
        action = simulator.action_space.sample()
        key = jax.random.fold_in(data, count)
        seen, state, reward, done, _ = env.step_env(key, state, action, params)
        observation, gained, terminated, truncated, _ = simulator.step(action)
        np.testing.assert_allclose(observation, seen, rtol=1e-5)
        assert gained == pytest.approx(float(reward))
        assert bool(done) == (terminated or truncated)


def played(name: str) -> tuple[int, bool, bool]:
    """Returns how long an episode of the first action is, and how it ends."""
    simulator = Gymnax(name).make(0)
    simulator.reset(seed=0)
    steps = 0
    while True:
        steps += 1
        _, _, terminated, truncated, _ = simulator.step(0)
        if terminated or truncated:
            return steps, terminated, truncated


def test_a_limit_of_steps_truncates_unless_it_is_the_task() -> None:
    assert played("MountainCar-v0") == (200, False, True)
    assert played("DiscountingChain-bsuite") == (100, True, False)
    assert played("CartPole-v1")[1:] == (True, False)


def test_functions_are_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    env, params = gymnax.make("CartPole-v1")
    traced = []
    step_env = env.step_env
    env.step_env = lambda *arguments: traced.append(1) or step_env(*arguments)
    monkeypatch.setattr(gymnax, "make", lambda name: (env, params))
    functions = compiled.__wrapped__("CartPole-v1")
    for simulator in [GymnaxSimulator(functions, seed) for seed in (0, 1)]:
        simulator.reset(seed=3)
        simulator.step(np.int64(1))
        simulator.restore(simulator.save())
        simulator.step(1)
    assert traced == [1]
    assert compiled("Catch-bsuite") is compiled("Catch-bsuite")


def test_a_snapshot_is_the_leaves_and_little_more() -> None:
    simulator = Gymnax("CartPole-v1").make(0)
    simulator.reset(seed=0)
    # Four floats and a count of steps; the observation; a key and a count; the checksum.
    assert len(simulator.save().data) == 20 + 16 + 12 + 4


def test_a_pytree_survives_as_bytes() -> None:
    tree = {
        "flag": np.array([True, False]),
        "small": np.int8(-3),
        "places": np.arange(-3, 3, dtype=np.int32).reshape(2, 3),
        "speed": np.float32(0.1),
    }
    layout = Layout(jax.tree.map(jax.numpy.asarray, tree))
    assert layout.width == 2 + 1 + 24 + 4
    again = layout.unpacked(layout.packed(tree))
    jax.tree.map(np.testing.assert_array_equal, again, tree)
    assert jax.tree.map(lambda leaf: leaf.dtype, again) == jax.tree.map(lambda x: x.dtype, tree)
    assert Layout({**tree, "speed": np.int32(1)}).checksum != layout.checksum


def test_images_of_bits_are_stored_as_bytes() -> None:
    space = Gymnax("Breakout-MinAtar").make(0).observation_space
    assert space == spaces.Box(0, 1, (10, 10, 4), np.uint8) and channel_axis(space) == 2


@pytest.mark.parametrize(("agent", "more"), [("random", {}), ("ddqn", {"queries": 120})])
def test_a_run_learns_in_it_and_resumes(tmp_path: Path, agent: str, more: dict[str, Any]) -> None:
    settings = small("gymnax:Catch-bsuite", agent, "counts", **more)
    run = Run(settings)
    rows = rows_of(run)
    assert run.rollout.restarts > 0
    assert stopped_rows(settings, tmp_path, (7, 97)) == rows


def test_what_gymnax_does_not_have_is_refused() -> None:
    with pytest.raises(UsageError, match="did you mean 'CartPole-v1'"):
        resolve("gymnax:CartPole-v2")
    with pytest.raises(UsageError, match=r"gymnax .* cannot make SimpleBandit-bsuite: IndexError"):
        Gymnax("SimpleBandit-bsuite").make(0)
