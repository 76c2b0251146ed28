"""A Q-function: a network, its optimiser and its target network in one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import jax

from uflp.types import UsageError

Loss = Callable[[jax.Array], jax.Array]
"""From action values [B, A] to a scalar."""


@dataclass(frozen=True)
class Fitting:
    """Settings of how a Q-function is fitted.

    Attributes:
        hidden: widths of the hidden layers.
        learning_rate: step size of Adam.
        max_gradient_norm: gradients longer than this are shortened to it.
        adam_epsilon: what Adam adds to the root of a gradient's second moment.
    """

    hidden: tuple[int, ...] = (64, 64)
    learning_rate: float = 1e-3
    max_gradient_norm: float = 20.0
    adam_epsilon: float = 1e-8

    def __post_init__(self) -> None:
        if not self.learning_rate > 0:
            raise UsageError(f"learning_rate must be positive, not {self.learning_rate}")
        if not self.adam_epsilon > 0:
            raise UsageError(f"adam_epsilon must be positive, not {self.adam_epsilon}")
        if not self.max_gradient_norm > 0:
            raise UsageError(f"max_gradient_norm must be positive, not {self.max_gradient_norm}")
        if not self.hidden or min(self.hidden) < 1:
            raise UsageError(f"hidden needs one or more positive widths, not {self.hidden}")


@dataclass(frozen=True)
class TargetFitting(Fitting):
    """Settings of how a Q-function with a target network is fitted.

    Attributes:
        hidden: widths of the hidden layers.
        learning_rate: step size of Adam.
        max_gradient_norm: gradients longer than this are shortened to it.
        adam_epsilon: what Adam adds to the root of a gradient's second moment.
        target_period: SGD steps between copies of the parameters into the target.
    """

    target_period: int = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.target_period < 1:
            raise UsageError(f"target_period must be at least 1, not {self.target_period}")


class QState(NamedTuple):
    """The state of a Q-function.

    Attributes:
        member: what differs between the members of an ensemble.
        clock: what they share.
    """

    member: Any
    clock: Any


MemberStep = Callable[[QState, Any], tuple[QState, jax.Array]]
"""From the state and the prior of one member to its new state and the loss."""

MEMBERS = QState(member=0, clock=None)
"""Axes for `jax.vmap` over an ensemble: members are stacked, and have one clock."""


class Values(Protocol):
    """Action values of observations."""

    def __call__(self, state: Any, observations: jax.Array, /) -> jax.Array:
        """Map observations [B, ...] to [B, A]."""


class Fit(Protocol):
    """One SGD step on the loss of the values of some observations."""

    def __call__(
        self, state: QState, observations: jax.Array, loss: Loss, /
    ) -> tuple[QState, jax.Array]:
        """Return the new state, and the loss of the old one.

        Each time its period is over, the target becomes a copy of the new parameters.
        """


class FitMembers(Protocol):
    """One step of every member of an ensemble."""

    def __call__(
        self, step: MemberStep, states: QState, priors: Any, /
    ) -> tuple[QState, jax.Array]:
        """Take the step with each of M stacked states and priors; return states, losses [M]."""


class QFunction(NamedTuple):
    """Pure functions over the state of a Q-function.

    Attributes:
        init: makes a state whose target equals its parameters.
        values: action values under the parameters.
        target_values: action values under the target parameters.
        fit: one SGD step.
        fit_members: one SGD step of every member of an ensemble, in the order that is quickest.
        init_prior: draws a network that never learns, in the form that is quickest to look up.
        prior_values: action values of such a network.
    """

    init: Callable[[jax.Array], QState]
    values: Values
    target_values: Values
    fit: Fit
    fit_members: FitMembers
    init_prior: Callable[[jax.Array], Any]
    prior_values: Values
