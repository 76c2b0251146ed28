"""What an agent is: three pure functions over a learner's state."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, Protocol

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


class Update(Protocol):
    """One SGD step."""

    def __call__(self, learner: Learner, batch: Batch) -> tuple[Learner, jax.Array]:
        """Return the new learner, and the loss of the old one, a float32 scalar."""


class Agent(NamedTuple):
    """An agent's compiled functions and what the rest of a run has to know of it.

    `update` may use up the memory of the learner it is given: keep only the one it returns.

    Attributes:
        init: makes a learner.
        predict: action values of each ensemble member.
        update: one SGD step.
        members: M, the size of the ensemble; 1 where there is none.
        target: what replay prepares, `td` (reward and discount), `return`, or `none` for an agent
            that does not learn and acts at random.
    """

    init: Init
    predict: Predict
    update: Update
    members: int = 1
    target: Literal["td", "return", "none"] = "td"


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
