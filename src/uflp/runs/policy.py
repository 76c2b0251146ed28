"""A trained agent, without all that it was trained with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from uflp import masks, spaces, state_file
from uflp.networks.parameters import loaded_tree
from uflp.planning import DemonstrationRecorder
from uflp.planning.acting import mean_action
from uflp.randomness import Randomness
from uflp.simulators.base import Simulator
from uflp.spaces import RealActions
from uflp.state import State
from uflp.training.agent_runner import look
from uflp.training.evaluation import Evaluation, Watch, evaluate
from uflp.training.settings import RunSettings
from uflp.types import Action, UsageError, at_least_1

_MOST_EPISODES = 10_000_000


class Policy:
    """Acts greedily on the mean of the ensemble's action values, without bonus or chance.

    Where actions are real-valued, it takes the mean action of the policy that was learned.
    An agent that does not learn has no such values, and acts by chance alone.

    Attributes:
        settings: of the run that trained it.
        queries: how many queries it was trained for.
        observation_space: what it can be asked about.
        action_space: what it answers.
    """

    def __init__(self, settings: RunSettings, state: State):
        """Make a policy of a run's settings, and of what `write_policy` kept of its state."""
        import jax

        self.settings = settings
        self.queries = int(state["queries"])
        simulator: Any = self.simulator()
        self.observation_space: Any = simulator.observation_space
        self.action_space: Any = simulator.action_space
        self._parts: gymnasium.Space[Any] | None = getattr(simulator, "parts", None)
        self._shape, self._dtype = spaces.layout(self.observation_space)
        self._actions = spaces.actions(self.action_space)
        self._agent = settings.agent_config.make(self.observation_space, self._actions)
        like = self._agent.init(jax.random.key(0))
        self._learner = loaded_tree(state["learner"], like)
        self._chance = np.random.default_rng(settings.seed)

    def values(self, observation: Any) -> np.ndarray:
        """Return the value of each action in a state, float32 [A], where actions are numbered."""
        if not isinstance(self._actions, int):
            raise UsageError("real-valued actions have no table of values: ask `act` for the best")
        return self._look(observation).mean(axis=0)

    def _look(self, observation: Any) -> np.ndarray:
        """Return what a state is acted in by, [M, A] or [2, D]."""
        if self._parts is not None and isinstance(observation, dict | tuple):
            observation = _flattened(self._parts, observation)
        if np.shape(observation) != self._shape:
            raise UsageError(
                f"an observation has shape {self._shape} here, not {np.shape(observation)}"
            )
        seen = np.asarray(observation)[None]
        return look(self._agent, self._learner, seen, self._dtype)[:, 0]

    def act(self, observation: Any, mask: Any = None) -> Action:
        """Return the best action in a state, or any for an agent that does not learn.

        Args:
            observation: of the state; one with parts, as the environment gives it, or flattened as
                the agent has learned from it.
            mask: which actions it allows, as in `info["action_mask"]`; None allows all.
        """
        if isinstance(self._actions, RealActions):
            if mask is not None:
                raise UsageError("a mask is of numbered actions, and these are real-valued")
            return self._act(observation, None, self._chance)
        values = self.values(observation)
        if mask is not None:
            if np.shape(mask) != values.shape or not np.any(mask):
                raise UsageError(
                    f"a mask says of {len(values)} actions which are allowed: {mask!r}"
                )
            mask = np.asarray(mask) != 0
        return self._choose(values, mask, self._chance)

    def simulator(self) -> Simulator:
        """Return a new simulator of the kind that it was trained in."""
        simulator: Simulator = self.settings.simulator.make(self.settings.seed)
        return simulator

    def drawing_simulator(self) -> Simulator:
        """Return one for a film: it draws pictures where that kind can."""
        settings = self.settings.simulator
        make = getattr(settings, "make_drawing", settings.make)
        simulator: Simulator = make(self.settings.seed)
        return simulator

    def evaluate(
        self,
        episodes: int = 10,
        seed: int = 0,
        watch: Watch | None = None,
        simulator: Simulator | DemonstrationRecorder | None = None,
    ) -> Evaluation:
        """Play episodes in a simulator of its own, or in one that is given.

        Args:
            episodes: how many.
            seed: of the simulator's randomness.
            watch: called with the simulator at every state.
            simulator: of the kind that it was trained in, such as one that is recorded.
        """
        at_least_1("the number of episodes", episodes, _MOST_EPISODES)
        if seed < 0:
            raise UsageError(f"a seed must not be negative, not {seed}")
        rng = Randomness(seed).at("evaluation", 0)
        limit = self.settings.evaluation.eval_limit
        simulator = simulator or self.simulator()
        return evaluate(simulator, self._act, episodes, rng, watch, limit)

    def _act(self, observation: Any, mask: np.ndarray | None, rng: np.random.Generator) -> Action:
        if isinstance(self._actions, RealActions):
            if self._agent.target == "none":
                return self._actions.draw(rng)
            return mean_action(self._look(observation), self._actions)
        return self._choose(self.values(observation), mask, rng)

    def _choose(self, values: np.ndarray, mask: np.ndarray | None, rng: np.random.Generator) -> int:
        if self._agent.target == "none":
            return masks.draw(rng, len(values), mask)
        return int(masks.only(values, mask).argmax())


def _flattened(space: gymnasium.Space[Any], observation: Any) -> Any:
    if isinstance(space, gymnasium.spaces.Dict) and isinstance(observation, dict):
        missing = [name for name in space if name not in observation]
        if missing:
            raise UsageError(
                f"an observation has the parts {', '.join(space)} here, and {', '.join(missing)} "
                "is not there"
            )
    try:
        return gymnasium.spaces.flatten(space, observation)
    except (TypeError, ValueError, KeyError, IndexError) as error:
        raise UsageError(f"an observation is of {space} here, not {observation!r}") from error


def write_policy(path: Path, identity: str, queries: int, learner: State) -> None:
    """Write a learner after some queries, and the settings of its run as JSON, into one file."""
    run = {"queries": queries, "learner": learner}
    state_file.write(path, {"identity": identity, "run": run})
