"""Packages and megabytes of an install, for the core and for each extra.

`python -m benchmarks.install_size [EXTRA …]` makes a fresh environment for each, with the versions
of `constraints.txt`, and writes `results/install-size.csv`; without words it measures them all.
pip and setuptools, which come with an environment, are not counted; bytecode is.
"""

from __future__ import annotations

import csv
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from release.environments import PINNED, ROOT, environment
from release.lowest import TOOLS, project
from uflp.report.provenance import record

RESULTS = ROOT / "results" / "install-size.csv"
CORE = "core"
_COUNT = "import importlib.metadata as m; print(len({d.name for d in m.distributions()}))"
_OWN = ("pip", "setuptools")


def measured(extra: str) -> dict[str, str | int]:
    """Install one extra; return its row."""
    words = str(ROOT) if extra == CORE else f"{ROOT}[{extra}]"
    with tempfile.TemporaryDirectory(prefix="uflp-size-") as below:
        folder = Path(below) / "env"
        started = time.monotonic()
        python = environment(folder, sys.executable, [words], PINNED)
        seconds = time.monotonic() - started
        code = [python, "-P", "-c", _COUNT]
        count = int(subprocess.run(code, capture_output=True, text=True, check=True).stdout)
        (site,) = folder.glob("lib/python*/site-packages")
        own = sum((site / name).is_dir() for name in _OWN)
        size = disk(site) - sum(disk(path) for name in _OWN for path in site.glob(f"{name}*"))
    return {"extra": extra, "packages": count - own, "mb": round(size), "seconds": round(seconds)}


def disk(path: Path) -> float:
    """Return the megabytes that a folder takes on disk."""
    ended = subprocess.run(["du", "-sk", str(path)], capture_output=True, text=True, check=True)
    return int(ended.stdout.split()[0]) / 1024


def main(extras: list[str]) -> None:
    """Measure, and write what was measured in the place of earlier rows."""
    known = [CORE, *(name for name in project()["optional-dependencies"] if name not in TOOLS)]
    rows: dict[str, dict[str, str | int]] = {}
    if RESULTS.exists():
        with RESULTS.open() as file:
            rows = {row["extra"]: dict(row) for row in csv.DictReader(file)}
    for extra in extras or known:
        rows[extra] = measured(extra)
        print(rows[extra], flush=True)
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, ["extra", "packages", "mb", "seconds"], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows[name] for name in known if name in rows)
    record(RESULTS, "python -m benchmarks.install_size")


if __name__ == "__main__":
    main(sys.argv[1:])
