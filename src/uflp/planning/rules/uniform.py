"""Uniform restarts (Tavakoli et al. 2018): any saved state is as good as another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from uflp.planning.rules.base import Rule, Sources, Start


@dataclass(frozen=True)
class Uniform:
    """Any saved state, all alike (Tavakoli et al. 2018)."""

    needs: ClassVar[str | None] = None

    def make(self, sources: Sources) -> UniformRule:
        """Return the rule."""
        return UniformRule(sources)


class UniformRule(Rule):
    """Draws one entry of the history, whatever B is."""

    def __init__(self, sources: Sources):
        self._sources = sources

    def choose(self, rng: np.random.Generator) -> Start:
        """Return any entry."""
        return self._sources.start(int(self._sources.history.sample(rng, 1)[0]), rng)
