"""Any Gymnasium environment, with all its wrappers, as a simulator."""

from __future__ import annotations

import json
import sys
import zlib
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np

from uflp.cells import SeenCells
from uflp.registry import unknown
from uflp.simulators import attribute_reader as reading
from uflp.simulators import attributes
from uflp.simulators.attribute_reader import UnreadableError
from uflp.simulators.base import Simulator, SnapshotError, UnsavableError
from uflp.simulators.env_layers import LayeredEnv, copied, preserving_logs
from uflp.simulators.guard import what_came
from uflp.simulators.strategies import Replay, Strategy, check_strategy, choose_strategy, way_out
from uflp.simulators.time_limits import TimeLimits, check_time_limit
from uflp.state import State, whole_numbers
from uflp.trust import permit
from uflp.types import UsageError, error_text


@dataclass(frozen=True)
class Gymnasium:
    """Any environment that is registered with Gymnasium, by its id.

    Attributes:
        id: such as `MountainCar-v0`.
        strategy: how it is saved: `native`, `attributes`, `copy`, `replay`, or `auto`, which takes
            the first of the first three that can.
        flatten: whether observations with parts are flattened, so that they can be learned from.
        time_limit: `restart` starts a limit that truncates anew at a restart, `continue` lets it go
            on from the saved step; any other word names the attribute that counts the steps, and
            restarts it.
        arguments: of `gymnasium.make`, such as `{"continuing_task": false}`, as JSON has them.
        options: of every reset, such as `{"reset_cell": [1, 1]}`, likewise.
    """

    id: str = "CartPole-v1"
    strategy: str = "auto"
    flatten: bool = False
    time_limit: str = "restart"
    arguments: dict[str, Any] | None = None
    options: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        check_strategy(self.strategy)
        check_time_limit(self.time_limit)
        for name in ("arguments", "options"):
            _require_json(name, getattr(self, name))
        for name in self.imports:
            permit(name, "arguments of code" if " " in name else "code to import")
        if ":" not in self.id and not may_be_made(self.id):
            raise UsageError(unknown("Gymnasium id", self.id, gymnasium.registry))

    @property
    def imports(self) -> dict[str, str | None]:
        """Names that need the user's word if a file gives them.

        It is the id, if it names a module that Gymnasium imports first (`module:ID`), and arguments
        of the environment and options of its resets, which may name files.
        """
        words = [f"gym:{self.id}"]
        if self.arguments is not None:
            words.append(json.dumps(self.arguments, sort_keys=True))
        if self.options is not None:
            words.append(f"options {json.dumps(self.options, sort_keys=True)}")
        return {" ".join(words): None} if len(words) > 1 or ":" in self.id else {}

    def make(self, seed: int) -> GymnasiumSimulator:
        """Return a simulator; its randomness comes from the seeds that `reset` is given."""
        return self._of(made(self.id, **(self.arguments or {})), self.strategy)

    def make_drawing(self, seed: int) -> GymnasiumSimulator:
        """Return a simulator that draws pictures of the same episodes, if Gymnasium can."""
        # A window or a canvas cannot be saved, and what is filmed need not be.
        arguments = {"render_mode": "rgb_array", **(self.arguments or {})}
        return self._of(made(self.id, **arguments), Replay.name)

    def _of(self, env: gymnasium.Env[Any, Any], strategy: str) -> GymnasiumSimulator:
        return GymnasiumSimulator(
            flat(env) if self.flatten else env,
            strategy=strategy,
            time_limit=self.time_limit,
            count_cells=True,
            options=self.options,
        )


_OF_ROBOTICS = ("Adroit", "AntMaze", "Fetch", "FrankaKitchen", "Hand", "PointMaze")
"""Beginnings of ids that Gymnasium-Robotics registers, once it is imported."""


def may_be_made(name: str) -> bool:
    """Return whether Gymnasium knows an id, or may know it once an extra is installed.

    Args:
        name: the id.
    """
    if name in gymnasium.registry:
        return True
    if not name.startswith(_OF_ROBOTICS):
        return False
    return not _register_robotics() or name in gymnasium.registry


def _register_robotics() -> bool:
    """Have Gymnasium-Robotics register its ids; return whether it is installed."""
    try:
        import gymnasium_robotics
    except ImportError:
        return False
    gymnasium.register_envs(gymnasium_robotics)
    return True


