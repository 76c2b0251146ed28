"""What a release says of itself agrees with what it is."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import uflp
from release import lowest

ROOT = Path(__file__).parent.parent


def test_the_version_is_written_once_and_followed() -> None:
    project = lowest.project()
    assert "version" not in project and "version" in project["dynamic"]
    citation = (ROOT / "CITATION.cff").read_text()
    assert re.findall(r"^version: (.*)$", citation, re.MULTILINE) == [uflp.__version__]


def test_the_lowest_versions_are_those_of_the_project() -> None:
    assert (ROOT / "constraints-lowest.txt").read_text() == lowest.text(lowest.project())


def test_a_lowest_version_is_the_highest_lower_bound() -> None:
    table = {
        "name": "uflp",
        "dependencies": ["numpy>=2.1,<3"],
        "optional-dependencies": {
            "one": ["NumPy>=2.10", "uflp[two]"],
            "test": ["pytest>=8"],
        },
    }
    assert lowest.lowest(table) == {"numpy": Version("2.10")}
    with pytest.raises(ValueError, match="no lowest version"):
        lowest.lower_bound(Requirement("numpy<3"))


def test_every_pin_is_allowed_and_every_requirement_is_pinned() -> None:
    pins = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text().split())
    pinned = {canonicalize_name(name): version for name, version in pins.items()}
    for requirement in lowest.requirements(lowest.project()):
        assert requirement.specifier.contains(pinned[canonicalize_name(requirement.name)])


def test_the_description_of_the_wheel_leads_into_no_checkout() -> None:
    text = (ROOT / str(lowest.project()["readme"])).read_text()
    assert not re.findall(r"\]\((?!https://)|<img|!\[", text)
    sentence = "**Reinforcement learning with a simulator that can go back.**"
    assert sentence in text and sentence in (ROOT / "README.md").read_text()


def test_every_extra_for_users_is_described() -> None:
    extras = set(lowest.project()["optional-dependencies"]) - lowest.TOOLS
    for page in (ROOT / "docs" / "install.md", ROOT / "release" / "description.md"):
        named = set(re.findall(r"^\| `([a-z0-9]+)` \|", page.read_text(), re.MULTILINE))
        assert named == extras, page


def test_the_page_has_the_measured_weights() -> None:
    lines = (ROOT / "results" / "install-size.csv").read_text().splitlines()[1:]
    page = (ROOT / "docs" / "install.md").read_text()
    for extra, packages, megabytes, _ in (line.split(",") for line in lines):
        name = "the core" if extra == "core" else f"`{extra}`"
        (row,) = re.findall(rf"^\| {re.escape(name)} \|.*$", page, re.MULTILINE)
        assert [cell.strip() for cell in row.split("|")][-3:-1] == [packages, megabytes], row


def test_hosted_and_own_checks_call_targets_that_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for file in (".ci/run", ".github/workflows/ci.yml"):
        called = re.findall(r"make (?:PYTHON=\S+ )?([a-z-]+)", (ROOT / file).read_text())
        assert called and set(called) <= targets


def test_each_target_installs_no_more_than_it_needs() -> None:
    def plan(target: str) -> str:
        words = ["make", "--dry-run", "--always-make", target]
        return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout

    def installed(target: str) -> list[str]:
        return re.findall(r"--editable '\.(?:\[(\w+)\])?'", plan(target))

    assert installed("demo") == [""]
    assert installed("lint") == ["lint"]
    assert installed("test") == ["test"]
    assert installed("test-integrations") == ["test", "sb3"]
    assert installed("install") == ["dev"]
