"""A shard of the replay, as its own process has it, and all shards as the learner sees them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import count
from typing import Any, NamedTuple, Protocol

import numpy as np
import ray

from uflp.distributed.calls import RemoteCaller
from uflp.distributed.rows import block_of, without_rows
from uflp.replay.transfer import Parcel, unpack
from uflp.state import Block, State
from uflp.training.settings import RunSettings
from uflp.training.wiring import make_replay


class ReplayStatus(NamedTuple):
    """What there is: number of the process, and rows."""

    pid: int
    size: int


class ReplayShard:
    """One of the pieces that the replay is divided into."""

    def __init__(self, settings: RunSettings, shards: int, dictionary: bytes):
        simulator = settings.simulator.make(settings.seed)
        masked = simulator.mask_size
        space = simulator.observation_space
        self._replay = make_replay(settings, space, masked, shards, dictionary)
        loop = settings.loop
        # Less than its share, which it may reach later than others; more than what is left of a
        # shard that has just come back.
        self._least = -(-loop.least_replay // (2 * shards))

    def status(self) -> ReplayStatus:
        """Returns what there is."""
        return ReplayStatus(os.getpid(), len(self._replay))

    def insert(self, parcel: Parcel) -> None:
        """Adds the rows of a parcel."""
        unpack(parcel, self._replay)

    def sample(self, uniforms: np.ndarray) -> np.ndarray | None:
        """Draws one row for each number; None if there are too few to draw from."""
        return self._replay.sample(uniforms) if len(self._replay) >= self._least else None

    def state(self) -> State:
        """Returns the state without the rows."""
        return without_rows(self._replay.state())

    def block(self, name: str, first: int) -> Block | None:
        """Returns the first block of some rows from a number on."""
        return block_of(self._replay.state(), name, first)

    def load(self, state: State) -> None:
        """Takes a state, rows included."""
        self._replay.load(state)


class Receiver(Protocol):
    """Where the actors' rows go."""

    def tell(self, method: str, *arguments: Any) -> None:
        """Calls a method of a shard without waiting for its end."""

    def settle(self) -> None:
        """Waits until the shards have all that they were sent."""


class Sampler(Protocol):
    """Where the learner's samples come from."""

    def order(self, step: int, uniforms: np.ndarray) -> Any:
        """Orders the sample of one SGD step; returns what to collect it by."""

    def collect(self, ticket: Any) -> np.ndarray | None:
        """Returns an ordered sample, None if there is too little to draw from."""


class Shards:
    """All shards, from where they are written and sampled."""

    def __init__(self, names: Sequence[str]):
        self._callers = [RemoteCaller(name) for name in names]
        self._turns = count()

    def tell(self, method: str, *arguments: Any) -> None:
        """Calls a method of the next shard in turn."""
        self._callers[next(self._turns) % len(self._callers)].tell(method, *arguments)

    def settle(self) -> None:
        """Waits until the shards have all that they were sent."""
        for caller in self._callers:
            caller.settle()

    def order(self, step: int, uniforms: np.ndarray) -> Any:
        """Orders the sample of one SGD step; steps take turns among the shards."""
        return step, uniforms, self._sample(step, uniforms)

    def collect(self, ticket: Any) -> np.ndarray | None:
        """Returns an ordered sample, None if no shard has enough to draw from."""
        step, uniforms, answer = ticket
        sample: np.ndarray | None = ray.get(answer)
        for further in range(1, len(self._callers)):
            if sample is not None:
                break
            sample = ray.get(self._sample(step + further, uniforms))
        return sample

    def _sample(self, turn: int, uniforms: np.ndarray) -> Any:
        return self._callers[turn % len(self._callers)].begin("sample", uniforms)
