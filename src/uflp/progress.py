"""Progress of a run: a live bar on a terminal, plain lines now and then elsewhere.

Text that cannot be written never ends a run: the reader of a pipe may have left, a terminal may
have closed or know no letter but ASCII's, a disk may be full.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

_LINE_EVERY = 10.0


class LenientStream(io.TextIOBase):
    """A text stream that goes on when its text can no longer be written.

    Attributes:
        failed: the error by which it was found out that nothing can be written, None so far.
    """

    def __init__(self, stream: Any):
        self.failed: OSError | ValueError | None = None
        self._stream = stream
        with contextlib.suppress(AttributeError, OSError, ValueError):
            stream.reconfigure(errors="backslashreplace")

    def write(self, text: str) -> int:
        """Write what can be written."""
        self._try(lambda: self._stream.write(text))
        return len(text)

    def flush(self) -> None:
        """Write what was held back."""
        self._try(self._stream.flush)

    def isatty(self) -> bool:
        """Whether somebody watches."""
        return self.failed is None and bool(self._stream.isatty())

    def fileno(self) -> int:
        """The descriptor of the stream."""
        return int(self._stream.fileno())

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """The encoding of the stream."""
        return str(self._stream.encoding)

    @property
    def buffer(self) -> Any:
        """The stream of bytes below, for those who write bytes."""
        return self._stream.buffer

    def _try(self, act: Callable[[], Any]) -> None:
        if self.failed is not None:
            return
        try:
            act()
        except (OSError, ValueError) as error:
            self.failed = error
            # What is left in the buffer would fail again when the process ends.
            with contextlib.suppress(OSError, ValueError):
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, self._stream.fileno())
                os.close(nowhere)


def _lenient(stream: Any) -> LenientStream:
    return stream if isinstance(stream, LenientStream) else LenientStream(stream)


def protect_streams() -> None:
    """Let this process go on whatever becomes of its standard streams.

    A stream that is closed is opened on the null device: a file of a run would get its descriptor
    otherwise, and what libraries write to that descriptor.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # The lowest one that is free, which is this one.
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None or stream.closed:
            stream = open(os.devnull, "w")  # noqa: PTH123, SIM115 (it stays open)
        setattr(sys, name, _lenient(stream))


class Progress:
    """Shows rows of metrics as they come, on standard error."""

    def __init__(self, queries: int):
        self._queries = queries
        self._shown = time.monotonic()
        self._outcome = "no evaluation yet"
        self._status = ""
        self._bar: Bar | None = None
        if sys.stderr is not None and sys.stderr.isatty():
            self._bar = Bar(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("queries"),
                TimeRemainingColumn(),
                # On a broken pipe, a console ends the process.
                console=Console(file=_lenient(sys.stderr)),  # type: ignore[arg-type]
            )
            self._task = self._bar.add_task("compiling", total=queries)

    def __enter__(self) -> Progress:
        if self._bar is not None:
            with self._unharmed():
                self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            with self._unharmed():
                self._bar.stop()

    def row(self, row: dict[str, Any]) -> None:
        """Show one row."""
        found = f"{row.get('positive_rewards', 0):,} rewarded queries"
        returned = f"return {row['eval_return_mean']:.3f}"
        self._outcome = f"{returned}, {found}, {row['restarts']:,} restarts"
        # The clock of a run that was resumed has not stood at 0.
        rate = row["queries"] / max(row["wall_seconds"], 1e-3)
        self._show(row["queries"], self._status or f"{rate:,.0f} queries/s")

    def status(self, queries: int, text: str) -> None:
        """Show how the parts of a run do that is distributed over processes."""
        self._status = text
        self._show(queries, text)

    def _show(self, queries: int, status: str) -> None:
        with self._unharmed():
            if self._bar is not None:
                text = f"{self._outcome}, {self._status}" if self._status else self._outcome
                self._bar.update(self._task, completed=queries, description=text)
            elif time.monotonic() - self._shown >= _LINE_EVERY:
                self._shown = time.monotonic()
                print(
                    f"{queries:,} of {self._queries:,} queries, {self._outcome}, {status}",
                    file=sys.stderr,
                    flush=True,
                )

    @contextlib.contextmanager
    def _unharmed(self) -> Any:
        """Show nothing more once something could not be shown."""
        try:
            yield
        except (OSError, ValueError):
            self._bar = None
            self._shown = float("inf")
