"""One actor and the learner in lock step: the numbers of a run in one process."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from uflp.distributed.desk import Desk
from uflp.training.metrics import Row
from uflp.training.wiring import make_pace


def lock_step(desk: Desk, pause: Callable[[], None]) -> Iterator[Row]:
    """Runs until the budget is spent, each part waiting for the other.

    Args:
        desk: of the run.
        pause: called where the run can be saved.
    """
    loop = desk.settings.loop
    flow = desk.ledger.flow
    pace = make_pace(loop)
    # Between two queries with these numbers there is nothing but collecting.
    periods = (loop.queries_per_step, loop.eval_period)
    while not desk.spent:
        pause()
        left = loop.queries - desk.ledger.spent
        chunk = desk.collect_now(min(left, *(one - flow.queries % one for one in periods)))
        due = pace.steps_due(flow.queries, flow.inserts, flow.steps) if flow.learns else 0
        if due:
            desk.learn_now(due, chunk.observation)
        if flow.queries % loop.eval_period == 0 or desk.spent:
            desk.evaluate()
            desk.drain()
            yield from desk.rows()
