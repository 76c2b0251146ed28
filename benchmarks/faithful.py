"""Checks all that Gymnasium, bsuite, MiniGrid and gymnax register: `results/faithful.csv`.

Run as `python -m benchmarks.faithful [OUT]`; it goes on where an interrupted one stopped.
"""

from __future__ import annotations

import csv
import sys
import sysconfig
import warnings
from collections.abc import Iterator
from pathlib import Path

import gymnasium
from bsuite import sweep

from uflp.report.provenance import record
from uflp.simulators import gymnax, minigrid
from uflp.simulators.naming import named
from uflp.simulators.verdict import Verdict, judge
from uflp.types import UsageError

COLUMNS = ("simulator", "verdict", "strategy", "bytes", "steps", "detail")
STEPS = 40


def main(out: Path) -> None:
    done = set()
    if out.exists():
        with out.open(newline="") as file:
            done = {row["simulator"] for row in csv.DictReader(file)}
    with out.open("a", newline="") as file:
        writer = csv.writer(file)
        if not done:
            writer.writerow(COLUMNS)
        for name in names():
            if name not in done:
                verdict = verdict_of(name)
                writer.writerow(row_of(name, verdict))
                file.flush()
                print(f"{name}: {verdict.outcome}", flush=True)
    record(out, "python -m benchmarks.faithful")


def names() -> Iterator[str]:
    """Yields what is checked, of bsuite one id an experiment."""
    grids = minigrid.registered()
    yield from (f"gym:{name}" for name in gymnasium.registry if name not in grids)
    yield from (f"bsuite:{name}" for name in sweep.SWEEP if name.endswith("/0"))
    yield from (f"minigrid:{name}" for name in grids)
    yield from (f"gymnax:{name}" for name in gymnax.registered())


def verdict_of(name: str) -> Verdict:
    # With the dictionary of the mission and the direction, there is more to compare.
    settings = {"observation": "all"} if name.startswith("minigrid:") else {}
    try:
        return judge(named(name, **settings), steps=STEPS)
    except UsageError as error:
        return Verdict("refused", reason=str(error))


def row_of(name: str, verdict: Verdict) -> tuple[object, ...]:
    details = [": ".join(finding) for finding in verdict.findings]
    detail = " | ".join([*details, verdict.reason] if verdict.reason else details)
    detail = detail.replace(sysconfig.get_path("purelib"), "…")
    return name, verdict.outcome, verdict.strategy, verdict.nbytes, STEPS, detail


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "results/faithful.csv"))
