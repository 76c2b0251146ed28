"""The wheel with several Pythons, and with the lowest, the pinned and the highest dependencies.

`python -m release.matrix [VERSION:DEPENDENCIES …]` makes an environment for each, such as
`3.12:lowest`, runs the smoke test and a few of the tests there, and prints a table; `make matrix`
tries all. A Python that is not here is left out, and said so.
"""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from release.environments import PINNED, ROOT, environment, smoke
from release.lowest import CONSTRAINTS

VERSIONS = ("3.11", "3.12", "3.13")
DEPENDENCIES: dict[str, Path | None] = {"lowest": CONSTRAINTS, "pinned": PINNED, "highest": None}
TESTS = ("planning/test_history.py", "planning/test_planner.py", "replay", "runs/test_links.py")
TESTS += ("runs/test_hub.py", "test_randomness.py", "test_spaces.py", "wrappers/test_vector.py")
TOOLS = ("hypothesis", "pytest")


def main(asked: list[str]) -> int:
    """Try each pair; return 1 if one fails."""
    pairs = [tuple(one.split(":")) for one in asked]
    rows = []
    with tempfile.TemporaryDirectory(prefix="uflp-matrix-") as below:
        wheel = built(Path(below))
        for version, name in pairs or itertools.product(VERSIONS, DEPENDENCIES):
            started = time.monotonic()
            outcome = tried(Path(below), wheel, version, DEPENDENCIES[name])
            rows.append((version, name, outcome, f"{time.monotonic() - started:.0f} s"))
            print("  ".join(rows[-1]), flush=True)
    return int(any(outcome.startswith("failed") for _, _, outcome, _ in rows))


def built(folder: Path) -> Path:
    """Build the wheel; return its file."""
    words = ["-m", "build", "--wheel", "--outdir", str(folder), str(ROOT)]
    subprocess.run([sys.executable, *words], check=True, stdout=subprocess.DEVNULL)
    (wheel,) = folder.glob("*.whl")
    return wheel


def tried(below: Path, wheel: Path, version: str, constraints: Path | None) -> str:
    """Return what came of one environment."""
    python = found(version)
    if python is None:
        return "no such Python here"
    folder = below / "env"
    try:
        own = environment(folder, python, [str(wheel), *TOOLS], constraints)
        smoke(own, below)
        tests = [str(ROOT / "tests" / name) for name in TESTS]
        # The package must be the one that was installed, and its cache nobody else's.
        left_out = {"PYTHONPATH": "", "JAX_COMPILATION_CACHE_DIR": str(below / "cache")}
        words = [own, "-P", "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
        subprocess.run(words, check=True, cwd=ROOT, env={**os.environ, **left_out})
    except subprocess.CalledProcessError as error:
        return f"failed: {error}"
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return "works"


def found(version: str) -> str | None:
    """Return a Python of some version, None if there is none."""
    for name in (f"python{version}", *map(str, pyenv(version))):
        path = shutil.which(name)
        words = ["-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
        if path is not None:
            ended = subprocess.run([path, *words], capture_output=True, text=True)
            if ended.stdout.strip() == version:
                return path
    return None


def pyenv(version: str) -> list[Path]:
    """Return the Pythons of some version that pyenv holds, which need not be the chosen ones."""
    root = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser()
    return sorted(root.glob(f"versions/{version}.*/bin/python"), reverse=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
