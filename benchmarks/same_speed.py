"""Compare the speed of two revisions, one after the other, several times.

    python benchmarks/same_speed.py OLD/src NEW/src [--repeats K] [NAME ...]

Each configuration trains in a process of its own, the two revisions by turns, so that both meet
the same machine. What counts is the processor's time of a query, between the first evaluation,
by which everything is compiled, and the last. The ratio is old over new: above 1, the new revision
is faster. The median of the repetitions is printed, with the lowest and the highest.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

# Look-ahead, which `ddqn` had before 0.2.0, is switched off; later versions ignore the key.
_SEA = {"preset": "deep-sea", "size": 50, "queries_at_once": 1}
RUNS: dict[str, dict[str, Any]] = {
    "deep-sea ddqn, counts": {**_SEA, "agent": "ddqn", "uncertainty": "counts", "queries": 12_000},
    "deep-sea ddqn, covariance": {
        **_SEA,
        "agent": "ddqn",
        "uncertainty": "covariance",
        "queries": 6_000,
    },
    "deep-sea ddqn-bonus, covariance": {**_SEA, "agent": "ddqn-bonus", "queries": 6_000},
    "deep-sea boot-ddqn": {**_SEA, "agent": "boot-ddqn", "queries": 1_600},
    "deep-sea pi-bonus": {**_SEA, "agent": "pi-bonus", "queries": 8_000},
    "swingup ddqn, online": {
        "preset": "swingup",
        "agent": "ddqn",
        "access": "online",
        "queries": 8_000,
    },
    "swingup ddqn-bonus": {"preset": "swingup", "agent": "ddqn-bonus", "queries": 8_000},
    "swingup boot-ddqn": {
        "preset": "swingup",
        "agent": "boot-ddqn",
        "learning_batch": 256,
        "queries": 2_000,
    },
    "montezuma random, counts": {
        "preset": "atari/montezuma-revenge",
        "agent": "random",
        "uncertainty": "counts",
        "rollout_limit": 100,
        "batch": 64,
        "queries": 4_000,
    },
    "montezuma ddqn, counts": {
        "preset": "atari/montezuma-revenge",
        "agent": "ddqn",
        "uncertainty": "counts",
        "min_replay": 200,
        "sgd_period": 32,
        "learning_batch": 32,
        "queries": 1_500,
    },
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME", help="configurations; all by default")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    if unknown := set(options.names) - RUNS.keys():
        sys.exit(f"no such configuration: {min(unknown)}; choose from {', '.join(RUNS)}")
    for name in options.names or RUNS:
        pairs = [
            (measured(options.old, name), measured(options.new, name))
            for _ in range(options.repeats)
        ]
        ratios = sorted(old / new for old, new in pairs)
        old, new = (statistics.median(times) * 1e6 for times in zip(*pairs, strict=True))
        print(
            f"{name:<34} {statistics.median(ratios):.2f} [{ratios[0]:.2f}, {ratios[-1]:.2f}]"
            f"   {old:,.0f} and {new:,.0f} µs a query",
            flush=True,
        )


def measured(source: Path, name: str) -> float:
    """Return the seconds of a query with the code in a folder, measured in a process of its own."""
    command = [sys.executable, __file__, "--train", name]
    environment = {**os.environ, "PYTHONPATH": str(source.resolve())}
    run = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return float(json.loads(run.stdout.splitlines()[-1]))


def train(name: str) -> None:
    """Train a configuration; print the seconds of a query after the first evaluation."""
    import time

    import uflp

    values = dict(RUNS[name])
    queries = values.pop("queries")
    marks: list[float] = []
    uflp.train(
        values.pop("preset"),
        queries=queries,
        eval_period=queries // 2,
        eval_episodes=1,
        callback=lambda row: marks.append(time.process_time()),
        **values,
    )
    print(json.dumps((marks[-1] - marks[0]) / (queries - queries // 2)))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--train"]:
        train(sys.argv[2])
    else:
        main()
