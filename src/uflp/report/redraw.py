"""Draw the pictures of `results/` again from the CSVs beside them: `python -m uflp.report.redraw`.

So a change to how pictures look reaches them all, and no run has to be made again. The numbers and
their provenance stay as they are.
"""

from __future__ import annotations

import dataclasses
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from uflp.experiments.figures import FIGURES
from uflp.experiments.figures import Figure as Plan
from uflp.experiments.resolve import resolve
from uflp.report.figures import Series, pictures, values_text
from uflp.report.groups import NAMES, Group
from uflp.report.results import RecordedRun, Results
from uflp.report.runs import RunRecord
from uflp.report.writing import write_files


def main(names: Sequence[str], root: Path) -> int:
    """Draw the named figures, or all that have a CSV; return the exit code.

    Args:
        names: of figures.
        root: of the checkout.
    """
    results = Results(root)
    drawn = [name for name in FIGURES if _is_picture(name) and results.path(name).exists()]
    unknown = [name for name in names if name not in drawn]
    if unknown:
        print(f"{unknown[0]} has no picture; there are {', '.join(drawn)}", file=sys.stderr)
        return 2
    for name in names or drawn:
        write_files(redrawn(name, results), results.path(name))
        print(results.path(name).with_suffix(".png").relative_to(root))
    return 0


def redrawn(name: str, results: Results) -> dict[Path, bytes]:
    """Return the files of a figure's picture, drawn from its CSV.

    Args:
        name: of the figure.
        results: that have its CSV.
    """
    entry = results.entry(name)
    plan = FIGURES[name].at(_scale(entry))
    # A record may name another measure, where the runs are too short for the figure's own.
    plan = dataclasses.replace(plan, measure=entry.get("measure", plan.measure))
    partial = results.partial(name)
    if partial:
        plan = dataclasses.replace(plan, title=f"{plan.title} ({partial} runs)")
    return pictures(name, plan, _series(name, plan, results), results.path(name).parent)


def _is_picture(name: str) -> bool:
    return FIGURES[name].kind not in ("finals", "maxima")


def _scale(entry: Mapping[str, Any]) -> str:
    words = str(entry.get("command", "")).split()
    return words[words.index("--scale") + 1] if "--scale" in words else "laptop"


def _series(name: str, plan: Plan, results: Results) -> list[Series]:
    """Return the runs of a figure by line and by what is swept, in the order of its CSV."""
    grouped: dict[tuple[tuple[Any, ...], tuple[Any, ...]], list[RunRecord]] = {}
    for run in results.runs(name) or ():
        own = {"preset": plan.presets[0], **run.names}
        swept = tuple(_value(own[key]) for key in plan.keys)
        record = _record(results.path(name), own, run, results.line(name, run.names))
        grouped.setdefault((tuple(getattr(record, key) for key in NAMES), swept), []).append(record)
    series = []
    for (own_names, swept), members in grouped.items():
        detail = values_text(dict(zip(plan.keys, swept, strict=True)))
        names = dict(zip(NAMES, own_names, strict=True))
        series.append(Series(swept, Group(**names, detail=detail, runs=tuple(members))))
    return series


def _record(
    path: Path, names: Mapping[str, str], run: RecordedRun, line: Mapping[str, Any]
) -> RunRecord:
    target = line["target_return"] if "target_return" in line else _target(names)
    return RunRecord(
        path=path,
        preset=names["preset"],
        agent=names["agent"],
        uncertainty=names["uncertainty"] or None,
        access=names["access"],
        variant=names["variant"] or None,
        seed=run.seed,
        settings={"queries": int(run.budget), "target_return": target},
        metrics=run.numbers,
        summary={"stopped": "goal" if run.holds else "budget"},
    )


def _target(names: Mapping[str, str]) -> float | None:
    """Return the target of runs whose record does not say it: that of the preset."""
    settings = resolve(names["preset"], agent=names["agent"], access=names["access"])
    target: float | None = settings.values().get("target_return")
    return target


def _value(text: str) -> Any:
    """Return the value of a swept setting from its cell."""
    if text == "all":
        return None
    number = float(text)
    return int(number) if math.isclose(number, round(number)) and "." not in text else number


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], Path.cwd()))
