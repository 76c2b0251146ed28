"""One process at a time on a run folder."""

from __future__ import annotations

import os
from pathlib import Path

from uflp.types import UsageError

try:
    import fcntl
except ImportError:  # Windows refuses to replace files in use, which has to do there.
    fcntl = None  # type: ignore[assignment]

LOCK = ".lock"


class Lock:
    """A lock that the system releases when its process ends, however that happens.

    So the lock of a dead process is never in the way.
    """

    def __init__(self, folder: Path):
        """Takes the lock of a folder, or raises `UsageError` if another process has it."""
        self._path = folder / LOCK
        while True:
            try:
                self._file = self._path.open("a+")
            except OSError as error:
                raise UsageError(f"{folder} cannot be written: {error.strerror}") from error
            if fcntl is None:
                return
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self._file.seek(0)
                holder = self._file.read().strip() or "unknown"
                self._file.close()
                raise UsageError(f"process {holder} is at work on {folder}") from None
            # Whoever held it before may have removed the file that was opened here.
            if self._is_there():
                break
            self._file.close()
        self._file.truncate(0)
        self._file.write(str(os.getpid()))
        self._file.flush()

    def follow(self, folder: Path) -> None:
        """Goes along with the folder, which now has another name."""
        self._path = folder / LOCK

    def release(self) -> None:
        """Gives the folder free."""
        if not self._file.closed:
            self._path.unlink(missing_ok=True)
            self._file.close()

    def _is_there(self) -> bool:
        try:
            return os.path.samestat(os.fstat(self._file.fileno()), self._path.stat())
        except FileNotFoundError:
            return False
