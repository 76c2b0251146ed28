"""What a run is made with: versions of libraries, and the revision of the code."""

from __future__ import annotations

import contextlib
import importlib.metadata
import platform
import subprocess
from pathlib import Path
from typing import Any

_LIBRARIES = ("uflp", "jax", "optax", "numpy", "gymnasium", "bsuite")


def origin() -> dict[str, Any]:
    """Returns what the run is made with, which does not decide whether it can go on."""
    return {
        "versions": {"python": platform.python_version()} | _versions(),
        "git_revision": _git_revision(),
    }


def _versions() -> dict[str, str]:
    """Return the versions of those libraries that are installed."""
    found = {}
    for name in _LIBRARIES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def _git_revision() -> str | None:
    """Returns the revision of the checkout that the code runs from, if it is one."""
    here = Path(__file__).resolve()
    try:
        # An installed package may lie in the repository of somebody else, which does not track it.
        _git(here.parent, "ls-files", "--error-unmatch", here.name)
        return _git(here.parent, "rev-parse", "HEAD")
    except (OSError, subprocess.CalledProcessError):
        return None


def _git(folder: Path, *words: str) -> str:
    command = ["git", "-C", str(folder), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
