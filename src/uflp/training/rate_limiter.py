"""The rate limiter: how much an agent learns for how much is collected."""

from __future__ import annotations

import math

from uflp.state import State, number
from uflp.training.settings import LearningSettings, ReplaySettings


class RateLimiter:
    """Holds learning and collecting together: neither runs ahead of the other by much.

    Once the replay holds enough rows, one SGD step is due at every query whose number `sgd_period`
    divides, or as many as hold the samples for each row at `samples_per_insert`. The rows that
    learning waits for at the start are not counted: thousands of steps at once would pay for them.
    Steps are only run once they are due. Where collecting does not wait for them, queries are asked
    for while fewer than the slack are ahead of the steps.

    Attributes:
        queries: made so far.
        inserts: rows that went to the replay so far.
        asked: queries that are under way.
        steps: SGD steps run so far.
        learns: whether there is any learning at all.
        slack: queries that may be ahead of learning, or rows.
    """

    def __init__(
        self,
        replay: ReplaySettings,
        learning: LearningSettings,
        *,
        queries: int = 0,
        steps: int = 0,
        learns: bool = True,
    ):
        """Make the rate limiter of a run.

        Args:
            replay: says how many rows learning waits for, and how many a step takes.
            learning: says how often to learn.
            queries: that may be ahead of learning, beside what the next argument allows.
            steps: that learning may be behind.
            learns: whether there is any learning at all.
        """
        self.queries = 0
        self.inserts = 0
        self.asked = 0
        self.steps = 0
        self.learns = learns
        self._rate = learning.samples_per_insert
        self._batch = replay.learning_batch
        self._period = learning.queries_per_step
        self._least = replay.least
        self.slack = queries + steps * self._collected_a_step
        self._empty = 0  # Rows that were lost with a replay.
        self._began: int | None = None  # What was collected when learning began, not counted.
        self._before = 0  # Steps when learning began.

    def inserted(self, queries: int, rows: int) -> None:
        """Count queries, and rows that went to the replay."""
        self.queries += queries
        self.inserts += rows
        if self._began is None and self.inserts - self._empty >= self._least:
            # The query that fills the replay may be followed by a step.
            rows_before = self._empty + self._least
            self._began = self.queries - 1 if self._rate is None else rows_before
            self._before = self.steps

    def learned(self, steps: int) -> None:
        """Count SGD steps."""
        self.steps += steps

    def emptied(self) -> None:
        """Wait until the replay, which has lost its rows, has filled up again."""
        self._began = None
        self._empty = self.inserts

    def resume(self, queries: int, inserts: int, steps: int) -> None:
        """Go on after so many queries, rows and steps; all steps that were due have been run."""
        self.queries, self.inserts, self.steps = queries, inserts, steps
        if inserts >= self._least:
            by_queries = self._rate is None
            self._began, self._before = (queries, steps) if by_queries else (self._least, 0)

    @property
    def due(self) -> int:
        """SGD steps that are due."""
        if not self.learns or self._began is None:
            return 0
        steps = self.steps - self._before
        if self._rate is None:
            return max(0, self.queries // self._period - self._began // self._period - steps)
        owed = (self.inserts - self._began) * self._rate - steps * self._batch
        return max(0, math.floor(owed / self._batch))

    @property
    def room(self) -> int | None:
        """Queries that may be asked for; None if as many as anyone likes."""
        if not self.learns or self._began is None:
            return None
        collected = self.queries if self._rate is None else self.inserts
        learned = self._began + (self.steps - self._before) * self._collected_a_step
        return max(0, math.floor(learned + self.slack - collected - self.asked))

    def waits_for(self, chunk: int) -> str:
        """Return who holds up the others: `replay` to fill, `actors`, `learner`, or `nobody`.

        Args:
            chunk: queries that an actor is asked for at a time.
        """
        if not self.learns:
            return "nobody"
        if self._began is None:
            return "replay"
        if self.room is not None and self.room < chunk and self.due > 0:
            return "learner"
        return "actors" if self.due < 1 else "nobody"

    @property
    def _collected_a_step(self) -> float:
        """Queries, or rows, to an SGD step."""
        return self._period if self._rate is None else self._batch / self._rate

    def state(self) -> State:
        """Return the counts; nothing is under way."""
        return {
            "queries": self.queries,
            "inserts": self.inserts,
            "steps": self.steps,
            "empty": self._empty,
            "began": self._began,
            "before": self._before,
        }

    def load(self, state: State) -> None:
        """Take the counts of an equal run."""
        self.queries, self.inserts = number(state, "queries"), number(state, "inserts")
        self.steps, self._before = number(state, "steps"), number(state, "before")
        self._empty = number(state, "empty")
        self._began = state["began"]
