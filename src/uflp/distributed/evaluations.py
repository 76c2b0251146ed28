"""Rows of metrics that wait for what other parts know."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

import ray

from uflp.distributed.calls import get
from uflp.distributed.crew import Crew
from uflp.distributed.faults import Faults
from uflp.distributed.ledger import Ledger
from uflp.distributed.parameters import Parameters
from uflp.training.metrics import Row


class _Pending(NamedTuple):
    """A row that waits for what other parts know."""

    complete: Callable[..., Row]
    evaluation: Any
    history: Any
    shards: list[Any]

    @property
    def answers(self) -> list[Any]:
        """Everything that is waited for."""
        history = [] if self.history is None else [self.history]
        return [self.evaluation, *history, *self.shards]


class Evaluations:
    """Begins rows, and completes them in order.

    Attributes:
        rows: those that are complete.
    """

    def __init__(self, crew: Crew, ledger: Ledger, faults: Faults):
        self.rows: deque[Row] = deque()
        self._crew = crew
        self._ledger = ledger
        self._faults = faults
        self._pending: deque[_Pending] = deque()
        self._sizes = {"history": 0, "replay": 0}

    def __len__(self) -> int:
        """Returns how many rows are not complete."""
        return len(self._pending)

    @property
    def answers(self) -> list[Any]:
        """What the next row waits for."""
        return self._pending[0].answers if self._pending else []

    def begin(self, parameters: Parameters) -> None:
        """Begins the row of this moment."""
        crew, ledger = self._crew, self._ledger
        best = 0.0 if ledger.best is None else ledger.best.best_score
        self._pending.append(
            _Pending(
                ledger.row(),
                crew.evaluator.evaluate.remote(parameters, ledger.rate_limiter.queries),
                None if crew.history is None else crew.history.status.remote(best),
                [shard.status.remote() for shard in crew.shards],
            )
        )

    def complete(self) -> None:
        """Completes the rows that wait for nothing any more."""
        while self._pending and self._complete(self._pending[0]):
            self._pending.popleft()

    def _complete(self, row: _Pending) -> bool:
        """Completes a row, if all that it waits for is there."""
        answers = row.answers
        if len(ray.wait(answers, num_returns=len(answers), timeout=0)[0]) < len(answers):
            return False
        shards = get(row.shards)
        replay_size = sum(shard.size for shard in shards)
        for index, shard in enumerate(shards):
            if self._faults.answered(f"shard {index} of the replay", shard.pid):
                lost = self._sizes["replay"] // len(shards)
                self._faults.lost(f"shard {index} of the replay", "rows", lost)
        history_size = 0
        if row.history is not None:
            pid, history_size, best = get(row.history)
            if self._faults.answered("the history", pid):
                self._faults.lost("the history", "snapshots", self._sizes["history"])
            if best is not None and self._ledger.best is not None:
                self._ledger.best.found(*best)
        self._sizes = {"history": history_size, "replay": replay_size}
        evaluation, pid = get(row.evaluation)
        if self._faults.answered("the evaluator", pid):
            self._faults.lost("the evaluator", "evaluations", 0)
        self.rows.append(
            row.complete(evaluation=evaluation, history_size=history_size, replay_size=replay_size)
        )
        return True
