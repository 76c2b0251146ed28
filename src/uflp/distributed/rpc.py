"""Calls between the processes of a run, and the handles that the driver calls them by."""

from __future__ import annotations

import functools
from collections import deque
from dataclasses import dataclass
from typing import Any, Protocol

import ray
from ray.exceptions import RayError, RayTaskError

from uflp.types import RunError

Handle = Any
"""Handle of a Ray actor. Ray does not type the remote methods of one."""

Answer = Any
"""Reference to the answer of a remote call; see `result`."""

_MOST_UNFINISHED = 2


class Caller(Protocol):
    """A worker, as other workers call it."""

    def call(self, method: str, *arguments: Any) -> Any:
        """Call a method; return its answer."""

    def send(self, method: str, *arguments: Any) -> None:
        """Call a method without waiting for its end, unless too many calls are unfinished."""

    def wait(self) -> None:
        """Wait for the end of all calls that were sent."""


class RemoteCaller:
    """A worker in another process, found by its name.

    Ray repeats a call to a worker that died until the worker is there again, so none of this fails
    for that reason. What the worker knew is gone, though. Calls arrive in order.
    """

    def __init__(self, name: str):
        self._name = name
        self._unfinished: deque[Answer] = deque()

    @functools.cached_property
    def _handle(self) -> Handle:
        # Looked up where it is used: what a worker is made of must outlive other workers.
        return ray.get_actor(self._name)

    def begin(self, method: str, *arguments: Any) -> Answer:
        """Call a method; return the reference to its answer."""
        return getattr(self._handle, method).remote(*arguments)

    def call(self, method: str, *arguments: Any) -> Any:
        """Call a method; return its answer."""
        return ray.get(self.begin(method, *arguments))

    def send(self, method: str, *arguments: Any) -> None:
        """Call a method without waiting for its end, unless too many calls are unfinished."""
        self._unfinished.append(self.begin(method, *arguments))
        while len(self._unfinished) > _MOST_UNFINISHED:
            ray.get(self._unfinished.popleft())

    def wait(self) -> None:
        """Wait for the end of all calls that were sent."""
        while self._unfinished:
            ray.get(self._unfinished.popleft())


@dataclass(frozen=True)
class Workers:
    """Handles of the workers of a run.

    Attributes:
        actors: collect; see `ActorWorker`.
        shards: hold the replay; see `ReplayShard`.
        history: holds the snapshots, None under online access; see `HistoryService`.
        learner: learns; see `LearnerWorker`.
        evaluator: evaluates, None where nothing is to be evaluated; see `EvaluationWorker`.
    """

    actors: list[Handle]
    shards: list[Handle]
    history: Handle | None
    learner: Handle
    evaluator: Handle | None


def result(answers: Answer | list[Answer]) -> Any:
    """Return the answers of workers. An error that ends the run comes as it was raised there."""
    try:
        return ray.get(answers)
    except RayTaskError as error:
        if isinstance(error.cause, RunError):
            raise error.cause from None
        raise
    except RayError as error:
        raise RunError(f"a worker of the run is gone for good: {error}") from error


def ready(answers: list[Answer]) -> bool:
    """Return whether all of some answers are there."""
    return len(ray.wait(answers, num_returns=len(answers), timeout=0)[0]) == len(answers)
