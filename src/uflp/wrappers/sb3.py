"""For Stable-Baselines3: copies with one history, forced first actions, metrics in its log."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from uflp.types import Transition, UsageError
from uflp.wrappers.access_metrics import Axis
from uflp.wrappers.shared_access import Begin, SharedAccess, Step

try:
    from stable_baselines3 import HerReplayBuffer
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.preprocessing import get_obs_shape
    from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper, VecTransposeImage
except ImportError as error:
    raise UsageError("Stable-Baselines3 is not installed: pip install 'uflp[sb3]'") from error


class LocalAccessVecEnv(VecEnv):
    """Copies of an environment with one history and one uncertainty, as SB3's agents take them.

    It is to SB3 what `LocalAccessVector` is to Gymnasium.
    """

    def __init__(
        self,
        make_env: Callable[[], gymnasium.Env[Any, Any]] | str,
        num_envs: int,
        *,
        processes: bool | int = True,
        context: str | None = None,
        time_limit: str = "restart",
        strategy: str = "auto",
        check: bool = True,
        axes: tuple[Axis, Axis] | None = None,
        seed: int | None = None,
        **options: Any,
    ):
        """Make the copies; see `LocalAccessVector` for the arguments."""
        self._access = SharedAccess(
            make_env,
            num_envs,
            processes=processes,
            context=context,
            time_limit=time_limit,
            strategy=strategy,
            check=check,
            axes=axes,
            seed=seed,
            options=options,
        )
        simulator = self._access.simulator
        self.render_mode = simulator.render_mode
        self._actions: Any = None
        super().__init__(num_envs, simulator.observation_space, simulator.action_space)
        self.metadata = simulator.metadata

    @property
    def queries(self) -> int:
        """Steps of all copies so far, with those that were taken inside."""
        return self._access.queries

    def reset(self) -> Any:
        """Begin an episode in each copy; where `seed` was called before, at the initial states."""
        requests = {
            number: Begin(self._seeds[number], self._options[number] or None)
            for number in range(self.num_envs)
        }
        if self._seeds[0] is not None:
            self._access.reseed(self._seeds[0])
        results = self._access.do(requests)
        self._reset_seeds()
        self._reset_options()
        numbers = range(self.num_envs)
        self.reset_infos = [results[number].info for number in numbers]
        return self._stacked([results[number].observation for number in numbers])

    def step_async(self, actions: np.ndarray) -> None:
        """Record the actions."""
        self._actions = actions

    def step_wait(self) -> tuple[Any, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Take the actions; copies whose episode ends begin the next one at once."""
        discrete = isinstance(self.action_space, gymnasium.spaces.Discrete)
        actions = np.asarray(self._actions).tolist() if discrete else self._actions
        done = self._access.do({number: Step(action) for number, action in enumerate(actions)})
        results = [done[number] for number in range(self.num_envs)]
        over = [result.terminated or result.truncated for result in results]
        seen = [result.observation for result in results]
        infos = [dict(result.info) for result in results]
        finished = [number for number, last in enumerate(over) if last]
        for number, begun in self._access.do(dict.fromkeys(finished, Begin())).items():
            last = results[number]
            infos[number]["terminal_observation"] = last.observation
            self.reset_infos[number] = begun.info
            seen[number] = begun.observation
        for info, result in zip(infos, results, strict=True):
            info["TimeLimit.truncated"] = result.truncated and not result.terminated
        rewards = np.array([result.reward for result in results], np.float32)
        return self._stacked(seen), rewards, np.array(over), infos

    def metrics(self) -> dict[str, Any]:
        """Return what all copies have found and what it took; see `LocalAccess.metrics`."""
        return self._access.metrics()

    def render_exploration(self, path: str | Path | None = None) -> np.ndarray:
        """Draw where all copies have been; see `LocalAccess.render_exploration`."""
        return self._access.render_exploration(path)

    def save_planner(self, path: str | Path) -> None:
        """Write history, uncertainty and rule to a file; see `LocalAccess.save_planner`."""
        self._access.save_planner(path)

    def load_planner(self, path: str | Path) -> None:
        """Take them from a file; the next call must be `reset`."""
        self._access.load_planner(path)

    def online(self) -> gymnasium.Env[Any, Any]:
        """Return one environment made anew, which never restarts: for evaluation."""
        return self._access.make_env()

    def close(self) -> None:
        """Close all copies, and end their processes."""
        self._access.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return an attribute of some environments."""
        numbers = list(self._get_indices(indices))
        if attr_name == "render_mode":
            return [self.render_mode for _ in numbers]
        return self._access.call(numbers, attr_name, (), {})

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Set an attribute of some environments."""
        numbers = list(self._get_indices(indices))
        self._access.call(numbers, "set_wrapper_attr", (attr_name, value), {})

    def env_method(
        self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any
    ) -> list[Any]:
        """Call a method of some environments, or `pop_transitions` for some copies."""
        numbers = list(self._get_indices(indices))
        if method_name == "pop_transitions":
            return [self._access.pop_transitions(number) for number in numbers]
        return self._access.call(numbers, method_name, method_args, method_kwargs)

    def env_is_wrapped(self, wrapper_class: type, indices: Any = None) -> list[bool]:
        """Return whether environments have a wrapper; all are made alike."""
        layer: Any = getattr(self._access.simulator, "env", None)
        found = False
        while isinstance(layer, gymnasium.Wrapper) and not found:
            found = isinstance(layer, wrapper_class)
            layer = layer.env
        return [found for _ in self._get_indices(indices)]

    def get_images(self) -> Sequence[np.ndarray | None]:
        """Render each environment."""
        return self._access.call(list(range(self.num_envs)), "render", (), {})

    def _stacked(self, observations: list[Any]) -> Any:
        """Return observations as SB3 batches them."""
        space = self.observation_space
        if isinstance(space, gymnasium.spaces.Dict):
            return {key: np.stack([seen[key] for seen in observations]) for key in space.spaces}
        if isinstance(space, gymnasium.spaces.Tuple):
            return tuple(np.stack(part) for part in zip(*observations, strict=True))
        return np.stack(observations).astype(space.dtype, copy=False)


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
        _require_local_access(self, "pop_transitions")
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
        """Return one transition for every environment, as the buffer wants them."""
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
        """Return observations as the agent sees them: stacked, and images channels first."""
        first = observations[0]
        stacked: Any = (
            {key: np.array([seen[key] for seen in observations]) for key in first}
            if isinstance(first, Mapping)
            else np.array(observations)
        )
        for transposer in self._transposers:
            stacked = transposer.transpose_observations(stacked)
        return stacked