def made(name: str, **arguments: Any) -> gymnasium.Env[Any, Any]:
    """Return the environment of an id, or say in one sentence why it cannot be had.

    Args:
        name: the id, with or without `gym:` before it.
        **arguments: of `gymnasium.make`.
    """
    own = name.removeprefix("gym:")
    if may_be_made(own) and own not in gymnasium.registry:
        raise UsageError(
            f"{own} is of Gymnasium-Robotics, which is not installed: pip install 'uflp[robotics]'"
        )
    try:
        return gymnasium.make(own, **arguments)
    except (gymnasium.error.Error, ImportError) as error:
        raise UsageError(f"Gymnasium cannot make {name}: {_one_line(error)}") from error
    except Exception as error:  # an environment is anybody's code
        if not arguments:
            raise
        given = ", ".join(arguments)
        raise UsageError(
            f"Gymnasium cannot make {name} with the arguments {given}: {_one_line(error)}"
        ) from error


def require_spaces(env: gymnasium.Env[Any, Any]) -> None:
    """Refuse an environment that does not say what it shows and takes."""
    for name in ("observation_space", "action_space"):
        found = getattr(env, name, None)
        if not isinstance(found, gymnasium.Space):
            raise UsageError(
                f"the {name} of {type(env.unwrapped).__name__} must be a space of Gymnasium's, "
                f"not {found!r}"
            )


def flat(env: gymnasium.Env[Any, Any]) -> gymnasium.Env[Any, Any]:
    """Return an environment whose observations are a Box or a Discrete, if that can be had."""
    require_spaces(env)
    space = env.observation_space
    if isinstance(space, gymnasium.spaces.Box | gymnasium.spaces.Discrete):
        return env
    try:
        flattened = gymnasium.spaces.flatten_space(space)
    except NotImplementedError:
        flattened = None
    if not isinstance(flattened, gymnasium.spaces.Box):
        raise UsageError(
            f"observations of {space} cannot be flattened by Gymnasium: leave out or transform "
            "the part that is no Box or Discrete"
        )
    return gymnasium.wrappers.FlattenObservation(env)


class GymnasiumSimulator(Simulator):
    """A Gymnasium environment, saved and restored with all its wrappers.

    Attributes:
        env: the environment.
        strategy: how it is saved.
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        *,
        strategy: str = "auto",
        time_limit: str = "restart",
        count_cells: bool = False,
        options: dict[str, Any] | None = None,
    ):
        """Take an environment, and find out how it can be saved.

        Args:
            env: it is reset once, since some environments have no state before.
            strategy: see `Gymnasium`.
            time_limit: see `Gymnasium`.
            count_cells: whether `metrics` tells how many different cells were seen.
            options: of every reset that is given none.
        """
        check_strategy(strategy)
        check_time_limit(time_limit)
        if isinstance(env, gymnasium.vector.VectorEnv):
            raise UsageError(
                f"{type(env).__name__} is a vector of environments: wrap each one by itself"
            )
        if not isinstance(env, gymnasium.Env):
            raise UsageError(
                f"{type(env).__name__} is not a gymnasium.Env: give an environment, a function "
                'that makes one, or its id, such as "MountainCar-v0"'
            )
        require_spaces(env)
        self.env = env
        self.observation_space = env.observation_space
        self.action_space = env.action_space
        self.metadata = env.metadata
        self.render_mode = env.render_mode
        self.spec = env.spec
        self._default_options = options
        self._options = options
        self._layered = LayeredEnv(env)
        observation, info = _first_reset(env, options)
        self._layered.see(observation, info)
        numbered = isinstance(env.action_space, gymnasium.spaces.Discrete)
        self.masked = numbered and "action_mask" in info
        env.unwrapped.np_random  # noqa: B018 (made when first asked for: a restore needs one)
        self.strategy = choose_strategy(self._layered, strategy)
        self.strategy.prepare()
        self._take = self.strategy.stepping()
        self._time_limits = TimeLimits(self._layered, self.strategy, time_limit)
        self._cells = SeenCells(self.observation_space) if count_cells else None
        self.portable = self.strategy.portable
        self.stamp = _stamp(env, self.strategy)

    @property
    def unwrapped(self) -> Any:
        """The environment without its wrappers."""
        return self.env.unwrapped

    @property
    def parts(self) -> gymnasium.Space[Any] | None:
        """The space of observations before they were flattened; None if they were not."""
        if isinstance(self.env, gymnasium.wrappers.FlattenObservation):
            return self.env.env.observation_space
        return None

    @property
    def replayed(self) -> int:
        """Steps that restores have cost so far; they count as queries."""
        return self.strategy.replayed

    @replayed.setter
    def replayed(self, steps: int) -> None:
        self.strategy.replayed = steps

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode; the options go to the environment."""
        self._options = self._default_options if options is None else options
        return super().reset(seed=seed)

    def metrics(self) -> dict[str, float]:
        """Return the cells seen so far, if they are counted."""
        counted = self._cells is not None and self._cells.counted
        return {"cells": len(self._cells.numbers)} if counted and self._cells else {}

    def logs(self) -> State:
        """Return the steps that were replayed, what is known of time limits, and the cells seen."""
        logs = {**super().logs(), "time_limits": self._time_limits.state()}
        if self._cells is not None:
            logs["cells"] = np.array(sorted(self._cells.numbers), np.int64)
        return logs

    def load_logs(self, logs: State) -> None:
        """Take the logs of an equal simulator; those of version 0.1.0 know no time limits."""
        super().load_logs(logs)
        if "time_limits" in logs:
            self._time_limits.load(logs["time_limits"])
        if self._cells is not None and "cells" in logs:
            self._cells.numbers = set(whole_numbers(logs, "cells", least=-(2**63), most=2**63 - 1))

    def join_logs(self, logs: State) -> None:
        """Add the cells that another simulator of the same run has seen."""
        if self._cells is not None:
            self._cells.numbers.update(logs["cells"].tolist())

    def render(self) -> Any:
        """Render the environment."""
        return self.env.render()

    def close(self) -> None:
        """Close the environment."""
        self.env.close()

    def _reset(self, seed: int | None) -> tuple[Any, dict[str, Any]]:
        observation, info = _whole(self.strategy.reset(seed, self._options), 2, _OF_RESET)
        self._layered.see(observation, info)
        self._time_limits.reset()
        return copied(observation), info

    def _step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        result = _whole(self._take(action), 5, _OF_STEP)
        observation, reward, terminated, truncated, info = result
        self._layered.see(observation, info)
        terminated, truncated = bool(terminated), bool(truncated)
        self._time_limits.stepped(terminated, truncated)
        if self._cells is not None:
            self._cells.add(observation)
        return copied(observation), float(reward), terminated, truncated, info

    def _save(self) -> Any:
        try:
            return self.strategy.save()
        except UnreadableError as error:  # It came later, such as a renderer that was opened.
            raise SnapshotError(f"{error}; the way out: {way_out(error)}") from error

    def _restore(self, data: Any, *, exact: bool) -> tuple[Any, dict[str, Any]]:
        if not exact:
            self._time_limits.restoring(data)
        with preserving_logs(self._layered, exact=exact):
            self.strategy.restore(data, exact=exact)
        self._time_limits.restored(fresh=not exact)
        return self._layered.shown()


