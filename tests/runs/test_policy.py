"""A trained agent is useful afterwards."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from PIL import Image
from probes import Corridor, corridor_run
from resuming import small

import uflp
from uflp import cli
from uflp.experiments.trained import export
from uflp.report.video import Recorder
from uflp.runs.interruption import Interrupted
from uflp.runs.train import train
from uflp.simulators import SIMULATORS
from uflp.training.evaluation import evaluate
from uflp.training.run import Run
from uflp.types import UsageError


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the folder of a finished run."""
    folder = tmp_path_factory.mktemp("trained") / "run"
    train(small("deep-sea", "boot-ddqn", "ensemble-std"), out=folder)
    return folder


@pytest.fixture(scope="module")
def values() -> np.ndarray:
    """Returns the values that the same run ends with, [A, states]."""
    run = Run(small("deep-sea", "boot-ddqn", "ensemble-std"))
    list(run.train())
    return run.predict(np.arange(36)).mean(axis=0)


def test_a_finished_run_keeps_its_agent(folder: Path, values: np.ndarray) -> None:
    policy = uflp.load(folder)
    assert policy.queries == 300
    for state in range(36):
        np.testing.assert_allclose(policy.values(state), values[state], rtol=1e-5)
        assert policy.act(state) == values[state].argmax()


def test_an_evaluation_is_the_one_of_the_run(folder: Path) -> None:
    summary = json.loads((folder / "summary.json").read_text())
    assert uflp.load(folder).evaluate(2).mean == summary["final_return"]


def test_an_export_needs_nothing_else(folder: Path, tmp_path: Path) -> None:
    export(folder, tmp_path / "deep" / "agent")
    alone, trained = uflp.load(tmp_path / "deep" / "agent"), uflp.load(folder)
    assert [alone.act(state) for state in range(36)] == [trained.act(s) for s in range(36)]
    assert (tmp_path / "deep" / "agent").stat().st_size < 30_000


def test_a_run_that_is_not_finished_has_the_agent_of_its_checkpoint(tmp_path: Path) -> None:
    def callback(row: dict[str, Any]) -> None:
        if row["queries"] == 120:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(Interrupted):
        train(small("deep-sea", "ddqn", "counts"), out=tmp_path / "run", callback=callback)
    held = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert uflp.load(tmp_path / "run").queries == 120
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == held


@pytest.mark.parametrize(
    "content", [b"", b"\x80\x04\x95\x0b\x00\x00\x00\x00\x00\x00\x00\x8c\x02os\x94.", b"x" * 500]
)
def test_what_is_not_an_agent_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "agent").write_bytes(content)
    with pytest.raises(UsageError, match="cannot be loaded"):
        uflp.load(tmp_path / "agent")
    with pytest.raises(UsageError, match="holds no trained agent"):
        uflp.load(tmp_path / "missing")


def test_a_folder_of_runs_names_one_of_them(folder: Path) -> None:
    """As `--seeds` leaves one."""
    with pytest.raises(UsageError, match=f"holds runs, such as {folder}"):
        uflp.load(folder.parent)


def test_an_observation_of_another_shape_is_refused(folder: Path) -> None:
    with pytest.raises(UsageError, match="shape"):
        uflp.load(folder).act(np.zeros(36))


def test_evaluating_from_the_command_line(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    video = tmp_path / "episode.gif"
    words = ["evaluate", folder, "--episodes", 3, "--video", video, "--json"]
    monkeypatch.setattr(sys, "argv", ["uflp", *map(str, words)])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert not stop.value.code
    outcome = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (outcome["episodes"], outcome["queries"]) == (3, 300)
    # The start, and six steps.
    assert Image.open(video).n_frames == 7


@pytest.mark.parametrize("name", ["deep-sea", "swingup"])
def test_pictures_differ_from_state_to_state(name: str) -> None:
    simulator = SIMULATORS[name]().make(0)
    simulator.reset(seed=0)
    first = simulator.render()
    for _ in range(20):
        simulator.step(0)
    second = simulator.render()
    assert first.dtype == np.uint8 and first.shape == second.shape
    assert first.shape[2] == 3
    assert (first != second).any()


@pytest.mark.parametrize(
    ("variables", "hint"), [({}, "set MUJOCO_GL=egl"), ({"MUJOCO_GL": "glfw"}, None)]
)
def test_what_cannot_draw_here_is_told_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], hint: str | None
) -> None:
    """MuJoCo raises errors of its own where there is no screen."""

    class Blind:
        def render(self) -> np.ndarray:
            raise RuntimeError("no OpenGL\ncontext.")

    monkeypatch.setitem(sys.modules, "mujoco", ModuleType("mujoco"))
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("MUJOCO_GL", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(UsageError, match="RuntimeError: no OpenGL context") as refused:
        Recorder()(Blind())
    assert ("MUJOCO_GL" in str(refused.value)) == (hint is not None)
    assert hint is None or hint in str(refused.value)


def test_minigrid_is_filmed() -> None:
    pytest.importorskip("minigrid")
    from uflp.simulators.minigrid import Minigrid

    simulator = Minigrid("MiniGrid-Empty-5x5-v0").make_drawing(0)
    recorder = Recorder()
    evaluate(simulator, lambda *_: 2, 1, np.random.default_rng(0), recorder, 3)
    assert recorder.frames[0].ndim == 3
    assert (recorder.frames[0] != recorder.frames[-1]).any()


def test_an_agent_that_does_not_learn_acts_by_chance(tmp_path: Path) -> None:
    """Also where it is told to be greedy."""
    train(small("deep-sea", "random", "counts", epsilon=0.0), out=tmp_path / "run")
    policy = uflp.load(tmp_path / "run")
    assert {policy.act(0) for _ in range(50)} == {0, 1}
    assert {policy.act(0, mask=[0, 1]) for _ in range(20)} == {1}
    assert policy.evaluate(20).std > 0
    run = Run(small("deep-sea", "random", "counts", epsilon=0.0))
    list(run.train())
    assert run.uncertainty.visits.any(axis=0).all(), "both actions were taken"


def test_an_evaluation_ends_where_the_simulator_sets_no_limit() -> None:
    """Nothing but action 1 leads out of the corridor."""
    corridor = Corridor(step_reward=1.0).make(0)
    rng = np.random.default_rng(0)
    assert evaluate(corridor, lambda *_: 0, 2, rng, limit=7) == (7.0, 0.0, 2)
    assert len(corridor.called("step")) == 14


def test_whole_returns_are_learned_from_as_they_are() -> None:
    for more in ({"n_step": 3}, {"reward_clip": 1.0}):
        with pytest.raises(UsageError, match="pi learns from whole returns"):
            Run(small("deep-sea", "pi", "counts", **more))


def test_a_data_frame_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    result = train(corridor_run(queries=50))
    assert list(result.to_dataframe()["queries"]) == [50]
    monkeypatch.setitem(sys.modules, "pandas", None)  # Then importing it fails.
    with pytest.raises(UsageError, match="pip install 'uflp\\[dataframe\\]'"):
        result.to_dataframe()
