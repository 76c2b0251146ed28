"""What going back costs is told also where snapshots are copies, which have no bytes to count."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from uflp.report.comparisons import cost_sentence
from uflp.simulators.costs import Costs, measure
from uflp.simulators.gymnasium import Gymnasium


def group() -> Any:
    metrics = {"wall_seconds": [2.0], "history_size": [1500], "rollouts": [10], "restarts": [5]}
    run = SimpleNamespace(metrics=metrics, queries=100, settings={"checkpoint_period": 1})
    return SimpleNamespace(runs=[run])


@pytest.mark.parametrize(("strategy", "has_bytes"), [("attributes", True), ("copy", False)])
def test_bytes_are_counted_where_there_are_any(strategy: str, has_bytes: bool) -> None:
    costs = measure(Gymnasium("CartPole-v1", strategy).make(0))
    assert (costs.nbytes > 0) == has_bytes
    assert costs.save > 0 and costs.restore > 0


@pytest.mark.parametrize(
    ("nbytes", "said"),
    [
        (40.0, "up to 1,500 snapshots of 40 bytes, 60 kB."),
        (0.0, "up to 1,500 snapshots that are copies in this process, whose size is not known."),
    ],
)
def test_words_do_not_make_up_a_size(nbytes: float, said: str) -> None:
    assert cost_sentence(group(), Costs(1e-5, 1e-5, nbytes)).endswith(said)


def test_times_are_written_out() -> None:
    text = cost_sentence(group(), Costs(8.23e-7, 1.512e-3, 100.0))
    assert "(0.82 µs a save, 1,500 µs a restore)" in text
