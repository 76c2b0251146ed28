"""The library from Python: objects where the command line takes names."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import uflp
from uflp import cli
from uflp.trust import UntrustedError
from uflp.uncertainty import UNCERTAINTIES
from uflp.uncertainty.counts import Counts

QUICK: dict[str, Any] = {"queries": 60, "eval_period": 30, "eval_episodes": 1, "hidden": (4,)}


class Line(gymnasium.Env[int, int]):
    """Walk to the end of a line of six places."""

    observation_space = gymnasium.spaces.Discrete(6)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[int, dict]:
        super().reset(seed=seed)
        self.place = 0
        return 0, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict]:
        self.place = max(self.place + (1 if action else -1), 0)
        return self.place, float(self.place == 5), self.place == 5, False, {}


@dataclass(frozen=True)
class Sharp(Counts):
    """Counts under another name."""

    sharpness: float = 1.0


def test_public_names_are_listed_and_found() -> None:
    assert set(uflp.__all__) <= set(dir(uflp))
    for name in uflp.__all__:
        assert getattr(uflp, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'tarin'"):
        uflp.tarin  # noqa: B018


def test_a_class_a_function_and_a_lambda_make_the_same_run() -> None:
    def local() -> Line:
        return Line()

    results = [uflp.train(given, **QUICK) for given in (Line, local, lambda: Line())]
    assert results[0].settings.preset == f"{__name__}:Line"
    assert [result.settings.preset for result in results[1:]] == ["given:local", "given:lambda"]
    for result in results[1:]:
        for name in ("queries", "restarts", "eval_return_mean", "positive_rewards"):
            np.testing.assert_array_equal(result.metrics[name], results[0].metrics[name])


def test_an_environment_that_gymnasium_made_is_made_anew_with_its_arguments() -> None:
    env = gymnasium.make("FrozenLake-v1", is_slippery=False, map_name="8x8")
    result = uflp.train(
        env, agent="random", **{key: QUICK[key] for key in QUICK if key != "hidden"}
    )
    assert result.settings.preset.startswith("given:FrozenLake-v1")
    assert result.policy.observation_space.n == 64


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (Line(), "cannot be made anew.*lambda"),
        (3, "preset is a name, an environment, or a function that makes one, not int"),
        (gymnasium.make_vec("CartPole-v1", num_envs=2), "one environment, not a vector"),
    ],
)
def test_what_cannot_be_trained_on_is_refused_in_a_sentence(given: Any, message: str) -> None:
    with pytest.raises(uflp.UsageError, match=message):
        uflp.train(given, **QUICK)


def test_settings_objects_do_where_names_do() -> None:
    by_name = uflp.train(Line, uncertainty="counts", rule="go-explore", regularization=0.5, **QUICK)
    own = uflp.train(Line, uncertainty=Sharp(regularization=0.5, sharpness=2.0), **QUICK)
    assert own.settings.uncertainty == Sharp(regularization=0.5, sharpness=2.0)
    assert own.settings.values()["sharpness"] == 2.0
    assert own.summary["uncertainty"] == f"{__name__}:Sharp"
    assert by_name.settings.planning.rule == "go-explore"
    with pytest.raises(uflp.UsageError, match="uncertainty is a name, or a dataclass of settings"):
        uflp.train(Line, uncertainty=object(), **QUICK)


def test_several_seeds_are_those_of_single_runs(tmp_path: Path) -> None:
    both = uflp.train(Line, seed=3, seeds=2, out=tmp_path / "runs", **QUICK)
    assert [result.summary["seed"] for result in both] == [3, 4]
    assert [result.run_dir.name for result in both] == ["seed-3", "seed-4"]
    alone = uflp.train(Line, seed=4, **QUICK)
    np.testing.assert_array_equal(alone.metrics["restarts"], both[1].metrics["restarts"])
    with pytest.raises(uflp.UsageError, match=r"^seeds must be at least 1, not 0"):
        uflp.train(Line, seeds=0, **QUICK)
    with pytest.raises(uflp.UsageError, match=r"^seeds is how many seeds .* not \[0, 1\]"):
        uflp.train(Line, seeds=[0, 1], **QUICK)


def test_messages_name_arguments_by_keyword_here_and_by_flag_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "note").write_text("mine")
    with pytest.raises(uflp.UsageError, match="choose another out, or remove it"):
        uflp.train("deep-sea", size=4, out=tmp_path, **QUICK)
    with pytest.raises(uflp.UsageError, match="use access='local'"):
        uflp.train("deep-sea", access="online", p_init=0.5, **QUICK)
    words = ["train", "deep-sea", "--set", "size=4", "--queries", "9", "--out", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", ["uflp", *words])
    with pytest.raises(SystemExit):
        cli.main()
    assert "choose another --out, or remove it" in capsys.readouterr().err
    with pytest.raises(uflp.UsageError, match="choose another out, or remove it"):
        uflp.train("deep-sea", size=4, out=tmp_path, **QUICK)


def test_a_name_of_an_agent_that_exists_is_refused_as_an_agent() -> None:
    with pytest.raises(uflp.UsageError, match="the agent 'ddqn' exists already"):
        uflp.register("agent", "ddqn", Sharp)


def test_a_result_shows_what_it_is_without_a_run_folder(tmp_path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    result = uflp.train("deep-sea", size=4, **QUICK)
    text = repr(result)
    assert text.startswith("<Result of deep-sea, ddqn, covariance, local, seed 0: 60 queries")
    assert len(text) < 150
    assert result.policy.act(0) in (0, 1)
    assert result.policy.queries == 60
    (line,) = result.plot().get_lines()
    np.testing.assert_array_equal(line.get_xdata(), [30, 60])
    page = result.report(tmp_path / "page.html")
    assert "deep-sea" in page.read_text()
    assert list(tmp_path.iterdir()) == [page]


def test_a_result_and_its_folder_hold_the_same_agent(tmp_path: Path) -> None:
    result = uflp.train("deep-sea", size=4, out=tmp_path / "run", **QUICK)
    loaded = uflp.load(tmp_path / "run")
    for place in range(16):
        np.testing.assert_array_equal(loaded.values(place), result.policy.values(place))


def test_comparing_says_what_was_found_and_keeps_nothing_unasked(tmp_path: Path) -> None:
    compared = uflp.compare(lambda: Line(), agent="random", seeds=2, queries=60, eval_period=30)
    assert compared.run_dir is None
    assert repr(compared).startswith(compared.verdict)
    assert set(compared.values) >= {"local", "online"}
    page = compared.report(tmp_path / "page.html")
    assert "random" in page.read_text()
    assert re.match(r"Going back took about \S+ % of the local runs' time \(", compared.costs)
    assert repr(compared).endswith(compared.costs) and compared.costs in unescape(page.read_text())


def test_a_comparison_goes_on_in_its_folder(tmp_path: Path) -> None:
    small = {"agent": "random", "queries": 40, "eval_period": 20, "out": tmp_path / "runs"}
    uflp.compare("deep-sea", size=4, seeds=1, **small)
    (first,) = (tmp_path / "runs" / "local").glob("seed-*/metrics.csv")
    before = first.read_bytes()
    uflp.compare("deep-sea", size=4, seeds=2, **small)
    assert first.read_bytes() == before
    assert len(list((tmp_path / "runs").glob("*/seed-*/summary.json"))) == 4


@pytest.mark.filterwarnings("error::ResourceWarning")
def test_a_sweep_ranks_every_combination() -> None:
    vary = {"p_init": [0.0, 0.5]}
    ranking = uflp.sweep(Line, vary, agent="random", seeds=1, queries=40, eval_period=20)
    assert len(ranking.rows) == 2
    assert str(ranking) == ranking.markdown() and "| p_init=0.5 |" in str(ranking)
    with pytest.raises(uflp.UsageError, match="unknown key 'p_int'"):
        uflp.sweep(Line, {"p_int": [0.1, 0.2]}, seeds=1)


def test_registered_names_do_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(UNCERTAINTIES, "_entries", dict(UNCERTAINTIES._entries))
    uflp.register("uncertainty", "sharp", Sharp)
    assert uflp.train(Line, uncertainty="sharp", **QUICK).summary["uncertainty"] == "sharp"
    assert UNCERTAINTIES.summary("sharp") == "Counts under another name"
    with pytest.raises(uflp.UsageError, match="the uncertainty 'sharp' exists already"):
        uflp.register("uncertainty", "sharp", Sharp)
    with pytest.raises(uflp.UsageError, match="'line' is no uncertainty: it must be a dataclass"):
        uflp.register("uncertainty", "line", Line)
    with pytest.raises(uflp.UsageError, match="a name has no colon, slash or space"):
        uflp.register("uncertainty", "a:b", Sharp)
    with pytest.raises(uflp.UsageError, match="unknown kind 'uncertanty': did you mean"):
        uflp.register("uncertanty", "sharp", Sharp)


OWN = """
import os, pathlib
from dataclasses import dataclass
from uflp.uncertainty.counts import Counts
from uflp.agents.ddqn import DDQN
pathlib.Path(os.environ["SUNG"]).touch()

