"""Files that are there as a whole, or not at all."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

TEMPORARY = ".tmp"


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yields where to write what takes the place of a file at the end of the block.

    A reader sees the old file or the new one. If anything fails, the old one stays, and nothing
    else.
    """
    temporary = path.with_name(path.name + TEMPORARY)
    try:
        yield temporary
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
