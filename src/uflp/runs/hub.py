"""A trained agent as a folder that a model hub can hold.

    config.json           format, version, queries, and what decided the run
    model.safetensors     the arrays of the learner, `learner.0` and so on
    history.safetensors   if asked for: the snapshots, end to end, with sizes and screen scores
    film.gif              if the simulator draws pictures: one episode
    README.md             the model card

Weights and snapshots are numbers in safetensors files. Reading them executes nothing, and every
field is checked: a folder may be a stranger's.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from uflp import __version__, files
from uflp.arguments import argument
from uflp.runs.folder import CONFIG
from uflp.state import State, StateError, finite, number, whole_numbers
from uflp.types import Snapshot, UsageError

FORMAT = 1
MODEL, HISTORY, CARD, FILM = "model.safetensors", "history.safetensors", "README.md", "film.gif"
LARGEST = 1 << 34
"""Bytes that a file of arrays may have."""

_MOST_ARRAYS = 10_000
_LARGEST_HEADER = 1 << 22
"""Arrays that a file may have, and bytes that may describe them: each array takes a kilobyte."""


def is_hub_folder(path: Path) -> bool:
    """Return whether a path leads to such a folder."""
    return (path / MODEL).is_file()


def write_hub_folder(
    path: Path,
    identity: Mapping[str, Any],
    queries: int,
    learner: State,
    *,
    card: str,
    snapshots: Iterable[Snapshot] | None = None,
    film: bytes | None = None,
) -> None:
    """Write a folder, which must be new or empty; where that fails, it is as it was.

    Args:
        path: of the folder.
        identity: what decided the run's numbers.
        queries: how many the agent was trained for.
        learner: the state of the agent.
        card: text of the model card.
        snapshots: of the history, oldest first; None leaves it out.
        film: one episode, as a GIF.
    """
    if path.is_symlink() or (path.exists() and not path.is_dir()):
        raise UsageError(f"{path} is no folder: choose another one")
    if path.is_dir() and any(path.iterdir()):
        raise UsageError(f"{path} already holds something: choose another folder, or remove it")
    config = {"format": FORMAT, "uflp": __version__, "queries": queries, "run": identity}
    # Before anything is written: they may be refused.
    arrays = {MODEL: _learner_arrays(learner)}
    if snapshots is not None:
        arrays[HISTORY] = _history_arrays(snapshots)
    made = [folder for folder in (path, *path.parents) if not folder.exists()]
    try:
        path.mkdir(parents=True, exist_ok=True)
        for name, held in arrays.items():
            _write(path / name, _packed(held))
        if film is not None:
            _write(path / FILM, film)
        _write(path / CARD, card.encode())
        _write(path / CONFIG, (json.dumps(config, indent=2, allow_nan=False) + "\n").encode())
    except OSError as error:
        for name in (*arrays, FILM, CARD, CONFIG):
            (path / name).unlink(missing_ok=True)
        if made:
            shutil.rmtree(made[-1], ignore_errors=True)
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error


def read_hub_agent(path: Path) -> dict[str, Any]:
    """Return what a folder holds: `identity` as JSON, and `run` with `queries` and `learner`."""
    config = _config(path)
    try:
        arrays = _arrays(path / MODEL)
        leaves = [arrays[f"learner.{count}"] for count in range(len(arrays))]
        run = {"queries": number(config, "queries"), "learner": {"leaves": leaves}}
    except StateError as error:
        raise UsageError(f"{path} does not hold an agent that can be used: {error}") from error
    except KeyError as error:
        raise UsageError(f"{path / MODEL} does not hold the arrays of an agent: {error}") from error
    return {"identity": json.dumps(config["run"]), "run": run}


def read_hub_history(path: Path, stamp: str) -> Iterator[Snapshot]:
    """Yield the snapshots that a folder holds, oldest first.

    Args:
        path: of the folder.
        stamp: of the simulator that they are for.
    """
    if not (path / HISTORY).exists():
        raise UsageError(
            f"{path} holds an agent without its history: export it with {argument('history', True)}"
        )
    found = _config(path)["run"].get("simulator")
    if found != stamp:
        raise UsageError(f"{path} has a history of {found!r}, and this is {stamp!r}")
    arrays = _arrays(path / HISTORY)
    try:
        data, scores = arrays["data"], arrays["scores"]
        if data.dtype != np.uint8 or data.ndim != 1:
            raise StateError("data is not a row of bytes")
        sizes = whole_numbers(arrays, "sizes", most=data.size)
        if scores.dtype != np.float64 or scores.shape != (len(sizes),):
            raise StateError("scores is not one number a snapshot")
        finite(scores, "scores")
        if sum(sizes) != data.size:
            raise StateError("the sizes of the snapshots are not those of the data")
    except (KeyError, StateError) as error:
        raise UsageError(f"{path / HISTORY} does not hold a history: {error}") from error
    end = 0
    for size, score in zip(sizes, scores.tolist(), strict=True):
        end += size
        yield Snapshot(stamp, data[end - size : end].tobytes(), score)


def _learner_arrays(learner: State) -> dict[str, np.ndarray]:
    leaves = learner.get("leaves")
    if set(learner) != {"leaves"} or not isinstance(leaves, list):
        raise UsageError("this agent keeps more than arrays, which a folder of arrays cannot hold")
    # Not `ascontiguousarray`, which makes a row of a single number.
    return {f"learner.{count}": np.asarray(leaf, order="C") for count, leaf in enumerate(leaves)}


def _history_arrays(snapshots: Iterable[Snapshot]) -> dict[str, np.ndarray]:
    data, scores = [], []
    for snapshot in snapshots:
        data.append(bytes(snapshot.data))
        scores.append(snapshot.screen_score)
    return {
        "data": np.frombuffer(b"".join(data), np.uint8),
        "scores": np.array(scores, np.float64),
        "sizes": np.array([len(one) for one in data], np.int64),
    }


def _packed(arrays: dict[str, np.ndarray]) -> bytes:
    from safetensors.numpy import save

    # One entry: the library writes several in any order, and equal agents are to give equal bytes.
    packed: bytes = save(arrays, {"format": "np"})
    return packed


def _write(path: Path, data: bytes) -> None:
    with files.replacing(path) as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _config(path: Path) -> dict[str, Any]:
    """Return `config.json`, once it is of the present format."""
    try:
        config = json.loads(files.read_file(path / CONFIG))
    except OSError as error:
        raise UsageError(f"{path / CONFIG} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path / CONFIG} is damaged, or not JSON") from error
    if not isinstance(config, dict) or not isinstance(config.get("run"), dict):
        raise UsageError(f"{path / CONFIG} is not the configuration of an agent")
    if type(config.get("format")) is not int or config["format"] != FORMAT:
        raise UsageError(
            f"{path} has format {config.get('format')!r}, and this version reads format {FORMAT}"
        )
    return config


def _arrays(path: Path) -> dict[str, np.ndarray]:
    """Return the arrays of a safetensors file, whose layout the library has checked."""
    from safetensors import deserialize

    try:
        data = files.read_file(path, LARGEST)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    except MemoryError as error:
        raise UsageError(f"{path} does not fit into memory") from error
    try:
        if int.from_bytes(data[:8], "little") > _LARGEST_HEADER:
            raise ValueError("its header is too large")
        held = deserialize(data)
        if len(held) > _MOST_ARRAYS:
            raise ValueError(f"{len(held)} arrays are too many")
        return {name: _array(view) for name, view in held}
    except Exception as error:  # the bytes may be anything, and may fail in any way
        raise UsageError(f"{path} is damaged, or no file of arrays") from error


def _array(view: Mapping[str, Any]) -> np.ndarray:
    kind = np.dtype(_DTYPES[view["dtype"]])
    array: np.ndarray = np.frombuffer(view["data"], kind).reshape(view["shape"])
    return array


_DTYPES = {
    **{f"F{bits}": f"<f{bits // 8}" for bits in (16, 32, 64)},
    **{f"I{bits}": f"<i{bits // 8}" for bits in (8, 16, 32, 64)},
    **{f"U{bits}": f"<u{bits // 8}" for bits in (8, 16, 32, 64)},
    "BOOL": "|b1",
}
"""Types of numbers, by their names in a safetensors file."""
