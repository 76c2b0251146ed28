"""Training on whatever simulator is named."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import uflp
from uflp import cli
from uflp.experiments.resolve import resolve
from uflp.simulators.bsuite import Bsuite
from uflp.simulators.gymnasium import Gymnasium
from uflp.simulators.user_env import UserEnv
from uflp.training.run import Run
from uflp.types import UsageError

QUICK = {"queries": 40, "eval_period": 40, "eval_episodes": 1, "hidden": (4,), "epsilon": 1.0}
RANDOM = {"queries": 200, "eval_period": 100, "eval_episodes": 1}


class Parts(gymnasium.Env[Any, Any]):
    """Ends after five steps; its observation has parts."""

    observation_space: Any = spaces.Dict(
        {"place": spaces.Discrete(6), "image": spaces.Box(0, 255, (2, 2), np.uint8)}
    )
    action_space = spaces.Discrete(3)

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.place = 0
        return self.seen(), {}

    def step(self, action: int) -> Any:
        self.place += 1
        return self.seen(), 1.0, self.place == 5, False, {}

    def seen(self) -> Any:
        return {"place": self.place, "image": np.full((2, 2), self.place, np.uint8)}


class Endless(Parts):
    observation_space = spaces.Sequence(spaces.Discrete(2))

    def seen(self) -> Any:
        return (0, 1)


def test_a_name_resolves_to_a_simulator_and_moderate_settings() -> None:
    settings = resolve("gym:MountainCar-v0", overrides={"strategy": "copy"})
    assert settings.simulator == Gymnasium("MountainCar-v0", "copy", flatten=True)
    assert (settings.agent, settings.uncertainty_name) == ("ddqn", "counts")
    assert settings.planning.p_init == 0.2 and settings.planning.batch is None
    assert resolve("bsuite:catch/3").simulator == Bsuite("catch/3")
    assert resolve(f"{__name__}:Parts").simulator == UserEnv(f"{__name__}:Parts", flatten=True)


@pytest.mark.parametrize(
    ("name", "restart"), [("gym:Pendulum-v1", "state"), ("gym:CartPole-v1", "pair")]
)
def test_random_actions_restart_by_what_counts_can_tell_apart(name: str, restart: str) -> None:
    settings = resolve(name, agent="random")
    assert (settings.uncertainty_name, settings.planning.restart) == ("counts", restart)
    assert uflp.train(name, agent="random", queries=300).summary["queries"] == 300


def test_observations_with_parts_are_flattened_and_learned_from() -> None:
    result = uflp.train(f"{__name__}:Parts", learning_batch=8, **QUICK)
    assert result.summary["queries"] == 40 and result.summary["final_return"] == 5.0


def test_replays_are_paid_for_from_the_budget() -> None:
    replayed = Run(
        resolve(
            f"{__name__}:Parts", overrides={**QUICK, "strategy": "replay", "checkpoint_period": 1}
        )
    )
    rows = list(replayed.train())
    assert replayed.simulator.replayed > 0
    assert replayed.queries + replayed.simulator.replayed == rows[-1]["queries"] >= 40
    assert replayed.queries < 40


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (f"{__name__}:Endless", r"Sequence.* cannot be flattened"),
    ],
)
def test_what_cannot_be_learned_from_is_refused_by_name(name: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Run(resolve(name))


def unlicensed() -> Any:
    raise RuntimeError("the licence has expired")


@pytest.mark.parametrize("command", ["check", "train"])
def test_a_factory_that_raises_shows_its_traceback_and_one_line_of_ours(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["uflp", command, f"{__name__}:unlicensed"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    *traceback, last = capsys.readouterr().err.splitlines()
    assert traceback[0].startswith("Traceback")
    assert traceback[-1] == "RuntimeError: the licence has expired"
    assert last == f"uflp: {__name__}:unlicensed raised what stands above."
    assert not list(tmp_path.iterdir())


class Spoken(Parts):
    observation_space = spaces.Dict({"place": spaces.Discrete(6), "said": spaces.Text(3)})

    def seen(self) -> Any:
        return {"place": self.place, "said": "ab"}


def test_text_is_flattened_as_gymnasium_does_it() -> None:
    simulator = resolve(f"{__name__}:Spoken").simulator.make(0)
    seen, _ = simulator.reset(seed=0)
    assert seen.shape == simulator.observation_space.shape == (6 + 3,)


def test_unknown_names_are_refused_with_the_choices() -> None:
    with pytest.raises(UsageError, match=r"deep-sea.*gym:ID, module:factory"):
        resolve("mountain-car")
    with pytest.raises(UsageError, match="did you mean 'MountainCar-v0'"):
        resolve("gym:MountanCar-v0")


def test_runs_on_any_simulator_tell_how_many_cells_they_have_seen(tmp_path: Path) -> None:
    result = uflp.train("gym:FrozenLake-v1", out=tmp_path / "run", agent="random", **RANDOM)
    cells = result.metrics["cells"]
    # The lake has 16 states.
    assert 1 < cells[-1] <= 16 and (np.diff(cells) >= 0).all()
    online = uflp.train("gym:MountainCar-v0", agent="random", access="online", **RANDOM)
    assert online.metrics["cells"][-1] > 1


def test_cells_that_were_seen_survive_a_resume() -> None:
    first, second = (Gymnasium("FrozenLake-v1").make(0) for _ in range(2))
    first.reset(seed=0)
    for action in (2, 1, 2):
        first.step(action)
    second.load_logs(first.logs())
    assert second.metrics() == first.metrics() != {"cells": 0}
    second.join_logs({**first.logs(), "cells": np.array([14, 15])})
    assert second.metrics()["cells"] == len(set(first.logs()["cells"].tolist()) | {14, 15})
