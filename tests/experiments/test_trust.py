"""A stranger's run folder executes nothing until the user says that it is trusted."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import uflp
from uflp import cli, state_file
from uflp.experiments import seeds as seeds_module
from uflp.experiments.recorded import recorded, recorded_cluster
from uflp.experiments.trained import export
from uflp.runs.policy import write_policy
from uflp.trust import UntrustedError, remember, trusted_file
from uflp.types import RunError, UsageError

CANARY = """
import os
import gymnasium
import numpy as np
with open(os.environ["CANARY"], "a") as file:
    file.write("imported ")

class Env(gymnasium.Env):
    observation_space = gymnasium.spaces.Discrete(5)
    action_space = gymnasium.spaces.Discrete(2)
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = 0
        return 0, {}
    def step(self, action):
        self.place += 1
        return self.place, 1.0, self.place == 4, False, {}

gymnasium.register("Canary-v0", "canary:Env")
"""
QUICK: dict[str, Any] = {
    "agent": "random",
    "queries": 20,
    "eval_period": 10,
    "eval_episodes": 1,
    "keep_history": True,
}


def forget_canary() -> None:
    import gymnasium

    sys.modules.pop("canary", None)
    gymnasium.registry.pop("Canary-v0", None)


@pytest.fixture(scope="module")
def strangers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Makes run folders and a file on another's machine, each naming a module of theirs."""
    there = tmp_path_factory.mktemp("stranger")
    (there / "canary.py").write_text(CANARY)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(there / "config"))
        patch.setenv("CANARY", str(there / "sung"))
        patch.syspath_prepend(there)
        uflp.train("canary:Env", out=there / "run", **QUICK)
        uflp.train("gym:canary:Canary-v0", out=there / "gym", **QUICK)
        export(there / "run", there / "agent-of-others.state")
        uflp.export(there / "run", f"{there}/hub/", history=True)
    assert (there / "sung").read_text() == "imported "
    forget_canary()
    unfinished(there / "run", there / "cut")
    # The preset is harmless, and one of the settings takes its place.
    hidden = unfinished(there / "gym", there / "hidden")
    change(hidden, preset="gym:CartPole-v1")
    # The preset is harmless, and names another part.
    uflp.train("deep-sea", size=3, out=there / "harmless", **QUICK | {"keep_history": False})
    values = json.loads((there / "harmless" / "config.json").read_text())["settings"]
    for part in ("agent", "uncertainty", "rule"):
        shutil.copytree(there / "harmless", there / part)
        (there / part / "summary.json").unlink()
        named: dict[str, Any] = {part: "canary:Part"}
        change(there / part, **named if part != "rule" else {"settings": values | named})
    config = json.loads((there / "run" / "config.json").read_text())
    (there / "seeds").mkdir()
    (there / "seeds" / "seeds.json").write_text(json.dumps(config | {"seeds": [0]}))
    return there


def unfinished(run: Path, copy: Path) -> Path:
    shutil.copytree(run, copy)
    for name in ("summary.json", "metrics.csv", "agent.state"):
        (copy / name).unlink()
    shutil.rmtree(copy / "history")
    return copy


def change(folder: Path, **values: Any) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | values))


