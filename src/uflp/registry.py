"""Names that users type, and the settings classes behind them, imported only when asked for."""

from __future__ import annotations

import dataclasses
import difflib
import functools
import importlib
import importlib.metadata
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from uflp.types import UsageError
from uflp.user_code import import_named


class Registry(Mapping[str, Any]):
    """A mapping from a name to a settings class.

    A settings class is a frozen dataclass whose `make` method builds the thing it describes; the
    first line of its docstring is what `uflp list` shows. Names come from this package, from
    `uflp.register`, and from the entry points of installed packages; `find` takes the name
    `module:Class` of any other class, too.
    """

    def __init__(self, kind: str, entries: Mapping[str, str], group: str):
        """Make a registry.

        Args:
            kind: what it registers, for messages.
            entries: names to `"module:attribute"`, imported only when asked for.
            group: of the entry points by which packages add to it.
        """
        self.kind = kind
        self._entries: dict[str, Any] = dict(entries)
        self._group = group

    def __getitem__(self, name: str) -> Any:
        if name in self._entries:
            entry = self._entries[name]
            if not isinstance(entry, str):
                return entry
            module, _, attribute = entry.partition(":")
            return getattr(importlib.import_module(module), attribute)
        if name in self._installed:
            try:
                found = self._installed[name].load()
            except Exception as error:  # a package is anybody's code
                raise UsageError(
                    f"the package that offers the {self.kind} {name!r} cannot be imported: {error}"
                ) from error
            return self._checked(found, name)
        raise UsageError(unknown(self.kind, name, self))

    def __iter__(self) -> Iterator[str]:
        yield from self._entries
        yield from (name for name in self._installed if name not in self._entries)

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __contains__(self, name: object) -> bool:
        return name in self._entries or name in self._installed

    def find(self, name: str) -> Any:
        """Return the settings class of a name, also of one such as `my_module:Class`.

        Raises:
            UntrustedError: if the class was named by a file, and the user has not trusted it.
        """
        return self._checked(import_named(name), name) if ":" in name else self[name]

    def register(self, name: str, settings: Any) -> None:
        """Give a settings class a name in this process."""
        if not isinstance(name, str) or not name or any(mark in name for mark in ":/ "):
            raise UsageError(f"a name has no colon, slash or space: {name!r} cannot be registered")
        if name in self:
            raise UsageError(f"the {self.kind} {name!r} exists already: choose another name")
        self._entries[name] = self._checked(settings, name)

    def summary(self, name: str) -> str:
        """Return the one line that says what `name` is."""
        return ((self[name].__doc__ or "").strip().splitlines() or [""])[0].rstrip(".")

    @functools.cached_property
    def _installed(self) -> dict[str, importlib.metadata.EntryPoint]:
        return {entry.name: entry for entry in importlib.metadata.entry_points(group=self._group)}

    def _checked(self, found: Any, name: str) -> Any:
        """Return a class if it is a settings class; an error if it is anything else."""
        if not (
            isinstance(found, type) and dataclasses.is_dataclass(found) and hasattr(found, "make")
        ):
            raise UsageError(
                f"{name!r} is no {self.kind}: it must be a dataclass of settings whose method "
                "make builds one"
            )
        return found


def unknown(kind: str, name: str, choices: Iterable[str]) -> str:
    """Return the sentence for a name that does not exist: the nearest ones first, then all.

    Of very many, the first few stand for all.
    """
    names = list(choices)
    near = difflib.get_close_matches(name, names, n=3)
    hint = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
    if len(names) > _MANY:
        names[_FEW:] = [f"… ({len(names)} in all)"]
    return f"unknown {kind} {name!r}: {hint}choose from {', '.join(names)}"


_MANY, _FEW = 50, 10
