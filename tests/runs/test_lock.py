"""Two processes never work on one run folder, and a dead one is not in the way."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from uflp.runs.folder import LOCK, Lock
from uflp.types import UsageError

HOLD = """
import sys
from pathlib import Path
from uflp.runs.folder import Lock
lock = Lock(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


def test_the_second_is_refused_until_the_first_has_died(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, tmp_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(UsageError, match=f"process {holder.pid} is at work on"):
            Lock(tmp_path)
        holder.kill()
        holder.wait()
    assert (tmp_path / LOCK).read_text() == str(holder.pid), "nobody has cleaned up"
    lock = Lock(tmp_path)
    assert (tmp_path / LOCK).read_text() == str(os.getpid())
    lock.release()
    assert list(tmp_path.iterdir()) == []


def test_a_lock_is_taken_over_in_the_same_process_too(tmp_path: Path) -> None:
    first = Lock(tmp_path)
    with pytest.raises(UsageError, match="at work"):
        Lock(tmp_path)
    first.release()
    Lock(tmp_path).release()


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be written"):
        Lock(tmp_path / "missing")
