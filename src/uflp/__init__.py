"""Reinforcement learning with a simulator that can go back: uncertainty-first local planning."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from uflp.types import RunError, Snapshot, Transition, UsageError

if TYPE_CHECKING:
    from uflp.api import (
        Compared,
        Result,
        compare,
        export,
        load,
        register,
        resume,
        rliable_scores,
        sweep,
        train,
    )
    from uflp.simulators.fidelity import assert_faithful, check
    from uflp.wrappers import LocalAccess, LocalAccessVector

__version__ = "0.2.0"
__all__ = [
    "Compared",
    "LocalAccess",
    "LocalAccessVector",
    "Result",
    "RunError",
    "Snapshot",
    "Transition",
    "UsageError",
    "assert_faithful",
    "check",
    "compare",
    "export",
    "load",
    "register",
    "resume",
    "rliable_scores",
    "sweep",
    "train",
]

_HOME = {
    "Compared": "uflp.api",
    "assert_faithful": "uflp.simulators.fidelity",
    "check": "uflp.simulators.fidelity",
    "compare": "uflp.api",
    "LocalAccess": "uflp.wrappers",
    "LocalAccessVector": "uflp.wrappers",
    "Result": "uflp.api",
    "export": "uflp.api",
    "load": "uflp.api",
    "register": "uflp.api",
    "resume": "uflp.api",
    "rliable_scores": "uflp.api",
    "sweep": "uflp.api",
    "train": "uflp.api",
}
"""Modules of the public names, imported at first use, so that `import uflp` is quick."""


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'uflp' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
