"""The learner's parameters in the processes that only look at them."""

from __future__ import annotations

from typing import Any, NamedTuple

import gymnasium
import numpy as np
import ray
from ray.exceptions import RayError

from uflp import spaces
from uflp.agents.compute import configure
from uflp.randomness import Randomness
from uflp.replay.transitions import layout_of_row
from uflp.simulators.base import Simulator
from uflp.training.agent_runner import compiled, predict
from uflp.training.settings import RunSettings


class Parameters(NamedTuple):
    """A learner as it was at one broadcast.

    Attributes:
        version: number of the broadcast; 0 is the learner that every process can make itself.
        source: what the learner's arrays are fetched by: a reference to Ray's object store, where
            they lie once a machine.
    """

    version: int = 0
    source: Any = None

    def leaves(self) -> list[np.ndarray | None] | None:
        """Returns the learner's arrays, see `published`; None if they cannot be had any more."""
        leaves: list[np.ndarray | None] | None = ray.get(self.source)
        return leaves


class Values:
    """Action values by the latest parameters that were given.

    Attributes:
        parameters: to look at; they are only fetched when values are asked for.
        agent: whose values they are.
    """

    def __init__(self, settings: RunSettings, simulator: Simulator):
        self.parameters = Parameters()
        self._settings = settings
        self._space = simulator.observation_space
        self._actions = spaces.actions(simulator.action_space)
        self._masked = simulator.mask_size
        self._dtype = spaces.layout(self._space)[1]
        self._learner: Any = None
        self._version = 0
        self._agent: Any = None

    @property
    def agent(self) -> Any:
        """The agent, made when it is first asked for: not all processes need one."""
        if self._agent is None:
            configure()
            row = layout_of_row(self._space, self._masked)
            self._agent, _ = compiled(self._settings.learner, self._space, self._actions, row)
        return self._agent

    def predict(self, observations: np.ndarray) -> np.ndarray:
        """Returns action values of every ensemble member, [M, B, A]."""
        self._refresh()
        return predict(self.agent, self._learner, observations, self._dtype)

    def _refresh(self) -> None:
        if self._learner is None:
            self._learner = initial_learner(self.agent, self._settings.seed)
        if self._version == self.parameters.version:
            return
        try:
            published = self.parameters.leaves()
        except RayError:
            published = None
        if published is None:
            return  # Lost with the machine that had them: the next broadcast is on its way.
        self._learner = updated(self._learner, published)
        self._version = self.parameters.version


def initial_learner(agent: Any, seed: int) -> Any:
    """Returns the learner that a run begins with."""
    import jax

    return agent.init(jax.random.key(Randomness(seed).integer("agent")))


def read_by_predict(agent: Any, learner: Any, space: gymnasium.Space) -> list[bool]:
    """Returns which of a learner's arrays decide its action values.

    Those of the optimiser and of the target network do not, and are most of all where observations
    are not numbered.
    """
    import jax
    from jax.interpreters.partial_eval import dce_jaxpr

    shape, dtype = spaces.layout(space)
    traced = jax.make_jaxpr(agent.predict)(learner, np.zeros((1, *shape), dtype)).jaxpr
    _, used = dce_jaxpr(traced, [True] * len(traced.outvars))
    return list(used[: len(jax.tree.leaves(learner))])


def published(learner: Any, read: list[bool]) -> list[np.ndarray | None]:
    """Returns the arrays of a learner that are read, and None for each of the others."""
    import jax

    pairs = zip(jax.tree.leaves(learner), read, strict=True)
    return [np.asarray(leaf) if wanted else None for leaf, wanted in pairs]


def updated(learner: Any, arrays: list[np.ndarray | None]) -> Any:
    """Returns a learner with what was published in the place of its own arrays."""
    import jax

    leaves, tree = jax.tree.flatten(learner)
    pairs = zip(leaves, arrays, strict=True)
    new = [leaf if array is None else jax.numpy.array(array) for leaf, array in pairs]
    return jax.tree.unflatten(tree, new)