class LogMetrics(BaseCallback):
    """Log what local access has found, under `uflp/`, whenever the agent logs.

    Of several copies, each with a history of its own, queries and other counts are added up, and so
    are cells and histories; of `deepest_start` the largest is logged, of `first_reward` the least.
    """

    def __init__(self, period: int = 1000):
        """Make a callback.

        Args:
            period: calls between two records.
        """
        super().__init__()
        self._period = period

    def _init_callback(self) -> None:
        _require_local_access(self, "metrics")

    def _on_step(self) -> bool:
        if self.n_calls % self._period == 0:
            self._record()
        return True

    def _on_training_end(self) -> None:
        self._record()

    def _record(self) -> None:
        shared = getattr(self.training_env, "metrics", None)
        every = [shared()] if shared is not None else self.training_env.env_method("metrics")
        for name in every[0]:
            values = [one[name] for one in every if one[name] is not None]
            if values:
                joined = _JOINED.get(name, sum)(values)
                self.logger.record(f"uflp/{name}", joined)


_JOINED = {"deepest_start": max, "first_reward": min}


def _require_local_access(callback: BaseCallback, method: str) -> None:
    """Refuse an agent whose environments have not the method of `LocalAccess` that is called."""
    envs = callback.training_env
    if not isinstance(envs.unwrapped, LocalAccessVecEnv) and not envs.has_attr(method):
        raise UsageError(
            f"{type(callback).__name__} needs an agent whose environment is wrapped in "
            "LocalAccess, such as PPO('MlpPolicy', uflp.LocalAccess(env))"
        )


def _reads_neighbours(buffer: Any) -> bool:
    """Return whether what a buffer gives depends on the order in which it was filled."""
    return (
        isinstance(buffer, HerReplayBuffer)
        or getattr(buffer, "n_steps", 1) > 1
        or getattr(buffer, "optimize_memory_usage", False)
    )


def _transposers(envs: VecEnv) -> Iterator[VecTransposeImage]:
    """Yield the layers that transpose images, and refuse others that reshape observations."""
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
