"""Files that are forged field by field, with right checksums."""

from __future__ import annotations

import contextlib
import copy
import hashlib
import json
import math
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load, save

from uflp import state_file
from uflp.state_file import Extension


class Packed(list[Any]):
    """Rows of a buffer as `state` holds them: name, first, stop, segments."""


_ROWS = Extension(Packed, list, Packed)

_ANYTHING: list[Any] = [
    *(None, True, False, 0, 1, -1, 7, 99, 2**31, 2**53, 2**53 + 1, 2**63 - 1, -(2**63)),
    *(0.0, -1.0, 0.5, 1e308, math.nan, math.inf, -math.inf),
    *("", "x", "state", "../../outside/canary", "/outside/canary", "\0", "x" * 1000, "os:abort"),
    *(b"", b"\xff", b"\0" * 1000),
    *([], [0], [[]], {}, {"x": 0}),
    *(np.float32(math.nan), np.zeros(0), np.zeros((2, 3)), np.full(5, -1), np.full(3, 2**62)),
]


def forged(value: Any, rng: random.Random) -> Any:
    """Returns another value in the place of one."""
    if rng.random() < 0.3:
        return copy.deepcopy(rng.choice(_ANYTHING))
    if isinstance(value, np.ndarray) and rng.random() < 0.95:
        return _forged_array(value, rng)
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + rng.choice([-1, 1, -100, 100, 10**6, 10**12, -value, value])
    if isinstance(value, float):
        return rng.choice([-value, value * 2, value + 1, math.nan, math.inf, 1e300])
    if isinstance(value, bytes):
        return forged_bytes(value, rng)
    if isinstance(value, str):
        return _forged_text(value, rng)
    if isinstance(value, list):
        return _forged_list(value, rng)
    if isinstance(value, dict):
        return _forged_dict(value, rng)
    return copy.deepcopy(rng.choice(_ANYTHING))


def forged_bytes(data: bytes, rng: random.Random) -> bytes:
    """Returns bytes that differ in some way."""
    changed = bytearray(data)
    place = rng.randrange(len(data) + 1)
    kind = rng.randrange(5)
    if kind == 0 and place < len(data):
        changed[place] ^= 1 << rng.randrange(8)
    elif kind == 1:
        del changed[place:]
    elif kind == 2:
        changed[place : place + rng.randrange(1, 9)] = rng.randbytes(rng.randrange(9))
    elif kind == 3:
        changed += rng.randbytes(rng.randrange(1, 64))
    else:
        value = rng.choice([-1, 0, 1, 2**31 - 1, -(2**31)])
        place -= place % 4
        changed[place : place + 4] = value.to_bytes(4, "little", signed=True)
    return bytes(changed)


def _forged_text(text: str, rng: random.Random) -> str:
    try:
        value = json.loads(text)
    except ValueError:
        place = rng.randrange(len(text) + 1)
        return text[:place] + rng.choice(["", "x", "/", "\0", "é"]) + text[place + 1 :]
    return json.dumps(forged_field(value, rng), default=str)


def _forged_list(values: list[Any], rng: random.Random) -> list[Any]:
    changed = list(values)
    kind = rng.randrange(4)
    if kind == 0 and changed:
        del changed[rng.randrange(len(changed))]
    elif kind == 1:
        changed.insert(rng.randrange(len(changed) + 1), copy.deepcopy(rng.choice(_ANYTHING)))
    elif kind == 2:
        changed = changed + changed
    else:
        changed.reverse()
    return type(values)(changed)


def _forged_dict(values: dict[Any, Any], rng: random.Random) -> dict[Any, Any]:
    changed = dict(values)
    name = rng.choice(list(changed) or ["x"])
    kind = rng.randrange(3)
    if kind == 0:
        changed.pop(name, None)
    elif kind == 1:
        changed[rng.choice(["x", "", "queries"])] = copy.deepcopy(rng.choice(_ANYTHING))
    else:
        changed[f"{name}x"] = changed.pop(name, None)
    return changed