@dataclass(frozen=True)
class Mine(Counts):
    mine: int = 1

@dataclass(frozen=True)
class Agent(DDQN):
    pass

def not_settings():
    pass
"""


def run(*words: str) -> int:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["uflp", *words])
        try:
            cli.main()
        except SystemExit as stop:
            return int(stop.code or 0)
    return 0


def test_a_class_of_one_s_own_is_named_on_the_command_line_and_a_stranger_s_is_not_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "their_parts.py").write_text(OWN)
    monkeypatch.setenv("SUNG", str(tmp_path / "sung"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    small = ["--set", "size=4", "--set", "mine=3", "--queries", "40", "--set", "eval_period=20"]
    own = ["--uncertainty", "their_parts:Mine", "--agent", "their_parts:Agent"]
    assert run("train", "deep-sea", *own, *small, "--out", "made") == 0
    # The run's own user is not asked again.
    assert uflp.load("made").settings.uncertainty.mine == 3
    (tmp_path / "made").rename(tmp_path / "moved")
    (tmp_path / "sung").unlink()
    del sys.modules["their_parts"]
    with pytest.raises(UntrustedError, match="their_parts:"):
        uflp.load("moved")
    assert run("evaluate", "moved") == 2
    assert not (tmp_path / "sung").exists()
    uflp.load("moved", trust=True)
    assert (tmp_path / "sung").exists()
    capsys.readouterr()
    assert run("train", "deep-sea", "--uncertainty", "their_parts:not_settings") == 2
    assert "'their_parts:not_settings' is no uncertainty" in capsys.readouterr().err
    assert run("train", "deep-sea", "--rule", "their_parts:missing") == 2
    assert "has no function or class 'missing'" in capsys.readouterr().err
