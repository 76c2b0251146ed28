"""How a run goes, in a phrase."""

from __future__ import annotations

import time
from collections.abc import Callable

from uflp.distributed.desk import Desk
from uflp.distributed.ledger import Ledger

_EVERY = 1.0


class Pulse:
    """Tells every second how the run goes."""

    def __init__(self, ledger: Ledger, desk: Desk, tell: Callable[[int, str], None]):
        self._ledger = ledger
        self._desk = desk
        self._tell = tell
        self._time = time.monotonic()
        self._queries = ledger.rate_limiter.queries
        self._steps = ledger.rate_limiter.steps

    def beat(self) -> None:
        """Tells what has happened since the last time, if that is a second ago."""
        now = time.monotonic()
        if now - self._time < _EVERY:
            return
        limiter, batch = self._ledger.rate_limiter, self._desk.settings.loop.learning_batch
        queries = (limiter.queries - self._queries) / (now - self._time)
        samples = (limiter.steps - self._steps) * batch / (now - self._time)
        self._time, self._queries, self._steps = now, limiter.queries, limiter.steps
        alive, actors = self._desk.alive()
        waits = self._desk.waits_for
        self._tell(
            self._ledger.spent,
            f"{queries:,.0f} queries/s, {samples:,.0f} samples/s, "
            f"{'nobody waits' if waits == 'nobody' else f'waiting for the {waits}'}, "
            f"{alive} of {actors} actors alive",
        )
