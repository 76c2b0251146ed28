"""Requests to stop a run: Ctrl-C, a terminal that closes, a system that ends the process."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from pathlib import Path
from shlex import quote
from types import FrameType
from typing import Any

_HANG_UP: int | None = getattr(signal, "SIGHUP", None)  # Windows has none.
SIGNALS = [signal.SIGINT, signal.SIGTERM, *([] if _HANG_UP is None else [_HANG_UP])]
_AT_ONCE = "ended at once; what was saved before is intact"
_NOTED = b"uflp: the run is saved after this query, and ends; the same signal again ends it now\n"


class Interrupted(BaseException):
    """A signal asked for the end.

    Not a `KeyboardInterrupt`, which the library behind the command line takes for its own.

    Attributes:
        exit_code: 128 + the number of the signal, as shells have it.
        signal: the number itself.
        advice: what was saved, and how to go on with it.
    """

    def __init__(self, number: int = signal.SIGINT, advice: str = _AT_ONCE):
        super().__init__(number, advice)
        self.exit_code = 128 + number
        self.signal = number
        self.advice = advice


def resume_command(folder: Path) -> str:
    """Return the advice for a run folder in which everything is saved."""
    return f"saved; go on with: uflp train --resume {quote(str(folder))}"


class Interruption:
    """Notes the first signal, and says so; the same one again ends at once.

    A terminal that closes may send its signal twice, and whoever runs many processes passes on what
    they got themselves: neither ends at once. With `at_once`, the first one does, for those who
    have nothing to save themselves. A signal that is ignored, as by `nohup`, stays ignored. Outside
    of the main thread, where signals cannot be caught, nothing is noted. Who uses this looks at
    `signal` once more afterwards: it may have come when there was nothing left to stop.

    What ends at once is an exception, and Python drops one that is raised in a `__del__` or during
    garbage collection, where libraries have callbacks. So one inside another looks whether the
    outer one has ended already.

    Attributes:
        signal: number of the signal that came, None if none did.
    """

    def __init__(self, at_once: bool = False) -> None:
        self._at_once = at_once
        self.signal: int | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interruption:
        if threading.current_thread() is threading.main_thread():
            caught = [one for one in SIGNALS if signal.getsignal(one) is not signal.SIG_IGN]
            for number in caught:
                outer = getattr(signal.getsignal(number), "__self__", None)
                if isinstance(outer, Interruption) and outer._at_once and outer.signal is not None:
                    raise Interrupted(outer.signal)
            self._before = {number: signal.signal(number, self._note) for number in caught}
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        again = self.signal == number and number != _HANG_UP
        if self.signal is None:
            self.signal = number
            if not self._at_once and multiprocessing.parent_process() is None:
                # Not by `print`, which a signal may have come in the midst of.
                with contextlib.suppress(OSError):
                    os.write(2, _NOTED)
        if again or self._at_once:
            raise Interrupted(number)
