"""Training in a process of its own, which is killed, and made to go on."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

CALL = [sys.executable, "-c", "from uflp.cli import main; main()"]
RUN = ["deep-sea", "--set", "size=8", "hidden=16", "learning_batch=32", "eval_period=100"]
RUN += ["stochastic=true", "--uncertainty", "counts", "--queries", "3000"]


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


def kill_once(folder: Path, rng: random.Random, checkpoint_seconds: float) -> bool:
    """Begins or resumes a run, and kills it at a random moment; returns whether it was killed.

    Half of the kills come while a checkpoint is being written, as far as can be told from outside.
    """
    words = ["--resume", folder] if (folder / "config.json").exists() else [*RUN, "--out", folder]
    words += ["--checkpoint-seconds", checkpoint_seconds]
    command = [*CALL, "train", *map(str, words)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        rows = _size(folder / "metrics.csv")
        while process.poll() is None and _size(folder / "metrics.csv") <= rows:
            time.sleep(0.01)
        time.sleep(rng.uniform(0, 0.5))
        if rng.random() < 0.5:
            deadline = time.monotonic() + 5
            while process.poll() is None and time.monotonic() < deadline:
                if any(folder.glob("checkpoint/*/*.tmp")):
                    break
        killed = process.poll() is None
        if killed:
            os.kill(process.pid, signal.SIGKILL)
        _, errors = process.communicate()
    if not killed and process.returncode:
        raise AssertionError(f"exit code {process.returncode}: {errors.decode()}")
    return killed


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
