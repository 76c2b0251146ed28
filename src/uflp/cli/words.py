"""What several commands read and say alike."""

from __future__ import annotations

import re
from typing import Any

from uflp.types import UsageError


def read_pairs(words: list[str]) -> dict[str, Any]:
    """Reads KEY=VALUE words; a key given twice is an error rather than a silent choice."""
    pairs: dict[str, Any] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or not key:
            raise UsageError(f"settings are written KEY=VALUE, not {word!r}")
        if key in pairs:
            raise UsageError(f"{key} is set twice")
        pairs[key] = value
    return pairs


def folder_name(preset: str) -> str:
    """Returns a preset's name as a folder may be called, whatever simulator it names."""
    return re.sub("[^A-Za-z0-9._-]", "-", preset)


def sentence(summary: dict[str, Any]) -> str:
    """Returns what a run came to, in one line."""
    reached = summary["queries_to_target"]
    goal = (
        f"reached {summary['target_return']:g} after {reached:,} queries"
        if reached is not None
        else f"best return {summary['best_return']:.3f}"
    )
    return (
        f"{summary['preset']}, {summary['agent']}, {summary['access']}, seed {summary['seed']}: "
        f"{goal}; {summary['queries']:,} queries at {summary['queries_per_second']:,.0f}/s, "
        f"in {summary['run_dir']}"
    )
