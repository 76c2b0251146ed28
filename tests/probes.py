"""Tiny parts whose answers are known by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import gymnasium
import jax.numpy as jnp
import numpy as np

from uflp.agents.base import Agent
from uflp.planning import RULES
from uflp.simulators.base import Simulator
from uflp.training.settings import Access, RunSettings
from uflp.types import Batch
from uflp.uncertainty.counts import Counts


def no_predict(observations: np.ndarray) -> np.ndarray:
    raise AssertionError("nothing here should ask for action values")


@dataclass(frozen=True)
class Corridor:
    """A corridor of `length` states, from 0; action 1 goes right, any other stays.

    Attributes:
        length: states; entering the last one terminates with reward 1.
        actions: how many there are.
        step_reward: of every other query.
        bad_reward_at: the query of a simulator whose reward is not a number, None for never.
        bad_observation_at: likewise for the observation; None for never.
        raises: the first step of a simulator that raises an error, counted from 0, and the first
            after that one that does not.
        cap: steps after which an episode is truncated by the simulator itself.
        boxed: whether the observation is a vector of one number, in place of an id.
    """

    length: int = 5
    actions: int = 2
    step_reward: float = 0.0
    bad_reward_at: int | None = None
    bad_observation_at: int | None = None
    raises: tuple[int, int] = (0, 0)
    cap: int | None = None
    boxed: bool = False

    def make(self, seed: int) -> CorridorSimulator:
        return CorridorSimulator(self)


class CorridorSimulator(Simulator):
    """The corridor, which writes down all that is asked of it.

    Attributes:
        calls: `("reset",)`, `("step", state, action)`, `("restore", state)`, `("save", state)`.
    """

    stamp = "corridor/1"

    def __init__(self, settings: Corridor):
        self._settings = settings
        self._place = 0
        self._elapsed = 0
        self._queries = 0
        self.calls: list[tuple[Any, ...]] = []
        self.snapshot_width = 12
        self.action_space = gymnasium.spaces.Discrete(settings.actions)
        self.observation_space = (
            gymnasium.spaces.Box(0, settings.length, (1,), np.float32)
            if settings.boxed
            else gymnasium.spaces.Discrete(settings.length)
        )

    def called(self, name: str) -> list[tuple[Any, ...]]:
        return [call[1:] for call in self.calls if call[0] == name]

    def _observation(self) -> Any:
        return np.array([self._place], np.float32) if self._settings.boxed else self._place

    def _reset(self, seed: int | None) -> tuple[Any, dict[str, Any]]:
        self.calls.append(("reset",))
        self._place = self._elapsed = 0
        return self._observation(), {}

    def _step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.calls.append(("step", self._place, action))
        self._queries += 1
        first, stop = self._settings.raises
        if first < self._queries <= stop:
            raise OSError("the engine stalled")
        self._elapsed += 1
        self._place += action == 1
        terminated = self._place == self._settings.length - 1
        reward = 1.0 if terminated else self._settings.step_reward
        if self._queries == self._settings.bad_reward_at:
            reward = math.nan
        observation = self._observation()
        if self._queries == self._settings.bad_observation_at:
            observation = np.full(1, np.nan, np.float32)
        return observation, reward, terminated, self._elapsed == self._settings.cap, {}

    def _save(self) -> bytes:
        self.calls.append(("save", self._place))
        return self._place.to_bytes(4, "little") + self._elapsed.to_bytes(4, "little")

    def _restore(self, data: bytes, *, exact: bool) -> tuple[Any, dict[str, Any]]:
        self._place = int.from_bytes(data[:4], "little")
        self._elapsed = int.from_bytes(data[4:], "little")
        self.calls.append(("restore", self._place))
        return self._observation(), {}


class Dice(gymnasium.Env[Any, Any]):
    """Three throws of a die with 2⁵³ sides an episode; the reward is what comes up.

    Two throws are equal only if the noise of one is that of the other. The state is the number of
    throws so far, and the action makes no difference.

    Attributes:
        thrown: what came up, in all copies; of the class, so that no restore takes a throw back.
    """

    observation_space: Any = gymnasium.spaces.Discrete(4)
    action_space: Any = gymnasium.spaces.Discrete(2)
    thrown: ClassVar[list[float]] = []

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.throws = 0
        return self.throws, {}

    def step(self, action: int) -> Any:
        self.throws += 1
        reward = self.np_random.random()
        self.thrown.append(reward)
        return self.throws, reward, self.throws == 3, False, {}


@dataclass(frozen=True)
class FixedValues:
    """A learner that learns nothing: every state has the same values, member by member.

    Attributes:
        members: the action values of each ensemble member.
        target: as in `Agent`.
        bad_loss_at: the SGD step whose loss is not a number, None for never.
    """

    members: Sequence[Sequence[float]] = ((0.0, 1.0),)
    target: Any = "td"
    bad_loss_at: int | None = None

    def make(self, space: gymnasium.Space, actions: int) -> Agent:
        table = np.array(self.members, np.float32)

        def predict(learner: int, observations: np.ndarray) -> Any:
            return np.repeat(table[:, None], len(observations), axis=1)

        def update(learner: int, batch: Batch) -> tuple[int, Any]:
            bad = learner + 1 == (self.bad_loss_at or 0)
            return learner + 1, jnp.where(bad, jnp.nan, 0.5)

        return Agent(lambda key: np.int32(0), predict, update, len(table), self.target)


def corridor_run(
    *,
    corridor: Corridor | None = None,
    learner: Any = None,
    access: Access = "local",
    exploration: str = "greedy",
    seed: int = 0,
    rule: str = "uncertainty",
    **loop: Any,
) -> RunSettings:
    """Returns settings of a run in a corridor, whose agent goes right and learns nothing.

    The rule `uncertainty` goes by counts; with any other there is no uncertainty.
    """
    counts = Counts() if rule == "uncertainty" else None
    loop = {"queries": 200, "learning_batch": 4, "eval_period": 50, "target_return": 0.9, **loop}
    settings = RunSettings(
        preset="corridor",
        agent="fixed",
        uncertainty_name=None if counts is None else "counts",
        access=access,
        seed=seed,
        exploration=exploration,
        simulator=corridor or Corridor(length=6),
        agent_config=learner or FixedValues(),
        uncertainty=counts,
        rule=RULES[rule](),
    )
    return settings.changed(rule=rule, **loop)