def _first_reset(env: Any, options: dict[str, Any] | None) -> tuple[Any, dict[str, Any]]:
    try:
        result = env.reset() if options is None else env.reset(options=options)
    except (Exception, SystemExit) as error:  # an environment is anybody's code
        reason = f"{type(error).__name__}: {_one_line(error)}"
        raise UnsavableError(f"{env} cannot be reset: {reason}") from error
    observation, info = _whole(result, 2, _OF_RESET)
    return observation, info


_OF_RESET = "reset() must return two values (observation, info)"
_OF_STEP = "step(action) must return five values (observation, reward, terminated, truncated, info)"


def _whole(result: Any, length: int, promise: str) -> Any:
    """Return what a call gave, if it has as many values as Gymnasium's calls have."""
    if isinstance(result, tuple) and len(result) == length:
        return result
    came = what_came(result)
    raise UsageError(f"{promise}, as Gymnasium has it since version 0.26, and returned {came}")


def _stamp(env: Any, strategy: Strategy) -> str:
    """Name what must be equal for one environment to go on from another's state."""
    constants = {
        name: value for name, value in vars(env.unwrapped).items() if name in strategy.skip
    }
    made_with = getattr(env.spec, "kwargs", {})
    told = zlib.crc32(attributes.encode(_Constants(constants, repr(made_with))))
    package = reading.package_of(type(env.unwrapped))
    version = getattr(sys.modules.get(package), "__version__", "?")
    return (
        f"gym/1 {env} strategy={strategy.name} constants={told:08x} "
        f"gymnasium={gymnasium.__version__} {package}={version}"
    )


@dataclass
class _Constants:
    """Parts that a snapshot leaves out because they do not change, and must be equal."""

    left_out: dict[str, Any]
    made_with: str


def _require_json(name: str, value: Any) -> None:
    """Refuse what is not None and no object of JSON, which a run's record could not hold."""
    if value is None:
        return
    try:
        same = isinstance(value, dict) and json.loads(json.dumps(value, allow_nan=False)) == value
    except (TypeError, ValueError, RecursionError):
        same = False
    if not same:
        raise UsageError(
            f"{name} must be an object of JSON (names with numbers, words, true, false, null, "
            f"lists or objects), not {value!r}"
        )


def _one_line(error: BaseException) -> str:
    return " ".join(error_text(error, str).split()).rstrip(".")
