"""A user's own environment, by the name of a function that makes one."""

from __future__ import annotations

import importlib
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import gymnasium

from uflp.simulators.base import Simulator
from uflp.simulators.gymnasium import GymnasiumSimulator, flat
from uflp.trust import permit
from uflp.types import UsageError


@dataclass(frozen=True)
class Own:
    """An environment of your own: `module:factory`, called without arguments.

    Attributes:
        factory: module and function (or class), such as `my_package.my_env:MyEnv`; modules in the
            working directory are found, too, unless a file names them. It returns a
            `gymnasium.Env` or a `Simulator`.
        strategy: see `Gymnasium`; ignored for a `Simulator`.
        flatten: see `Gymnasium`; likewise.
    """

    factory: str
    strategy: str = "auto"
    flatten: bool = False

    # No field: it is where this machine has the module, which is not a setting of a run.
    _folder: ClassVar[str | None] = None

    def __post_init__(self) -> None:
        folder = permit(self.factory, "code to import")
        if folder is not None:
            object.__setattr__(self, "_folder", str(folder))
        self._function()

    @property
    def imports(self) -> dict[str, str | None]:
        """The name, and the folder that its module was found in, if Python would not find it."""
        package: Any = sys.modules[self.factory.partition(":")[0].partition(".")[0]]
        places = [*getattr(package, "__path__", ()), getattr(package, "__file__", None) or ""]
        return {self.factory: self._folder if str(Path(places[0]).parent) == self._folder else None}

    def make(self, seed: int) -> Simulator:
        """Calls the factory; its randomness comes from the seeds that `reset` is given."""
        try:
            env = self._function()()
        except Exception as error:  # the factory is anybody's code
            traceback.print_exc()
            raise UsageError(f"{self.factory} raised what stands above") from error
        if isinstance(env, Simulator):
            return env
        if not isinstance(env, gymnasium.Env):
            raise UsageError(f"{self.factory} returned a {type(env).__name__}, not a gymnasium.Env")
        return GymnasiumSimulator(flat(env) if self.flatten else env, strategy=self.strategy)

    def _function(self) -> Any:
        module, _, name = self.factory.partition(":")
        if self._folder is not None and self._folder not in sys.path:
            sys.path.insert(0, self._folder)
        try:
            found = importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name != module:
                traceback.print_exc()
                raise UsageError(f"importing {module} raised what stands above") from error
            raise UsageError(f"there is no module {module!r} to import") from error
        except Exception as error:  # a module is anybody's code
            traceback.print_exc()
            raise UsageError(f"importing {module} raised what stands above") from error
        if not callable(getattr(found, name, None)):
            raise UsageError(f"module {module} has no function {name!r}")
        return getattr(found, name)
