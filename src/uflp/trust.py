"""The user's word for what a file names: code to import, and clusters to connect to.

A run folder, or an agent that was exported from one, may be a stranger's. Reading it executes
nothing: what it names is refused unless the user trusts it. What the user has trusted is remembered
in the user's own configuration folder, never beside the file, and so are runs that the user makes.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from uflp.arguments import argument
from uflp.types import UsageError

try:
    import fcntl
except ImportError:  # Windows: two runs that start at once may forget one another's word.
    fcntl = None  # type: ignore[assignment]

_MOST = 10_000
"""Places that are remembered; the oldest are forgotten first."""

_OWN_ADDRESSES = (None, "local", "auto")
"""Ray clusters that this machine belongs to, whatever a file says."""

Names = dict[str, str | None]
"""Permitted names, each with the folder of its module if that was the current one."""


class UntrustedError(UsageError):
    """A file names code or a cluster that the user has not trusted."""


@dataclass(frozen=True)
class _Source:
    """Origin of names.

    Attributes:
        place: a run folder, or a file.
        trust: whether the user trusts what it names.
        known: what the user has trusted there before.
        used: what was used by it now.
    """

    place: Path
    trust: bool
    known: Names
    used: Names = field(default_factory=dict)


_source: ContextVar[_Source | None] = ContextVar("source of names", default=None)


@contextlib.contextmanager
def names_from(place: Path, *, trust: bool = False) -> Iterator[None]:
    """Mark all names that are used within the block as read from a file.

    Args:
        place: the run folder or file.
        trust: whether the user trusts what it names; then that is remembered.
    """
    source = _Source(place, trust, _remembered(place))
    token = _source.set(source)
    try:
        yield
    finally:
        _source.reset(token)
    if trust:
        remember(place, source.used)


def permit(name: str, what: str) -> Path | None:
    """Return the folder to look for a module in, besides Python's own; None for no other.

    Args:
        name: of what is to be used, such as `module:factory`.
        what: a phrase for it.

    Raises:
        UntrustedError: if the name comes from a file, and the user has not trusted it.
    """
    source = _source.get()
    if source is None:  # The user typed it.
        return Path.cwd()
    if not source.trust and name not in source.known:
        raise UntrustedError(
            f"{source.place} names {what}, {name!r}, which may be anybody's: if you trust it, say "
            f"so with {argument('trust', True)}"
        )
    folder = source.known.get(name)
    source.used[name] = folder
    return None if folder is None else Path(folder)


def permit_address(address: str) -> None:
    """Refuse the address of a Ray cluster that a file names, unless the user has trusted it."""
    if address not in _OWN_ADDRESSES:
        permit(_address_name(address), "a Ray cluster to connect to")


def names_of_run(imports: Mapping[str, str | None], cluster: Mapping[str, Any] | None) -> Names:
    """Return what a run uses that would need the user's word if a file named it.

    Args:
        imports: names of code that its settings import, each with the folder it was found in.
        cluster: how the run is spread, None if it is not.
    """
    names: Names = dict(imports)
    address = (cluster or {}).get("ray")
    if address not in _OWN_ADDRESSES:
        names[_address_name(str(address))] = None
    return names


def remember(place: Path, names: Mapping[str, str | None]) -> None:
    """Add to what the user has trusted; a configuration that cannot be written is a warning."""
    if not names or names.items() <= _remembered(place).items():
        return
    path = trusted_file()
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _locked(path.with_suffix(".lock")):
            places = _read(path)
            key = _key(place)
            places[key] = {**places.pop(key, {}), **names}
            _write(path, dict(list(places.items())[-_MOST:]))
    except OSError as error:
        warnings.warn(
            f"{path} cannot be written ({error.strerror}), so that {place} will need "
            f"{argument('trust', True)} when it is read again",
            stacklevel=2,
        )


def trusted_file() -> Path:
    """Return the file that remembers what the user has trusted."""
    given = Path(os.environ.get("XDG_CONFIG_HOME", ""))
    folder = given if given.is_absolute() else Path("~/.config").expanduser()
    return folder / "uflp" / "trusted.json"


def _remembered(place: Path) -> Names:
    """Return what the user has trusted in a run folder, or in a file and the folder it is in."""
    places = _read(trusted_file())
    keys = [_key(place.parent), _key(place)] if place.is_file() else [_key(place)]
    return {name: folder for key in keys for name, folder in places.get(key, {}).items()}


def _key(place: Path) -> str:
    return os.path.realpath(place)


def _address_name(address: str) -> str:
    return f"ray://{address.removeprefix('ray://')}"


def _read(path: Path) -> dict[str, Names]:
    """Return what is remembered; nothing where the file is damaged or in other hands."""
    try:
        with path.open(encoding="utf-8") as file:
            status = os.fstat(file.fileno())
            if os.name == "posix" and (status.st_uid != os.getuid() or status.st_mode & 0o022):
                return {}
            places = json.load(file)["trusted"]
        return {
            place: {str(name): None if at is None else str(at) for name, at in names.items()}
            for place, names in places.items()
        }
    except (OSError, ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return {}


def _write(path: Path, places: Mapping[str, Names]) -> None:
    """Write the file in one piece, for the user's eyes only."""
    descriptor, temporary = tempfile.mkstemp(prefix=f"{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:  # mkstemp made it with 0600
            json.dump({"trusted": places}, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)  # noqa: PTH105 (mkstemp's names are strings)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(temporary).unlink()
        raise


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Keep others from writing meanwhile: a sweep starts many runs at once."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        if fcntl is not None:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
