"""LocalAccessVector: copies of an environment with one history, as a vector of Gymnasium."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space, concatenate, create_empty_array, iterate

from uflp.types import Transition, UsageError
from uflp.wrappers.access_metrics import Axis
from uflp.wrappers.shared_access import Begin, SharedAccess, Step


class LocalAccessVector(gymnasium.vector.VectorEnv[Any, Any, Any]):
    """Copies of an environment with local access, one history and one uncertainty for all of them.

    What one copy has seen is not new to the others, and each may restart where another one was.
    Infos of beginnings have `uflp/restart`, `uflp/entry` and `uflp/first_action`, as with
    `LocalAccess`.
    """

    def __init__(
        self,
        make_env: Callable[[], gymnasium.Env[Any, Any]] | str,
        num_envs: int,
        *,
        processes: bool | int = True,
        context: str | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        copy: bool = True,
        time_limit: str = "restart",
        strategy: str = "auto",
        check: bool = True,
        axes: tuple[Axis, Axis] | None = None,
        seed: int | None = None,
        **options: Any,
    ):
        """Make the copies.

        Args:
            make_env: a function that makes one environment, or its Gymnasium id.
            num_envs: how many copies.
            processes: to spread them over. True means as many as there are processors, if there are
                as many copies; False keeps all copies in this process.
            context: how processes are started, see `multiprocessing.get_context`.
            autoreset_mode: when an episode that has ended is followed by the next one, see
                Gymnasium's `AutoresetMode`.
            copy: whether observations are copied before they are handed out.
            time_limit: see `LocalAccess`.
            strategy: see `LocalAccess`.
            check: see `LocalAccess`; here, whether one copy goes to where another one was saved.
            axes: see `LocalAccess`.
            seed: of the restarts; None leaves it to the first `reset` with a seed, or to chance.
            **options: `uncertainty`, `p_init`, `batch`, `restart`, `rule`, `first_action`,
                `checkpoint_period`, `restart_limit`, `history_size` and settings of the
                uncertainty, as in `LocalAccess`.
        """
        self.autoreset_mode = _mode(autoreset_mode)
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
        self.num_envs = self._access.copies
        self.metadata = {**simulator.metadata, "autoreset_mode": self.autoreset_mode}
        self.render_mode = simulator.render_mode
        self.spec = simulator.spec
        self.single_observation_space = simulator.observation_space
        self.single_action_space = simulator.action_space
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._copy = copy
        self._seen: list[Any] = [None] * self.num_envs
        self._batch: Any = create_empty_array(
            self.single_observation_space, n=self.num_envs, fn=np.zeros
        )
        self._over = np.zeros(self.num_envs, np.bool_)

    @property
    def queries(self) -> int:
        """Steps of all copies so far, with those that were taken inside."""
        return self._access.queries

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode in each copy; with a seed, always at the initial-state distribution.

        Args:
            seed: of the first copy, the following ones have the following; or one for each copy.
            options: for each copy. `reset_mask`, bool [num_envs], resets some copies alone.
        """
        options = dict(options or {})
        mask = self._mask(options.pop("reset_mask", None))
        seeds = self._seeds(seed)
        given = [one for one in seeds if one is not None]
        if given:
            self._access.reseed(given[0])
        requests = {
            int(number): Begin(seeds[number], options or None) for number in np.flatnonzero(mask)
        }
        infos: dict[str, Any] = {}
        for number, result in self._access.do(requests).items():
            self._seen[number] = result.observation
            self._over[number] = False
            infos = self._add_info(infos, result.info, number)
        return self._observations(), infos

    def step(self, actions: Any) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Take an action in each copy, or begin its next episode, as the autoreset mode has it."""
        requests: dict[int, Step | Begin] = {}
        for number, action in enumerate(self._each(actions)):
            again = self._over[number] and self.autoreset_mode == AutoresetMode.NEXT_STEP
            requests[number] = Begin() if again else Step(action)
        if len(requests) != self.num_envs:
            raise UsageError(f"{self.num_envs} copies need as many actions, not {len(requests)}")
        rewards = np.zeros(self.num_envs)
        terminations = np.zeros(self.num_envs, np.bool_)
        truncations = np.zeros(self.num_envs, np.bool_)
        infos: dict[str, Any] = {}
        finished: dict[int, Any] = {}
        for number, result in self._access.do(requests).items():
            self._seen[number] = result.observation
            rewards[number] = result.reward
            terminations[number] = result.terminated
            truncations[number] = result.truncated
            if self.autoreset_mode == AutoresetMode.SAME_STEP and result[2:4] != (False, False):
                finished[number] = result
            else:
                infos = self._add_info(infos, result.info, number)
        self._over = terminations | truncations
        if finished:
            for number, begun in self._access.do(dict.fromkeys(finished, Begin())).items():
                self._seen[number] = begun.observation
                last = finished[number]
                final = {"final_obs": last.observation, "final_info": last.info}
                infos = self._add_info(infos, {**final, **begun.info}, number)
        return self._observations(), rewards, terminations, truncations, infos

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
        """Take them from a file, also of a `LocalAccess`; the next call must be `reset`."""
        self._access.load_planner(path)
        self._over = np.zeros(self.num_envs, np.bool_)

    def pop_transitions(self) -> list[Transition]:
        """Return the transitions of forced first actions of all copies, and forget them."""
        every = [self._access.pop_transitions(number) for number in range(self.num_envs)]
        return [transition for popped in every for transition in popped]

    def online(self) -> gymnasium.Env[Any, Any]:
        """Return one environment made anew, which never restarts: for evaluation."""
        return self._access.make_env()

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Call a method of each environment, or get an attribute."""
        return tuple(self._access.call(list(range(self.num_envs)), name, args, kwargs))

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Return an attribute of each environment."""
        return self.call(name)

    def set_attr(self, name: str, values: Any) -> None:
        """Set an attribute of each environment to one value, or to a list of one for each."""
        each = values if isinstance(values, list | tuple) else [values] * self.num_envs
        if len(each) != self.num_envs:
            raise UsageError(f"{self.num_envs} copies need as many values, not {len(each)}")
        for number, value in enumerate(each):
            self._access.call([number], "set_wrapper_attr", (name, value), {})

    def render(self) -> tuple[Any, ...]:
        """Render each environment."""
        return self.call("render")

    def close_extras(self, **kwargs: Any) -> None:
        """Close all copies, and end their processes."""
        # Older Gymnasium closes also what was refused before it had any copies.
        access = getattr(self, "_access", None)
        if access is not None:
            access.close()

    def _each(self, actions: Any) -> Iterable[Any]:
        """Return the actions one by one; numbers as plain ones, which travel more quickly."""
        if isinstance(self.single_action_space, gymnasium.spaces.Discrete):
            return np.asarray(actions).tolist()
        return iterate(self.action_space, actions)

    def _observations(self) -> Any:
        self._batch = concatenate(self.single_observation_space, self._seen, self._batch)
        return deepcopy(self._batch) if self._copy else self._batch

    def _seeds(self, seed: int | Sequence[int | None] | None) -> list[int | None]:
        if seed is None:
            return [None] * self.num_envs
        if isinstance(seed, int | np.integer):
            return [int(seed) + number for number in range(self.num_envs)]
        seeds = list(seed)
        if len(seeds) != self.num_envs:
            raise UsageError(f"{self.num_envs} copies need as many seeds, not {len(seeds)}")
        return seeds

    def _mask(self, mask: Any) -> np.ndarray:
        if mask is None:
            return np.ones(self.num_envs, np.bool_)
        mask = np.asarray(mask)
        if mask.shape != (self.num_envs,) or mask.dtype != np.bool_ or not mask.any():
            raise UsageError(
                f"reset_mask is an array of {self.num_envs} booleans with at least one True, "
                f"not {mask!r}"
            )
        return mask


def _mode(mode: AutoresetMode | str) -> AutoresetMode:
    try:
        return AutoresetMode(mode)
    except ValueError as error:
        choices = ", ".join(repr(one.value) for one in AutoresetMode)
        raise UsageError(f"autoreset_mode is one of {choices}, not {mode!r}") from error
