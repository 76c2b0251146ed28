"""How messages name an argument: as a flag on the command line, by its keyword in Python."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

_in_flags: ContextVar[bool] = ContextVar("_in_flags", default=False)


@contextlib.contextmanager
def named_as_flags() -> Iterator[None]:
    """Let messages name arguments as flags, as long as the command line is at work."""
    token = _in_flags.set(True)
    try:
        yield
    finally:
        _in_flags.reset(token)


def argument(name: str, value: Any = None) -> str:
    """Return an argument as whoever reads the message would write it.

    Args:
        name: its keyword in Python, such as `stop_at_return`.
        value: what to give it; None names the argument alone, True is a flag without a value.
    """
    if not _in_flags.get():
        return name if value is None else f"{name}={value!r}"
    flag = f"--{name.replace('_', '-')}"
    return flag if value is None or value is True else f"{flag} {value}"


def setting(key: str, value: str) -> str:
    """Return a setting of a preset with a value in words, likewise."""
    return f"--set {key}={value}" if _in_flags.get() else f"{key}={value}"
