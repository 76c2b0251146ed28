"""Learning in small Deep Seas, with budgets that a broken agent or restart rule does not keep.

With restarts at any saved state in place of the most uncertain one, or without the value beyond a
query in the target, not one of the six local runs reaches its goal.
"""

from __future__ import annotations

import pytest

import uflp

pytestmark = pytest.mark.usefixtures("compiled_once")


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(
    ("agent", "settings"),
    [
        ("ddqn", {"uncertainty": "covariance", "feature_size": 100}),
        ("ddqn-bonus", {"uncertainty": "counts"}),
    ],
)
def test_local_access_solves_deep_sea(agent: str, settings: dict[str, object], seed: int) -> None:
    result = uflp.train(
        "deep-sea", agent=agent, size=10, queries=1000, seed=seed, stop_at_return=0.95, **settings
    )
    assert result.summary["queries_to_target"] is not None
    assert result.summary["best_return"] == pytest.approx(0.99)


@pytest.mark.parametrize("seed", [0, 1])
def test_online_access_sees_no_reward_in_that_budget(seed: int) -> None:
    result = uflp.train("deep-sea", agent="ddqn", access="online", size=25, queries=1000, seed=seed)
    assert result.summary["positive_rewards"] == 0
    assert result.summary["best_return"] <= 0


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_online_access_learns_what_chance_can_find(seed: int) -> None:
    """So that the test above is about exploration: the same agent learns from what it sees.

    Random actions reach the corner in one of 32 episodes, and there are 300 of them.
    """
    result = uflp.train(
        "deep-sea",
        agent="ddqn",
        access="online",
        size=5,
        queries=1500,
        epsilon=1.0,
        seed=seed,
        stop_at_return=0.95,
    )
    assert result.summary["queries_to_target"] is not None
