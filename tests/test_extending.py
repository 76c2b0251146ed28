"""The examples of docs/extending.md run, and do what they say."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from uflp.simulators.contract import check

PAGE = Path(__file__).parent.parent / "docs" / "extending.md"


@pytest.fixture(scope="module")
def page() -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": __name__}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL):
        exec(compile(block, str(PAGE), "exec"), names)
    return names


def test_the_simulator_keeps_every_promise(page: dict[str, Any]) -> None:
    assert check(page["Cliff"], steps=60) == []


def test_the_uncertainty_fades(page: dict[str, Any]) -> None:
    simulator = page["Cliff"]()
    counts = page["Fading"](half_life=1).make(simulator.observation_space, 2, 0)
    for key in (0, 1, 1):
        counts.observe(key, 0)
    scores = counts.score(np.array([0, 1]), lambda observations: observations)
    # Visited two queries ago: 1/4. Visited one and no queries ago: 1/2 + 1.
    assert np.allclose(scores[:, 0], [(0.25 + 0.01) ** -0.5, (1.5 + 0.01) ** -0.5])
