"""Runs with full buffers for half an hour: memory and open files stay as they are.

`python -m benchmarks.soak [MINUTES]` trains on Swingup and, with random actions, on Montezuma's
Revenge, both at once, and looks at the two processes every ten seconds. What it saw goes to
`results/soak.csv`; it ends with exit code 1 where memory or open files grew.
"""

from __future__ import annotations

import csv
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from uflp.report.provenance import record

RESULTS = Path(__file__).parent.parent / "results" / "soak.csv"
HISTORY = 100_000
SECONDS = 10
TOLERANCE = 0.02
FOREVER = ("--queries", "1000000000", "--set", "checkpoint_period=1")
RUNS = {
    "swingup": (
        *("swingup", "--agent", "ddqn-bonus", "--set", f"replay_size={HISTORY}"),
        *("--set", f"history_size={HISTORY}", *FOREVER),
    ),
    "montezuma": (
        *("atari/montezuma-revenge", "--agent", "random", "--set", "eval_period=10000"),
        *("--set", f"history_size={HISTORY}", *FOREVER),
    ),
}


@dataclass
class Watched:
    """A run in a process of its own, and what was seen of it since its buffers were full."""

    name: str
    folder: Path
    process: subprocess.Popen[bytes]
    rows: list[dict[str, float | str]] = field(default_factory=list)

    def look(self, seconds: float) -> None:
        """Takes down memory and open files, once the buffers are full."""
        if self.process.poll() is not None:
            sys.exit(f"{self.name} ended with exit code {self.process.returncode}")
        newest = self._newest()
        if not newest or int(newest["history_size"]) < HISTORY:
            return
        proc = Path("/proc") / str(self.process.pid)
        status = dict(line.split(":", 1) for line in (proc / "status").read_text().splitlines())
        seen = {
            "run": self.name,
            "seconds": round(seconds),
            "queries": int(newest["queries"]),
            "resident_mb": round(int(status["VmRSS"].split()[0]) / 1024, 1),
            "open_files": len(list((proc / "fd").iterdir())),
        }
        self.rows.append(seen)

    def growth(self, key: str) -> float:
        """Returns how much larger the last third's median is than the first third's."""
        values = [float(row[key]) for row in self.rows]
        third = max(1, len(values) // 3)
        return statistics.median(values[-third:]) / statistics.median(values[:third]) - 1

    def _newest(self) -> dict[str, str] | None:
        metrics = self.folder / "metrics.csv"
        if not metrics.exists():
            return None
        with metrics.open() as file:
            rows = list(csv.DictReader(file))
        return rows[-1] if rows else None


def started(root: Path) -> Iterator[Watched]:
    """Starts the runs."""
    for name, words in RUNS.items():
        command = [sys.executable, "-m", "uflp", "train", *words, "--out", str(root / name)]
        yield Watched(name, root / name, subprocess.Popen(command, stdout=subprocess.DEVNULL))


def main(minutes: float) -> int:
    """Watches until each run has had its minutes with full buffers; returns the exit code."""
    needed = minutes * 60 / SECONDS
    with tempfile.TemporaryDirectory() as root:
        runs = list(started(Path(root)))
        begun = time.monotonic()
        try:
            while min(len(run.rows) for run in runs) < needed:
                time.sleep(SECONDS)
                for run in runs:
                    run.look(time.monotonic() - begun)
        finally:
            for run in runs:
                run.process.terminate()
            for run in runs:
                run.process.wait()
    rows = [row for run in runs for row in run.rows]
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    record(RESULTS, "python -m benchmarks.soak")
    grown = False
    for run in runs:
        memory, files = run.growth("resident_mb"), run.growth("open_files")
        print(f"{run.name}: memory {memory:+.2%}, open files {files:+.2%}")
        grown = grown or memory > TOLERANCE or files > 0
    return int(grown)


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]) if len(sys.argv) > 1 else 30))
