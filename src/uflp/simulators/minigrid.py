"""MiniGrid and BabyAI as simulators."""

from __future__ import annotations

from dataclasses import dataclass

import gymnasium
import numpy as np
from gymnasium.spaces import Box

from uflp.registry import unknown
from uflp.simulators.gymnasium import GymnasiumSimulator, made
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
        from minigrid.core.constants import OBJECT_TO_IDX
        from minigrid.wrappers import ImgObsWrapper

        env = made(self.id)
        if self.observation == "image":
            env = ImgObsWrapper(env)
            # Codes of objects, colours and states, not pixels, whatever MiniGrid says.
            shape = env.observation_space.shape
            env.observation_space = Box(0, max(OBJECT_TO_IDX.values()), shape, np.uint8)
        return GymnasiumSimulator(
            env, strategy=self.strategy, time_limit=self.time_limit, count_cells=True
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
