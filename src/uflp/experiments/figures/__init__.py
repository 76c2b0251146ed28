"""The paper's figures and tables as data."""

from __future__ import annotations

from collections.abc import Mapping

from uflp.experiments.figures.atari import ATARI_FIGURES
from uflp.experiments.figures.bsuite import BSUITE_FIGURES
from uflp.experiments.figures.plan import SCALES, Changes, Figure, Known, Line
from uflp.experiments.figures.robotics import ROBOTICS_FIGURES

__all__ = ["FIGURES", "SCALES", "Changes", "Figure", "Known", "Line"]

FIGURES: Mapping[str, Figure] = {**BSUITE_FIGURES, **ATARI_FIGURES, **ROBOTICS_FIGURES}
