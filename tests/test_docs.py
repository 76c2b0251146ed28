"""The documents say what the code does."""

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from uflp.cli import app
from uflp.cli.listing import LISTS
from uflp.experiments.resolve import resolve
from uflp.planning import RULES

ROOT = Path(__file__).parent.parent


def test_every_file_that_the_readme_links_to_exists():
    links = re.findall(r"\]\(([\w./-]+)\)", (ROOT / "README.md").read_text())
    assert links
    missing = [link for link in links if "://" not in link and not (ROOT / link).exists()]
    assert not missing


def test_every_command_in_the_documents_exists():
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    text = "\n".join(page.read_text() for page in pages)
    commands = set(re.findall(r"(?:^|`)uflp ([a-z]+)", text, re.MULTILINE))
    known = {command.name or command.callback.__name__ for command in app.registered_commands}
    assert commands and commands <= known


def test_every_key_that_the_deviations_name_can_be_set():
    keys = set(re.findall(r"`([a-z]+_[a-z_]+)`", (ROOT / "docs" / "deviations.md").read_text()))
    runs = [resolve("deep-sea", overrides={"rule": name}) for name in RULES]
    runs.append(resolve("deep-sea", uncertainty="rnd"))
    known = {key for run in runs for key in run.values()}
    assert keys and keys <= known


def test_the_projection_in_the_docs_works():
    (code,) = re.findall(
        r"```python\n(.*?)```", (ROOT / "docs" / "run-files.md").read_text(), re.DOTALL
    )
    names = {}
    exec(code, names)
    # Speed -1 is the first row of twenty, place 3 the last column of thirty.
    assert names["projection"].cells(np.array([[3.0, -1.0], [0.0, 1.0]])).tolist() == [29, 570]


@pytest.mark.parametrize("name", LISTS)
def test_list_names_something_of_each_kind(name, capsys):
    app(["list", name], standalone_mode=False)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == name and len(lines) > 1
    assert all(line.startswith("  ") and len(line.split()) > 1 for line in lines[1:])


def test_nothing_names_a_path_of_some_machine():
    files = subprocess.run(
        ["git", "grep", "-lIE", r"(^|[^A-Za-z0-9_.-])/(root|home|Users)/"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    ).stdout.split()
    assert [file for file in files if file != "tests/test_docs.py"] == []
