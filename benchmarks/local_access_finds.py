"""What random actions find on MountainCar by what is saved, and what that costs.

`python -m benchmarks.local_access_finds` writes `results/local-access-finds.csv`: ten seeds of
20,000 random actions, online, with the defaults of `LocalAccess`, and with every state saved. Times
are of this process alone, resets and restarts included, against the bare environment on the same
seed.
"""

from __future__ import annotations

import csv
import time
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

import uflp
from uflp.report.provenance import record

SEEDS, ACTIONS = 10, 20_000
SAVED: dict[str, dict[str, Any] | None] = {
    "nothing": None,
    "novelty": {},
    "every state": {"checkpoint_period": 1},
}
RESULT = Path(__file__).parent.parent / "results" / "local-access-finds.csv"


def main() -> None:
    """Play all, and write the table."""
    rows = []
    for seed in range(SEEDS):
        bare, _ = _played(gymnasium.make("MountainCar-v0"), seed)
        for saved, options in SAVED.items():
            env: Any = gymnasium.make("MountainCar-v0")
            if options is not None:
                env = uflp.LocalAccess(env, seed=seed, **options)
            seconds, goals = _played(env, seed)
            snapshots = 0 if options is None else env.metrics()["history_size"]
            first = goals[0] if goals else ""
            rows.append([saved, seed, len(goals), first, snapshots, round(seconds / bare, 2)])
            print(*rows[-1])
    with RESULT.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["saved", "seed", "goals", "first_goal", "snapshots", "time"])
        writer.writerows(rows)
    record(RESULT, "python -m benchmarks.local_access_finds")


def _played(env: Any, seed: int) -> tuple[float, list[int]]:
    """Return the time of 20,000 random actions, and the numbers of those that reach the goal."""
    actions = np.random.default_rng(seed).integers(3, size=ACTIONS).tolist()
    goals = []
    env.reset(seed=seed)
    started = time.process_time()
    for number, action in enumerate(actions, 1):
        _, _, terminated, truncated, _ = env.step(action)
        if terminated:
            goals.append(number)
        if terminated or truncated:
            env.reset()
    return time.process_time() - started, goals


if __name__ == "__main__":
    main()
