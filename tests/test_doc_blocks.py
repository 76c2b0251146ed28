"""Every code block and command of the documents runs, with small budgets, or says why not."""

import re
import shlex
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

import uflp
from uflp.cli import app

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
QUERIES = 200
FENCE = re.compile(
    r"(?:<!-- not run: ([^\n]*) -->\n)?^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE
)

# What does not run, by page and reason: a block that is marked is to be listed here as well.
NOT_RUN = {
    "README.md": 2,
    "atari.md": 2,
    "clusters.md": 7,
    "continuous-actions.md": 1,
    "extending.md": 1,
    "get-started.md": 1,
    "install.md": 3,
    "logging.md": 3,
    "reports.md": 1,
    "resuming.md": 4,
    "speed.md": 1,
    "stable-baselines3.md": 1,
}


class Block(NamedTuple):
    reason: str | None
    language: str
    text: str


def blocks(page):
    return [Block(one[1], one[2], one[3]) for one in FENCE.finditer(page.read_text())]


def commands(text):
    """Returns the commands of a block; where some have a prompt, all else is what they print."""
    lines = [line.partition("  #")[0].strip() for line in text.splitlines()]
    asked = [line[2:] for line in lines if line.startswith("$ ")]
    return asked or [line for line in lines if line]


def test_what_does_not_run_is_listed_with_a_reason():
    marked = Counter(page.name for page in PAGES for one in blocks(page) if one.reason is not None)
    assert marked == NOT_RUN
    assert all(one.reason != "" for page in PAGES for one in blocks(page))


def test_every_mark_stands_before_a_block():
    for page in PAGES:
        marks = page.read_text().count("<!-- not run:")
        assert marks == sum(one.reason is not None for one in blocks(page)), page.name


# `test_extending.py` runs its page, and looks at what it made.
RUN = [page for page in PAGES if page.name != "extending.md" and blocks(page)]


@pytest.mark.parametrize("page", RUN, ids=lambda page: page.name)
def test_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shorten(monkeypatch)
    names = {"__name__": "__main__"}
    for one in blocks(page):
        if one.reason is not None:
            continue
        if one.language == "python":
            exec(compile(one.text, str(page), "exec"), names)
            continue
        for command in commands(one.text):
            program, *arguments = shlex.split(command)
            assert program == "uflp", f"{command}: say why it does not run"
            app([*arguments, *short(arguments)], standalone_mode=False)


def shorten(monkeypatch):
    """Lets training take a few queries, whatever a page says: it is to run, not to learn."""
    for name in ("train", "compare"):
        original = getattr(uflp, name)

        def call(*arguments, _original=original, _name=name, **settings):
            settings["queries"] = min(settings.get("queries", QUERIES), QUERIES)
            if _name == "compare":
                settings["seeds"] = 1
            return _original(*arguments, **settings)

        monkeypatch.setattr(uflp, name, call)


def short(arguments):
    """Returns what makes a command short; of an option that comes twice the later one counts."""
    if "--resume" in arguments:
        return []
    return {
        "train": ["--queries", str(QUERIES)],
        "compare": ["--queries", str(QUERIES), "--seeds", "1"],
        "sweep": ["--queries", str(QUERIES), "--seeds", "1"],
    }.get(arguments[0], [])
