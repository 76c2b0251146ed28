"""The former name of `uflp.planning`, for code that imports it from here."""

from uflp.planning import (
    RULES,
    DemonstrationRecorder,
    Demonstrations,
    Lineage,
    Rule,
    Sources,
    Start,
)

__all__ = [
    "RULES",
    "DemonstrationRecorder",
    "Demonstrations",
    "Lineage",
    "Rule",
    "Sources",
    "Start",
]
