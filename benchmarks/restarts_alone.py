"""How far restarts alone get on Deep Sea: `results/deep-sea-scaling/restarts-alone.csv`.

A search that has nothing to learn: it knows exactly which pairs of state and action it has tried.
With probability 0.1 a rollout begins at the start, else at an untried pair of a state that it has
seen, drawn uniformly. From there it acts to the end of the episode in one of these ways:

    random      by chance
    optimist    by chance where an action is untried, else to the left
    seeker      towards the nearest untried pair that can still be reached, else to the left
    member      takes an untried action beside a tried one 4 times in 10, and where both are tried
                does as the seeker 9 times in 10, as BootDDQN does by `benchmarks.seeking`
    oldest      as a member, but restarts at the pair whose state was seen first
    shallowest  as a member, but restarts at a pair of the uppermost row
    short       as a member, but goes only ten queries far from where it restarted

Run as `python -m benchmarks.restarts_alone`, which takes two minutes. It counts queries up to the
rewarded corner for twenty seeds, and fits to each the exponent of N.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from uflp.report.provenance import record

OUT = Path(__file__).parent.parent / "results" / "deep-sea-scaling" / "restarts-alone.csv"
SIZES = (20, 30, 40, 50, 60)
SEEDS = range(20)
P_INIT = 0.1
SEEKS, TAKES = 0.9, 0.4

Way = Callable[[np.ndarray, int, int, np.random.Generator], int]
"""From what was tried, bool [N, N, 2], a row, a column and a generator to 0, left, or 1, right."""
Order = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""From the rows of untried pairs, and when their states were first seen, to ranks of which the
least is where to restart; ties are broken by chance."""


def random(tried: np.ndarray, row: int, column: int, rng: np.random.Generator) -> int:
    return int(rng.integers(2))


def optimist(tried: np.ndarray, row: int, column: int, rng: np.random.Generator) -> int:
    return 0 if tried[row, column].all() else int(rng.integers(2))


def seeker(tried: np.ndarray, row: int, column: int, rng: np.random.Generator) -> int:
    for ahead in range(len(tried) - row):
        # States that can be reached in so many steps are two columns apart.
        reached = np.arange(column - ahead, column + ahead + 1, 2)
        reached = reached[reached >= 0]
        untried = np.argwhere(~tried[row + ahead, reached])
        if len(untried):
            place, action = untried[rng.integers(len(untried))]
            if ahead == 0:
                return int(action)
            shift = reached[place] - column
            return int(shift == ahead or (shift > -ahead and rng.random() < 0.5))
    return 0


def member(tried: np.ndarray, row: int, column: int, rng: np.random.Generator) -> int:
    here = tried[row, column]
    if here.all():
        action = seeker(tried, row, column, rng)
        return action if rng.random() < SEEKS else 1 - action
    if not here.any():
        return int(rng.integers(2))
    return int(here[0]) if rng.random() < TAKES else int(here[1])


def anywhere(rows: np.ndarray, seen: np.ndarray) -> np.ndarray:
    return np.zeros(len(rows))


def oldest(rows: np.ndarray, seen: np.ndarray) -> np.ndarray:
    return seen


def shallowest(rows: np.ndarray, seen: np.ndarray) -> np.ndarray:
    return rows


class Search(NamedTuple):
    """How a search goes on, where it restarts, and after how many queries it does so anew."""

    way: Way
    order: Order = anywhere
    restart_limit: int | None = None


SEARCHES = {
    "random": Search(random),
    "optimist": Search(optimist),
    "seeker": Search(seeker),
    "member": Search(member),
    "oldest": Search(member, oldest),
    "shallowest": Search(member, shallowest),
    "short": Search(member, restart_limit=10),
}


def queries_to_corner(size: int, rng: np.random.Generator, *, search: Search) -> int:
    way, order, limit = search
    tried = np.zeros((size, size, 2), bool)
    seen = np.full((size, size), -1)  # the query before which a state was seen first
    seen[0, 0] = queries = 0
    while not tried[-1, -1, 1]:
        untried = np.argwhere((seen >= 0)[..., None] & ~tried)
        if rng.random() < P_INIT or not len(untried):
            row = column = 0
            action, end = way(tried, row, column, rng), size
        else:
            rows, columns, _ = untried.T
            ranks = order(rows, seen[rows, columns])
            row, column, action = rng.choice(untried[ranks == ranks.min()])
            end = size if limit is None else min(size, row + limit)
        for following in range(row + 1, end + 1):
            tried[row, column, action] = True
            queries += 1
            row, column = following, column + 1 if action else max(column - 1, 0)
            if row < size:
                if seen[row, column] < 0:
                    seen[row, column] = queries
                action = way(tried, row, column, rng)
    return queries


def write_counts(
    path: Path,
    column: str,
    searches: Mapping[str, Callable[[int, np.random.Generator], int]],
    seeds: Sequence[int],
) -> None:
    """Counts the queries of searches by size and seed, writes them down and prints their means.

    Args:
        path: of the CSV.
        column: its first, for the names of the searches.
        searches: from a size and a generator to the queries needed.
        seeds: of the generators.
    """
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow((column, "size", "seed", "queries"))
        for name, search in searches.items():
            counted = np.array(
                [
                    [search(size, np.random.default_rng((seed, size))) for size in SIZES]
                    for seed in seeds
                ]
            )
            for seed, size in np.ndindex(counted.shape):
                writer.writerow((name, SIZES[size], seeds[seed], counted[seed, size]))
            print(f"{name:11}{_told(counted)}", flush=True)


def _told(counted: np.ndarray) -> str:
    """Puts queries [seeds, sizes] into words: their means, and the exponent with its error."""
    exponents = np.polyfit(np.log(SIZES), np.log(counted.T), 1)[0]
    error = np.std(exponents, ddof=1) / len(exponents) ** 0.5
    means = ", ".join(f"{mean:,.0f}" for mean in counted.mean(axis=0))
    return f"{means}; N^{np.mean(exponents):.2f} ± {error:.2f}"


def main() -> None:
    searches = {
        name: partial(queries_to_corner, search=search) for name, search in SEARCHES.items()
    }
    write_counts(OUT, "way", searches, SEEDS)
    record(OUT, "python -m benchmarks.restarts_alone")


if __name__ == "__main__":
    main()
