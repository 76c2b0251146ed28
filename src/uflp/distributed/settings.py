"""Settings of a run that is distributed over processes."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from uflp.training.rate_limiter import RateLimiter
from uflp.training.settings import RunSettings
from uflp.types import UsageError, at_least_1

_MOST = 1_000_000
"""Most processes, queries of a chunk, SGD steps from one broadcast to the next."""


@dataclass(frozen=True)
class ClusterSettings:
    """Settings of a run that is distributed over processes.

    Attributes:
        ray: `local` starts Ray on this machine and ends it with the run, `auto` finds the cluster
            that this machine belongs to, anything else is the address of one.
        actors: how many collect, each with a simulator of its own.
        gpu_learner: whether the learner asks for a GPU.
        shared_counts: whether all actors count in one uncertainty, by which the history chooses;
            None shares them only where the run cannot do without.
        replay_shards: into how many the replay is divided.
        chunk: queries that an actor makes before it reports; None chooses by the number of actors.
        parameter_period: SGD steps between two broadcasts of the parameters.
        lock_step: whether one actor and the learner wait for each other, as in a run without Ray.
    """

    ray: str = "local"
    actors: int = 2
    gpu_learner: bool = False
    shared_counts: bool | None = None
    replay_shards: int = 1
    chunk: int | None = None
    parameter_period: int = 16
    lock_step: bool = False

    def __post_init__(self) -> None:
        for name in ("actors", "replay_shards", "parameter_period", "chunk"):
            if getattr(self, name) is not None:
                at_least_1(name, getattr(self, name), _MOST)
        if self.lock_step and self.actors > 1:
            raise UsageError(f"one actor can keep step with the learner, not {self.actors}")
        if self.lock_step and self.replay_shards > 1:
            raise UsageError("a run in lock step has one replay: leave out replay_shards")

    def fitted(self, settings: RunSettings) -> ClusterSettings:
        """Return these settings with every choice made that was left open."""
        whole = settings.access == "local" and settings.planning.batch is None
        if whole and self.shared_counts is False:
            raise UsageError(
                "the whole history as batch needs shared counts, since only the history sees all "
                "of it: give batch a number, or share the counts"
            )
        # Chunks this long let an evaluation come within about half a period of its query.
        chunk = max(1, min(256, settings.evaluation.eval_period // (2 * self.actors)))
        return dataclasses.replace(
            self,
            shared_counts=whole if self.shared_counts is None else self.shared_counts,
            chunk=chunk if self.chunk is None else self.chunk,
        )

    def rate_limiter(self, settings: RunSettings, learns: bool = True) -> RateLimiter:
        """Return the rate limiter of a run.

        Collecting may be ahead by one chunk of each actor, and by the SGD steps of two calls: one
        for the learner to run, and one to go on with.
        """
        assert self.chunk is not None
        queries, steps = self.actors * self.chunk, 2 * self.parameter_period
        return RateLimiter(
            settings.replay, settings.learning, queries=queries, steps=steps, learns=learns
        )

    def at(self, ray: str) -> ClusterSettings:
        """Return these settings with another address."""
        return dataclasses.replace(self, ray=ray)

    def values(self) -> dict[str, Any]:
        """Return every setting by its key."""
        return dataclasses.asdict(self)
