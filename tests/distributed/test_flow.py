"""Learning and collecting are held together."""

import pytest

from uflp.distributed.flow import Flow
from uflp.training.settings import LoopSettings


def flow_of(least, slack, *, learns=True, **pace):
    """One that learns by steps of 128 samples."""
    return Flow(LoopSettings(min_replay=least, **pace), queries=slack, steps=0, learns=learns)


def test_steps_are_due_once_the_replay_is_full_enough():
    flow = flow_of(10, 20, sgd_period=4)
    flow.inserted(8, rows=8)
    assert (flow.due, flow.room, flow.waits_for(8)) == (0, None, "replay")
    flow.inserted(4, rows=4)  # learning begins at query 12
    assert (flow.due, flow.room, flow.waits_for(8)) == (0, 20, "actors")
    flow.inserted(9, rows=9)
    assert (flow.due, flow.room, flow.waits_for(8)) == (2, 11, "nobody")
    flow.asked = 11
    assert (flow.room, flow.waits_for(8)) == (0, "learner")
    flow.learned(2)
    assert (flow.due, flow.room) == (0, 8)


@pytest.mark.parametrize("pace", [{"sgd_period": 16}, {"samples_per_insert": 8.0}])
def test_the_ratio_holds_however_fast_either_side_is(pace):
    for fast in ("actors", "learner"):
        flow = flow_of(100, 64, **pace)
        for _ in range(3000):
            if fast == "actors" or flow.due == 0:
                queries = min(32, 32 if flow.room is None else flow.room)
                flow.inserted(queries, rows=queries)
            flow.learned(min(flow.due, 1 if fast == "actors" else 100))
        learned = flow.steps * 128 / (flow.queries - 100)
        assert learned == pytest.approx(8, rel=0.01)


def test_samples_per_insert_count_rows_and_not_queries():
    flow = flow_of(10, 20, samples_per_insert=64.0)  # a step of 128 samples every 2 rows
    flow.inserted(30, rows=0)  # in the middle of a rollout whose returns are not known yet
    assert (flow.due, flow.room) == (0, None)
    flow.inserted(1, rows=31)
    flow.inserted(6, rows=0)
    assert (flow.due, flow.room) == (0, 20)
    flow.inserted(1, rows=7)
    assert (flow.due, flow.room) == (3, 13)
    flow.learned(3)
    assert (flow.due, flow.room) == (0, 19)


def test_learning_may_be_some_steps_behind():
    flow = Flow(LoopSettings(min_replay=1, sgd_period=4), queries=3, steps=2)
    flow.inserted(1, rows=1)
    assert flow.room == 3 + 2 * 4


def test_a_replay_that_lost_its_rows_fills_up_again_before_anyone_waits():
    flow = flow_of(10, 5, sgd_period=1)
    flow.inserted(10, rows=10)
    flow.inserted(5, rows=5)
    assert flow.room == 0
    flow.emptied()
    assert (flow.due, flow.room) == (0, None)
    flow.inserted(10, rows=10)
    assert (flow.due, flow.room) == (0, 5)
    flow.inserted(3, rows=3)
    assert flow.due == 3


def test_without_learning_nobody_waits():
    flow = flow_of(1, 1, learns=False)
    flow.inserted(1000, rows=0)
    assert (flow.due, flow.room, flow.waits_for(8)) == (0, None, "nobody")


def test_a_saved_flow_goes_on():
    flow, other = (flow_of(4, 10, sgd_period=2) for _ in range(2))
    flow.inserted(9, 9)
    flow.learned(1)
    other.load(flow.state())
    for one in (flow, other):
        one.inserted(4, 4)
    assert (other.due, other.room) == (flow.due, flow.room) == (1, 8)
