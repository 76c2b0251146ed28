"""What priors alone make BootDDQN do on Deep Sea: `results/deep-sea-scaling/priors-alone.csv`.

An ensemble that has nothing to learn: after each rollout every member knows its values exactly,
which are its prior where an action is untried, and 0.99 of the best that follows where it is tried.
It restarts at the pair of which members disagree most, begins at the start with probability 0.1,
and acts by one member a rollout, as BootDDQN does. Priors are independent numbers of three kinds:

    normal      the best of many grows with their number, so what is far is sought
    bounded     tanh of three times that, hence mostly near -1 or 1
    signs       -1 or 1: all that is good is equally good, and what is near is sought

Run as `python -m benchmarks.priors_alone`, which takes ten minutes. It counts queries up to the
rewarded corner for ten seeds, and fits to each the exponent of N.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.restarts_alone import P_INIT, write_counts
from uflp.report.provenance import record

OUT = Path(__file__).parent.parent / "results" / "deep-sea-scaling" / "priors-alone.csv"
SEEDS = range(10)
MEMBERS = 20
DISCOUNT = 0.99

Draw = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]

PRIORS: dict[str, Draw] = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "bounded": lambda rng, shape: np.tanh(3 * rng.normal(size=shape)),
    "signs": lambda rng, shape: rng.choice([-1.0, 1.0], shape),
}


class Ensemble:
    """Members' values of all pairs, float [M, N, N, 2], with 0 for left and 1 for right."""

    def __init__(self, size: int, draw: Draw, rng: np.random.Generator):
        self.prior = draw(rng, (MEMBERS, size, size, 2))
        self.values = self.prior.copy()
        columns = np.arange(size)
        self._following = np.maximum(columns - 1, 0), np.minimum(columns + 1, size - 1)

    def learn(self, tried: np.ndarray) -> None:
        """Makes the values exact, from the last row upwards."""
        best = np.zeros((MEMBERS, len(tried)))
        for row in reversed(range(len(tried))):
            for action, following in enumerate(self._following):
                self.values[:, row, :, action] = np.where(
                    tried[row, :, action],
                    DISCOUNT * best[:, following],
                    self.prior[:, row, :, action],
                )
            best = self.values[:, row].max(axis=-1)


def queries_to_corner(size: int, rng: np.random.Generator, *, draw: Draw) -> int:
    ensemble = Ensemble(size, draw, rng)
    tried = np.zeros((size, size, 2), bool)
    seen = np.zeros((size, size), bool)
    seen[0, 0] = True
    queries = 0
    while not tried[-1, -1, 1]:
        values = ensemble.values[rng.integers(MEMBERS)]
        if rng.random() < P_INIT:
            row = column = 0
            action = int(values[0, 0].argmax())
        else:
            u = np.where(seen[..., None], ensemble.values.std(axis=0), -1)
            row, column, action = map(int, np.unravel_index(u.argmax(), u.shape))
        for following in range(row + 1, size + 1):
            tried[row, column, action] = True
            queries += 1
            row, column = following, column + 1 if action else max(column - 1, 0)
            if row < size:
                seen[row, column] = True
                action = int(values[row, column].argmax())
        ensemble.learn(tried)
    return queries


def main() -> None:
    searches = {name: partial(queries_to_corner, draw=draw) for name, draw in PRIORS.items()}
    write_counts(OUT, "priors", searches, SEEDS)
    record(OUT, "python -m benchmarks.priors_alone")


if __name__ == "__main__":
    main()
