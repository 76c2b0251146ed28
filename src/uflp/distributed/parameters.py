"""The learner's parameters in the processes that only read them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import gymnasium
import numpy as np
import ray
from ray.exceptions import RayError

from uflp import spaces
from uflp.agents.compute import configure
from uflp.training.agent_runner import initial_learner, look, predict
from uflp.training.build import Builder

if TYPE_CHECKING:
    from uflp.agents.base import Agent

Arrays = list[np.ndarray | None]
"""The arrays of a learner in order, None for each that no reader needs."""


class Parameters(NamedTuple):
    """The parameters of one broadcast.

    Attributes:
        version: number of the broadcast; 0 is the learner that every process can make itself.
        steps: SGD steps behind them.
        source: reference to the arrays in Ray's object store, where they lie once a machine; None
            for version 0.
    """

    version: int = 0
    source: Any = None
    steps: int = 0

    def arrays(self) -> Arrays | None:
        """Return the learner's arrays; None if they cannot be had any more."""
        arrays: Arrays | None = ray.get(self.source)
        return arrays


class RemoteValues:
    """Action values by the latest parameters that were given; an `ActionValues`.

    Attributes:
        parameters: to read; they are only fetched when values are asked for.
    """

    def __init__(self, build: Builder):
        """Make the values of the learner that a run begins with.

        Args:
            build: builds the parts of the run.
        """
        self.parameters = Parameters()
        self._build = build
        self._dtype = spaces.layout(build.space)[1]
        self._learner: Any = None
        self._version = 0
        self._known_query: int | None = None
        self._known_values = np.empty(0)

    def predict(self, observations: np.ndarray, actions: np.ndarray | None = None) -> np.ndarray:
        """Return action values of every ensemble member, [M, B, A], or [M, B, K] of K actions."""
        self._refresh()
        return predict(self._build.agent, self._learner, observations, self._dtype, actions)

    def policy(self, observations: np.ndarray) -> np.ndarray:
        """Return the means and log deviations of real-valued actions, [2, B, D]."""
        self._refresh()
        return look(self._build.agent, self._learner, observations, self._dtype)

    @property
    def has_learned(self) -> bool:
        """Whether the agent is another than the one it was at the beginning."""
        return self.parameters.steps > 0

    def values(self, observation: Any, query: int) -> np.ndarray:
        """Return action values by every ensemble member, [M, A], of what is seen at a query.

        Where actions are real-valued, return the policy's means and log deviations, [2, D].
        """
        if self._known_query == query:
            return self._known_values
        self._refresh()
        seen = np.asarray(observation)[None]
        return look(self._build.agent, self._learner, seen, self._dtype)[:, 0]

    def know(self, values: np.ndarray, query: int) -> None:
        """Take values that were computed elsewhere.

        Args:
            values: action values [M, A].
            query: number of the query that will be made at the state they are of.
        """
        self._known_query, self._known_values = query, values

    def forget(self) -> None:
        """Forget the values of a state that is never acted in, since its rollout is dropped."""
        self._known_query = None

    def _refresh(self) -> None:
        if self._learner is None:
            configure()
            self._learner = initial_learner(self._build.agent, self._build.randomness)
        if self._version == self.parameters.version:
            return
        try:
            arrays = self.parameters.arrays()
        except RayError:
            arrays = None
        if arrays is None:
            return  # Lost with the machine that had them: the next broadcast is on its way.
        self._learner = updated(self._learner, arrays)
        self._version = self.parameters.version


def read_by_predict(
    agent: Agent, learner: Any, space: gymnasium.Space, actions: spaces.Actions = 1
) -> list[bool]:
    """Return for each of a learner's arrays whether action values or the policy depend on it.

    They do not depend on the optimiser or on the target network. Where observations are not
    numbered, these are most of a learner.
    """
    import jax
    from jax.interpreters.partial_eval import dce_jaxpr

    shape, dtype = spaces.layout(space)
    count = len(jax.tree.leaves(learner))
    inputs = [np.zeros((1, *shape), dtype)]
    read = [False] * count
    for function in (agent.policy, agent.predict):
        if function is None:
            continue
        more = function is agent.predict and isinstance(actions, spaces.RealActions)
        pairs = [np.zeros((1, 1, *spaces.action_layout(actions)[0]), np.float32)] if more else []
        traced = jax.make_jaxpr(function)(learner, *inputs, *pairs).jaxpr
        _, used = dce_jaxpr(traced, [True] * len(traced.outvars))
        read = [before or now for before, now in zip(read, used[:count], strict=True)]
    return read


def published(learner: Any, read: list[bool]) -> Arrays:
    """Return the arrays of a learner that are read, and None for each of the others."""
    import jax

    pairs = zip(jax.tree.leaves(learner), read, strict=True)
    return [np.asarray(leaf) if wanted else None for leaf, wanted in pairs]


def updated(learner: Any, arrays: Arrays) -> Any:
    """Return a learner with the published arrays in place of its own."""
    import jax

    leaves, tree = jax.tree.flatten(learner)
    pairs = zip(leaves, arrays, strict=True)
    new = [leaf if array is None else jax.numpy.array(array) for leaf, array in pairs]
    return jax.tree.unflatten(tree, new)
