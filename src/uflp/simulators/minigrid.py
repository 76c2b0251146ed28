"""MiniGrid and BabyAI as simulators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box

from uflp.registry import unknown
from uflp.simulators.gymnasium import GymnasiumSimulator, made
from uflp.simulators.strategies import Replay
from uflp.simulators.time_limits import check_time_limit
from uflp.types import UsageError


@dataclass(frozen=True)
class Minigrid:
    """Any environment of MiniGrid or BabyAI, by its id; needs the extra `minigrid`.

    Attributes:
        id: such as `MiniGrid-DoorKey-8x8-v0`.
        observation: `image`, the 7 × 7 × 3 view alone, which can be learned from, or `all`, the
            dictionary with the direction and the mission.
        strategy: see `Gymnasium`.
        time_limit: see `Gymnasium`; of MiniGrid, the counter is `step_count`.
    """

    id: str = "MiniGrid-DoorKey-8x8-v0"
    observation: str = "image"
    strategy: str = "auto"
    time_limit: str = "restart"

    def __post_init__(self) -> None:
        check_time_limit(self.time_limit)
        if self.observation not in ("image", "all"):
            raise UsageError(unknown("observation", self.observation, ("image", "all")))
        if self.id not in registered():
            raise UsageError(unknown("MiniGrid id", self.id, registered()))

    def make(self, seed: int) -> GymnasiumSimulator:
        """Return a simulator; its randomness comes from the seeds that `reset` is given."""
        return self._of(made(self.id), self.strategy)

    def make_drawing(self, seed: int) -> GymnasiumSimulator:
        """Return a simulator that draws pictures of the same episodes."""
        # What is filmed need not be saved, and a canvas cannot be.
        return self._of(made(self.id, render_mode="rgb_array"), Replay.name)

    def _of(self, env: gymnasium.Env[Any, Any], strategy: str) -> GymnasiumSimulator:
        from minigrid.core.constants import OBJECT_TO_IDX
        from minigrid.wrappers import ImgObsWrapper

        if self.observation == "image":
            env = ImgObsWrapper(env)
            # Codes of objects, colours and states, not pixels, whatever MiniGrid says.
            shape = env.observation_space.shape
            env.observation_space = Box(0, max(OBJECT_TO_IDX.values()), shape, np.uint8)
        return GymnasiumSimulator(
            env, strategy=strategy, time_limit=self.time_limit, count_cells=True
        )


def registered() -> list[str]:
    """Return the ids of all environments of MiniGrid."""
    try:
        import minigrid  # noqa: F401 (registers its environments)
    except ImportError as error:
        raise UsageError("MiniGrid is not installed: pip install 'uflp[minigrid]'") from error
    return [
        name
        for name, spec in gymnasium.registry.items()
        if str(spec.entry_point).startswith("minigrid.")
    ]
