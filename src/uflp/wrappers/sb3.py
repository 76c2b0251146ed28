"""For Stable-Baselines3: what `LocalAccess` did inside goes into the agent's replay buffer."""

from __future__ import annotations

from typing import Any

import numpy as np

from uflp.types import Transition, UsageError

try:
    from stable_baselines3.common.callbacks import BaseCallback
except ImportError as error:
    raise UsageError("Stable-Baselines3 is not installed: pip install 'uflp[sb3]'") from error


class InjectTransitions(BaseCallback):
    """Adds the transitions of forced first actions to the replay buffer of an off-policy agent.

    Works with any number of environments, in this process or in others. SB3's buffers take one
    transition of every environment at a time, so up to one less than that many wait.

    Attributes:
        injected: transitions added so far.
    """

    def __init__(self) -> None:
        super().__init__()
        self.injected = 0
        self._waiting: list[Transition] = []

    def _init_callback(self) -> None:
        if getattr(self.model, "replay_buffer", None) is None:
            raise UsageError(
                f"{type(self.model).__name__} has no replay buffer to inject transitions into: "
                'use first_action="free" with it'
            )

    def _on_step(self) -> bool:
        for popped in self.training_env.env_method("pop_transitions"):
            self._waiting += popped
        model: Any = self.model  # its base class knows of no replay buffer
        buffer = model.replay_buffer
        while len(self._waiting) >= buffer.n_envs:
            batch, self._waiting = (
                self._waiting[: buffer.n_envs],
                self._waiting[buffer.n_envs :],
            )
            _add(buffer, batch)
            self.injected += len(batch)
        return True


def _add(buffer: Any, batch: list[Transition]) -> None:
    """Adds one transition for every environment, as the buffer wants them."""
    columns = [np.array([step[column] for step in batch]) for column in range(6)]
    observation, action, reward, next_observation, terminated, truncated = columns
    infos = [{"TimeLimit.truncated": bool(cut)} for cut in truncated & ~terminated]
    buffer.add(observation, next_observation, action, reward, terminated | truncated, infos)
