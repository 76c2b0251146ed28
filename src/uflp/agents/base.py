"""What an agent is: three pure functions over a learner's state."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, Protocol

import jax

from uflp.types import Batch

Learner = Any  # a pytree of arrays that belongs to one agent


class Init(Protocol):
    """Makes the state of a new learner."""

    def __call__(self, key: jax.Array) -> Learner:
        """Returns a learner; equal keys give equal ones."""


class Predict(Protocol):
    """Action values of every ensemble member."""

    def __call__(self, learner: Learner, observations: Any) -> jax.Array:
        """Maps observations [B, ...] to float32 [M, B, A]."""


class Update(Protocol):
    """One SGD step."""

    def __call__(self, learner: Learner, batch: Batch) -> tuple[Learner, jax.Array]:
        """Returns the new learner, and the loss of the old one, a float32 scalar."""


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
