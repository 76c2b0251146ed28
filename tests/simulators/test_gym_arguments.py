"""Arguments of `gymnasium.make` and options of resets, as settings of a run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import uflp
from uflp.experiments.recorded import recorded
from uflp.experiments.resolve import resolve
from uflp.simulators.gymnasium import Gymnasium, GymnasiumSimulator
from uflp.simulators.lookup import named
from uflp.types import UsageError


def test_arguments_reach_the_environment() -> None:
    env = named("gym:FrozenLake-v1", arguments={"is_slippery": False, "map_name": "8x8"}).make(0)
    assert env.observation_space.n == 64
    env.reset(seed=0)
    assert [env.step(2)[0] for _ in range(3)] == [1, 2, 3], "it would slip now and then"


def test_options_go_with_every_reset_that_has_none() -> None:
    env = named("gym:MountainCar-v0", options={"low": -0.2, "high": -0.19}).make(0)
    starts = [env.reset(seed=seed)[0][0] for seed in range(5)]
    assert all(-0.2 <= start <= -0.19 for start in starts)
    assert env.reset(seed=0, options={"low": -0.6, "high": -0.59})[0][0] < -0.5
    assert env.reset()[0][0] > -0.3


def test_options_are_there_at_the_first_reset_too() -> None:
    class Choosy(gymnasium.Env[Any, Any]):
        observation_space = gymnasium.spaces.Box(-1.0, 1.0, (1,))
        action_space = gymnasium.spaces.Discrete(2)

        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            super().reset(seed=seed)
            return np.float32([options["start"]]), {}

    assert GymnasiumSimulator(Choosy(), options={"start": 0.5}).reset()[0] == 0.5


@pytest.mark.parametrize("key", ["arguments", "options"])
@pytest.mark.parametrize("value", [3, [1], {"a": np.zeros(2)}, {"a": float("nan")}, {1: 2}, "x"])
def test_only_json_will_do(key: str, value: Any) -> None:
    with pytest.raises(UsageError, match=f"{key} must be an object of JSON"):
        Gymnasium(**{key: value})


@pytest.mark.parametrize("text", ["3", "{", "[1, 2]", '{"a": nope}'])
def test_text_that_is_no_object_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="arguments must be an object of JSON"):
        resolve("gym:FrozenLake-v1", overrides={"arguments": text})


def test_an_argument_that_the_environment_lacks_is_one_sentence() -> None:
    with pytest.raises(UsageError, match="cannot make CartPole-v1 with the arguments wheels: "):
        named("gym:CartPole-v1", arguments={"wheels": 4}).make(0)


def test_the_record_of_a_run_has_them_and_is_read_again(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    text = '{"is_slippery": false, "desc": ["SF", "HG"]}'
    run = tmp_path / "run"
    uflp.train(
        "gym:FrozenLake-v1", agent="random", arguments=text, queries=20, eval_period=20, out=run
    )
    config = json.loads((run / "config.json").read_text())
    assert config["settings"]["arguments"] == json.loads(text)
    assert config["settings"]["options"] is None
    settings, _ = recorded(run)
    assert settings.simulator.make(0).observation_space.n == 4


@pytest.mark.parametrize(
    "given", [{"arguments": {"sutton_barto_reward": True}}, {"options": {"low": -0.01}}]
)
def test_arguments_of_strangers_need_the_users_word(
    given: dict[str, Any], tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "mine"))
    run = tmp_path / "run"
    uflp.train(
        "gym:CartPole-v1",
        agent="random",
        **given,
        queries=20,
        eval_period=20,
        out=run,
    )
    recorded(run)  # One's own runs need no word.
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "somebody else's"))
    with pytest.raises(UsageError, match="names arguments of code"):
        recorded(run)
    recorded(run, trust=True)


OWN_PROCESS = """
from uflp.simulators.lookup import named
options = {"reset_cell": [1, 1], "goal_cell": [7, 10]}
env = named("gym:PointMaze_Large-v3", options=options, flatten=True).make(0)
print(*env.reset(seed=0)[0])
"""


def test_robots_are_found_without_an_import_of_the_user_s() -> None:
    pytest.importorskip("gymnasium_robotics")
    command = [sys.executable, "-W", "ignore", "-c", OWN_PROCESS]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    seen = np.array(printed.splitlines()[-1].split(), float)
    # The place, and the goal: parts of a dictionary come in the order of their names.
    assert len(seen) == 8
    assert np.allclose(seen[:4], [-4.5, 3, 4.5, -3], atol=0.26)


def test_the_extra_of_a_robot_that_is_not_installed_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "gymnasium_robotics", None)
    monkeypatch.delitem(gymnasium.registry, "AntMaze_UMaze-v5", raising=False)
    for agent in (None, "sac"):
        with pytest.raises(UsageError, match="pip install 'uflp\\[robotics\\]'"):
            uflp.train("gym:AntMaze_UMaze-v5", agent=agent, queries=10, out=tmp_path / "run")
    assert not list(tmp_path.iterdir())


def test_an_id_that_only_begins_like_a_robot_s_is_unknown() -> None:
    pytest.importorskip("gymnasium_robotics")
    with pytest.raises(UsageError, match="did you mean 'PointMaze_Large-v3'"):
        named("gym:PointMaze_Lage-v3")
