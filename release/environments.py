"""Fresh environments, for trying what is to be released."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).parent.parent
PINNED = ROOT / "constraints.txt"
SMOKE = ROOT / "release" / "smoke.py"
_PIP = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check")


def environment(
    folder: Path, python: str, requirements: list[str], constraints: Path | None
) -> str:
    """Make a virtual environment; return its Python.

    Args:
        folder: where to make it.
        python: that it is made with.
        requirements: what is installed.
        constraints: which versions; None takes the newest ones that are allowed.
    """
    subprocess.run([python, "-m", "venv", str(folder)], check=True)
    own = str(folder / "bin" / "python")
    words = [] if constraints is None else ["--constraint", str(constraints)]
    subprocess.run([own, *_PIP, *words, *requirements], check=True, env=_outside())
    return own


def smoke(python: str, folder: Path) -> None:
    """Run the smoke test with some Python, in a folder outside of the checkout."""
    subprocess.run([python, "-P", str(SMOKE)], check=True, cwd=folder, env=_outside())


def _outside() -> dict[str, str]:
    """Return the environment's variables, without those that would lead into the checkout."""
    left_out = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    return {name: value for name, value in os.environ.items() if name not in left_out}
