"""One actor and the learner in lock step: the numbers of a run in one process."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from uflp.distributed.desk import Desk
from uflp.training.metrics import Row


def lock_step(desk: Desk, pause: Callable[[], None]) -> Iterator[Row]:
    """Runs until the budget is spent, each part waiting for the other.

    Args:
        desk: of the run.
        pause: called where the run can be saved.
    """
    loop = desk.settings.loop
    limiter = desk.ledger.rate_limiter
    # Between two queries with these numbers there is nothing but collecting.
    periods = (loop.queries_per_step, loop.eval_period)
    while not desk.spent:
        pause()
        left = loop.queries - desk.ledger.spent
        chunk = desk.collect_now(min(left, *(one - limiter.queries % one for one in periods)))
        if limiter.due:
            desk.learn_now(limiter.due, chunk.observation)
        if limiter.queries % loop.eval_period == 0 or desk.spent:
            desk.evaluate()
            desk.drain()
            yield from desk.rows()
