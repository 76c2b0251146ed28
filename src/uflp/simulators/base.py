"""The simulator protocol: a `gymnasium.Env` that can be saved and restored."""

from __future__ import annotations

import zlib
from abc import abstractmethod
from typing import Any, Literal, Protocol

import gymnasium
import numpy as np

from uflp import masks, spaces
from uflp.simulators.projection import Projection
from uflp.state import State, number
from uflp.types import Snapshot, UsageError

RandomnessMode = Literal["fresh", "exact"]

SEAL_WIDTH = 4
"""Bytes of checksum that `save` puts behind what `_save` returns."""


class SnapshotError(ValueError):
    """A snapshot cannot be taken here, or does not belong to this simulator."""


class UnsavableError(SnapshotError, UsageError):
    """An environment that cannot be saved faithfully; the message says why, and a way out."""


class SimulatorSettings(Protocol):
    """Settings of a simulator: a frozen dataclass."""

    def make(self, seed: int) -> Simulator:
        """Return a simulator; the seed decides what differs between runs, not the episodes."""


class Simulator(gymnasium.Env[Any, Any]):
    """A Gymnasium environment that can go back.

    A subclass implements `_reset`, `_step`, `_save` and `_restore`; this class keeps what is the
    same for all of them: the screen score, the stamp, the checksum, and that a finished episode is
    neither stepped nor saved.

    Attributes:
        stamp: names kind, settings, layout and version; snapshots travel only between simulators
            of equal stamp.
        portable: whether a snapshot's data is bytes, which other processes can read; else it is an
            object that lives in this one, and neither width nor checksum apply.
        snapshot_width: length of a snapshot's data in bytes, checksum included, where that is
            constant, else None.
        projection: how to draw where it has been, None where there is no telling picture.
        replayed: steps that restores have cost so far, which count as queries; 0 for all simulators
            that need not replay.
        screen_score: unclipped reward since the initial state, across restarts.
        replayable: whether the actions that were executed, played from the initial state, lead to
            the same states; a simulator of which this holds sets `executed`.
        executed: what the last step executed, one byte a frame.
        masked: whether `info["action_mask"]` says in every state which actions are allowed there,
            as is Gymnasium's custom; a simulator of which this holds sets it.
        mask: which actions the present state allows, bool [A]; None where all are, or none is left.
    """

    stamp: str
    portable: bool = True
    snapshot_width: int | None = None
    projection: Projection | None = None
    screen_score: float = 0.0
    replayable: bool = False
    executed: bytes = b""
    masked: bool = False
    mask: np.ndarray | None = None
    replayed: int = 0
    _running: bool = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode from the initial-state distribution; a seed renews the randomness."""
        super().reset(seed=seed)
        observation, info = self._reset(seed)
        self.screen_score = 0.0
        self._running = True
        if self.masked:
            self.mask = masks.read(info, self.action_space)
        return observation, info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take one action. During training, each call is one query."""
        if not self._running:
            raise SnapshotError("no episode is under way: call reset() or restore() before step()")
        observation, reward, terminated, truncated, info = self._step(action)
        self.screen_score += reward
        self._running = not (terminated or truncated)
        if self.masked:
            self.mask = None if terminated else masks.read(info, self.action_space)
        return observation, reward, terminated, truncated, info

    def save(self) -> Snapshot:
        """Return a snapshot of the present state, with the randomness that lies ahead."""
        if not self._running:
            raise SnapshotError("a finished episode cannot be saved: it has no future to restore")
        data = self._save()
        if self.portable:
            data += seal(data)
        return Snapshot(self.stamp, data, self.screen_score)

    def restore(
        self, snapshot: Snapshot, *, randomness: RandomnessMode = "fresh"
    ) -> tuple[Any, dict[str, Any]]:
        """Go back to a snapshot, and return the observation there.

        With `randomness="fresh"` the future is sampled anew, with `"exact"` the noise replays.
        """
        if randomness not in ("fresh", "exact"):
            raise ValueError(f"randomness is 'fresh' or 'exact', not {randomness!r}")
        # Checked before anything is written: a refused restore leaves the simulator as it was.
        data = self._data_of(snapshot)
        self._running = False  # until the new state is in place
        try:
            observation, info = self._restore(data, exact=randomness == "exact")
        except SnapshotError:
            raise
        except Exception as error:  # a forged checksum may lead to anything
            raise SnapshotError(f"not a snapshot of {self.stamp!r}: {error!r}") from error
        self.screen_score = snapshot.screen_score
        self._running = True
        if self.masked:
            self.mask = masks.read(info, self.action_space)
        return observation, info

    def observation_of(self, snapshot: Snapshot) -> Any:
        """Return the observation at a snapshot; the simulator itself stays where it is."""
        here = self.save() if self._running else None
        score = self.screen_score
        try:
            return self.restore(snapshot)[0]
        finally:
            if here is not None:
                self.restore(here, randomness="exact")
            self._running, self.screen_score = here is not None, score

    @property
    def mask_size(self) -> int:
        """A, the actions that masks speak of; 0 where there are no masks."""
        return (spaces.count(self.action_space) or 0) if self.masked else 0

    def place(self, observation: Any) -> Any:
        """Return what `projection` takes of the present state, whose observation is given."""
        return observation

    def metrics(self) -> dict[str, float]:
        """Return what this simulator adds to a run's metrics; cumulative, never rolled back."""
        return {}

    def logs(self) -> State:
        """Return what `metrics` is made of: no snapshot holds it, and a resumed run needs it."""
        return {"replayed": self.replayed}

    def load_logs(self, logs: State) -> None:
        """Take the logs of an equal simulator."""
        self.replayed = number(logs, "replayed")

    def join_logs(self, logs: State) -> None:
        """Add the logs of another simulator of the same run to its own, but for `replayed`."""

    def _data_of(self, snapshot: Snapshot) -> Any:
        """Return a snapshot's data as `_save` gave it, if it is of this simulator and whole."""
        if snapshot.simulator != self.stamp:
            raise SnapshotError(
                f"a snapshot of {snapshot.simulator!r} cannot be restored into {self.stamp!r}"
            )
        return _opened(snapshot.data) if self.portable else snapshot.data

    @abstractmethod
    def _reset(self, seed: int | None) -> tuple[Any, dict[str, Any]]: ...

    @abstractmethod
    def _step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]: ...

    @abstractmethod
    def _save(self) -> Any: ...

    @abstractmethod
    def _restore(self, data: Any, *, exact: bool) -> tuple[Any, dict[str, Any]]: ...


def _opened(sealed: bytes) -> bytes:
    data = sealed[:-SEAL_WIDTH]
    if sealed[-SEAL_WIDTH:] != seal(data):
        raise SnapshotError("the snapshot's data is damaged: its checksum does not match")
    return data


def seal(data: bytes) -> bytes:
    """Return the checksum that `save` puts behind data."""
    # Started at 1: from 0, no data at all would be sealed by four zeros.
    return zlib.crc32(data, 1).to_bytes(SEAL_WIDTH, "little")
