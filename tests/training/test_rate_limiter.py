"""When an agent learns, by hand."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from probes import corridor_run
from test_run import finished

from uflp.experiments.resolve import resolve
from uflp.training.rate_limiter import RateLimiter
from uflp.training.settings import LearningSettings, ReplaySettings
from uflp.types import UsageError


def limiter_of(
    least: int, slack: int = 0, *, learns: bool = True, batch: int = 128, **pace: Any
) -> RateLimiter:
    replay = ReplaySettings(min_replay=least, learning_batch=batch)
    return RateLimiter(replay, LearningSettings(**pace), queries=slack, learns=learns)


def test_a_period_counts_queries_once_there_is_enough_to_learn_from() -> None:
    limiter, learned = limiter_of(5, sgd_period=3), []
    for query in range(1, 13):
        limiter.inserted(1, rows=int(query > 2))
        if limiter.due:
            learned.append((query, limiter.due))
            limiter.learned(limiter.due)
    # Five rows are there at query 7.
    assert learned == [(9, 1), (12, 1)]


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
    limiter, due = limiter_of(4, batch=8, samples_per_insert=rate), []
    for _ in range(12):
        limiter.inserted(1, rows=1)
        due.append(limiter.due)
        limiter.learned(due[-1])
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
    limiter = limiter_of(10, batch=batch, samples_per_insert=rate)
    for arrived in arrivals:
        limiter.inserted(1, arrived)
        limiter.learned(limiter.due)
        owed = max(0, limiter.inserts - 10) * rate - limiter.steps * batch
        assert -1e-6 <= owed <= batch * (1 + 1e-9)


@pytest.mark.parametrize("pace", [{"sgd_period": 3}, {"samples_per_insert": 50.0}])
@pytest.mark.parametrize("stop", [3, 10, 11, 12, 25])
def test_a_resumed_limiter_goes_on_from_the_counts_alone(pace: dict[str, Any], stop: int) -> None:
    due = []
    for resumed in (False, True):
        limiter = limiter_of(10, **pace)
        due.append([])
        for query in range(40):
            if resumed and query == stop:
                other = limiter_of(10, **pace)
                other.resume(limiter.queries, limiter.inserts, limiter.steps)
                limiter = other
            limiter.inserted(1, rows=1)
            due[-1].append(limiter.due)
            limiter.learned(limiter.due)
    assert due[0] == due[1]
    assert sum(due[0]) > 5


# Where collecting does not wait for learning


def test_steps_are_due_once_the_replay_is_full_enough() -> None:
    limiter = limiter_of(10, 20, sgd_period=4)
    limiter.inserted(8, rows=8)
    assert (limiter.due, limiter.room, limiter.waits_for(8)) == (0, None, "replay")
    limiter.inserted(4, rows=4)  # a step is due at queries 12, 16, 20
    assert (limiter.due, limiter.room, limiter.waits_for(8)) == (1, 19, "nobody")
    limiter.inserted(9, rows=9)
    assert (limiter.due, limiter.room, limiter.waits_for(8)) == (3, 10, "nobody")
    limiter.asked = 11
    assert (limiter.room, limiter.waits_for(8)) == (0, "learner")
    limiter.learned(2)
    assert (limiter.due, limiter.room) == (1, 7)
    limiter.learned(1)
    assert (limiter.due, limiter.room, limiter.waits_for(8)) == (0, 11, "actors")


@pytest.mark.parametrize("pace", [{"sgd_period": 16}, {"samples_per_insert": 8.0}])
def test_the_ratio_holds_however_fast_either_side_is(pace: dict[str, Any]) -> None:
    for fast in ("actors", "learner"):
        limiter = limiter_of(100, 64, **pace)
        for _ in range(3000):
            if fast == "actors" or limiter.due == 0:
                queries = min(32, 32 if limiter.room is None else limiter.room)
                limiter.inserted(queries, rows=queries)
            limiter.learned(min(limiter.due, 1 if fast == "actors" else 100))
        learned = limiter.steps * 128 / (limiter.queries - 100)
        assert learned == pytest.approx(8, rel=0.01)


def test_samples_per_insert_count_rows_and_not_queries() -> None:
    limiter = limiter_of(10, 20, samples_per_insert=64.0)  # a step of 128 samples every 2 rows
    limiter.inserted(30, rows=0)  # in the middle of a rollout whose returns are not known yet
    assert (limiter.due, limiter.room) == (0, None)
    limiter.inserted(1, rows=31)  # 21 more than are waited for
    assert (limiter.due, limiter.room) == (10, 0)
    limiter.learned(10)
    limiter.inserted(6, rows=0)
    assert (limiter.due, limiter.room) == (0, 19)
    limiter.inserted(1, rows=7)
    assert (limiter.due, limiter.room) == (4, 12)
    limiter.learned(4)
    assert (limiter.due, limiter.room) == (0, 20)


def test_learning_may_be_some_steps_behind() -> None:
    limiter = RateLimiter(
        ReplaySettings(min_replay=1), LearningSettings(sgd_period=4), queries=3, steps=2
    )
    limiter.inserted(1, rows=1)
    assert limiter.room == 3 + 2 * 4 - 1


def test_a_replay_that_lost_its_rows_fills_up_again_before_anyone_waits() -> None:
    limiter = limiter_of(10, 5, sgd_period=1)
    limiter.inserted(10, rows=10)
    limiter.inserted(5, rows=5)
    assert limiter.room == 0
    limiter.emptied()
    assert (limiter.due, limiter.room) == (0, None)
    limiter.inserted(10, rows=10)
    assert (limiter.due, limiter.room) == (1, 4)
    limiter.inserted(3, rows=3)
    assert limiter.due == 4


def test_without_learning_nobody_waits() -> None:
    limiter = limiter_of(1, 1, learns=False)
    limiter.inserted(1000, rows=0)
    assert (limiter.due, limiter.room, limiter.waits_for(8)) == (0, None, "nobody")


def test_a_saved_limiter_goes_on() -> None:
    limiter, other = (limiter_of(4, 10, sgd_period=2) for _ in range(2))
    limiter.inserted(9, 9)
    limiter.learned(1)
    other.load(limiter.state())
    for one in (limiter, other):
        one.inserted(4, 4)
    assert (other.due, other.room) == (limiter.due, limiter.room) == (1, 7)


# In a run


def test_a_run_holds_the_rate_from_min_replay_on() -> None:
    # 150 rows come in after the 50 that learning waits for, four samples a step.
    for rate, steps in ((2.0, 75), (10.0, 375), (0.3, 11)):
        run, _ = finished(corridor_run(samples_per_insert=rate, min_replay=50))
        assert run.learner == run.sgd_steps == steps


def test_what_a_user_sets_takes_the_place_of_the_preset_s_other_way_to_say_it() -> None:
    learning = resolve("deep-sea", overrides={"samples_per_insert": 0.5}).learning
    assert (learning.sgd_period, learning.samples_per_insert) == (None, 0.5)
    learning = resolve("deep-sea", overrides={"sgd_period": 3}).learning
    assert (learning.sgd_period, learning.samples_per_insert) == (3, None)


def test_only_one_of_the_two_can_be_given() -> None:
    both = {"sgd_period": 2, "samples_per_insert": 4}
    with pytest.raises(UsageError, match=r"sgd_period=2 and samples_per_insert=4\.0 both say"):
        resolve("deep-sea", overrides=both)
    with pytest.raises(UsageError, match="samples_per_insert must be positive or none, not 0"):
        LearningSettings(samples_per_insert=0.0)
    with pytest.raises(UsageError, match="sgd_period must be at least 1 or none, not 0"):
        LearningSettings(sgd_period=0)
