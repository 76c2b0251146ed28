"""Progress of a run: a live bar on a terminal, plain lines now and then elsewhere."""

from __future__ import annotations

import sys
import time
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

_LINE_EVERY = 10.0


class Progress:
    """Shows rows of metrics as they come, on standard error."""

    def __init__(self, queries: int):
        self._queries = queries
        self._shown = time.monotonic()
        self._outcome = "no evaluation yet"
        self._status = ""
        self._bar: Bar | None = None
        if sys.stderr.isatty():
            self._bar = Bar(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("queries"),
                TimeRemainingColumn(),
                console=Console(stderr=True),
            )
            self._task = self._bar.add_task("compiling", total=queries)

    def __enter__(self) -> Progress:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def row(self, row: dict[str, Any]) -> None:
        """Shows one row."""
        self._outcome = f"return {row['eval_return_mean']:.3f}, {row['restarts']:,} restarts"
        # The clock of a run that was resumed has not stood at 0.
        rate = row["queries"] / max(row["wall_seconds"], 1e-3)
        self._show(row["queries"], self._status or f"{rate:,.0f} queries/s")

    def status(self, queries: int, text: str) -> None:
        """Shows how the parts of a run do that is spread over processes."""
        self._status = text
        self._show(queries, text)

    def _show(self, queries: int, status: str) -> None:
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
