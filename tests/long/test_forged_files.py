"""Over 20,000 files forged field by field, with right checksums: documented errors only."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

CASES = Path(__file__).with_name("forged_cases.py")
COUNTS = {
    "checkpoint": 8000,
    "agent": 2000,
    "history": 2000,
    "hub": 1000,
    "planner": 1200,
    "config": 1000,
    "report": 1500,
    "arrays": 1000,
    "snapshot": 2000,
    "emulator": 1500,
}
"""Files of each kind."""

TOGETHER = 500
"""Cases of one process."""


@pytest.mark.parametrize(
    ("kind", "first"),
    [(kind, first) for kind, count in COUNTS.items() for first in range(0, count, TOGETHER)],
)
def test_forged_files_give_documented_errors(kind: str, first: int, tmp_path: Path) -> None:
    """No signal ends the process, nothing outside is written, and memory stays below 2 GB."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "canary").write_text("alive")
    folder = tmp_path / "deep" / "er"
    folder.mkdir(parents=True)
    scale = float(os.environ.get("UFLP_FORGED", "1"))
    stop = first + max(1, round(scale * min(TOGETHER, COUNTS[kind] - first)))
    command = [sys.executable, CASES, kind, str(first), str(stop), folder]
    environment = os.environ | {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    ended = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=folder, env=environment
    )
    assert ended.returncode == 0, ended.stderr[-6000:]
    outcome = json.loads(ended.stdout.splitlines()[-1])
    print(kind, first, outcome)
    assert sum(outcome["outcomes"].values()) == stop - first
    assert Counter(outcome["outcomes"])["undocumented"] == 0
    assert outcome["megabytes"] < 2048
    assert [path.name for path in outside.iterdir()] == ["canary"]
    assert (outside / "canary").read_text() == "alive"
    assert list(folder.iterdir()) == []
    assert {path.name for path in tmp_path.iterdir()} <= {"outside", "deep", "config"}
