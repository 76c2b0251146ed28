"""Whether every Atari game goes back faithfully: `python -m benchmarks.atari_faithful [GAME ...]`.

For each game, a thousand exact restores in random order, each followed by steps that must repeat
what was seen the first time (pixels, RAM, rewards, ends, executed actions), half of them in
a second simulator; then the promises of `uflp.simulators.contract`. One row a game goes to
`results/atari-faithful.csv`; games that have a row of this version already are skipped.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Any

import numpy as np

from uflp.report.provenance import record
from uflp.simulators.atari import Atari, AtariSimulator, games, version
from uflp.simulators.contract import check

VERSION = version()
RESULTS = Path(__file__).parent.parent / "results" / "atari-faithful.csv"
COLUMNS = ("game", "ale_py", "restores", "different", "promises_broken", "verdict")
PAPER = ("montezuma-revenge", "private-eye", "venture", "pitfall")
RESTORES = 1000
MOMENTS = 200
STEPS = 5


def main() -> None:
    chosen = sys.argv[1:] or [*PAPER, *(game for game in games() if game not in PAPER)]
    rows = _read()
    for game in chosen:
        if (game, VERSION) in rows:
            continue
        different = _different(game)
        findings = check(lambda game=game: Atari(game=game).make(0), steps=5)
        broken = "; ".join(finding.promise for finding in findings)
        verdict = "unfaithful" if different or broken else "faithful"
        rows[game, VERSION] = dict(
            zip(COLUMNS, (game, VERSION, RESTORES, different, broken, verdict), strict=True)
        )
        print(game, different, broken or "-", verdict, flush=True)
        _write(rows)


def _different(game: str) -> int:
    """Returns how many restores were followed by something else than the first time."""
    rng = np.random.default_rng(0)
    simulators = [Atari(game=game).make(seed) for seed in range(2)]
    simulator = simulators[0]
    simulator.reset(seed=0)
    moments = []
    while len(moments) < MOMENTS:
        if not simulator._running:
            simulator.reset()
        actions = rng.integers(18, size=STEPS).tolist()
        moments.append((simulator.save(), actions, _seen(simulator, actions)))
    different = 0
    for restore in range(RESTORES):
        snapshot, actions, expected = moments[rng.integers(MOMENTS)]
        target = simulators[restore % 2]
        target.restore(snapshot, randomness="exact")
        different += _seen(target, actions) != expected
    return different


def _seen(simulator: AtariSimulator, actions: list[int]) -> list[Any]:
    seen: list[Any] = []
    for action in actions:
        observation, reward, terminated, truncated, _ = simulator.step(action)
        ram = simulator._emulator.getRAM().tobytes()
        seen.append((observation.tobytes(), ram, reward, terminated, truncated, simulator.executed))
        if terminated or truncated:
            break
    return seen


def _read() -> dict[tuple[str, str], dict[str, Any]]:
    if not RESULTS.exists():
        return {}
    with RESULTS.open(newline="") as file:
        return {(row["game"], row["ale_py"]): row for row in csv.DictReader(file)}


def _write(rows: dict[tuple[str, str], dict[str, Any]]) -> None:
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(rows[key] for key in sorted(rows))
    record(RESULTS, "python -m benchmarks.atari_faithful")


if __name__ == "__main__":
    main()
