"""When an agent learns, by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from probes import corridor_run
from test_run import finished

from uflp.experiments.resolve import resolve
from uflp.training.rate_limiter import SamplesPerInsert, SgdPeriod
from uflp.training.settings import LoopSettings
from uflp.types import UsageError


def test_a_period_counts_queries_once_there_is_enough_to_learn_from() -> None:
    pace = SgdPeriod(3, min_replay=5)
    assert [query for query in range(1, 13) if pace.steps_due(query, query - 2, 0)] == [9, 12]


@pytest.mark.parametrize(
    ("rate", "expected"),
    [
        # 4 rows to wait for, then one step of 8 samples every 2 rows, 1⅓ rows, 16 rows.
        (4.0, [0, 0, 0, 0, 0, 1, 0, 1, 0, 1, 0, 1]),
        (6.0, [0, 0, 0, 0, 0, 1, 1, 1, 0, 1, 1, 1]),
        (0.5, [0] * 12),
        (20.0, [0, 0, 0, 0, 2, 3, 2, 3, 2, 3, 2, 3]),
    ],
)
def test_steps_follow_the_rows_that_come_in(rate: float, expected: list[int]) -> None:
    pace = SamplesPerInsert(rate, learning_batch=8, min_replay=4)
    due, steps = [], 0
    for inserts in range(1, 13):
        due.append(pace.steps_due(0, inserts, steps))
        steps += due[-1]
    assert due == expected


@given(
    rate=st.floats(0.01, 100),
    batch=st.integers(1, 300),
    arrivals=st.lists(st.integers(0, 50), min_size=1, max_size=50),
)
def test_samples_per_insert_are_never_off_by_a_step(
    rate: float, batch: int, arrivals: list[int]
) -> None:
    """Rows may come in one by one or, as after a rollout of returns, many at once."""
    pace = SamplesPerInsert(rate, batch, min_replay=10)
    inserts = steps = 0
    for arrived in arrivals:
        inserts += arrived
        steps += pace.steps_due(0, inserts, steps)
        owed = max(0, inserts - 10) * rate - steps * batch
        assert -1e-6 <= owed <= batch * (1 + 1e-9)


def test_a_run_holds_the_rate_from_min_replay_on() -> None:
    # 150 rows come in after the 50 that learning waits for, four samples a step.
    for rate, steps in ((2.0, 75), (10.0, 375), (0.3, 11)):
        run, _ = finished(corridor_run(samples_per_insert=rate, min_replay=50))
        assert run.learner == run.sgd_steps == steps


def test_what_a_user_sets_takes_the_place_of_the_preset_s_other_way_to_say_it() -> None:
    loop = resolve("deep-sea", overrides={"samples_per_insert": 0.5}).loop
    assert (loop.sgd_period, loop.samples_per_insert) == (None, 0.5)
    loop = resolve("deep-sea", overrides={"sgd_period": 3}).loop
    assert (loop.sgd_period, loop.samples_per_insert) == (3, None)


def test_only_one_of_the_two_can_be_given() -> None:
    both = {"sgd_period": 2, "samples_per_insert": 4}
    with pytest.raises(UsageError, match=r"sgd_period=2 and samples_per_insert=4\.0 both say"):
        resolve("deep-sea", overrides=both)
    with pytest.raises(UsageError, match="samples_per_insert must be positive or none, not 0"):
        LoopSettings(samples_per_insert=0.0)
    with pytest.raises(UsageError, match="sgd_period must be at least 1 or none, not 0"):
        LoopSettings(sgd_period=0)
