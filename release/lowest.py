"""The lowest versions that `pyproject.toml` allows, as constraints for pip.

`python -m release.lowest` writes `constraints-lowest.txt`; `make lowest` runs it. The core and what
users install with extras are in it, tools for developers are not.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parent.parent
CONSTRAINTS = ROOT / "constraints-lowest.txt"
TOOLS = {"bench", "dev", "docs", "lint", "mutants", "release", "test"}
"""Extras for those who work on the project."""


def project() -> dict[str, Any]:
    """Return the table `project` of `pyproject.toml`."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        table: dict[str, Any] = tomllib.load(file)["project"]
    return table


def requirements(table: dict[str, Any]) -> Iterator[Requirement]:
    """Yield what the core and the extras for users require, apart from the package itself."""
    extras = table["optional-dependencies"]
    lists = [table["dependencies"], *(extras[name] for name in extras if name not in TOOLS)]
    for words in (words for one in lists for words in one):
        requirement = Requirement(words)
        if canonicalize_name(requirement.name) != table["name"]:
            yield requirement


def lower_bound(requirement: Requirement) -> Version:
    """Return the lowest version that is allowed; each requirement must name one."""
    bounds = [Version(one.version) for one in requirement.specifier if one.operator == ">="]
    if len(bounds) != 1:
        raise ValueError(f"{requirement} names no lowest version")
    return bounds[0]


def lowest(table: dict[str, Any]) -> dict[str, Version]:
    """Return the lowest version of each package that all requirements on it allow, by name."""
    found: dict[str, Version] = {}
    for requirement in requirements(table):
        name = canonicalize_name(requirement.name)
        bound = lower_bound(requirement)
        found[name] = max(bound, found.get(name, bound))
    return dict(sorted(found.items()))


def text(table: dict[str, Any]) -> str:
    """Return the constraints, one package a line."""
    lines = [f"{name}=={version}" for name, version in lowest(table).items()]
    return "\n".join(["# Written by `make lowest` from pyproject.toml.", *lines, ""])


if __name__ == "__main__":
    CONSTRAINTS.write_text(text(project()))