def _forged_array(array: np.ndarray, rng: random.Random) -> Any:
    if array.dtype.kind not in "biuf":
        return copy.deepcopy(rng.choice(_ANYTHING))
    kind = rng.randrange(8)
    flat = array.reshape(-1)
    if kind == 0:
        other = rng.choice(["<f8", "<f4", "<i8", "<i4", "|u1", "|b1", "<u4"])
        with np.errstate(all="ignore"):
            return np.nan_to_num(array).astype(other)
    if kind == 1:
        return flat.copy()
    if kind == 2:
        return array[: rng.randrange(len(array) + 1)] if array.ndim else np.array([array, array])
    if kind == 3:
        return np.concatenate([array, array]) if array.ndim else array[None]
    if kind == 4 or not flat.size:
        return array[None] if rng.random() < 0.5 else np.zeros_like(array)
    changed = flat.copy()
    place = rng.randrange(flat.size)
    with np.errstate(all="ignore"):
        if array.dtype.kind == "f":
            changed[place] = rng.choice([math.nan, math.inf, -math.inf, 1e30, -1.0])
        elif array.dtype.kind == "b":
            changed[place] = not changed[place]
        else:
            limits = np.iinfo(array.dtype)
            values = [limits.min, limits.max, 0, min(99, limits.max), limits.max // 2]
            changed[place] = rng.choice(values)
            if rng.random() < 0.2:
                changed[:] = rng.choice(values)
    return changed.reshape(array.shape)


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    if isinstance(value, dict):
        for name in value:
            yield from _paths(value[name], (*path, name))
    elif isinstance(value, list):
        for place in range(min(len(value), 6)):
            yield from _paths(value[place], (*path, place))


def forged_field(tree: Any, rng: random.Random) -> Any:
    """Returns a tree of values of which one, at some depth, is another."""
    tree = copy.deepcopy(tree)
    path = rng.choice(list(_paths(tree))[1:] or [()])
    if not path:
        return forged(tree, rng)
    at = tree
    for name in path[:-1]:
        at = at[name]
    at[path[-1]] = forged(at[path[-1]], rng)
    return tree


def forge_state_file(path: Path, rng: random.Random) -> None:
    """Forges one field of a state file, such as `agent.state`."""
    _write(path, forged_field(state_file.read(path, _ROWS), rng), rng)


def forge_checkpoint(folder: Path, rng: random.Random) -> None:
    """Forges one field of `state`, or of a file of rows together with its checksum in `state`."""
    state = state_file.read(folder / "state", _ROWS)
    rows = sorted(folder.glob("*.rows"))
    if rows and rng.random() < 0.3:
        path = rng.choice(rows)
        written = _write(path, forged_field(state_file.read(path), rng), rng)
        for packed in _packed(state):
            for segment in packed[3]:
                if segment[2][0] == path.name:
                    segment[2] = list(written)
    else:
        state = forged_field(state, rng)
    _write(folder / "state", state, rng)


def _write(path: Path, tree: Any, rng: random.Random) -> Any:
    try:
        return state_file.write(path, tree, _ROWS)
    except (TypeError, OverflowError, ValueError):  # What the format has no form for.
        body = forged_bytes(path.read_bytes()[:-32], rng)
        path.write_bytes(body + hashlib.sha256(body).digest())
        return path.name, hashlib.sha256(body).digest(), len(body) + 32


def _packed(value: Any) -> Iterator[Packed]:
    if isinstance(value, Packed):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _packed(one)


def forge_json(path: Path, rng: random.Random) -> None:
    """Forges one field of a JSON file."""
    value = forged_field(json.loads(path.read_text()), rng)
    path.write_text(json.dumps(value, default=str))


def forge_arrays(path: Path, rng: random.Random) -> None:
    """Forges one array of a file of them."""
    with np.load(path) as file:
        arrays = dict(file)
    if rng.random() < 0.2:
        path.write_bytes(forged_bytes(path.read_bytes(), rng))
        return
    name = rng.choice(list(arrays))
    value = forged(arrays[name], rng) if rng.random() < 0.9 else None
    arrays.pop(name)
    if value is not None and not isinstance(value, dict | list):
        arrays[name] = np.array(value)
    np.savez_compressed(path, **arrays)


def forge_safetensors(path: Path, rng: random.Random) -> None:
    """Forges one array of a file of them, its name, or the header before them."""
    data = path.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    kind = rng.random()
    if kind < 0.1:
        path.write_bytes(forged_bytes(data, rng))
    elif kind < 0.5:
        header = json.dumps(forged_field(json.loads(data[8:start]), rng), default=str).encode()
        path.write_bytes(len(header).to_bytes(8, "little") + header + data[start:])
    else:
        arrays = load(data)
        name = rng.choice(list(arrays))
        value = arrays.pop(name)
        value = forged(value, rng) if rng.random() < 0.9 else value
        name = _forged_text(name, rng) if rng.random() < 0.1 else name
        if isinstance(value, bool | int | float | np.generic | np.ndarray):
            with contextlib.suppress(OverflowError):
                arrays[name] = np.array(value)
        arrays = {key: one for key, one in arrays.items() if one.dtype != object}
        path.write_bytes(save(arrays))


def forge_table(path: Path, rng: random.Random) -> None:
    """Forges one cell of a CSV file."""
    rows = [line.split(",") for line in path.read_text().splitlines()]
    row = rng.choice(rows)
    cells = ["", "nan", "inf", "-1", "1e308", "1e999", "x", '"', "0x10", "9" * 400, "9" * 20, "\0"]
    row[rng.randrange(len(row))] = rng.choice(cells)
    if rng.random() < 0.1:
        row *= 2
    path.write_text("\n".join(map(",".join, rows)) + "\n")
