"""For Stable-Baselines3: what `LocalAccess` did inside goes into the agent's replay buffer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np

from uflp.types import Transition, UsageError

try:
    from stable_baselines3 import HerReplayBuffer
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.preprocessing import get_obs_shape
    from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper, VecTransposeImage
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
        self._transposers: list[VecTransposeImage] = []

    def _init_callback(self) -> None:
        buffer = getattr(self.model, "replay_buffer", None)
        if buffer is None:
            raise UsageError(
                f"{type(self.model).__name__} has no replay buffer to inject transitions into: "
                'use first_action="free" with it'
            )
        if _reads_neighbours(buffer):
            raise UsageError(
                f"this {type(buffer).__name__} takes neighbouring transitions for an episode, "
                "which injected ones would tear apart: use a plain ReplayBuffer or "
                'DictReplayBuffer without optimize_memory_usage, or first_action="free"'
            )
        self._transposers = list(_transposers(self.training_env))

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
            buffer.add(*self._columns(batch))
            self.injected += len(batch)
        return True

    def _columns(self, batch: list[Transition]) -> tuple[Any, ...]:
        """Returns one transition for every environment, as the buffer wants them."""
        reward, terminated, truncated = (
            np.array([step[column] for step in batch]) for column in (2, 4, 5)
        )
        action = np.array([step.action for step in batch])
        if isinstance(self.model.action_space, gymnasium.spaces.Box):
            action = self.model.policy.scale_action(action)
        return (
            self._seen([step.observation for step in batch]),
            self._seen([step.next_observation for step in batch]),
            action,
            reward,
            terminated | truncated,
            [{"TimeLimit.truncated": bool(cut)} for cut in truncated & ~terminated],
        )

    def _seen(self, observations: Sequence[Any]) -> Any:
        """Returns observations as the agent sees them: stacked, and images channels first."""
        first = observations[0]
        stacked: Any = (
            {key: np.array([seen[key] for seen in observations]) for key in first}
            if isinstance(first, Mapping)
            else np.array(observations)
        )
        for transposer in self._transposers:
            stacked = transposer.transpose_observations(stacked)
        return stacked


def _reads_neighbours(buffer: Any) -> bool:
    """Returns whether what a buffer gives depends on the order in which it was filled."""
    return (
        isinstance(buffer, HerReplayBuffer)
        or getattr(buffer, "n_steps", 1) > 1
        or getattr(buffer, "optimize_memory_usage", False)
    )


def _transposers(envs: VecEnv) -> Iterator[VecTransposeImage]:
    """Yields the layers that transpose images, and refuses others that reshape observations."""
    if not isinstance(envs, VecEnvWrapper):
        return
    yield from _transposers(envs.venv)
    if isinstance(envs, VecTransposeImage):
        yield envs
    elif get_obs_shape(envs.observation_space) != get_obs_shape(envs.venv.observation_space):
        raise UsageError(
            f"{type(envs).__name__} reshapes observations outside LocalAccess, whose transitions "
            "do not fit the replay buffer then: put a gymnasium wrapper that does the same "
            "inside LocalAccess"
        )
