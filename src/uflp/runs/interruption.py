"""Asking a run to stop: Ctrl-C, and what a system sends before it takes a process away."""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from shlex import quote
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)
_AT_ONCE = "ended at once; what was saved before is intact"


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
    """Returns the advice for a run folder in which everything is saved."""
    return f"saved; go on with: uflp train --resume {quote(str(folder))}"


class Interruption:
    """While it is in use, a first signal is only taken note of; a second one ends at once.

    With `at_once`, so does the first one: for those who have nothing to save themselves. Outside
    of the main thread, where signals cannot be caught, it notes nothing. Who uses it has to look at
    what it noted once more afterwards: a signal may come when there is nothing left to stop.

    Attributes:
        signal: number of the signal that came, None if none did.
    """

    def __init__(self, at_once: bool = False) -> None:
        self._at_once = at_once
        self.signal: int | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interruption:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._note) for number in SIGNALS}
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        second, self.signal = self.signal is not None, number
        if second or self._at_once:
            raise Interrupted(number)
