"""Names that users type, and the settings classes behind them, imported only when asked for."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from uflp.types import UsageError


class Registry(Mapping[str, Any]):
    """A read-only mapping from a name to a settings class, given as `"module:attribute"`.

    A settings class is a frozen dataclass whose `make` method builds the thing it describes; the
    first line of its docstring is what `uflp list` shows.
    """

    def __init__(self, kind: str, entries: Mapping[str, str]):
        self.kind = kind
        self._entries = dict(entries)

    def __getitem__(self, name: str) -> Any:
        if name not in self._entries:
            raise UsageError(unknown(self.kind, name, self._entries))
        module, _, attribute = self._entries[name].partition(":")
        return getattr(importlib.import_module(module), attribute)

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def summary(self, name: str) -> str:
        """Returns the one line that says what `name` is."""
        return (self[name].__doc__ or "").strip().splitlines()[0].rstrip(".")


def unknown(kind: str, name: str, choices: Iterable[str]) -> str:
    """Returns the sentence for a name that does not exist: the nearest ones first, then all.

    Of very many, the first few stand for all.
    """
    names = list(choices)
    near = difflib.get_close_matches(name, names, n=3)
    hint = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
    if len(names) > _MANY:
        names[_FEW:] = [f"… ({len(names)} in all)"]
    return f"unknown {kind} {name!r}: {hint}choose from {', '.join(names)}"


_MANY, _FEW = 50, 10
