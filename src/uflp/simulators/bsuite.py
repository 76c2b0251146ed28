"""Any bsuite environment as a simulator."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces

from uflp.randomness import Randomness
from uflp.registry import unknown
from uflp.simulators import attributes
from uflp.simulators.base import Simulator
from uflp.simulators.small_rng import small_rng
from uflp.types import UsageError

if TYPE_CHECKING:
    import dm_env
    from dm_env import specs


@dataclass(frozen=True)
class Bsuite:
    """Any environment of bsuite, by its id.

    Attributes:
        id: experiment and number, such as `catch/0`; `bsuite.sweep.SWEEP` lists them.
    """

    id: str = "catch/0"

    def __post_init__(self) -> None:
        experiment = self.id.partition("/")[0]
        ids = registered()
        if self.id not in ids:
            near = [name for name in ids if name.startswith(f"{experiment}/")]
            first = [name for name in ids if name.endswith("/0")]
            raise UsageError(unknown("bsuite id", self.id, near or first))
        if experiment.startswith("mnist"):
            raise UsageError(
                f"{self.id} needs MNIST, which would have to be downloaded: choose another id"
            )

    def make(self, seed: int) -> BsuiteSimulator:
        """Return a simulator, whose randomness is drawn from the seed."""
        return BsuiteSimulator(self, seed)


def registered() -> Mapping[str, Mapping[str, Any]]:
    """Return the settings of every bsuite environment by its id, in bsuite's order."""
    try:
        from bsuite import sweep
    except ImportError as error:
        raise UsageError("bsuite is not installed: pip install 'uflp[bsuite]'") from error
    return {name: sweep.SETTINGS[name] for name in sweep.SWEEP}


class BsuiteSimulator(Simulator):
    """A bsuite environment, saved and restored through its attributes."""

    def __init__(self, settings: Bsuite, seed: int):
        from bsuite import bsuite

        experiment = settings.id.partition("/")[0]
        env = bsuite.load(experiment, registered()[settings.id])
        self._course = _Course(env, np.empty(0))
        self._seed(Randomness(seed).integer("bsuite"))
        self.observation_space = space(env.observation_spec())
        self.action_space = space(env.action_spec())
        version = importlib.metadata.version("bsuite")
        self.stamp = f"bsuite/1 id={settings.id} bsuite={version}"

    def _seed(self, seed: int) -> None:
        """Give the environment and each wrapper around it a generator of its own."""
        layer: Any = self._course.env
        layers = []
        while layer is not None:
            layers.append(vars(layer))
            layer = layers[-1].get("_env")
        seeds = np.random.SeedSequence(seed).generate_state(len(layers))
        for held, own in zip(layers, seeds, strict=True):
            if "_rng" in held:
                held["_rng"] = small_rng(int(own))

    def _reset(self, seed: int | None) -> tuple[Any, dict[str, Any]]:
        if seed is not None:
            self._seed(seed)
        observation = self._course.env.reset().observation
        self._course.observation = observation.copy()
        return observation, {}

    def _step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        result = outcome(self._course.env.step(action))
        # Some environments draw the observation, so it cannot be made again: a copy is kept, out
        # of reach of whoever changes the one that is handed out.
        self._course.observation = result[0].copy()
        return result

    def _save(self) -> bytes:
        return attributes.encode(self._course, skip=_LEFT_OUT)

    def _restore(self, data: bytes, *, exact: bool) -> tuple[Any, dict[str, Any]]:
        attributes.write_back(self._course, data, exact=exact, skip=_LEFT_OUT)
        return self._course.observation.copy(), {}


@dataclass
class _Course:
    """Contents of a snapshot."""

    env: Any
    observation: np.ndarray


_LEFT_OUT = frozenset(
    {
        # Logs, which run on through a restore.
        "_total_bad_episodes",
        "_denoised_return",
        "_raw_return",
        "_total_upright",
        "_best_episode",
        "_total_regret",
        "_total_perfect",
        # Constants, fixed by the id: left out for their size.
        "_action_mapping",
        "_mapping_rng",
    }
)


def space(spec: specs.Array) -> spaces.Space[Any]:
    """Return the Gymnasium space of a dm_env spec."""
    from dm_env import specs

    if isinstance(spec, specs.DiscreteArray):
        return spaces.Discrete(spec.num_values)
    if isinstance(spec, specs.BoundedArray):
        low, high = (np.broadcast_to(end, spec.shape) for end in (spec.minimum, spec.maximum))
        return spaces.Box(low, high, spec.shape, spec.dtype.type)
    return spaces.Box(-np.inf, np.inf, spec.shape, spec.dtype.type)


def outcome(timestep: dm_env.TimeStep) -> tuple[Any, float, bool, bool, dict[str, Any]]:
    """Return what Gymnasium's `step` returns for a dm_env time step.

    The last step of an episode terminates when its discount is 0, and truncates otherwise.
    """
    _, reward, discount, observation = timestep
    if timestep.last():
        return observation, float(reward), discount == 0, discount != 0, {}
    return observation, float(reward), False, False, {}
