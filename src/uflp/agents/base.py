"""The record of an agent: pure functions over a learner's state."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, Protocol

import gymnasium
import jax
import numpy as np

from uflp.types import Batch

Learner = Any  # a pytree of arrays that belongs to one agent


class Init(Protocol):
    """Makes the state of a new learner."""

    def __call__(self, key: jax.Array) -> Learner:
        """Return a learner; equal keys give equal ones."""


class Predict(Protocol):
    """Action values of every ensemble member."""

    def __call__(self, learner: Learner, observations: Any) -> jax.Array:
        """Map observations [B, ...] to float32 [M, B, A]."""


class PredictPairs(Protocol):
    """Values of real-valued actions by every ensemble member."""

    def __call__(self, learner: Learner, observations: Any, actions: Any) -> jax.Array:
        """Map observations [B, ...] and K actions of each, [B, K, ...], to float32 [M, B, K]."""


class Policy(Protocol):
    """The distribution that real-valued actions are drawn from."""

    def __call__(self, learner: Learner, observations: Any) -> jax.Array:
        """Map observations [B, ...] to float32 [2, B, D].

        These are means and logarithms of deviations of normal distributions, whose tanh is an
        action, scaled to the bounds of the action space.
        """


class Update(Protocol):
    """One SGD step."""

    def __call__(self, learner: Learner, batch: Batch) -> tuple[Learner, jax.Array]:
        """Return the new learner, and the loss of the old one, a float32 scalar."""


class Agent(NamedTuple):
    """An agent's compiled functions and what the rest of a run has to know of it.

    `update` may use up the memory of the learner it is given: keep only the one it returns.

    Attributes:
        init: makes a learner.
        predict: action values of each ensemble member; of pairs where actions are real-valued.
        update: one SGD step.
        members: M, the size of the ensemble; 1 where there is none.
        target: what replay prepares, `td` (reward and discount), `return`, or `none` for an agent
            that does not learn and acts at random.
        policy: what real-valued actions are drawn from; None where they are numbered.
    """

    init: Init
    predict: Predict | PredictPairs
    update: Update
    members: int = 1
    target: Literal["td", "return", "none"] = "td"
    policy: Policy | None = None


def unpack(sample: Any, row: np.dtype) -> Batch:
    """Return the columns of a sample; to be compiled along with what they are for.

    Args:
        sample: uint32 [B, words of a row], as `Replay.sample` draws it.
        row: the layout of a row, each column beginning at a word.
    """
    assert row.names is not None and row.fields is not None, "a row has columns"
    word = sample.dtype.itemsize
    columns = []
    for name in row.names:
        kind, start, *_ = row.fields[name]
        words = sample[:, start // word : -(-(start + kind.itemsize) // word)]
        values = jax.lax.bitcast_convert_type(words, kind.base).reshape(len(sample), -1)
        count = kind.itemsize // kind.base.itemsize
        columns.append(values[:, :count].reshape(len(sample), *kind.shape))
    return Batch(*columns)


class AgentSettings(Protocol):
    """Settings of an agent: a frozen dataclass."""

    def make(self, space: gymnasium.Space, actions: Any) -> Agent:
        """Return the agent.

        Args:
            space: of observations.
            actions: their number, or a description of real-valued ones; see `uflp.spaces.Actions`.
        """
