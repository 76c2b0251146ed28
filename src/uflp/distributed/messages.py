"""What actors and the learner are told to do, and what they report."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from uflp.distributed.parameters import Parameters
from uflp.state import State
from uflp.training.counters import Counted


class Task(NamedTuple):
    """What an actor is to do next.

    Attributes:
        queries: how many to make.
        made: queries that this actor has made before; one that came back goes on from there.
        rollouts: likewise those that it has begun.
        parameters: to act by.
        looked: action values [M, A] at the first query, if an update has looked already.
        settle: whether to wait until replay and history have everything.
        logs: whether to return the simulator's logs.
    """

    queries: int
    made: int
    rollouts: int
    parameters: Parameters
    looked: np.ndarray | None = None
    settle: bool = False
    logs: bool = False


class Chunk(NamedTuple):
    """What came of a task, the rows and snapshots aside, which went their own way.

    Attributes:
        queries: made.
        replayed: further steps that restores have cost.
        rollouts: begun.
        restarts: how many of them from a snapshot.
        rows: sent to the replay.
        sent: bytes of them.
        counted: rewards, returns and failures.
        visited: places of the queries; see `ExplorationLog.visit`.
        restarted: what there is to see of the restarts; see `ExplorationLog.restart`.
        observation: what was seen last, None if its rollout is over.
        logs: of the simulator, if they were asked for.
        pid: number of the process that did it.
    """

    queries: int
    replayed: int
    rollouts: int
    restarts: int
    rows: int
    sent: int
    counted: Counted
    visited: list[Any]
    restarted: list[tuple[Any, Any, float]]
    observation: Any
    logs: State | None
    pid: int


class Lesson(NamedTuple):
    """What the learner is to do next.

    Attributes:
        steps: SGD steps to take.
        taken: those taken before; a learner that came back has fewer, and must be loaded first.
        queries: so far, for messages.
        observation: whose action values to return after the last step.
        publish: whether to return the parameters.
    """

    steps: int
    taken: int
    queries: int
    observation: Any = None
    publish: bool = True


class Learned(NamedTuple):
    """What came of a lesson, the parameters aside.

    Attributes:
        losses: one a step; fewer than asked for if the replay had too few rows.
        values: action values [M, A] of the observation, if one was given.
        lost: whether nothing was done, because the learner does not have the steps before.
        pid: number of the process.
        published: bytes of the parameters that come with it.
    """

    losses: list[float]
    values: np.ndarray | None
    lost: bool
    pid: int
    published: int = 0
