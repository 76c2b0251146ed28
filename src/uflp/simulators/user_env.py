"""A user's own environment, by the name of a function that makes one."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from typing import ClassVar

import gymnasium

from uflp.simulators.base import Simulator
from uflp.simulators.gymnasium import GymnasiumSimulator, flat, require_spaces
from uflp.simulators.time_limits import check_time_limit
from uflp.types import UsageError
from uflp.user_code import folder_of, import_from, import_named


@dataclass(frozen=True)
class UserEnv:
    """An environment of your own: `module:factory`, called without arguments.

    Attributes:
        factory: module and function (or class), such as `my_package.my_env:MyEnv`; modules in the
            working directory are found, too, unless a file names them. It returns a
            `gymnasium.Env` or a `Simulator`.
        strategy: see `Gymnasium`; ignored for a `Simulator`.
        flatten: see `Gymnasium`; likewise.
        time_limit: see `Gymnasium`; likewise.
    """

    factory: str
    strategy: str = "auto"
    flatten: bool = False
    time_limit: str = "restart"

    # No field: it is where this machine has the module, which is not a setting of a run.
    _folder: ClassVar[str | None] = None

    def __post_init__(self) -> None:
        check_time_limit(self.time_limit)
        import_named(self.factory)
        object.__setattr__(self, "_folder", folder_of(self.factory))

    @property
    def imports(self) -> dict[str, str | None]:
        """The name, and the folder that its module was found in, if Python would not find it."""
        return {self.factory: self._folder}

    def make(self, seed: int) -> Simulator:
        """Call the factory; its randomness comes from the seeds that `reset` is given."""
        try:
            env = import_from(self.factory, self._folder)()
        except (Exception, SystemExit) as error:  # the factory is anybody's code
            traceback.print_exc()
            raise UsageError(f"{self.factory} raised what stands above") from error
        if isinstance(env, Simulator):
            require_spaces(env)
            return env
        if not isinstance(env, gymnasium.Env):
            raise UsageError(f"{self.factory} returned a {type(env).__name__}, not a gymnasium.Env")
        return GymnasiumSimulator(
            flat(env) if self.flatten else env,
            strategy=self.strategy,
            time_limit=self.time_limit,
            count_cells=True,
        )
