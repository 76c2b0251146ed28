"""The paper's claims as data, and the numbers of its tables.

Verdicts are not written here. `uflp.report.claims` derives them from the results.
"""

from __future__ import annotations

from collections.abc import Mapping

from uflp.experiments.claims.atari import ATARI_CLAIMS
from uflp.experiments.claims.bsuite import BSUITE_CLAIMS
from uflp.experiments.claims.claim import (
    PAPER,
    TARGET,
    Claim,
    Evidence,
    Measure,
    Scope,
    TableCell,
    Where,
)
from uflp.experiments.figures import FIGURES

__all__ = [
    "CLAIMS",
    "PAPER",
    "TABLE_CELLS",
    "TARGET",
    "Claim",
    "Evidence",
    "Measure",
    "Scope",
    "TableCell",
    "Where",
]

CLAIMS: tuple[Claim, ...] = (*BSUITE_CLAIMS, *ATARI_CLAIMS)

_TABLES: Mapping[int, str] = {1: "eval-ddqn", 2: "eval-dist", 3: "actor-ddqn", 4: "actor-dist"}

TABLE_CELLS: tuple[TableCell, ...] = tuple(
    TableCell(
        number,
        figure,
        preset,
        {"agent": line.agent, "access": line.access, "uncertainty": line.uncertainty or ""},
        reported,
    )
    for number, figure in _TABLES.items()
    for preset, cells in FIGURES[figure].reported.items()
    for line, reported in zip(FIGURES[figure].lines, cells, strict=True)
)
