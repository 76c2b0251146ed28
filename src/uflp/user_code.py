"""Code of the user's own, by its name `module:attribute`."""

from __future__ import annotations

import importlib
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from uflp.trust import permit
from uflp.types import UsageError

_GIVEN = "given"
_given: dict[str, Any] = {}
"""Classes and functions that were given as objects and have no name of their own."""

_searched: dict[str, str | None] = {}
"""The folder that was searched for the module of each name, besides Python's own."""


def import_named(name: str) -> Any:
    """Import what a name stands for.

    Modules in the working directory are found, too, if the user typed the name.

    Args:
        name: a module and something callable in it, such as `my_package.my_env:MyEnv`.

    Raises:
        UntrustedError: if the name was read from a file, and the user has not trusted it.
        UsageError: if there is no such thing, or importing it fails.
    """
    folder = permit(name, "code to import")
    return import_from(name, None if folder is None else str(folder))


def import_from(name: str, folder: str | None) -> Any:
    """Import what a permitted name stands for, also from a folder besides Python's own."""
    if name in _given:
        return _given[name]
    if name.startswith(f"{_GIVEN}:"):
        raise UsageError(
            f"{name} was given as a Python object in another process, where it had no name of its "
            "own: define the class or function in a module"
        )
    module, _, attribute = name.partition(":")
    if not all(part.isidentifier() for part in module.split(".")):
        raise UsageError(f"{name!r} is not MODULE:NAME: a module cannot be called {module!r}")
    _searched[name] = folder
    if folder is not None and folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            traceback.print_exc()
            raise UsageError(f"importing {module} raised what stands above") from error
        raise UsageError(f"there is no module {module!r} to import") from error
    except (Exception, SystemExit) as error:  # a module is anybody's code
        traceback.print_exc()
        raise UsageError(f"importing {module} raised what stands above") from error
    return _attribute(found, attribute)


def name_of(thing: Callable[..., Any], label: str | None = None) -> str:
    """Return a name by which `import_named` finds a class or function that was given as an object.

    One that its module has under its own name is `module:name`. Any other, such as a lambda, is
    kept under a name that holds in this process alone.

    Args:
        thing: the class or function.
        label: what to call it where it has no name.
    """
    module, name = getattr(thing, "__module__", ""), getattr(thing, "__qualname__", "")
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is thing:
        return f"{module}:{name}"
    label = label or name.rpartition(".")[2].strip("<>") or type(thing).__name__
    number = sum(key.startswith(f"{_GIVEN}:{label}") for key in _given)
    _given[f"{_GIVEN}:{label}" + (f"-{number + 1}" if number else "")] = thing
    return list(_given)[-1]


def _attribute(module: Any, name: str) -> Any:
    """Return a class or function of a module by its name."""
    found = module
    for part in name.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        raise UsageError(f"module {module.__name__} has no function or class {name!r}")
    return found


def folder_of(name: str) -> str | None:
    """Return the folder that an imported name was found in, None if Python finds it by itself."""
    if name in _given:
        return None
    package: Any = sys.modules[name.partition(":")[0].partition(".")[0]]
    places = [*getattr(package, "__path__", ()), getattr(package, "__file__", None) or ""]
    folder = _searched.get(name)
    return folder if str(Path(places[0]).parent) == folder else None
