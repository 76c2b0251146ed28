"""One state as one file: a header in msgpack, arrays behind it as they lie in memory.

    magic (8 bytes), format (4), length of the header (8), header, arrays, checksum (32)

The header is the state with a reference in the place of each array. Reading a file executes
nothing, and looks at nothing before the checksum of all of it was found right.
"""

from __future__ import annotations

import hashlib
import os
import re
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import msgpack
import numpy as np

from uflp.files import read_file, replacing, sync_folder
from uflp.types import UsageError

FORMAT = 1
"""Raised whenever what a state holds changes, so that no other version takes it for its own."""

_MAGIC = b"uflpstat"
_FRONT = struct.Struct("<8sIQ")
_ALIGNMENT = 64
_ARRAY = 1
_DTYPE = re.compile(r"[<|][biuf]\d{1,2}")
_MOST_CONTAINERS = 1 << 24
"""Lists and dicts that a state may have: one byte of a file makes an empty one, of 64 bytes."""


class DamagedError(ValueError):
    """A file is not what was once written; the message says how that shows."""


class Written(NamedTuple):
    """A file's name, checksum, and size in bytes."""

    name: str
    checksum: bytes
    size: int


class Extension(NamedTuple):
    """Encoding of values of a further type, for those who have one.

    Attributes:
        kind: the type.
        pack: from such a value to plain ones.
        unpack: and back.
    """

    kind: type
    pack: Callable[[Any], Any]
    unpack: Callable[[Any], Any]


def write(path: Path, state: Any, extension: Extension | None = None) -> Written:
    """Write a file in one piece: whatever happens, there is the old one or the new one."""
    arrays: list[np.ndarray] = []
    end = 0

    def pack(value: Any) -> Any:
        nonlocal end
        if isinstance(value, np.generic | np.ndarray):
            array = np.ascontiguousarray(value)
            if not _DTYPE.fullmatch(array.dtype.str):
                raise TypeError(f"an array of {array.dtype} cannot be saved")
            start = -(-end // _ALIGNMENT) * _ALIGNMENT
            arrays.append(array)
            end = start + array.nbytes
            is_scalar = isinstance(value, np.generic)
            reference = [array.dtype.str, list(value.shape), start, is_scalar]
            return msgpack.ExtType(_ARRAY, msgpack.packb(reference))
        if extension is not None and isinstance(value, extension.kind):
            return msgpack.ExtType(_ARRAY + 1, msgpack.packb(extension.pack(value)))
        raise TypeError(f"a {type(value).__name__} cannot be saved")

    header = msgpack.packb(state, default=pack, strict_types=True)
    checksum = hashlib.sha256()
    size = 0
    with replacing(path) as file:

        def put(data: Any) -> None:
            nonlocal size
            checksum.update(data)
            size += file.write(data)

        put(_FRONT.pack(_MAGIC, FORMAT, len(header)))
        put(header)
        begin = size
        for array in arrays:
            put(bytes(-(size - begin) % _ALIGNMENT))
            put(array.reshape(-1).view(np.uint8).data)
        file.write(checksum.digest())
        size += checksum.digest_size
        file.flush()
        os.fsync(file.fileno())
    sync_folder(path.parent)
    return Written(path.name, checksum.digest(), size)


def read(path: Path, extension: Extension | None = None, checksum: bytes | None = None) -> Any:
    """Return the state that a file holds.

    Args:
        path: of the file.
        extension: as it was when writing.
        checksum: what the file must have, where that is known.

    Raises:
        DamagedError: for anything that is not such a file, whole.
        UsageError: for such a file of another format.
    """
    try:
        data = read_file(path, _largest())
    except FileNotFoundError:
        raise DamagedError(f"{path.name} is missing") from None
    except OSError as error:
        raise DamagedError(f"{path.name} cannot be read: {error.strerror}") from error
    except MemoryError as error:
        raise DamagedError(f"{path.name} does not fit into memory") from error
    body, found = data[:-32], data[-32:]
    if len(body) < _FRONT.size or body[:8] != _MAGIC:
        raise DamagedError(f"{path.name} is not a state file")
    if hashlib.sha256(body).digest() != found or checksum not in (None, found):
        raise DamagedError(f"the checksum of {path.name} does not match")
    _, version, length = _FRONT.unpack_from(body)
    if version != FORMAT:
        raise UsageError(f"{path} has format {version}, and this version reads format {FORMAT}")
    start = _FRONT.size + length
    arrays = memoryview(body)[start:]

    left = len(arrays)
    count = counter()

    def unpack(code: int, packed: bytes) -> Any:
        nonlocal left
        value = msgpack.unpackb(packed)
        if code == _ARRAY:
            array = _array(arrays, *value)
            # Arrays do not overlap: many names for few bytes would need much memory once copied.
            left -= array.nbytes
            if left < 0:
                raise ValueError("there are more arrays than bytes")
            return array
        if code == _ARRAY + 1 and extension is not None:
            return extension.unpack(value)
        raise ValueError(f"unknown kind {code}")

    try:
        header = body[_FRONT.size : start]
        return msgpack.unpackb(header, ext_hook=unpack, list_hook=count, object_hook=count)
    except Exception as error:  # the bytes may be anything, and may fail in any way
        raise DamagedError(f"{path.name} is not a state: {error!r}") from error


def counter() -> Callable[[Any], Any]:
    """Return a hook that msgpack calls with each list or dict, and that refuses too many."""
    containers = 0

    def count(container: Any) -> Any:
        nonlocal containers
        containers += 1
        if containers > _MOST_CONTAINERS:
            raise ValueError("there are too many lists")
        return container

    return count


def _largest() -> int:
    """Return the bytes of memory that this machine has: a larger file cannot be read anyway."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # Windows has no such call.
        return 1 << 40


def _array(arrays: memoryview, dtype: str, shape: list[int], start: int, is_scalar: bool) -> Any:
    if not _DTYPE.fullmatch(dtype) or any(side < 0 for side in shape):
        raise ValueError(f"no array is {dtype}{shape}")
    kind = np.dtype(dtype)
    count = int(np.prod(shape, dtype=object))
    value = np.frombuffer(arrays[start : start + count * kind.itemsize], kind).reshape(shape)
    return value[()] if is_scalar else value
