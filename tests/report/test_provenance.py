"""Provenance of results that are written, or added to, by a command."""

from __future__ import annotations

import json
from pathlib import Path

from uflp.report import provenance


def _entry(folder: Path) -> dict[str, object]:
    return json.loads((folder / "provenance.json").read_text())["table"]


def test_what_is_written_anew_has_the_last_command_alone(tmp_path):
    for command in ("first", "second"):
        provenance.record(tmp_path / "table.csv", command)
    assert _entry(tmp_path)["command"] == "second"


def test_what_is_added_to_keeps_what_made_the_rest(tmp_path, monkeypatch):
    table = tmp_path / "table.csv"
    provenance.record(table, "first", added=True)
    alone = _entry(tmp_path)
    assert alone["command"] == "first"
    of_now = provenance.provenance()
    monkeypatch.setattr(provenance, "provenance", lambda: {**of_now, "git_revision": "later"})
    for command in ("second", "first", "second"):
        provenance.record(table, command, added=True)
    joined = _entry(tmp_path)
    assert joined["command"] == ["first", "second"]
    assert joined["revision"] == [alone["revision"], "later"]
    # What is equal stays as it is.
    assert joined["versions"] == alone["versions"] and joined["date"] == alone["date"]
