"""Files that are written as a whole or not at all, and that lead nowhere else.

A folder that is written to may be a stranger's. A link in the place of a file that is to be written
would lead to a file somewhere else, so no link is followed. A pipe in the place of a file that is
to be read would wait for ever, and a device would never end, so only ordinary files are read.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

TEMPORARY = ".tmp"

LARGEST_TEXT = 1 << 26
"""Bytes of the largest JSON file that is read: what they make takes up to 25 times the memory."""

# Windows has no such flags, and asks for the right to make links.
_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)


class NotOrdinaryError(OSError):
    """A path leads to a link, folder, pipe or device in the place of an ordinary file."""


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Yield a new file that takes the place of the one at a path at the end of the block.

    A reader sees the old file or the new one. If anything fails, the old one stays, and nothing
    else. A link at the path is replaced; what it leads to stays as it is.
    """
    temporary = path.with_name(path.name + TEMPORARY)
    try:
        with create(temporary) as file:
            yield file
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


def create(path: Path) -> BinaryIO:
    """Open a new file for writing, in the place of a file or link of that name."""
    path.unlink(missing_ok=True)
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK, 0o666), "wb")


def append(path: Path) -> BinaryIO:
    """Open an ordinary file, which need not exist yet, to add to its end."""
    return _opened(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, "ab")


def update(path: Path) -> BinaryIO:
    """Open an ordinary file, which need not exist yet, for reading and writing."""
    return _opened(path, os.O_RDWR | os.O_CREAT, "r+b")


def _opened(path: Path, flags: int, mode: str) -> BinaryIO:
    try:
        descriptor = os.open(path, flags | _NO_LINK | _NO_WAIT, 0o666)
    except OSError as error:
        if error.errno == errno.ELOOP or path.is_symlink():
            raise NotOrdinaryError(errno.ELOOP, "it is a link", str(path)) from error
        raise
    status = os.fstat(descriptor)
    # A second name is a link of another kind.
    if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
        os.close(descriptor)
        reason = "it has another name" if stat.S_ISREG(status.st_mode) else "it is no file"
        raise NotOrdinaryError(errno.EINVAL, reason, str(path))
    return os.fdopen(descriptor, mode)  # type: ignore[return-value]


def read_file(path: Path, most: int = LARGEST_TEXT) -> bytes:
    """Return the content of an ordinary file, or of one that a link leads to.

    Args:
        path: of the file.
        most: bytes that it may have.

    Raises:
        NotOrdinaryError: if it is something else.
        OSError: if it is larger, or cannot be read.
    """
    descriptor = os.open(path, os.O_RDONLY | _NO_WAIT | getattr(os, "O_BINARY", 0))
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise NotOrdinaryError(errno.EINVAL, "it is no file", str(path))
        # As many bytes as are asked for are allocated, however few there are.
        data = b"" if status.st_size > most else file.read(status.st_size + 1)
    if max(len(data), status.st_size) > most:
        raise OSError(errno.EFBIG, f"it has more than {most:,} bytes", str(path))
    return data


def require_folder(path: Path) -> None:
    """Raise an error if there is anything at a path but a folder; a link to one is none."""
    with contextlib.suppress(FileNotFoundError):
        mode = path.lstat().st_mode
        if not stat.S_ISDIR(mode):
            reason = "it is a link" if stat.S_ISLNK(mode) else "it is no folder"
            raise NotOrdinaryError(errno.ENOTDIR, reason, str(path))


def sync_folder(path: Path) -> None:
    """Make sure that the names in a folder outlive a loss of power."""
    if os.name == "nt":
        return  # a folder cannot be opened there
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
