"""Named arrays in one file, `numpy.savez`'s format, written in one piece."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from uflp.files import replacing


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Writes arrays so that a reader sees the old file or the new one."""
    with (
        replacing(path) as temporary,
        # As `numpy.savez_compressed` does, but at the quickest level: it writes mostly zeros.
        zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
    ):
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w") as file:
                np.lib.format.write_array(file, np.asarray(array, order="C"), allow_pickle=False)


def read_arrays(path: Path, names: Iterable[str]) -> dict[str, np.ndarray]:
    """Reads those of the names that are there; executes nothing that is in the file.

    Raises:
        OSError: if the file cannot be read.
        ValueError: if it was read, and is not such a file, whole.
    """
    data = path.read_bytes()
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as file:
            return {name: file[name] for name in names if name in file}
    except Exception as error:  # the bytes may be anything, and may fail in any way
        raise ValueError(f"{path.name} is damaged, or no file of arrays") from error
