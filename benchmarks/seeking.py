"""How BootDDQN explores within a rollout on Deep Sea: `results/deep-sea-scaling/seeking.csv`.

Two choices tell. In a state of which one action is untried, a member may take that one. And in a
state of which both are tried, where only one of them leads to where some pair is untried still, it
may seek that way. Both are counted over a run, up to the query that gets the reward.

Run as `python -m benchmarks.seeking`, which takes ten minutes.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from uflp.agents.compute import configure
from uflp.experiments.resolve import resolve
from uflp.report.provenance import record
from uflp.training.run import Run
from uflp.types import Transition

OUT = Path(__file__).parent.parent / "results" / "deep-sea-scaling" / "seeking.csv"
SIZES = (20, 40, 60)


class Watch:
    """Counts a run's choices from its transitions.

    Attributes:
        sought: how often it could seek, and how often it did.
        taken: how often it could take an untried action, and how often it did.
    """

    def __init__(self, run: Run, size: int):
        self.sought = np.zeros(2, int)
        self.taken = np.zeros(2, int)
        self._size = size
        self._right = run.simulator.action_mapping
        self._tried = np.zeros((size, size, 2), bool)
        self._worth = self._worthwhile()

    def saw(self, transition: Transition, first: bool) -> None:
        """Takes note of a query, and of whether it was a rollout's first, which is no choice."""
        row, column = divmod(transition.observation, self._size)
        action = int(transition.action == self._right[row, column])
        if first:
            self._worth = self._worthwhile()
        elif self._tried[row, column].all():
            left, right = self._worth[row + 1, [max(column - 1, 0), column + 1]]
            if left != right:
                self.sought += 1, action == int(right)
        elif self._tried[row, column].any():
            self.taken += 1, not self._tried[row, column, action]
        self._tried[row, column, action] = True

    def _worthwhile(self) -> np.ndarray:
        """Returns from where an untried pair can be reached, bool [N + 1, N + 1]."""
        worth = np.zeros((self._size + 1, self._size + 1), bool)
        columns = np.arange(self._size)
        for row in reversed(range(self._size)):
            below = worth[row + 1]
            untried = ~self._tried[row].all(axis=1)
            somewhere = untried | below[np.maximum(columns - 1, 0)] | below[columns + 1]
            worth[row, :-1] = somewhere & (columns <= row)
        return worth


def watched(size: int) -> Watch:
    """Returns the choices of one run."""
    whole = {"size": size, "queries": 10**6, "restart_limit": None}
    run = Run(resolve("deep-sea", agent="boot-ddqn", overrides=whole))
    watch = Watch(run, size)
    step = run.rollout.step

    def watching() -> Transition | None:
        first = run.planner.length == 0
        transition = step()
        if transition is not None:
            watch.saw(transition, first)
        return transition

    run.rollout.step = watching  # type: ignore[method-assign]
    next(row for row in run.train() if row["positive_rewards"])
    return watch


def main() -> None:
    configure()
    with OUT.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("size", "could_seek", "sought", "could_take", "took"))
        for size in SIZES:
            watch = watched(size)
            writer.writerow((size, *watch.sought, *watch.taken))
            seeks, takes = (counts[1] / counts[0] for counts in (watch.sought, watch.taken))
            print(f"N = {size}: seeks {seeks:.2f}, takes {takes:.2f}", flush=True)
    record(OUT, "python -m benchmarks.seeking")


if __name__ == "__main__":
    main()
