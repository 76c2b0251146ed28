"""The workers that step simulators: actors, which collect, and the evaluator.

First what an actor is asked for and what it reports, then the actor, then the evaluator.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from uflp.agents.compute import configure
from uflp.distributed.history_client import (
    HistoryClient,
    LineageClient,
    OwnCountsRule,
    SharedCountsRule,
    SharedUncertainty,
)
from uflp.distributed.history_service import key_codec
from uflp.distributed.parameters import Parameters, RemoteValues
from uflp.distributed.replay_shards import RowReceiver
from uflp.distributed.rpc import Caller
from uflp.planning.rules.uncertainty import UncertaintyFirst
from uflp.replay.transfer import make_outbox
from uflp.simulators.base import Simulator
from uflp.state import State, number
from uflp.training.build import Builder, PlannerParts
from uflp.training.counters import Counted
from uflp.training.evaluation import Evaluation
from uflp.training.exploration_log import ExplorationObserver
from uflp.training.old_checkpoints import with_planner
from uflp.training.settings import RunSettings
from uflp.uncertainty import Uncertainty


class CollectTask(NamedTuple):
    """Queries that an actor is asked for.

    Attributes:
        queries: how many to make.
        made: queries that this actor has made before; one that came back goes on from there.
        rollouts: rollouts that it has begun before.
        parameters: to act by.
        first_values: action values [M, A] at the first query, None if they are not known yet.
        wait: whether to wait until replay and history have everything.
        logs: whether to return the simulator's logs.
    """

    queries: int
    made: int
    rollouts: int
    parameters: Parameters
    first_values: np.ndarray | None = None
    wait: bool = False
    logs: bool = False


class LoggedRestart(NamedTuple):
    """A restart, for the exploration log.

    Attributes:
        place: where, None without a projection.
        image: the latest frame of what is seen there, None where observations are no images.
        screen_score: there.
    """

    place: Any
    image: np.ndarray | None
    screen_score: float


class CollectResult(NamedTuple):
    """Report on a task. Its rows and snapshots went to the replay and the history.

    Attributes:
        queries: made.
        replayed: further steps that restores have cost.
        rollouts: begun.
        restarts: rollouts of these that began from a snapshot.
        rows: sent to the replay.
        sent: bytes of these rows.
        counted: rewards, returns and failures.
        visited: places of the queries; see `ExplorationLog.visit`.
        restarted: restarts that the exploration log can show.
        observation: the last one, None if its rollout is over.
        logs: of the simulator, if they were asked for.
        pid: number of the process.
    """

    queries: int
    replayed: int
    rollouts: int
    restarts: int
    rows: int
    sent: int
    counted: Counted
    visited: list[Any]
    restarted: list[LoggedRestart]
    observation: Any
    logs: State | None
    pid: int


class ExplorationBuffer(ExplorationObserver):
    """Holds entries of the exploration log until the actor reports."""

    def __init__(self, simulator: Simulator):
        super().__init__(simulator)
        self._visited: list[Any] = []
        self._restarted: list[LoggedRestart] = []

    def visit(self, place: Any) -> None:
        """Hold a query made at a place."""
        self._visited.append(place)

    def restart(self, place: Any, observation: Any, screen_score: float) -> None:
        """Hold a restart, if the log can show it."""
        if self.pictured or self.frames:
            image = observation[-1:].copy() if self.frames else None
            self._restarted.append(LoggedRestart(place, image, screen_score))

    def take(self) -> tuple[list[Any], list[LoggedRestart]]:
        """Return queries and restarts since the last time."""
        taken = self._visited, self._restarted
        self._visited, self._restarted = [], []
        return taken


class _Counts(NamedTuple):
    """Counts of an actor so far, or between two reports."""

    queries: int
    replayed: int
    rollouts: int
    restarts: int

    def since(self, before: _Counts) -> _Counts:
        return _Counts(*(now - then for now, then in zip(self, before, strict=True)))


class ActorWorker:
    """The process of one actor: a simulator, a planner, and rollouts."""

    def __init__(
        self,
        settings: RunSettings,
        index: int,
        history: Caller | None,
        replay: RowReceiver,
        shared: bool,
        dictionary: bytes,
    ):
        """Make an actor.

        Args:
            settings: of the run.
            index: number of the actor.
            history: the shared history, None under online access.
            replay: where rows go.
            shared: whether counts are shared.
            dictionary: see `FrameReplay`.
        """
        configure()
        # Products this small lose more to handing work between threads than they gain from it.
        threadpool_limits(1)
        build = Builder(settings)
        self._planning = settings.planning
        self._simulator = build.simulator
        self._values = RemoteValues(build)
        self._replay = replay
        self._outbox = make_outbox(
            build.space, self._simulator.mask_size, dictionary, build.actions
        )
        self._exploration = ExplorationBuffer(self._simulator)
        self._history: HistoryClient | None = None
        self._lineage: LineageClient | None = None
        own = build.uncertainty()
        parts = PlannerParts(None, own, None)
        if history is not None and own is not None:
            self._history = HistoryClient(history, index, key_codec(own), build.actions)
            parts = self._planner_parts(build, self._history, own, shared)
            if self._simulator.replayable:
                self._lineage = LineageClient(self._history, self._simulator)
        collection = build.collection(
            self._values, self._outbox, parts, self._exploration, self._lineage, index
        )
        self._randomness = collection.randomness
        self._planner = collection.planner
        self._rollout = collection.rollout
        self._accumulator = collection.accumulator
        self._counters = collection.counters

    def _planner_parts(
        self, build: Builder, history: HistoryClient, own: Uncertainty, shared: bool
    ) -> PlannerParts:
        """Return the parts that choose restarts from the shared history."""
        if shared:
            counts_here = build.settings.exploration != "greedy"
            uncertainty = SharedUncertainty(own, history, counts_here=counts_here)
            return PlannerParts(history, uncertainty, SharedCountsRule(history, self._values))
        rule = UncertaintyFirst(
            history,
            own,
            self._values.predict,
            actions=build.actions,
            batch=build.settings.planning.batch,
            kind=build.settings.planning.restart,
            sampled_actions=build.settings.planning.sampled_actions,
        )
        return PlannerParts(history, own, OwnCountsRule(history, rule))

    def collect(self, task: CollectTask) -> CollectResult:
        """Make queries, and send rows and snapshots on."""
        rollout = self._rollout
        if rollout.queries < task.made:
            # Another process was here before, and died: its random numbers are not drawn again.
            rollout.queries, rollout.rollouts = task.made, task.rollouts
        self._values.parameters = task.parameters
        if task.first_values is not None:
            self._values.know(task.first_values, rollout.queries)
        before = self._counts()
        spent = before.queries + before.replayed
        while rollout.queries + self._replayed - spent < task.queries:
            if rollout.over:
                rng = self._randomness.at("restart", rollout.rollouts)
                rollout.begin(self._planner.start(rng))
            transition = rollout.step()
            if transition is not None:
                self._accumulator.add(transition)
        parcel = self._outbox.pack()
        if parcel.size > 0:
            self._replay.insert(parcel)
        if self._history is not None:
            self._history.flush(wait=task.wait)
        if task.wait:
            self._replay.wait()
        made = self._counts().since(before)
        visited, restarted = self._exploration.take()
        return CollectResult(
            queries=made.queries,
            replayed=made.replayed,
            rollouts=made.rollouts,
            restarts=made.restarts,
            rows=parcel.size,
            sent=parcel.nbytes,
            counted=self._counters.take(),
            visited=visited,
            restarted=restarted,
            observation=None if rollout.over else rollout.observation,
            logs=self._simulator.logs() if task.logs else None,
            pid=os.getpid(),
        )

    def state(self) -> State:
        """Return all that decides what this actor does next."""
        return {
            "queries": self._rollout.queries,
            **self._planner.state(),
            "tally": self._counters.state(),
            "rollout": self._rollout.state(),
            "targets": self._accumulator.state(),
            "lineage": {} if self._lineage is None else self._lineage.state(),
            "notes": self._exploration.state(),
        }

    def load(self, state: State) -> None:
        """Take the state of an equal actor."""
        # Version 0.1.0 wrote neither for parts that keep nothing here.
        whole = {"history": {}, "rule": {}, **state}
        self._planner.load(with_planner(whole, self._planning))
        self._counters.load(state["tally"])
        self._accumulator.load(state["targets"])
        self._rollout.load(state["rollout"])
        self._rollout.queries = number(state, "queries")
        if self._lineage is not None:
            self._lineage.load(state["lineage"])
        self._exploration.load(state["notes"])

    def _counts(self) -> _Counts:
        rollout = self._rollout
        return _Counts(rollout.queries, self._replayed, rollout.rollouts, rollout.restarts)

    @property
    def _replayed(self) -> int:
        """Steps that restores, and reading keys for them, have cost."""
        read = 0 if self._history is None else self._history.replayed
        return self._simulator.replayed + read


class EvaluationWorker:
    """The process of the evaluator: the greedy policy in a simulator of its own."""

    def __init__(self, settings: RunSettings):
        configure()
        build = Builder(settings)
        self._values = RemoteValues(build)
        self._evaluator = build.evaluator(self._values, build.simulator)

    def evaluate(self, parameters: Parameters, queries: int) -> tuple[Evaluation, int]:
        """Play the episodes that are due after some queries; return the process as well."""
        self._values.parameters = parameters
        return self._evaluator.evaluate(queries), os.getpid()
