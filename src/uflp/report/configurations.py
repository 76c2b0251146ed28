"""Settings of groups, sorted into what all share and what tells them apart."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from uflp.report.groups import Group
from uflp.report.words import NONE

_NAMES = ("preset", "agent", "uncertainty", "access", "variant")


def common_settings(groups: Sequence[Group]) -> dict[str, str]:
    """Returns the names and settings that are the same in every group."""
    tables = [_everything(group) for group in groups]
    return {
        key: value
        for key, value in tables[0].items()
        if all(table.get(key) == value for table in tables)
    }


def differing_settings(groups: Sequence[Group]) -> tuple[list[str], list[list[str]]]:
    """Returns the keys that differ, and their values a group; a dash where a group has no such."""
    tables = [_everything(group) for group in groups]
    common = common_settings(groups)
    keys = dict.fromkeys(key for table in tables for key in table)
    differing = [key for key in keys if key not in common]
    return differing, [[table.get(key, NONE) for key in differing] for table in tables]


def _everything(group: Group) -> dict[str, str]:
    names = {key: getattr(group, key) for key in _NAMES}
    settings = {key: value for key, value in group.runs[0].settings.items() if key not in names}
    return {key: _word(value) for key, value in (names | settings).items()}


def _word(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return json.dumps(value).replace("null", "none").strip("[]")
