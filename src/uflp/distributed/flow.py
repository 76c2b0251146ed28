"""How many samples are learned from for each transition that comes in."""

from __future__ import annotations

import math

from uflp.state import State, number
from uflp.training.settings import LoopSettings


class Flow:
    """Holds learning and collecting together: neither runs ahead of the other by much.

    One SGD step is due for every `sgd_period` queries after learning has begun, or for as many rows
    as `samples_per_insert` says. Steps are only taken once they are due, and queries only asked for
    while fewer than the slack are ahead of the steps.

    Attributes:
        queries: made so far.
        inserts: rows that went to the replay so far.
        asked: queries that are under way.
        steps: SGD steps taken so far.
        learns: whether there is any learning at all.
        slack: queries that may be ahead of learning, or rows.
    """

    def __init__(self, loop: LoopSettings, *, queries: int, steps: int, learns: bool = True):
        """Makes the flow of a run.

        Args:
            loop: says when to learn.
            queries: that may be ahead of learning, beside what the next argument allows.
            steps: that learning may be behind.
            learns: whether there is any learning at all.
        """
        self.queries = 0
        self.inserts = 0
        self.asked = 0
        self.steps = 0
        self.learns = learns
        self._by_rows = loop.samples_per_insert is not None
        # Queries or rows to an SGD step.
        self._period = float(loop.queries_per_step)
        if loop.samples_per_insert is not None:
            self._period = loop.learning_batch / loop.samples_per_insert
        self._least = loop.least_replay
        self.slack = queries + steps * self._period
        self._empty = 0
        self._began: int | None = None
        self._before = 0

    def inserted(self, queries: int, rows: int) -> None:
        """Takes note of queries, and of rows that went to the replay."""
        self.queries += queries
        self.inserts += rows
        if self._began is None and self.inserts - self._empty >= self._least:
            self._began, self._before = self._collected, self.steps

    def learned(self, steps: int) -> None:
        """Takes note of SGD steps."""
        self.steps += steps

    def emptied(self) -> None:
        """Takes note that the replay has too few rows after all: it has to fill up first."""
        self._began = None
        self._empty = self.inserts

    @property
    def due(self) -> int:
        """SGD steps that are due."""
        if not self.learns or self._began is None:
            return 0
        earned = math.floor((self._collected - self._began) / self._period)
        return earned - (self.steps - self._before)

    @property
    def room(self) -> int | None:
        """Queries that may be asked for; None if as many as anyone likes."""
        if not self.learns or self._began is None:
            return None
        learned = self._began + (self.steps - self._before) * self._period
        return max(0, math.floor(learned + self.slack - self._collected - self.asked))

    def waits_for(self, chunk: int) -> str:
        """Returns who holds up the others: `replay` to fill, `actors`, `learner`, or `nobody`.

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
    def _collected(self) -> int:
        """What SGD steps are due for."""
        return self.inserts if self._by_rows else self.queries

    def state(self) -> State:
        """Returns the counts; nothing is under way."""
        return {
            "queries": self.queries,
            "inserts": self.inserts,
            "steps": self.steps,
            "empty": self._empty,
            "began": self._began,
            "before": self._before,
        }

    def load(self, state: State) -> None:
        """Takes the counts of an equal run."""
        self.queries, self.inserts = number(state, "queries"), number(state, "inserts")
        self.steps, self._before = number(state, "steps"), number(state, "before")
        self._empty = number(state, "empty")
        self._began = state["began"]
