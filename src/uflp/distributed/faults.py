"""What was killed, and what was lost by that."""

from __future__ import annotations

import logging
from typing import Any

from uflp.state import State

_log = logging.getLogger("uflp.distributed")


class Faults:
    """Counts the parts that came back, and what they had lost.

    A part that was killed comes back as another process, which its answers show.

    Attributes:
        count: how often a part came back.
    """

    def __init__(self) -> None:
        self.count = 0
        self._processes: dict[str, int] = {}
        self._lost: dict[str, int] = {}

    def answered(self, part: str, process: int) -> bool:
        """Takes note of an answer; returns whether the part has come back since the one before."""
        before = self._processes.get(part, process)
        self._processes[part] = process
        if before != process:
            self.count += 1
        return before != process

    def lost(self, part: str, what: str, amount: int) -> None:
        """Takes note of what was lost with a part, at most."""
        self._lost[what] = self._lost.get(what, 0) + amount
        _log.warning("%s was killed and came back; lost up to %d %s", part, amount, what)

    def report(self) -> dict[str, Any]:
        """Returns the counts, for the summary."""
        return {"faults": self.count, "lost": dict(self._lost)}

    def state(self) -> State:
        """Returns the counts."""
        return {"count": self.count, "lost": dict(self._lost)}

    def load(self, state: State) -> None:
        """Takes the counts of the run so far; its processes are gone."""
        self.count, self._lost = state["count"], dict(state["lost"])
        self._processes.clear()
