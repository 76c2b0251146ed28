"""Named arrays in one file, `numpy.savez`'s format, written in one piece and read within bounds."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from uflp.files import read_file, replacing

LARGEST = 1 << 28
"""Bytes that the arrays of one file may have together: a file may expand to a thousandfold."""

_KINDS = "biufU"
_ENTRY = b"PK\x01\x02"
_MOST_ENTRIES = 1000
"""Marks of entries, and how many a file may have: a small one may list millions."""


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write arrays so that a reader sees the old file or the new one."""
    with (
        replacing(path) as whole,
        # As `numpy.savez_compressed` does, but at the quickest level: it writes mostly zeros.
        zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
    ):
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w") as file:
                np.lib.format.write_array(file, np.asarray(array, order="C"), allow_pickle=False)


def read_arrays(path: Path, names: Iterable[str], most: int = LARGEST) -> dict[str, np.ndarray]:
    """Read those of the names that are there; execute nothing that is in the file.

    Args:
        path: of the file.
        names: of the arrays.
        most: bytes that they may have together.

    Raises:
        OSError: if the file cannot be read.
        ValueError: if it was read, and is not such a file, whole, or a larger one.
    """
    data = read_file(path, most)
    arrays: dict[str, np.ndarray] = {}
    try:
        if data.count(_ENTRY) > _MOST_ENTRIES:
            raise ValueError("it lists too many arrays")
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            held = set(archive.namelist())
            for name in names:
                if f"{name}.npy" in held:
                    arrays[name] = _array(archive, f"{name}.npy", most)
                    most -= arrays[name].nbytes
    except _TooLargeError:
        raise ValueError(f"{path.name} holds more than an array of its kind can have") from None
    except Exception as error:  # the bytes may be anything, and may fail in any way
        raise ValueError(f"{path.name} is damaged, or no file of arrays") from error
    return arrays


class _TooLargeError(Exception):
    """An array has more bytes than are allowed."""


def _array(archive: zipfile.ZipFile, name: str, most: int) -> np.ndarray:
    """Return an array whose size is checked before there is room for it."""
    with archive.open(name) as file:
        version = np.lib.format.read_magic(file)
        if version == (1, 0):
            shape, transposed, kind = np.lib.format.read_array_header_1_0(file)
        else:
            shape, transposed, kind = np.lib.format.read_array_header_2_0(file)
        if kind.kind not in _KINDS or min(shape, default=0) < 0:
            raise ValueError(f"{kind} is no type of numbers or text")
        size = int(np.prod(shape, dtype=object)) * kind.itemsize
        if size > most:
            raise _TooLargeError
        content = file.read(size + 1)
    if len(content) != size:
        raise ValueError("the array has another length")
    array: np.ndarray = np.frombuffer(content, kind) if kind.itemsize else np.zeros(shape, kind)
    return array.reshape(shape, order="F" if transposed else "C").copy()
