"""What importing costs, and which room may lean on which."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import uflp

ROOT = Path(uflp.__file__).parent
FOUNDATION = {"types", "files", "arrays", "randomness", "registry", "spaces", "masks", "state"}
FOUNDATION |= {"state_file", "cells", "trust", "user_code", "arguments"}
_ROOMS = {"simulators", "networks", "uncertainty", "agents", "replay"}
_TRAINING = FOUNDATION | _ROOMS | {"planning", "training", "runs"}
# A room to the rooms it may import, from the bottom up; each may also import itself.
LAYERS = {
    "types": set(),
    "arguments": set(),
    "files": set(),
    "arrays": {"files"},
    "randomness": {"types"},
    "registry": {"types", "user_code"},
    "user_code": {"types", "trust"},
    "spaces": {"types", "state"},
    "masks": {"spaces"},
    "state": set(),
    "state_file": {"files", "types"},
    "cells": {"types"},
    "trust": {"types", "arguments"},
    "simulators": FOUNDATION,
    "networks": FOUNDATION,
    "uncertainty": FOUNDATION | {"networks"},
    "agents": FOUNDATION | {"networks"},
    "replay": FOUNDATION,
    "planning": FOUNDATION | {"simulators", "uncertainty"},
    "wrappers": FOUNDATION | _ROOMS | {"planning"},
    "training": FOUNDATION | _ROOMS | {"planning"},
    "runs": _TRAINING,
    "distributed": _TRAINING,
    "experiments": _TRAINING | {"distributed", "progress"},
    "report": _TRAINING | {"distributed", "experiments"},
    "progress": FOUNDATION,
    "cli": _TRAINING | {"distributed", "experiments", "report", "progress", "wrappers"},
    "__main__": {"cli"},
    "api": _TRAINING | {"distributed", "experiments", "report", "wrappers"},
    # The door: what it imports at once is checked below.
    "__init__": {"types", "api", "simulators", "wrappers"},
}
FILES = sorted(ROOT.rglob("*.py"))


def imported(path: Path) -> Iterator[str]:
    """Yields the full names of all that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            if node.module == "uflp":
                yield from (f"uflp.{alias.name}" for alias in node.names)
            else:
                yield str(node.module)


def room_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_one_way(path: Path) -> None:
    room = room_of(path)
    assert room in LAYERS, f"say where the new room {room!r} stands"
    for name in imported(path):
        first, *rest = name.split(".")
        if first == "uflp" and rest and rest[0] != "__version__":
            assert rest[0] == room or rest[0] in LAYERS[room], f"{room} must not import {rest[0]}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_heavy_libraries_stay_in_their_rooms(path: Path) -> None:
    names = {name.split(".")[0] for name in imported(path)}
    if room_of(path) != "distributed":
        assert "ray" not in names
    if room_of(path) not in ("simulators", "wrappers"):
        assert not names & {"ale_py", "mujoco", "gymnax"}
    if path.relative_to(ROOT).as_posix() != "simulators/bsuite.py":
        assert not names & {"bsuite", "dm_env"}
    if room_of(path) in ("replay", "planning", "uncertainty"):
        assert not names & {"jax", "flax", "optax"}


def test_importing_the_package_loads_nothing_heavy() -> None:
    heavy = ["jax", "flax", "optax", "ale_py", "ray", "mujoco", "bsuite", "gymnasium", "torch"]
    heavy += ["matplotlib", "scipy", "pandas"]
    code = f"""
import sys
import uflp, uflp.cli
print([name for name in {heavy} if name in sys.modules])
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "[]"
