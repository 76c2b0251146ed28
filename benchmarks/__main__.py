"""Runs the benchmarks: `python -m benchmarks [NAME ...]`.

Prints a table and keeps the latest outcome of each benchmark in `results/bench.json`.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

NAMES = (
    *("throughput", "snapshots", "restarts", "covariance", "flatness"),
    *("swingup", "ensemble", "atari", "images", "checkpoints", "local_access"),
    *("actors", "sac"),
)
RESULTS = Path(__file__).parent.parent / "results" / "bench.json"


def main() -> None:
    names = sys.argv[1:] or NAMES
    for name in names:
        if name not in NAMES:
            sys.exit(f"unknown benchmark {name!r}: choose from {', '.join(NAMES)}")
    # Before any benchmark brings JAX up.
    from uflp.agents.compute import configure

    configure()
    for name in names:
        module = importlib.import_module(f"benchmarks.{name}")
        print(f"\n{(module.__doc__ or '').strip()}")
        outcome = module.measure()
        _show(outcome)
        _keep(name, outcome, sys.argv[1:])


def _show(outcome: dict[str, Any], indent: str = "  ") -> None:
    for name, value in outcome.items():
        if isinstance(value, dict) and any(isinstance(item, dict) for item in value.values()):
            print(f"{indent}{name}")
            _show(value, indent + "  ")
        elif isinstance(value, dict):
            cells = "   ".join(f"{key} {item:,}" for key, item in value.items())
            print(f"{indent}{name:<28} {cells}")
        else:
            print(f"{indent}{name:<52} {value:,}")


def _keep(name: str, outcome: dict[str, Any], asked: list[str]) -> None:
    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    kept[name] = outcome
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(kept, indent=2, ensure_ascii=False) + "\n")
    from uflp.report.provenance import record

    # Of some benchmarks alone: what made the others stays on record.
    command = f"python -m benchmarks {' '.join(asked)}" if asked else "make bench"
    record(RESULTS, command, added=bool(asked))


main()
