"""Runs with real-valued actions: they learn, go on as they were, and say what they cannot do."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from PIL import Image
from resuming import rows_of, small, stopped_rows

import uflp
from uflp import cli
from uflp.experiments.resolve import resolve
from uflp.spaces import RealActions, actions
from uflp.training.run import Run
from uflp.types import UsageError
from uflp.uncertainty.counts import Counts
from uflp.uncertainty.covariance import Covariance

PENDULUM = "gym:Pendulum-v1"
STOPS = (7, 97, 97, 240)


class Target(gymnasium.Env[Any, Any]):
    """Four steps an episode, each paid −(a − x)² for the x in [-1, 1] that is seen; the best is 0.

    A random action pays −2/3 on average, and the constant 0 pays −1/3.
    """

    observation_space: Any = gymnasium.spaces.Box(-1, 1, (1,), np.float32)
    action_space: Any = gymnasium.spaces.Box(-2, 2, (1,), np.float32)

    def _seen(self) -> Any:
        return np.array([self.x], np.float32)

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.steps, self.x = 0, self.np_random.uniform(-1, 1)
        return self._seen(), {}

    def step(self, action: Any) -> Any:
        reward = -float((action[0] - self.x) ** 2)
        self.steps, self.x = self.steps + 1, self.np_random.uniform(-1, 1)
        return self._seen(), reward, self.steps == 4, False, {}


class Unbounded(Target):
    action_space: Any = gymnasium.spaces.Box(-np.inf, np.inf, (1,), np.float32)


@pytest.mark.parametrize("access", ["online", "local"])
def test_sac_learns_to_answer_what_it_sees(access: str) -> None:
    result = uflp.train(
        f"{__name__}:Target",
        access=access,
        queries=1500,
        eval_period=1500,
        eval_episodes=20,
        hidden=(32, 32),
        learning_rate=3e-3,
        learning_batch=64,
        min_replay=100,
    )
    assert result.summary["agent"] == "sac"
    # Over four steps chance has −8/3 at best, and one who does not look −4/3.
    assert result.summary["final_return"] > -0.2


@pytest.mark.parametrize(
    ("agent", "uncertainty", "more"),
    [
        ("sac", "counts", {"cells": (0, 1), "cell_size": 0.3}),
        ("sac", "covariance", {"n_step": 3, "repeat_probability": 0.5, "epsilon": 0.5}),
        ("sac", "ensemble-std", {"members": 4}),
        ("sac", "rnd", {"restart": "state"}),
        ("sac-bonus", "covariance", {}),
        ("sac-intrinsic", "counts", {"temperature": 0.1}),
        ("random", "counts", {"restart": "state"}),
    ],
)
def test_a_stopped_run_goes_on_with_the_same_numbers(
    tmp_path: Path, agent: str, uncertainty: str, more: dict[str, Any]
) -> None:
    settings = small(PENDULUM, agent, uncertainty, **more)
    assert stopped_rows(settings, tmp_path, STOPS) == rows_of(Run(settings))


def test_an_agent_is_kept_loaded_and_exported(tmp_path: Path) -> None:
    run = tmp_path / "run"
    result = uflp.train(
        PENDULUM, queries=120, eval_period=60, eval_episodes=1, hidden=(8,), min_replay=50,
        learning_batch=16, out=run,
    )  # fmt: skip
    seen = np.array([1.0, 0.0, 0.5], np.float32)
    action = uflp.load(run).act(seen)
    assert action.dtype == np.float32 and action.shape == (1,) and abs(action[0]) <= 2
    assert np.array_equal(action, result.policy.act(seen))
    assert not np.array_equal(action, uflp.load(run).act(-seen))
    with pytest.raises(UsageError, match="no table of values"):
        uflp.load(run).values(seen)


class Reach(gymnasium.Env[Any, Any]):
    """Goal-conditioned: a point and its goal are parts of what is seen, a switch is another."""

    observation_space: Any = gymnasium.spaces.Dict(
        {
            "observation": gymnasium.spaces.Box(-9, 9, (2,), np.float64),
            "desired_goal": gymnasium.spaces.Box(-1, 1, (1,), np.float64),
            "switch": gymnasium.spaces.Discrete(2),
        }
    )
    action_space: Any = gymnasium.spaces.Box(-1, 1, (1,), np.float32)

    def _seen(self) -> Any:
        return {"observation": self.x.copy(), "desired_goal": self.goal.copy(), "switch": 1}

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.x, self.goal, self.steps = np.zeros(2), self.np_random.uniform(-1, 1, 1), 0
        return self._seen(), {}

    def step(self, action: Any) -> Any:
        self.x[0] += 0.3 * action[0]
        self.steps += 1
        near = bool(abs(self.x[0] - self.goal[0]) < 0.1)
        return self._seen(), float(near), near, self.steps == 12, {}


def test_an_agent_acts_on_observations_with_parts_as_the_environment_gives_them() -> None:
    result = uflp.train(
        f"{__name__}:Reach", queries=120, eval_period=60, eval_episodes=1, hidden=(8,),
        min_replay=50, learning_batch=16, cells=(0, 1), cell_size=0.2,
    )  # fmt: skip
    seen, _ = Reach().reset(seed=3)
    # By name: the goal, the point, and one number for each value of the switch.
    flat = np.concatenate([seen["desired_goal"], seen["observation"], [0, 1]])
    assert np.array_equal(result.policy.act(seen), result.policy.act(flat))
    assert not np.array_equal(result.policy.act(seen), result.policy.act({**seen, "switch": 0}))
    del seen["desired_goal"]
    with pytest.raises(UsageError, match="observation, switch here, and desired_goal is"):
        result.policy.act(seen)
    with pytest.raises(UsageError, match="an observation is of Dict"):
        result.policy.act((1, 2, 3))


def test_an_episode_of_a_gymnasium_environment_is_filmed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pygame")
    run, film = tmp_path / "run", tmp_path / "film.gif"
    uflp.train(
        PENDULUM, queries=60, eval_period=60, eval_episodes=1, hidden=(8,), min_replay=50,
        learning_batch=16, eval_limit=5, out=run,
    )  # fmt: skip
    words = ["uflp", "evaluate", str(run), "--episodes", "1", "--video", str(film)]
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert not stop.value.code
    assert Image.open(film).n_frames == 6, "the start, and five steps"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((PENDULUM, "--agent", "ddqn"), "ddqn is not for real-valued actions.*random, sac"),
        (("gym:CartPole-v1", "--agent", "sac"), "sac is not for numbered actions.*ddqn"),
        ((f"{__name__}:Unbounded",), "no finite bounds"),
        ((PENDULUM, "restart=pair"), "use restart=state, or covariance or ensemble-std"),
        ((PENDULUM, "--agent", "sac-bonus", "--uncertainty", "counts"), "the same bonus"),
        ((PENDULUM, "cells=7"), "places 0 to 2"),
        ((PENDULUM, "sampled_actions=0"), "sampled_actions must be at least 1"),
        ((PENDULUM, "--uncertainty", "covariance", "batch=none"), "give batch a number"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(
    words: tuple[str, ...],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["uflp", "train", *words, "--queries", "20"])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    (line,) = capsys.readouterr().err.splitlines()
    assert stop.value.code == 2
    assert re.search(message, line), line
    assert not list(tmp_path.iterdir())


def test_the_default_agent_is_the_one_that_fits() -> None:
    assert resolve(PENDULUM).agent == "sac"
    assert resolve("gym:CartPole-v1").agent == "ddqn"


def test_actions_between_bounds_and_back() -> None:
    real = actions(gymnasium.spaces.Box(np.float32([-2, 0]), np.float32([2, 1])))
    assert isinstance(real, RealActions)
    assert np.allclose(real.scaled(np.array([[-1, 1], [0, 0]])), [[-2, 1], [0, 0.5]])
    assert np.allclose(real.units(np.float32([[1, 0.25]])), [[0.5, -0.5]])
    drawn = real.draw(np.random.default_rng(0), 1000)
    assert np.allclose(drawn.mean(axis=0), [0, 0.5], atol=0.1) and drawn.dtype == np.float32


def test_cells_of_chosen_numbers_have_the_size_that_is_asked_for() -> None:
    space = gymnasium.spaces.Box(-np.inf, np.inf, (4,), np.float32)
    counts = Counts(cells=(1, 3), cell_size=0.5).make(space, 2, seed=0)
    keys = [counts.key_of(np.float32(seen)) for seen in ([9, 5.1, 9, 0], [0, 5.4, 0, 0.4])]
    assert keys[0] == keys[1] != counts.key_of(np.float32([9, 5.6, 9, 0]))


def test_covariance_of_pairs_is_that_of_the_direct_inverse() -> None:
    space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
    real = RealActions((1,), (-2.0,), (2.0,))
    made = Covariance(feature_size=10, regularization=0.5).make(space, real, seed=1)
    rng = np.random.default_rng(0)
    states, taken = rng.normal(size=(70, 2)), real.draw(rng, 70)
    rng_again = np.random.default_rng(1)
    weights = rng_again.normal(size=(3, 10))
    phases = rng_again.uniform(0, 2 * np.pi, 10)
    pairs = np.concatenate([states, taken / 2], axis=1)
    features = np.sqrt(0.2) * np.cos(pairs @ weights + phases)
    for state, action in zip(states, taken, strict=True):
        made.observe(state, action)
    inverse = np.linalg.inv(features.T @ features + 0.5 * np.eye(10))
    expected = np.sqrt(np.einsum("ij,jk,ik->i", features, inverse, features))
    scores = made.score(states, lambda *inputs: inputs[0], taken[:, None])
    assert np.allclose(scores[:, 0], expected, rtol=1e-5)
