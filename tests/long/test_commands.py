"""2,000 random command lines: exit codes 0, 1 and 2, no traceback, nothing left behind on 2."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

CASES = Path(__file__).with_name("command_cases.py")
TOGETHER = 250


@pytest.mark.parametrize("first", range(0, 2000, TOGETHER))
def test_random_command_lines(first: int, tmp_path: Path) -> None:
    """Among them are folders and files of a stranger, whose module must never be imported."""
    command = [sys.executable, CASES, str(first), str(first + TOGETHER), tmp_path]
    environment = os.environ | {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    ended = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert ended.returncode == 0, ended.stderr[-6000:]
    print(first, ended.stdout)
