"""The examples of docs/extending.md run, and do what they say."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import uflp
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


def test_the_rule_goes_back_to_the_last_states_of_the_latest_episodes(page: dict[str, Any]) -> None:
    env = uflp.LocalAccess(page["Cliff"], rule=page["BeforeTheEnd"](episodes=2), p_init=1.0)
    last = []
    for _ in range(3):
        env.reset()
        while not any(env.step(1)[2:4]):
            pass
        last.append(env.planner.history.newest)
    rule = env.planner.rule
    rng = np.random.default_rng(0)
    assert {rule.choose(rng).entry for _ in range(50)} == set(last[1:])
    again = page["BeforeTheEnd"](episodes=2).make(rule._sources)
    again.load(rule.state())
    assert {again.choose(rng).entry for _ in range(50)} == set(last[1:])
