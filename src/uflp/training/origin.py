"""What a run is made with: versions of libraries, the revision of the code, machine and date."""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

_LIBRARIES = ("uflp", "jax", "optax", "numpy", "gymnasium", "bsuite", "ale-py")


def origin() -> dict[str, Any]:
    """Returns what the run is made with, which does not decide whether it can go on."""
    return {
        "versions": {"python": platform.python_version()} | _versions(),
        "git_revision": _git_revision(),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": f"{platform.system()}, {platform.machine()}, {os.cpu_count()} cores",
    }


def _versions() -> dict[str, str]:
    found = {}
    for name in _LIBRARIES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def _git_revision() -> str | None:
    """Returns the revision of the checkout that the code runs from, if it is one.

    `-modified` follows where files of the package differ from that revision.
    """
    here = Path(__file__).resolve()
    package = here.parent.parent
    try:
        # An installed package may lie in the repository of somebody else, which does not track it.
        _git(here.parent, "ls-files", "--error-unmatch", here.name)
        changed = _git(package, "status", "--porcelain", "--untracked-files=no", "--", ".")
        return _git(package, "rev-parse", "HEAD") + ("-modified" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def _git(folder: Path, *words: str) -> str:
    command = ["git", "-C", str(folder), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
