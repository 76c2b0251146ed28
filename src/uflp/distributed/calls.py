"""Calls from one part of a run to another, of which only few may be under way."""

from __future__ import annotations

import functools
from collections import deque
from typing import Any, Protocol

import ray
from ray.exceptions import RayError, RayTaskError

from uflp.types import RunError

_UNDER_WAY = 2


class Caller(Protocol):
    """Another part, as those see it who call it."""

    def ask(self, method: str, *arguments: Any) -> Any:
        """Calls a method, and returns its answer."""

    def tell(self, method: str, *arguments: Any) -> None:
        """Calls a method without waiting for its end, unless too many calls are under way."""

    def settle(self) -> None:
        """Waits for the end of all calls."""


class RemoteCaller:
    """A part in another process, by its name.

    Ray repeats a call to a part that died until the part is there again, so none of this fails
    because of that; what the part had known is gone, though. Calls arrive in order.
    """

    def __init__(self, name: str):
        self._name = name
        self._calls: deque[Any] = deque()

    @functools.cached_property
    def _handle(self) -> Any:
        # Looked up where it is used: what a part is made of must outlive other parts.
        return ray.get_actor(self._name)

    def begin(self, method: str, *arguments: Any) -> Any:
        """Calls a method, and returns what its answer is fetched by."""
        return getattr(self._handle, method).remote(*arguments)

    def ask(self, method: str, *arguments: Any) -> Any:
        """Calls a method, and returns its answer."""
        return ray.get(self.begin(method, *arguments))

    def tell(self, method: str, *arguments: Any) -> None:
        """Calls a method without waiting for its end, unless too many calls are under way."""
        self._calls.append(self.begin(method, *arguments))
        while len(self._calls) > _UNDER_WAY:
            ray.get(self._calls.popleft())

    def settle(self) -> None:
        """Waits for the end of all calls."""
        while self._calls:
            ray.get(self._calls.popleft())


def get(answers: Any) -> Any:
    """Returns answers of parts; an error that ends the run comes as it was raised there."""
    try:
        return ray.get(answers)
    except RayTaskError as error:
        if isinstance(error.cause, RunError):
            raise error.cause from None
        raise
    except RayError as error:
        raise RunError(f"a part of the run is gone for good: {error}") from error
