"""The replay in shards: the process of one, and all of them as actors and the learner see them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import count
from typing import NamedTuple, Protocol

import numpy as np

from uflp.distributed.checkpoint_transfer import block_of, without_rows
from uflp.distributed.rpc import Answer, RemoteCaller, result
from uflp.replay.transfer import Parcel, unpack
from uflp.state import Block, State
from uflp.training.build import Builder
from uflp.training.settings import RunSettings


class ReplayStatus(NamedTuple):
    """Size of a shard.

    Attributes:
        pid: number of the process.
        size: rows.
    """

    pid: int
    size: int


class ReplayShard:
    """The process of one shard."""

    def __init__(self, settings: RunSettings, shards: int, dictionary: bytes):
        """Make an empty shard.

        Args:
            settings: of the run.
            shards: into how many the replay is divided.
            dictionary: see `FrameReplay`.
        """
        self._replay = Builder(settings).replay(shards=shards, dictionary=dictionary)
        # Less than its share, which it may reach later than others; more than what is left of a
        # shard that has just come back.
        self._least = -(-settings.replay.least // (2 * shards))

    def status(self) -> ReplayStatus:
        """Return the size."""
        return ReplayStatus(os.getpid(), len(self._replay))

    def insert(self, parcel: Parcel) -> None:
        """Add the rows of a parcel."""
        unpack(parcel, self._replay)

    def sample(self, uniforms: np.ndarray) -> np.ndarray | None:
        """Draw one row for each number in [0, 1); None if there are too few to draw from."""
        return self._replay.sample(uniforms) if len(self._replay) >= self._least else None

    def state(self) -> State:
        """Return the state without the rows."""
        return without_rows(self._replay.state())

    def block(self, name: str, first: int) -> Block | None:
        """Return the first block of some rows from a number on."""
        return block_of(self._replay.state(), name, first)

    def load(self, state: State) -> None:
        """Take a state, rows included."""
        self._replay.load(state)


class Ticket(NamedTuple):
    """The order of one sample.

    Attributes:
        step: number of the SGD step.
        uniforms: what the rows are drawn by.
        answer: reference to the sample.
    """

    step: int
    uniforms: np.ndarray
    answer: Answer


class RowReceiver(Protocol):
    """The replay as actors see it."""

    def insert(self, parcel: Parcel) -> None:
        """Send the rows of a parcel."""

    def wait(self) -> None:
        """Wait until the replay has all rows that were sent."""


class SampleSource(Protocol):
    """The replay as the learner sees it."""

    def order(self, step: int, uniforms: np.ndarray) -> Ticket:
        """Order the sample of one SGD step."""

    def collect(self, ticket: Ticket) -> np.ndarray | None:
        """Return an ordered sample, None if there are too few rows to draw from."""


class ReplayClient:
    """All shards: a `RowReceiver` and a `SampleSource`."""

    def __init__(self, names: Sequence[str]):
        """Make a client.

        Args:
            names: of the shards.
        """
        self._shards = [RemoteCaller(name) for name in names]
        self._turns = count()

    def insert(self, parcel: Parcel) -> None:
        """Send the rows of a parcel to the next shard in turn."""
        self._shards[next(self._turns) % len(self._shards)].send("insert", parcel)

    def wait(self) -> None:
        """Wait until the shards have all rows that were sent."""
        for shard in self._shards:
            shard.wait()

    def order(self, step: int, uniforms: np.ndarray) -> Ticket:
        """Order the sample of one SGD step; steps take turns among the shards."""
        return Ticket(step, uniforms, self._begin(step, uniforms))

    def collect(self, ticket: Ticket) -> np.ndarray | None:
        """Return an ordered sample, None if no shard has enough rows to draw from."""
        sample: np.ndarray | None = result(ticket.answer)
        for further in range(1, len(self._shards)):
            if sample is not None:
                break
            sample = result(self._begin(ticket.step + further, ticket.uniforms))
        return sample

    def _begin(self, turn: int, uniforms: np.ndarray) -> Answer:
        return self._shards[turn % len(self._shards)].begin("sample", uniforms)
