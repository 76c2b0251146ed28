"""Provenance of a run: versions of libraries, revision of the code, machine and date."""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_LIBRARIES = ("uflp", "jax", "optax", "numpy", "gymnasium", "bsuite", "ale-py")

_NUMERIC_LIBRARIES = {
    "jax": "jax",
    "jaxlib": "jaxlib",
    "numpy": "numpy",
    "optax": "optax",
    "gymnasium": "gymnasium",
    "bsuite": "bsuite",
    "ale_py": "ale-py",
    "mujoco": "mujoco",
    "minigrid": "minigrid",
    "gymnax": "gymnax",
}
"""Distributions whose versions may change numbers, by the names of their modules."""

_FLAGS = (
    "jax_enable_x64",
    "jax_default_prng_impl",
    "jax_threefry_partitionable",
    "jax_disable_jit",
    "jax_default_matmul_precision",
)
"""Settings of JAX that change numbers."""


def provenance() -> dict[str, Any]:
    """Return what the run is made with, which does not decide whether it can go on."""
    return {
        "versions": {"python": platform.python_version()} | _versions(),
        "git_revision": _git_revision(),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": f"{platform.system()}, {platform.machine()}, {os.cpu_count()} cores",
    }


def numerics(simulator: Any) -> dict[str, Any]:
    """Return what a run's numbers depend on besides its settings, by name.

    Flags of JAX and XLA, and versions of the libraries that are at work, among them that of the
    package that the simulator's environment is from.
    """
    import jax

    found = {name: getattr(jax.config, name, None) for name in _FLAGS}
    found["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "")
    for module, name in _NUMERIC_LIBRARIES.items():
        if module in sys.modules:
            found[name] = _version(name)
    package = type(getattr(simulator, "unwrapped", simulator)).__module__.partition(".")[0]
    if package not in _NUMERIC_LIBRARIES:
        found[package] = getattr(sys.modules.get(package), "__version__", None) or _version(package)
    return {name: None if value is None else _plain(value) for name, value in found.items()}


def changes(before: Any, now: Mapping[str, Any]) -> list[str]:
    """Return a phrase for each thing that a run's numbers depend on and that has changed.

    Args:
        before: what `numerics` returned when the run began, as its record has it; a name that is
            missing on either side says nothing.
        now: what it returns now.
    """
    known = before if isinstance(before, dict) else {}
    return [
        f"{name} was {known[name]!r} and is {now[name]!r}"
        for name in now
        if name in known and known[name] != now[name]
    ]


def _plain(value: Any) -> bool | str:
    return value if isinstance(value, bool) else str(value)


def _versions() -> dict[str, str]:
    found = {name: _version(name) for name in _LIBRARIES}
    return {name: version for name, version in found.items() if version is not None}


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _git_revision() -> str | None:
    """Return the revision of the checkout that the code runs from, if it is one.

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
