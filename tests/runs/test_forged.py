"""Files of strangers with right checksums: sizes are bounded, and fields are checked."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import math
import random
import shutil
import signal
import struct
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import pytest
from forging import forge_checkpoint, forge_state_file
from resuming import signalled, small

import uflp
from uflp import state_file
from uflp.arrays import read_arrays, write_arrays
from uflp.report.runs import read_runs
from uflp.runs.checkpoints import Checkpoints
from uflp.runs.folder import read_object
from uflp.runs.interruption import Interrupted
from uflp.runs.train import train
from uflp.state_file import DamagedError
from uflp.training.settings import RunSettings
from uflp.types import RunError, UsageError


@pytest.fixture(scope="module")
def settings() -> RunSettings:
    return small("deep-sea", "ddqn", "counts", size=4, queries=80, eval_period=20)


@pytest.fixture(scope="module")
def cut(settings: RunSettings, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the folder of a run that was interrupted at query 40, in the midst of a rollout."""
    folder = tmp_path_factory.mktemp("forged") / "cut"
    with pytest.raises(Interrupted):
        train(settings, out=folder, callback=signalled(signal.SIGTERM, 40))
    return folder


@pytest.fixture(scope="module")
def done(settings: RunSettings, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("forged") / "done"
    train(settings, out=folder)
    return folder


def forge(folder: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Saves another checkpoint, with one thing changed."""
    checkpoints = Checkpoints(folder / "checkpoint")
    state = checkpoints.newest()
    assert state is not None
    change(state)
    checkpoints.save(state)


CHANGES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "seconds": lambda state: state["run"].update(seconds=math.nan),
    "queries": lambda state: state["run"].update(queries=10**12),
    "sgd_steps": lambda state: state["run"].update(sgd_steps=-1),
    "evaluating": lambda state: state["run"].update(evaluating="yes"),
    "given": lambda state: state["run"]["rollout"].update(given=[99]),
    "observation": lambda state: state["run"]["rollout"].update(observation=99),
    "screen_score": lambda state: state["run"]["rollout"]["snapshot"].__setitem__(2, math.nan),
    "over": lambda state: state["run"]["rollout"].update(over=7),
    "member": lambda state: state["run"]["rollout"]["actor"].update(member=5),
    "slice": lambda state: state["run"]["whereabouts"]["records"][0].update(slice=99),
    "visits": lambda state: state["run"]["uncertainty"].update(
        visits=np.full_like(state["run"]["uncertainty"]["visits"], -1)
    ),
    "limit": lambda state: state["run"]["planner"].update(limit=-3),
    "entries": lambda state: state["run"]["planner"].update(entries=np.array([1.5])),
    "returns": lambda state: state["run"]["tally"].update(returns=np.array([math.nan])),
    "parameter": lambda state: state["run"]["learner"]["leaves"].__setitem__(
        0, np.full_like(state["run"]["learner"]["leaves"][0], np.nan)
    ),
    "metrics": lambda state: state["rows"].update(eval_return_mean=["x"] * 2),
    "wall_seconds": lambda state: state["rows"].update(wall_seconds=[1.0, math.nan]),
    "missing_column": lambda state: state["rows"].pop("eval_episodes"),
    "saved": lambda state: state.update(saved=[1, math.nan]),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_field_that_cannot_be_is_refused_before_the_first_query(
    cut: Path, tmp_path: Path, name: str
) -> None:
    folder = shutil.copytree(cut, tmp_path / "run")
    forge(folder, CHANGES[name])
    before = (folder / "metrics.csv").read_bytes()
    with pytest.raises(RunError, match="the checkpoint does not fit its run"):
        uflp.resume(folder)
    assert (folder / "metrics.csv").read_bytes() == before


def test_metrics_keep_the_columns_that_they_began_with(cut: Path, tmp_path: Path) -> None:
    """An earlier version may have written fewer of those that a simulator adds, or others."""
    folder = shutil.copytree(cut, tmp_path / "run")
    forge(folder, lambda state: state["rows"].update(added=[1.0, 2.0]))
    uflp.resume(folder)
    header, *rows = (folder / "metrics.csv").read_text().splitlines()
    assert header.endswith(",added") and header.count("added") == 1
    assert [row.rpartition(",")[2] for row in rows] == ["1.0", "2.0", "", ""]


def test_forged_checkpoints_give_documented_errors(cut: Path, tmp_path: Path) -> None:
    outcomes = {"taken": 0, "refused": 0}
    for number in range(60):
        folder = shutil.copytree(cut, tmp_path / "run")
        forge_checkpoint(folder / "checkpoint" / "a", random.Random(number))
        try:
            uflp.resume(folder)
            outcomes["taken"] += 1
        except (RunError, UsageError):
            outcomes["refused"] += 1
        shutil.rmtree(folder)
    assert min(outcomes.values()) > 5, "both should come up"


def test_forged_agents_give_documented_errors(done: Path, tmp_path: Path) -> None:
    for number in range(40):
        shutil.copy(done / "agent.state", tmp_path / "agent.state")
        forge_state_file(tmp_path / "agent.state", random.Random(number))
        with contextlib.suppress(RunError, UsageError):
            uflp.load(tmp_path / "agent.state").evaluate(1)


@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_parameters_that_are_not_numbers_are_refused(
    done: Path, tmp_path: Path, number: float
) -> None:
    saved = state_file.read(done / "agent.state")
    leaf = np.array(saved["run"]["learner"]["leaves"][0])
    leaf.flat[3] = number
    saved["run"]["learner"]["leaves"][0] = leaf
    state_file.write(tmp_path / "agent.state", saved)
    with pytest.raises(UsageError, match="a parameter has a number that is not finite"):
        uflp.load(tmp_path / "agent.state")


def test_a_segment_has_the_name_of_its_rows(tmp_path: Path, cut: Path) -> None:
    """Else a name could lead anywhere, or to a file of another buffer."""
    for name in ("../../config.json", "state", "history-0-1.rows", 7):
        folder = shutil.copytree(cut, tmp_path / "run")
        slot = folder / "checkpoint" / "a"

        class Packed(list[Any]):
            pass

        rows = state_file.Extension(Packed, list, Packed)
        state = state_file.read(slot / "state", rows)
        state["state"]["run"]["replay"]["rows"][3][0][2][0] = name
        state_file.write(slot / "state", state, rows)
        with pytest.raises(RunError, match=r"no checkpoint is good: .*not hold rows of replay"):
            uflp.resume(folder)
        shutil.rmtree(folder)


# Bombs


def peak(act: Callable[[], Any]) -> int:
    """Returns the most memory that a call had at a time, in bytes."""
    tracemalloc.start()
    try:
        act()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def header(shape: tuple[int, ...]) -> bytes:
    """Returns the beginning of an `.npy` file that claims to hold so much."""
    text = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        text, {"descr": "<f8", "fortran_order": False, "shape": shape}
    )
    return text.getvalue()


def zipped(path: Path, content: bytes) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("visits.npy", content)


@pytest.mark.parametrize("shape", [(10**12,), (10**6, 10**6), (2**62, 2**62), (-1,)])
def test_an_array_that_claims_to_be_large_is_refused(
    tmp_path: Path, shape: tuple[int, ...]
) -> None:
    zipped(tmp_path / "x.npz", header(shape) + bytes(64))

    def read() -> None:
        with pytest.raises(ValueError, match=r"x\.npz"):
            read_arrays(tmp_path / "x.npz", ["visits"])

    assert peak(read) < 10**6


def test_an_array_that_expands_beyond_its_bound_is_refused(tmp_path: Path) -> None:
    zipped(tmp_path / "x.npz", header((2**21,)) + bytes(2**24))  # 16 MB in 16 KB

    def read() -> None:
        with pytest.raises(ValueError, match="holds more than"):
            read_arrays(tmp_path / "x.npz", ["visits"], most=2**20)

    assert peak(read) < 2**21
    # A header that claims less does not help.
    zipped(tmp_path / "x.npz", header((2,)) + bytes(2**24))
    with pytest.raises(ValueError, match="damaged"):
        read_arrays(tmp_path / "x.npz", ["visits"], most=2**20)


def test_arrays_are_bounded_together(tmp_path: Path) -> None:
    write_arrays(tmp_path / "x.npz", {"a": np.zeros(100), "b": np.zeros(100)})
    assert set(read_arrays(tmp_path / "x.npz", "ab", most=1600)) == {"a", "b"}
    with pytest.raises(ValueError, match="holds more than"):
        read_arrays(tmp_path / "x.npz", "ab", most=1599)


def test_arrays_of_a_state_do_not_overlap(tmp_path: Path) -> None:
    """A thousand names for the same bytes would need a thousand times their memory once copied."""
    reference = msgpack.ExtType(1, msgpack.packb(["<f8", [1000], 0, False]))
    state = msgpack.packb({"a": reference, "b": reference})
    body = struct.pack("<8sIQ", b"uflpstat", 1, len(state)) + state + bytes(8000)
    (tmp_path / "x").write_bytes(body + hashlib.sha256(body).digest())
    with pytest.raises(DamagedError, match="more arrays than bytes"):
        state_file.read(tmp_path / "x")


def sealed(path: Path, state: bytes) -> Path:
    body = struct.pack("<8sIQ", b"uflpstat", 1, len(state)) + state
    path.write_bytes(body + hashlib.sha256(body).digest())
    return path


def test_lists_of_a_state_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One byte of a file makes an empty list, of 64 bytes."""
    monkeypatch.setattr(state_file, "_MOST_CONTAINERS", 1000)
    for most, empty in ((999, []), (999, {})):
        path = sealed(tmp_path / "x", msgpack.packb([empty] * most))
        assert state_file.read(path) == [empty] * most
        sealed(path, msgpack.packb([empty] * 100_000))
        with pytest.raises(DamagedError, match="too many lists"):
            state_file.read(path)


def test_a_file_that_lists_very_many_arrays_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        for number in range(20_000):
            archive.writestr(str(number), b"")

    def refused() -> None:
        with pytest.raises(ValueError, match="no file of arrays"):
            read_arrays(tmp_path / "x.npz", "a")

    assert peak(refused) < 5 * (tmp_path / "x.npz").stat().st_size


def test_a_state_file_that_is_larger_than_memory_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (tmp_path / "x").open("wb") as file:
        file.truncate(2**43)  # It takes no room on the disk.
    with pytest.raises(DamagedError, match=r"more than .* bytes"):
        state_file.read(tmp_path / "x")


def test_metrics_with_absurdly_many_columns_are_left_out(done: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(done, tmp_path / "run")
    columns = ["queries", "eval_return_mean", *(f"c{number}" for number in range(2000))]
    text = ",".join(columns) + "\n" + ",".join(["1"] * len(columns)) + "\n"
    (folder / "metrics.csv").write_text(text)
    runs, skipped = read_runs([folder])
    assert runs == []
    assert "more than 1000 columns" in skipped[0].reason


def test_json_that_is_absurdly_large_is_no_record(tmp_path: Path) -> None:
    with (tmp_path / "config.json").open("wb") as file:
        file.truncate(2**40)
    assert peak(lambda: read_object(tmp_path / "config.json")) < 10**6
    assert read_object(tmp_path / "config.json") is None
    # What is in it may take 25 times the memory.
    (tmp_path / "config.json").write_text('{"a": 1}' + " " * 2**26)
    assert read_object(tmp_path / "config.json") is None
    (tmp_path / "config.json").write_text(json.dumps({"a": 1}))
    assert read_object(tmp_path / "config.json") == {"a": 1}
