"""Tasks of the dm_control suite as simulators."""

from __future__ import annotations

import functools
import warnings
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box

from uflp.registry import unknown
from uflp.simulators.bsuite import outcome, space
from uflp.simulators.gymnasium import GymnasiumSimulator
from uflp.simulators.small_rng import small_rng
from uflp.simulators.strategies import Replay, check_strategy
from uflp.simulators.time_limits import check_time_limit
from uflp.types import UsageError

_PIXELS = (240, 320)
"""Height and width of a picture."""


@dataclass(frozen=True)
class Dmc:
    """Any task of the dm_control suite, as `DOMAIN-TASK`; needs the extra `robotics`.

    Attributes:
        id: such as `cartpole-swingup_sparse`.
        strategy: see `Gymnasium`.
        time_limit: see `Gymnasium`; of dm_control, the counter is `_step_count`.
    """

    id: str = "cartpole-swingup_sparse"
    strategy: str = "auto"
    time_limit: str = "restart"

    def __post_init__(self) -> None:
        check_strategy(self.strategy)
        check_time_limit(self.time_limit)
        if self.id not in registered():
            raise UsageError(unknown("dm_control task", self.id, registered()))

    def make(self, seed: int) -> GymnasiumSimulator:
        """Return a simulator; its randomness comes from the seeds that `reset` is given."""
        return self._of(None, self.strategy)

    def make_drawing(self, seed: int) -> GymnasiumSimulator:
        """Return a simulator that draws pictures of the same episodes."""
        # What is filmed need not be saved, and a window cannot be.
        return self._of("rgb_array", Replay.name)

    def _of(self, render_mode: str | None, strategy: str) -> GymnasiumSimulator:
        domain, task = self.id.split("-", 1)
        return GymnasiumSimulator(
            DmcEnv(domain, task, render_mode),
            strategy=strategy,
            time_limit=self.time_limit,
            count_cells=True,
        )


@functools.cache
def registered() -> tuple[str, ...]:
    """Return the names of all tasks of the suite."""
    try:
        with warnings.catch_warnings():
            # It looks for a screen, which training does not need, and misses it aloud.
            warnings.filterwarnings("ignore", module="glfw")
            from dm_control import suite
    except ImportError as error:
        raise UsageError("dm_control is not installed: pip install 'uflp[robotics]'") from error
    return tuple(f"{domain}-{task}" for domain, task in suite.ALL_TASKS)


class DmcEnv(gymnasium.Env[Any, Any]):
    """A task of the dm_control suite as a Gymnasium environment.

    Observations are the numbers of all parts, end to end. The time limit truncates, since
    dm_control ends such an episode with a discount of 1.

    Attributes:
        data: state of the physics.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 25}  # noqa: RUF012 (as Gymnasium has it)

    def __init__(self, domain: str, task: str, render_mode: str | None = None):
        from dm_control import suite

        self.render_mode = render_mode
        self._name = f"{domain}-{task}"
        self._env = suite.load(domain, task, task_kwargs={"random": small_rng(0)})
        self.data = self._env.physics.data.ptr
        self.action_space = space(self._env.action_spec())
        size = sum(int(np.prod(spec.shape)) for spec in self._env.observation_spec().values())
        self.observation_space = Box(-np.inf, np.inf, (size,), np.float64)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Start an episode; a seed renews the randomness of the task."""
        super().reset(seed=seed)
        if seed is not None:
            self._env.task._random = small_rng(seed)
        return _flat(self._env.reset().observation), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Take one action."""
        observation, reward, terminated, truncated, info = outcome(self._env.step(action))
        return _flat(observation), reward, terminated, truncated, info

    def render(self) -> Any:
        """Return a picture, uint8 [H, W, 3], if it was made with `render_mode="rgb_array"`."""
        if self.render_mode is None:
            return None
        # A copy: dm_control gives the rows from the last to the first.
        return np.ascontiguousarray(self._env.physics.render(*_PIXELS, camera_id=0))

    def __str__(self) -> str:
        return f"<DmcEnv {self._name}>"


def _flat(observation: Any) -> np.ndarray:
    parts = [np.ravel(part) for part in observation.values()]
    return np.concatenate(parts).astype(np.float64)
