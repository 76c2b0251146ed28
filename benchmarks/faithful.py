"""Check all that several packages register: `results/faithful.csv`.

They are Gymnasium with Box2D, Gymnasium-Robotics, the dm_control suite, bsuite, MiniGrid and
gymnax. For the second and third, install the extra `robotics`; for Box2D, `pip install swig` and
then `gymnasium[box2d]`. Run as `python -m benchmarks.faithful [OUT]`; it goes on where an
interrupted one stopped.
"""

from __future__ import annotations

import contextlib
import csv
import sys
import sysconfig
import warnings
from collections.abc import Iterator
from pathlib import Path

import gymnasium
from bsuite import sweep

from uflp.report.provenance import record
from uflp.simulators import dmc, gymnax, minigrid
from uflp.simulators.fidelity import Verdict, judge
from uflp.simulators.lookup import named
from uflp.types import UsageError

COLUMNS = (
    "simulator",
    "verdict",
    "strategy",
    "bytes",
    "steps",
    "grade",
    "largest_difference",
    "differs_after",
    "diverges_after",
    "detail",
)
STEPS, ROBOT_STEPS = 40, 12


def main(out: Path) -> None:
    done = set()
    if out.exists():
        with out.open(newline="") as file:
            done = {row["simulator"] for row in csv.DictReader(file)}
    with out.open("a", newline="") as file:
        writer = csv.writer(file)
        if not done:
            writer.writerow(COLUMNS)
        for name, steps in names():
            if name not in done:
                verdict = verdict_of(name, steps)
                writer.writerow(row_of(name, verdict, steps))
                file.flush()
                print(f"{name}: {verdict.outcome}, {verdict.grade}", flush=True)
    record(out, "python -m benchmarks.faithful")


def names() -> Iterator[tuple[str, int]]:
    """Yield what is checked, of bsuite one id an experiment, and how many steps a script has."""
    grids = minigrid.registered()
    own = [name for name in gymnasium.registry if name not in grids]
    with contextlib.suppress(ImportError):
        import gymnasium_robotics

        gymnasium.register_envs(gymnasium_robotics)
    robots = [name for name in gymnasium.registry if name not in grids and name not in own]
    with contextlib.suppress(UsageError):
        yield from ((f"dmc:{name}", ROBOT_STEPS) for name in dmc.registered())
    robots.sort(key=lambda name: name.startswith("HandManipulate"))  # a hundred variants last
    yield from ((f"gym:{name}", ROBOT_STEPS) for name in robots)
    yield from ((f"gym:{name}", STEPS) for name in own)
    yield from ((f"bsuite:{name}", STEPS) for name in sweep.SWEEP if name.endswith("/0"))
    yield from ((f"minigrid:{name}", STEPS) for name in grids)
    yield from ((f"gymnax:{name}", STEPS) for name in gymnax.registered())


def verdict_of(name: str, steps: int) -> Verdict:
    # With the dictionary of the mission and the direction, there is more to compare.
    settings = {"observation": "all"} if name.startswith("minigrid:") else {}
    try:
        verdict = judge(named(name, **settings), steps=steps)
        if verdict.outcome == "refused" and 'strategy="replay"' in verdict.reason:
            verdict = judge(named(name, strategy="replay"), steps=steps)
    except UsageError as error:
        return Verdict("refused", reason=str(error))
    return verdict


def row_of(name: str, verdict: Verdict, steps: int) -> tuple[object, ...]:
    details = [": ".join(finding) for finding in verdict.findings]
    detail = " | ".join([*details, verdict.reason] if verdict.reason else details)
    detail = detail.replace(sysconfig.get_path("purelib"), "…")
    return (
        name,
        verdict.outcome,
        verdict.strategy,
        verdict.nbytes,
        steps,
        verdict.grade,
        verdict.largest_difference,
        verdict.differs_after,
        verdict.diverges_after,
        detail,
    )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "results/faithful.csv"))
