"""Fifty kills at random moments, half of them inside a checkpoint."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from crashing import RUN, kill_once, seconds_lost, train, without_clock

pytestmark = pytest.mark.long

KILLS = 50
QUERIES = 20_000
INTERVAL = 0.2


def test_fifty_kills(tmp_path: Path) -> None:
    assert train(*RUN, QUERIES, "--out", tmp_path / "whole").returncode == 0
    whole = without_clock(tmp_path / "whole")
    rng = random.Random(7)
    kills, inside, lost = 0, 0, 0.0
    for number in range(KILLS):
        folder = tmp_path / f"killed-{number}"
        # A kill may come after the last row, when the run is finished.
        while (
            kills < KILLS
            and not (folder / "summary.json").exists()
            and kill_once(folder, QUERIES, rng, INTERVAL)
        ):
            kills += 1
            inside += bool(list(folder.glob("checkpoint/*/*.tmp")))
            lost = max(lost, seconds_lost(folder))
            print(f"{kills} kills, {inside} of them inside a checkpoint, {lost:.2f} s lost at most")
        if not (folder / "summary.json").exists():
            ended = train("--resume", folder)
            assert ended.returncode == 0, ended.stderr
        assert without_clock(folder) == whole
        if kills == KILLS:
            break
    assert kills == KILLS
    assert inside > 0
    # A row may be written an interval, one save and one evaluation after a checkpoint.
    assert lost < INTERVAL + 10
