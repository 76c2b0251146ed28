"""A folder for a model hub holds a whole agent, and a forged one is refused."""

from __future__ import annotations

import json
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from resuming import small
from safetensors.numpy import load_file, save_file

import uflp
from uflp import cli
from uflp.runs.checkpoints import kept_history
from uflp.runs.hub import write_hub_folder
from uflp.runs.train import train
from uflp.types import Snapshot, UsageError

STATES = range(36)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the folder of a finished run with its history."""
    folder = tmp_path_factory.mktemp("hub") / "run"
    train(small("deep-sea", "boot-ddqn", "ensemble-std", keep_history=True), out=folder)
    return folder


@pytest.fixture
def hub(run: Path, tmp_path: Path) -> Path:
    return uflp.export(run, f"{tmp_path}/new/hub/", history=True)


def command(monkeypatch: pytest.MonkeyPatch, *words: Any) -> int:
    monkeypatch.setattr(sys, "argv", ["uflp", *map(str, words)])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    return int(stop.value.code or 0)


def test_the_agent_is_the_one_of_the_run(run: Path, hub: Path) -> None:
    there, trained = uflp.load(hub), uflp.load(run)
    assert there.queries == trained.queries == 300
    for state in STATES:
        np.testing.assert_array_equal(there.values(state), trained.values(state))
    assert there.evaluate(2) == trained.evaluate(2)


def test_the_files_are_those_of_a_model_hub(hub: Path) -> None:
    names = {"README.md", "config.json", "film.gif", "history.safetensors", "model.safetensors"}
    assert {path.name for path in hub.iterdir()} == names
    card = (hub / "README.md").read_text()
    assert card.startswith("---\nlibrary_name: uflp\n")
    assert "# boot-ddqn on deep-sea" in card and "![One episode](film.gif)" in card
    # The start, and six steps.
    assert Image.open(hub / "film.gif").n_frames == 7


def test_a_run_begins_with_the_history_and_the_agent_of_a_folder(run: Path, hub: Path) -> None:
    stamp = json.loads((hub / "config.json").read_text())["run"]["simulator"]
    held = [snapshot for snapshot, _ in kept_history(hub, stamp)]
    assert held == [snapshot for snapshot, _ in kept_history(run, stamp)]
    assert len(held) > 10
    more = {"queries": 60, "history_size": 1000, "history_from": str(hub)}
    begun = train(small("deep-sea", "boot-ddqn", "ensemble-std", **more))
    assert begun.rows[-1]["history_size"] > len(held)
    same = small("deep-sea", "boot-ddqn", "ensemble-std", queries=60, init_from=str(hub))
    assert train(same).queries == 60


def test_a_folder_can_be_exported_again(hub: Path, tmp_path: Path) -> None:
    uflp.export(hub, tmp_path / "file.state")
    assert uflp.load(tmp_path / "file.state").queries == 300
    again = uflp.export(hub, f"{tmp_path}/again/", history=True)
    for name in ("model.safetensors", "history.safetensors", "config.json"):
        assert (again / name).read_bytes() == (hub / name).read_bytes()


def test_the_command_tells_a_folder_by_its_end(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    assert command(monkeypatch, "export", run, f"{tmp_path}/hub/") == 0
    assert capsys.readouterr().out.strip() == str(tmp_path / "hub")
    assert not (tmp_path / "hub" / "history.safetensors").exists()
    assert command(monkeypatch, "evaluate", tmp_path / "hub", "--episodes", 1) == 0
    capsys.readouterr()
    words = ("train", "deep-sea", "--history-from", tmp_path / "hub", "--set", "size=6")
    assert command(monkeypatch, *words, "--out", tmp_path / "next") == 2
    assert "without its history: export it with --history" in capsys.readouterr().err
    assert command(monkeypatch, "export", run, tmp_path / "file", "--history") == 2
    assert "a history goes into a folder" in capsys.readouterr().err
    assert not (tmp_path / "file").exists()


def test_what_is_there_stays(run: Path, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis").touch()
    with pytest.raises(UsageError, match="already holds something"):
        uflp.export(run, f"{tmp_path}/full/")
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="is no folder"):
        uflp.export(run, f"{tmp_path}/link/")
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["thesis"]


def test_nothing_is_left_where_the_folder_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("uflp.runs.hub._packed", full)
    with pytest.raises(UsageError, match="cannot be written: No space left"):
        write_hub_folder(tmp_path / "a" / "b", {}, 1, {"leaves": []}, card="")
    assert not (tmp_path / "a").exists()


def test_only_arrays_are_exported(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="more than arrays"):
        write_hub_folder(tmp_path / "hub", {}, 1, {"leaves": [], "more": 1}, card="")
    assert not (tmp_path / "hub").exists()


def replaced(path: Path, **arrays: Any) -> None:
    held = load_file(path)
    save_file(held | arrays, path)


WEIGHTS = {
    "another shape": lambda held: held | {"learner.0": np.zeros((3, 3), np.float32)},
    "another type": lambda held: held | {"learner.0": held["learner.0"].astype(np.float64)},
    "not finite": lambda held: held | {"learner.0": held["learner.0"] * np.float32(np.nan)},
    "one too many": lambda held: held | {f"learner.{len(held)}": np.zeros(1, np.float32)},
    "one missing": lambda held: {name: held[name] for name in held if name != "learner.1"},
    "another name": lambda held: held | {"weights": np.zeros(1, np.float32)},
    "none": lambda held: {},
}


@pytest.mark.parametrize("case", WEIGHTS)
def test_forged_weights_are_refused(hub: Path, case: str) -> None:
    path = hub / "model.safetensors"
    save_file(WEIGHTS[case](load_file(path)), path)
    with pytest.raises(UsageError, match="hub"):
        uflp.load(hub)


HEADER = b'{"learner.0":{"dtype":"F32","shape":[1000000000000],"data_offsets":[0,4]}}'


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x80\x04\x95\x0b\x00\x00\x00\x00\x00\x00\x00\x8c\x02os\x94.",
        b"x" * 500,
        len(HEADER).to_bytes(8, "little") + HEADER + b"0000",
        (1 << 62).to_bytes(8, "little") + b"{}",
        b"\x02\x00\x00\x00\x00\x00\x00\x00[]",
    ],
)
def test_what_is_no_file_of_arrays_is_refused(hub: Path, content: bytes) -> None:
    (hub / "model.safetensors").write_bytes(content)
    with pytest.raises(UsageError, match=r"model\.safetensors"):
        uflp.load(hub)


def test_descriptions_of_very_many_arrays_are_refused(hub: Path) -> None:
    """Each would take a kilobyte before they could be counted."""
    one = '"{}":{{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}'
    header = ("{" + ",".join(map(one.format, range(100_000))) + "}").encode()
    (hub / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header)
    tracemalloc.start()
    with pytest.raises(UsageError, match=r"model\.safetensors"):
        uflp.load(hub)
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert used < 3 * len(header)


CONFIGS: dict[str, Any] = {
    "[]": "not the configuration",
    "{": "damaged, or not JSON",
    "[" * 100_000: "damaged, or not JSON",
    '{"run": 1}': "not the configuration",
    '{"run": {}, "format": 2}': "has format 2",
    '{"run": {}, "format": true}': "has format True",
    '{"run": {}, "format": 1, "queries": -1}': "queries is -1",
    '{"run": {}, "format": 1, "queries": 1}': "it lacks",
}


@pytest.mark.parametrize("number", range(len(CONFIGS)))
def test_forged_configurations_are_refused(hub: Path, number: int) -> None:
    text, reason = list(CONFIGS.items())[number]
    (hub / "config.json").write_text(text)
    with pytest.raises(UsageError, match=reason):
        uflp.load(hub)


def test_code_that_a_folder_names_needs_trust(hub: Path) -> None:
    config = json.loads((hub / "config.json").read_text())
    config["run"] |= {"preset": "antigravity:factory", "settings": {}}
    (hub / "config.json").write_text(json.dumps(config))
    with pytest.raises(UsageError, match="trust=True"):
        uflp.load(hub)
    assert "antigravity" not in sys.modules


HISTORIES: dict[str, dict[str, np.ndarray]] = {
    "sizes": {"sizes": np.array([1 << 60, -(1 << 60)])},
    "negative": {"sizes": np.array([-1])},
    "short": {"data": np.zeros(1, np.uint8)},
    "scores": {"scores": np.zeros(2)},
    "infinite": {"scores": np.array([np.inf])},
    "type": {"data": np.zeros(4, np.float32)},
}


@pytest.mark.parametrize("case", HISTORIES)
def test_a_forged_history_is_refused(tmp_path: Path, case: str) -> None:
    snapshots = [Snapshot("sea", b"ab", 1.0)]
    folder = tmp_path / "hub"
    write_hub_folder(folder, {"simulator": "sea"}, 1, {"leaves": []}, card="", snapshots=snapshots)
    assert [held for held, _ in kept_history(folder, "sea")] == snapshots
    with pytest.raises(UsageError, match="has a history of 'sea'"):
        list(kept_history(folder, "lake"))
    replaced(folder / "history.safetensors", **HISTORIES[case])
    with pytest.raises(UsageError, match="does not hold a history"):
        list(kept_history(folder, "sea"))
