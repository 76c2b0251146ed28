"""One actor and the learner in lock step: the numbers of a run in one process."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from uflp.distributed.desk import Desk
from uflp.training.trainable import Row


def lock_step(desk: Desk, pause: Callable[[], None]) -> Iterator[Row]:
    """Runs until the budget is spent, each part waiting for the other.

    Args:
        desk: of the run.
        pause: called where the run can be saved.
    """
    loop = desk.settings.loop
    flow = desk.ledger.flow
    least = loop.min_replay or loop.learning_batch
    while not desk.spent:
        pause()
        left = loop.queries - desk.ledger.spent
        ahead = [period - flow.queries % period for period in (loop.sgd_period, loop.eval_period)]
        chunk = desk.collect_now(min(left, *ahead))
        learns = flow.learns and min(flow.rows, loop.replay_size, loop.queries) >= least
        if learns and flow.queries % loop.sgd_period == 0:
            desk.learn_now(chunk.observation)
        if flow.queries % loop.eval_period == 0 or desk.spent:
            desk.evaluate()
            desk.drain()
            yield from desk.rows()
