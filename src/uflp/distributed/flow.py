"""How many samples are learned from for each transition that comes in."""

from __future__ import annotations

from uflp.state import State, number


class Flow:
    """Holds learning and collecting together: neither runs ahead of the other by much.

    One SGD step is due for every `period` queries after learning has begun. Steps are only taken
    once they are due, and queries only asked for while fewer than `slack` are ahead of the steps.

    Attributes:
        queries: made so far.
        asked: queries that are under way.
        steps: SGD steps taken so far.
        learns: whether there is any learning at all.
    """

    def __init__(self, period: int, least: int, slack: int, learns: bool = True):
        """Makes the flow of a run.

        Args:
            period: queries to an SGD step.
            least: rows in the replay before learning begins.
            slack: queries that may be ahead of learning.
            learns: whether there is any learning at all.
        """
        self.queries = 0
        self.asked = 0
        self.steps = 0
        self._period = period
        self._least = least
        self._slack = slack
        self.learns = learns
        self._rows = 0
        self._began: int | None = None
        self._before = 0

    def inserted(self, queries: int, rows: int) -> None:
        """Takes note of queries, and of rows that went to the replay."""
        self.queries += queries
        self._rows += rows
        if self._began is None and self._rows >= self._least:
            self._began, self._before = self.queries, self.steps

    def learned(self, steps: int) -> None:
        """Takes note of SGD steps."""
        self.steps += steps

    def emptied(self) -> None:
        """Takes note that the replay has too few rows after all: it has to fill up first."""
        self._began = None
        self._rows = 0

    @property
    def rows(self) -> int:
        """Rows that went to the replay since it was empty."""
        return self._rows

    @property
    def due(self) -> int:
        """SGD steps that are due."""
        if not self.learns or self._began is None:
            return 0
        return (self.queries - self._began) // self._period - (self.steps - self._before)

    @property
    def room(self) -> int | None:
        """Queries that may be asked for; None if as many as anyone likes."""
        if not self.learns or self._began is None:
            return None
        learned = self._began + (self.steps - self._before) * self._period
        return max(0, learned + self._slack - self.queries - self.asked)

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

    def state(self) -> State:
        """Returns the counts; nothing is under way."""
        return {
            "queries": self.queries,
            "steps": self.steps,
            "rows": self._rows,
            "began": self._began,
            "before": self._before,
        }

    def load(self, state: State) -> None:
        """Takes the counts of an equal run."""
        self.queries, self.steps = number(state, "queries"), number(state, "steps")
        self._rows, self._before = number(state, "rows"), number(state, "before")
        self._began = state["began"]
