"""The documentation builds strictly, needs no network, and has every setting and public name."""

import html
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import uflp
from uflp.cli import app
from uflp.cli.listing import setting_rows

ROOT = Path(__file__).parent.parent
pytest.importorskip("mkdocs", reason="the extra docs is not installed: pip install 'uflp[docs]'")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(folder)]
    # Every address leads to a closed port: what needs a network fails.
    closed = dict.fromkeys(("http_proxy", "https_proxy", "all_proxy"), "http://127.0.0.1:9")
    environment = {**os.environ, **closed, "NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment)
    assert built.returncode == 0, built.stderr
    assert "WARNING" not in built.stderr
    return folder


def text_of(site, page):
    text = html.unescape((site / page).read_text())
    return re.sub(r"<[^>]+>", "", text)


def test_nothing_is_loaded_from_elsewhere(site):
    loaded = r"<(?:script|img|link|iframe|source)\b[^>]*?(?:src|href)=\"((?:https?:)?//[^\"]*)"
    for page in site.rglob("*.html"):
        assert re.findall(loaded, page.read_text()) == [], page.name
    for style in site.rglob("*.css"):
        assert not re.search(r"(@import|url\()\s*[\"']?(https?:)?//", style.read_text())


def test_every_setting_is_in_the_reference(site):
    text = text_of(site, "settings.html").split()
    assert {row[0] for row in setting_rows()} <= set(text)


def test_every_public_name_is_in_the_reference(site):
    text = (site / "api.html").read_text()
    assert [name for name in uflp.__all__ if f'id="uflp.{name}"' not in text] == []


def test_every_command_is_in_the_reference(site):
    text = text_of(site, "cli.html")
    names = [one.name or one.callback.__name__ for one in app.registered_commands]
    assert [name for name in names if f"uflp {name}" not in text] == []
