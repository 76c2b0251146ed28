"""Learning and collecting are held together."""

import pytest

from uflp.distributed.flow import Flow


def test_steps_are_due_once_the_replay_is_full_enough():
    flow = Flow(period=4, least=10, slack=20)
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


def test_the_ratio_holds_however_fast_either_side_is():
    for fast in ("actors", "learner"):
        flow = Flow(period=16, least=100, slack=64)
        for _ in range(3000):
            if fast == "actors" or flow.due == 0:
                queries = min(32, 32 if flow.room is None else flow.room)
                flow.inserted(queries, rows=queries)
            flow.learned(min(flow.due, 1 if fast == "actors" else 100))
        learned = flow.steps * 128 / (flow.queries - 100)
        assert learned == pytest.approx(8, rel=0.01)


def test_a_replay_that_lost_its_rows_fills_up_again_before_anyone_waits():
    flow = Flow(period=1, least=10, slack=5)
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
    flow = Flow(period=1, least=1, slack=1, learns=False)
    flow.inserted(1000, rows=0)
    assert (flow.due, flow.room, flow.waits_for(8)) == (0, None, "nobody")


def test_a_saved_flow_goes_on():
    flow, other = Flow(2, 4, 10), Flow(2, 4, 10)
    flow.inserted(9, 9)
    flow.learned(1)
    other.load(flow.state())
    for one in (flow, other):
        one.inserted(4, 4)
    assert (other.due, other.room) == (flow.due, flow.room) == (1, 8)
