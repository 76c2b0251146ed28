"""Named arrays in one file, `numpy.savez`'s format, written in one piece."""

from __future__ import annotations

import zipfile
import zlib
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
    """Reads those of the names that are there; raises `ValueError` or `OSError` if none can be.

    Nothing in the file is executed.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in names if name in file}
    except (TypeError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(f"{path.name} is damaged") from error
