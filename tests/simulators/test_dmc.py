"""Tasks of the dm_control suite go back, and are dm_control's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import uflp
from uflp.report.video import Recorder
from uflp.simulators.lookup import named
from uflp.types import UsageError

suite = pytest.importorskip("dm_control.suite")


@pytest.mark.parametrize(
    "name",
    [
        "cartpole-swingup_sparse",
        "lqr-lqr_2_1",
        "ball_in_cup-catch",
        "finger-spin",
        "finger-turn_easy",
    ],
)
def test_tasks_keep_every_promise(name: str) -> None:
    """Of two tasks of one domain, one may edit the model and the other not."""
    verdict = uflp.assert_faithful(f"dmc:{name}", steps=8, tolerance=0)
    assert verdict.grade == "bit" and verdict.nbytes < 1000


def test_an_episode_is_that_of_dm_control() -> None:
    """The same random numbers give the same observations, rewards and end."""
    simulator = named("dmc:cartpole-swingup_sparse").make(0)
    observation, _ = simulator.reset(seed=5)
    random = np.random.RandomState(np.random.PCG64(5))
    env = suite.load("cartpole", "swingup_sparse", task_kwargs={"random": random})
    expected: Any = env.reset()
    steps = 0
    while True:
        parts = [np.ravel(part) for part in expected.observation.values()]
        assert np.array_equal(observation, np.concatenate(parts))
        action = np.array([np.sin(steps)])
        observation, reward, terminated, truncated, _ = simulator.step(action)
        expected = env.step(action)
        steps += 1
        assert reward == expected.reward
        assert (terminated or truncated) == expected.last()
        if expected.last():
            break
    assert steps == 1000 and truncated and not terminated


def test_the_time_limit_starts_anew_at_a_restart() -> None:
    simulator = named("dmc:cartpole-balance").make(0)
    action = np.zeros(1)
    simulator.reset(seed=0)
    while not simulator.step(action)[3]:
        pass
    simulator.reset(seed=0)
    for _ in range(5):
        simulator.step(action)
    simulator.restore(simulator.save())
    assert simulator.unwrapped._env._step_count == 0


def test_unknown_tasks_are_refused() -> None:
    with pytest.raises(UsageError, match="did you mean 'cartpole-swingup'"):
        named("dmc:cartpole-swing_up")


def test_a_film_has_its_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing itself takes OpenGL, which is not everywhere."""

    def render(self: Any, height: int, width: int, camera_id: int) -> np.ndarray:
        return np.full((height, width, 3), camera_id, np.uint8)[::-1]

    monkeypatch.setattr("dm_control.mujoco.engine.Physics.render", render)
    settings = named("dmc:cartpole-swingup_sparse")
    drawing, plain = settings.make_drawing(0), settings.make(0)
    assert np.array_equal(drawing.reset(seed=3)[0], plain.reset(seed=3)[0])
    recorder = Recorder()
    recorder(drawing)
    assert recorder.frames[0].shape == (240, 320, 3)
    assert plain.render() is None
