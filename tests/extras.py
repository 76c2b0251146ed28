"""Extras that a test cannot do without."""

from __future__ import annotations

import pytest

from uflp.experiments.figures import FIGURES
from uflp.experiments.figures.robotics import ROBOTICS_FIGURES


def require_settings_of(figure: str) -> None:
    """Skip the test where the names of a figure's simulators cannot be looked up."""
    if any(preset.startswith("dmc:") for preset in FIGURES[figure].presets):
        pytest.importorskip("dm_control")


def require_simulators_of(figure: str) -> None:
    """Skip the test where a figure's simulators cannot be made."""
    if figure in ROBOTICS_FIGURES:
        pytest.importorskip("gymnasium_robotics")  # One extra brings dm_control, too.
