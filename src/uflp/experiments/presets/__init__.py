"""The paper's experiments as data."""

from __future__ import annotations

from collections.abc import Mapping

from uflp.experiments.presets.anything import ANYTHING
from uflp.experiments.presets.atari import ATARI, atari
from uflp.experiments.presets.bsuite import DEEP_SEA, SWINGUP, SWINGUP_HARD
from uflp.experiments.presets.preset import Preset
from uflp.registry import unknown
from uflp.simulators import SIMULATORS
from uflp.types import UsageError

__all__ = ["ANYTHING", "PRESETS", "Preset", "find_preset"]

PRESETS: Mapping[str, Preset] = {
    "deep-sea": DEEP_SEA,
    "swingup": SWINGUP,
    "swingup-hard": SWINGUP_HARD,
    **ATARI,
}


def find_preset(name: str) -> Preset:
    """Return a preset by its name; `atari/GAME` is one for every game, `gym:ID` for anything."""
    if name in PRESETS:
        return PRESETS[name]
    kind, _, game = name.partition("/")
    if kind == "atari" and game:
        return atari(f"{game}, with the settings that Atari games share", game)
    if ":" in name or name in SIMULATORS:
        return ANYTHING
    raise UsageError(unknown("preset", name, [*PRESETS, "gym:ID", "module:factory"]))
