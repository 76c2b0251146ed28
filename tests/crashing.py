"""Training in a process of its own, which is killed, and made to go on."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from uflp.runs.checkpoints import Checkpoints

CALL = [sys.executable, "-c", "from uflp.cli import main; main()"]
RUN = ["deep-sea", "--set", "size=8", "hidden=16", "learning_batch=32", "eval_period=100"]
RUN += ["stochastic=true", "--uncertainty", "counts", "--queries"]


def without_clock(folder: Path) -> list[list[str]]:
    """Returns the cells of `metrics.csv`, the clock's column aside."""
    rows = [line.split(",") for line in (folder / "metrics.csv").read_text().splitlines()]
    clock = rows[0].index("wall_seconds")
    return [row[:clock] + row[clock + 1 :] for row in rows]


def train(*words: object) -> subprocess.CompletedProcess[str]:
    """Calls `uflp train` and waits for its end."""
    return subprocess.run(
        [*CALL, "train", *map(str, words)], capture_output=True, text=True, check=False
    )


def kill_once(folder: Path, queries: int, rng: random.Random, interval: float) -> bool:
    """Begins or resumes a run, and kills it at a random moment; returns whether it was killed.

    Every second kill waits for a checkpoint that is being written.
    """
    begun = (folder / "config.json").exists()
    words = ["--resume", folder] if begun else [*RUN, queries, "--out", folder]
    command = [*CALL, "train", *map(str, words), "--checkpoint-seconds", str(interval)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        rows = _size(folder / "metrics.csv") if begun else 0
        _wait(process, lambda: _size(folder / "metrics.csv") > rows)
        time.sleep(rng.uniform(0, 2 * interval))
        if rng.random() < 0.5:
            _wait(process, lambda: any(folder.glob("checkpoint/*/*.tmp")), patience=20 * interval)
        killed = process.poll() is None
        if killed:
            os.kill(process.pid, signal.SIGKILL)
        _, errors = process.communicate()
    if process.returncode not in (0, -signal.SIGKILL):
        raise AssertionError(f"exit code {process.returncode}: {errors.decode()}")
    return killed


def seconds_lost(folder: Path) -> float:
    """Returns the run time from the newest checkpoint to the last row that was written."""
    lines = (folder / "metrics.csv").read_text().split("\n")[:-1]
    last = float(lines[-1].split(",")[lines[0].split(",").index("wall_seconds")])
    state = Checkpoints(folder / "checkpoint").newest()
    return last if state is None else last - state["run"]["seconds"]


def _wait(process: Any, condition: Any, patience: float = 600.0) -> None:
    deadline = time.monotonic() + patience
    while process.poll() is None and not condition() and time.monotonic() < deadline:
        time.sleep(0.001)


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
