"""Observers: what watches rollouts from outside, and decides nothing in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from uflp.planning.rules.base import Start
from uflp.types import Transition


class Observer:
    """Watches rollouts. A subclass overrides the methods that it wants to be called by."""

    def began(self, start: Start, observation: Any, queries: int) -> None:
        """Observe the beginning of a rollout, before s0 is saved.

        Args:
            start: where it begins.
            observation: of s0.
            queries: made so far.
        """

    def stepped(self, transition: Transition, queries: int) -> None:
        """Observe one query, before the state that it led to is saved.

        Args:
            transition: that it gave; it says whether the rollout is over.
            queries: made so far, with this one.
        """

    def saved(self, entry: int | None) -> None:
        """Observe that the present state has joined the history.

        Args:
            entry: its number, None where only another process knows it.
        """

    def failed(self) -> None:
        """Observe that the simulator raised an error: the rollout ends here, and is dropped."""


class OnFailure(Observer):
    """Lets parts forget what they keep of a rollout that is dropped."""

    def __init__(self, *forget: Callable[[], None]):
        self._forget = forget

    def failed(self) -> None:
        """Call everything that forgets."""
        for forget in self._forget:
            forget()


class Observers:
    """Several observers, method by method; a method that none overrides costs nothing.

    Attributes:
        began: to be called at the beginning of a rollout.
        stepped: to be called after a query.
        saved: to be called after a state was saved.
        failed: to be called when a rollout is dropped.
    """

    def __init__(self, observers: Iterable[Observer] = ()):
        observers = tuple(observers)
        self.began = [one.began for one in observers if type(one).began is not Observer.began]
        self.stepped = [
            one.stepped for one in observers if type(one).stepped is not Observer.stepped
        ]
        self.saved = [one.saved for one in observers if type(one).saved is not Observer.saved]
        self.failed = [one.failed for one in observers if type(one).failed is not Observer.failed]
