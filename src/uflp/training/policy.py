"""A trained agent, without all that it was trained with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from uflp import spaces
from uflp.networks.parameters import loaded_tree
from uflp.randomness import Randomness
from uflp.simulators.base import Simulator
from uflp.state import State
from uflp.training import state_file
from uflp.training.compiled import predict
from uflp.training.evaluation import Evaluation, Watch, evaluate
from uflp.training.settings import RunSettings
from uflp.types import UsageError


class Policy:
    """Acts greedily on the mean of the ensemble's action values, without bonus or chance.

    Attributes:
        settings: of the run that trained it.
        queries: how many queries it was trained for.
        observation_space: what it can be asked about.
        action_space: what it answers.
    """

    def __init__(self, settings: RunSettings, state: State):
        """Makes a policy of a run's settings, and of what `write_policy` kept of its state."""
        import jax

        self.settings = settings
        self.queries = int(state["queries"])
        simulator: Any = self.simulator()
        self.observation_space: Any = simulator.observation_space
        self.action_space: Any = simulator.action_space
        self._shape, self._dtype = spaces.layout(self.observation_space)
        self._agent = settings.learner.make(self.observation_space, int(self.action_space.n))
        like = self._agent.init(jax.random.key(0))
        self._learner = loaded_tree(state["learner"], like)

    def values(self, observation: Any) -> np.ndarray:
        """Returns the value of each action in a state, float32 [A]."""
        if np.shape(observation) != self._shape:
            raise UsageError(
                f"an observation has shape {self._shape} here, not {np.shape(observation)}"
            )
        return self._predict(np.asarray(observation)[None]).mean(axis=0)[0]

    def act(self, observation: Any) -> int:
        """Returns the best action in a state."""
        return int(self.values(observation).argmax())

    def simulator(self) -> Simulator:
        """Returns a new simulator of the kind that it was trained in."""
        simulator: Simulator = self.settings.simulator.make(self.settings.seed)
        return simulator

    def evaluate(self, episodes: int = 10, seed: int = 0, watch: Watch | None = None) -> Evaluation:
        """Plays episodes in a simulator of its own.

        Args:
            episodes: how many.
            seed: of the simulator's randomness.
            watch: called with the simulator at every state.
        """
        if episodes < 1:
            raise UsageError(f"there must be at least 1 episode, not {episodes}")
        rng = Randomness(seed).at("evaluation", 0)
        return evaluate(self.simulator(), self._choose, episodes, rng, watch)

    def _choose(self, observation: Any, rng: np.random.Generator) -> int:
        return self.act(observation)

    def _predict(self, observations: np.ndarray) -> np.ndarray:
        return predict(self._agent, self._learner, observations, self._dtype)


def write_policy(path: Path, identity: str, queries: int, learner: State) -> None:
    """Writes a learner after some queries, and the settings of its run as JSON, into one file."""
    run = {"queries": queries, "learner": learner}
    state_file.write(path, {"identity": identity, "run": run})