@pytest.fixture
def canary(strangers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Returns the file that the canary writes when it is imported, which it can be."""
    sung = tmp_path / "sung"
    monkeypatch.setenv("CANARY", str(sung))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.syspath_prepend(strangers)
    # Copies, since some commands change what they are given.
    shutil.copytree(strangers, tmp_path / "got")
    monkeypatch.chdir(tmp_path / "got")
    yield sung
    forget_canary()


def command(*words: str) -> Callable[[bool], int]:
    def call(trust: bool) -> int:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "argv", ["uflp", *words, *(["--trust"] if trust else [])])
            try:
                cli.main()
            except SystemExit as stop:
                return int(stop.code or 0)
        return 0

    return call


def function(call: Callable[..., Any], *given: Any) -> Callable[[bool], int]:
    def called(trust: bool) -> int:
        try:
            call(*given, **({"trust": True} if trust else {}))
        except UsageError:
            return 2
        return 0

    return called


READERS = {
    "evaluate": command("evaluate", "run", "--episodes", "1"),
    "evaluate-gym": command("evaluate", "gym", "--episodes", "1"),
    "evaluate-file": command("evaluate", "agent-of-others.state", "--episodes", "1"),
    "evaluate-part": command("evaluate", "run/agent.state", "--episodes", "1"),
    "evaluate-hub": command("evaluate", "hub", "--episodes", "1"),
    "export": command("export", "run", "mine.state"),
    "export-folder": command("export", "run", "mine/"),
    "export-hub": command("export", "hub", "mine.state"),
    "resume": command("train", "--resume", "cut"),
    "resume-hidden": command("train", "--resume", "hidden"),
    "resume-agent": command("train", "--resume", "agent"),
    "resume-uncertainty": command("train", "--resume", "uncertainty"),
    "resume-rule": command("train", "--resume", "rule"),
    "resume-seeds": command("train", "--resume", "seeds"),
    "replay": command("replay", "run"),
    "load": function(uflp.load, "run"),
    "load-file": function(uflp.load, "agent-of-others.state"),
    "load-hub": function(uflp.load, "hub"),
    "uflp.export": function(uflp.export, "run", "mine/"),
    "uflp.resume": function(uflp.resume, "cut"),
    "recorded": function(recorded, Path("run")),
}


@pytest.mark.parametrize("reader", READERS)
def test_what_a_stranger_names_is_imported_only_if_it_is_trusted(
    reader: str, canary: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    def no_processes(jobs: Any) -> Any:
        raise RunError("no processes in this test")

    monkeypatch.setattr(seeds_module, "run_jobs", no_processes)
    before = sorted(Path().rglob("*"))
    assert READERS[reader](False) == 2
    assert not canary.exists() and "canary" not in sys.modules
    assert sorted(Path().rglob("*")) == before
    assert not trusted_file().exists()
    said = capsys.readouterr().err
    if not READERS[reader].__qualname__.startswith("function"):
        assert "canary:" in said and "--trust" in said and len(said.splitlines()) == 1

    READERS[reader](True)
    assert canary.read_text() == "imported "


@pytest.mark.parametrize("reader", ["evaluate", "evaluate-gym", "load-file"])
def test_what_was_trusted_once_is_remembered_for_that_folder_alone(
    reader: str, canary: Path
) -> None:
    assert READERS[reader](True) == 0
    forget_canary()
    assert READERS[reader](False) == 0
    shutil.copytree("run", "another")
    with pytest.raises(UntrustedError, match="another names code to import, 'canary:Env'"):
        uflp.load("another")


def test_a_folder_that_is_trusted_may_not_name_something_else(canary: Path) -> None:
    recorded(Path("cut"), trust=True)
    values = json.loads((Path("cut") / "config.json").read_text())["settings"]
    change(Path("cut"), settings=values | {"factory": "antigravity:fly"})
    with pytest.raises(UntrustedError, match="antigravity:fly"):
        recorded(Path("cut"))
    assert "antigravity" not in sys.modules


def test_reports_histories_and_demonstrations_execute_nothing(canary: Path, capsys: Any) -> None:
    assert command("report", ".", "--out", "page.html")(False) == 0
    assert command("report", ".", "--out", "page.md")(False) == 0
    small = ["--queries", "10", "--agent", "random", "--out", "mine"]
    assert command("train", "gym:CartPole-v1", "--history-from", "run", *small)(False) == 2
    assert "has a history of" in capsys.readouterr().err  # The stamps differ, and are compared.
    for folder in ("run", "hub", "agent-of-others.state"):
        assert command("train", "gym:CartPole-v1", "--init-from", folder, *small)(False) in (0, 2)
        shutil.rmtree("mine", ignore_errors=True)
    uflp.rliable_scores(["run"])
    assert command("figure", "deep-sea-50", "--partial", "--out", "run")(False) == 2
    assert not canary.exists() and "canary" not in sys.modules


def test_the_current_folder_is_searched_for_names_that_the_user_typed_alone(
    strangers: Path, tmp_path: Path
) -> None:
    """In a process of its own: here, the tests' folders are on Python's path."""
    shutil.copytree(strangers, tmp_path / "got")
    env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    env |= {"CANARY": str(tmp_path / "sung"), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    code = f"""
import sys
sys.path[:] = [{str(Path(uflp.__file__).parent.parent)!r}, *filter(None, sys.path)]
import uflp
from uflp.types import UsageError
try:
    uflp.load("run", trust=True)
except UsageError as error:
    print(error)
uflp.train("canary:Env", out="own", **{QUICK!r})
"""
    here = tmp_path / "got"
    ended = subprocess.run(
        [sys.executable, "-P", "-c", code], cwd=here, env=env, capture_output=True, text=True
    )
    assert "there is no module 'canary' to import" in ended.stdout, ended.stderr
    assert (tmp_path / "sung").read_text() == "imported "
    # One's own run needs no word, and its module is found from any other folder.
    code = f"""
import sys
sys.path[:] = [{str(Path(uflp.__file__).parent.parent)!r}, *filter(None, sys.path)]
import uflp
print(uflp.load({str(here / "own")!r}).queries)
"""
    ended = subprocess.run(
        [sys.executable, "-P", "-c", code], cwd=tmp_path, env=env, capture_output=True, text=True
    )
    assert ended.stdout == "20\n", ended.stderr


def test_the_address_of_a_cluster_needs_the_word_of_the_user(
    canary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    uflp.train("deep-sea", size=3, out=tmp_path / "run", **QUICK)
    for ray in ("local", "auto"):
        change(tmp_path / "run", cluster={"ray": ray, "actors": 1})
        assert recorded_cluster(tmp_path / "run").ray == ray
    change(tmp_path / "run", cluster={"ray": "192.0.2.7:6379", "actors": 1})
    with pytest.raises(UntrustedError, match=r"a Ray cluster to connect to.*192\.0\.2\.7:6379"):
        recorded_cluster(tmp_path / "run")
    assert recorded_cluster(tmp_path / "run", "10.0.0.1:6379").ray == "10.0.0.1:6379"
    assert recorded_cluster(tmp_path / "run", trust=True).ray == "192.0.2.7:6379"
    assert recorded_cluster(tmp_path / "run").ray == "192.0.2.7:6379"


def test_what_is_trusted_is_kept_for_the_eyes_of_the_user_alone(
    canary: Path, tmp_path: Path
) -> None:
    remember(Path("run"), {"canary:Env": None})
    path = trusted_file()
    assert path == tmp_path / "config" / "uflp" / "trusted.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [item.name for item in path.parent.iterdir() if item.suffix == ".json"] == [path.name]
    recorded(Path("run"))
    path.chmod(0o666)  # Anybody may have written it.
    with pytest.raises(UntrustedError):
        recorded(Path("run"))
    path.chmod(0o600)
    path.write_text("{")
    with pytest.raises(UntrustedError):
        recorded(Path("run"))
    remember(Path("run"), {"canary:Env": None})
    recorded(Path("run"))


def test_a_configuration_that_cannot_be_written_ends_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, canary: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "file"))
    with pytest.warns(UserWarning, match="will need trust=True"):
        uflp.train("canary:Env", out=tmp_path / "own", **QUICK)
    assert (tmp_path / "own" / "summary.json").exists()


def test_an_exported_agent_of_ones_own_is_trusted_and_a_forged_one_is_not(
    canary: Path, tmp_path: Path
) -> None:
    uflp.train("canary:Env", out=tmp_path / "own", **QUICK)
    export(tmp_path / "own", tmp_path / "own.state")
    assert uflp.load(tmp_path / "own.state").queries == 20
    saved = state_file.read(tmp_path / "own.state")
    identity = json.loads(saved["identity"])
    identity["preset"] = identity["settings"]["factory"] = "antigravity:fly"
    run = saved["run"]
    write_policy(tmp_path / "own.state", json.dumps(identity), run["queries"], run["learner"])
    with pytest.raises(UntrustedError, match="antigravity"):
        uflp.load(tmp_path / "own.state")
    assert "antigravity" not in sys.modules


def test_trust_goes_with_what_is_read() -> None:
    assert command("train", "deep-sea")(True) == 2
