"""Every agent with every uncertainty, in every simulator, stopped and resumed."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from resuming import rows_of, small, stopped_rows

from uflp.experiments.agents import AGENTS
from uflp.experiments.resolve import resolve
from uflp.training.build import Builder
from uflp.training.run import Run
from uflp.types import UsageError
from uflp.uncertainty import UNCERTAINTIES

pytestmark = pytest.mark.long

STOPS = (7, 97, 97, 240)
VARIANTS: dict[str, list[dict[str, Any]]] = {
    "deep-sea": [{}, {"stochastic": True, "restart": "state"}],
    "swingup": [{}, {"batch": None, "rollout_limit": 7}],
    "gym:Pendulum-v1": [{}, {"rollout_limit": 9, "n_step": 3}],
    "atari/montezuma-revenge": [{}, {"n_step": 1, "history_bytes": 40_000}],
}


def combinations() -> list[tuple[str, str, str]]:
    """Returns what fits together; policy iteration does not learn from images."""
    found = []
    for preset, agent, uncertainty in itertools.product(VARIANTS, AGENTS, UNCERTAINTIES):
        if preset.startswith("atari/") and AGENTS[agent].learner == "pi":
            continue
        try:
            settings = resolve(preset, agent=agent, uncertainty=uncertainty)
            Builder(settings).uncertainty()
        except UsageError:
            continue
        found.append((preset, agent, uncertainty))
    return found


@pytest.mark.parametrize(("preset", "agent", "uncertainty"), combinations())
def test_a_stopped_run_gives_the_rows_of_one_that_was_not(
    tmp_path: Path, preset: str, agent: str, uncertainty: str
) -> None:
    for number, more in enumerate(VARIANTS[preset]):
        settings = small(preset, agent, uncertainty, **more)
        assert stopped_rows(settings, tmp_path / str(number), STOPS) == rows_of(Run(settings)), more
