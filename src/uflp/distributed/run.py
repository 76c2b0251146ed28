"""A run on a cluster: starts its workers, and drives them behind the face of any run."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import ray

from uflp.distributed.actor import ActorWorker, EvaluationWorker
from uflp.distributed.driver import Driver
from uflp.distributed.history_service import HistoryService
from uflp.distributed.learner import LearnerWorker
from uflp.distributed.metrics import Faults, ReportedBest, RunMetrics
from uflp.distributed.replay_shards import ReplayClient, ReplayShard
from uflp.distributed.rpc import Handle, RemoteCaller, Workers
from uflp.distributed.settings import ClusterSettings
from uflp.planning.lineage import Segment
from uflp.replay.frames import frames_of, has_frames
from uflp.simulators.base import Simulator
from uflp.state import State
from uflp.training.build import Builder
from uflp.training.counters import BadNumberError
from uflp.training.metrics import Row
from uflp.training.settings import RunSettings
from uflp.types import Snapshot

Status = Callable[[int, str], None]
"""Shows how a run goes: queries, and a phrase."""

_STATUS_SECONDS = 1.0

# A worker that dies comes back, and calls to it are repeated; its answers show its process.
_LASTING = {"num_cpus": 1, "max_restarts": -1, "max_task_retries": -1}


def no_status(queries: int, text: str) -> None:
    """Show nothing."""


class ClusterRun:
    """One run, with the face of a run in one process; see `RunProtocol`.

    Attributes:
        settings: what decides it.
        simulator: one of the kind that is trained in; it has the logs of all actors.
        exploration_log: where the run has been.
        cluster_config: settings of the cluster, as `config.json` holds them.
        faults: workers that were killed, and what was lost with them.
    """

    def __init__(self, settings: RunSettings, cluster: ClusterSettings, status: Status = no_status):
        """Start the workers of a run; Ray is connected.

        Args:
            settings: of the run.
            cluster: how it is distributed.
            status: called every second.
        """
        self.settings = settings
        self.cluster_config: dict[str, Any] | None = cluster.values()
        build = Builder(settings)
        self.simulator = build.simulator
        self.faults = Faults()
        self._cluster = cluster.fitted(settings)
        limiter = self._cluster.rate_limiter(settings, learns=build.learns)
        self._metrics = RunMetrics(self.simulator, limiter, self._cluster.actors)
        self.exploration_log = self._metrics.exploration_log
        self._workers = start_workers(settings, self._cluster, self.simulator)
        self._driver = Driver(settings, self._cluster, self._workers, self._metrics, self.faults)
        self._status = _StatusReporter(self._driver, settings.replay.learning_batch, status)

    def prepare(
        self,
        history: Iterable[tuple[Snapshot, Segment | None]],
        learner: State | None = None,
    ) -> None:
        """Take nothing: a run on a cluster begins with an empty history and a new agent."""

    def train(self, pause: Callable[[], None] = lambda: None) -> Iterator[Row]:
        """Run until the budget is spent; yield a row of metrics after each evaluation.

        Args:
            pause: called where the run can be saved, for which `state` waits for all workers.
        """
        if self._cluster.lock_step:
            return self._driver.train_in_lock_step(pause)
        return self._driver.train(pause, self._status.report)

    def close(self) -> None:
        """End all workers."""
        for worker in _all(self._workers):
            ray.kill(worker)

    @property
    def queries(self) -> int:
        """Queries so far."""
        return self._metrics.rate_limiter.queries

    @property
    def seconds(self) -> float:
        """Time spent on the run so far, also before it was resumed."""
        return self._metrics.seconds

    @property
    def in_simulator(self) -> bool:
        """Whether the run was ended within a call of a simulator: they are elsewhere."""
        return False

    @property
    def lineage(self) -> ReportedBest | None:
        """The actions that led to the best score, None where they cannot be replayed."""
        return self._metrics.best

    @property
    def learner(self) -> Any:
        """The learner's arrays."""
        return self._driver.learner_state()["learner"]["leaves"]

    def check_parameters(self) -> None:
        """Raise an error if any of the learner's numbers is not finite."""
        if not all(np.isfinite(leaf).all() for leaf in self.learner):
            raise BadNumberError(f"a parameter was not finite at query {self.queries}")

    def kept(self) -> State:
        """Return what later runs may begin with: the history, and what led to its states."""
        self._driver.drain()
        states = self._driver.history_state()
        return {name: states[name] for name in ("history", "lineage") if name in states}

    def report(self) -> dict[str, Any]:
        """Return what is added to the summary."""
        return {
            "dropped_rollouts": self._metrics.counters.dropped_rollouts,
            "actors": self._cluster.actors,
            **self.faults.report(),
        }

    def state(self) -> State:
        """Wait for all that is under way; return all that decides the rest of the run."""
        workers = self._driver.state()
        return {
            "queries": self.queries,
            "ledger": self._metrics.state(),
            "faults": self.faults.state(),
            **workers,
        }

    def load(self, state: State) -> None:
        """Take the state of an equal run."""
        self._metrics.load(state["ledger"])
        self.faults.load(state["faults"])
        self._driver.load(state)


def start_workers(settings: RunSettings, cluster: ClusterSettings, simulator: Simulator) -> Workers:
    """Start the workers of a run as Ray actors, which come back when they are killed.

    Args:
        settings: of the run.
        cluster: how it is distributed, with every choice made.
        simulator: of the kind that is trained in.
    """
    run = uuid.uuid4().hex  # Several runs may go on in one cluster.
    shared = bool(cluster.shared_counts)
    dictionary = _dictionary(settings, simulator)

    def start(name: str, kind: type, *arguments: Any, gpus: int = 0) -> Handle:
        options = {**_LASTING, "name": f"{run} {name}", "num_gpus": gpus}
        return ray.remote(kind).options(**options).remote(*arguments)

    shards = [f"replay {index}" for index in range(cluster.replay_shards)]
    replay = ReplayClient([f"{run} {name}" for name in shards])
    local = settings.access == "local"
    history = RemoteCaller(f"{run} history") if local else None
    return Workers(
        shards=[start(name, ReplayShard, settings, len(shards), dictionary) for name in shards],
        history=start("history", HistoryService, settings, shared) if local else None,
        learner=start("learner", LearnerWorker, settings, replay, gpus=int(cluster.gpu_learner)),
        actors=[
            start(
                f"actor {index}", ActorWorker, settings, index, history, replay, shared, dictionary
            )
            for index in range(cluster.actors)
        ],
        evaluator=start("evaluator", EvaluationWorker, settings),
    )


def count_workers(settings: RunSettings, cluster: ClusterSettings) -> int:
    """Return how many processes a run has, beside the one that drives it."""
    services = 3 if settings.access == "local" else 2
    return cluster.actors + cluster.replay_shards + services


def _all(workers: Workers) -> list[Handle]:
    services = [workers.history, workers.learner, workers.evaluator]
    return [*workers.actors, *workers.shards, *(one for one in services if one is not None)]


def _dictionary(settings: RunSettings, simulator: Simulator) -> bytes:
    """Return a frame that others look like, for all who compress them; none without frames."""
    space = simulator.observation_space
    if not has_frames(space):
        return b""
    observation, _ = settings.simulator.make(settings.seed).reset(seed=0)
    dictionary: bytes = observation.reshape(frames_of(space))[-1].tobytes()
    return dictionary


class _StatusReporter:
    """Shows every second how the run goes."""

    def __init__(self, driver: Driver, batch: int, status: Status):
        self._driver = driver
        self._batch = batch
        self._status = status
        self._time = time.monotonic()
        self._queries = driver.metrics.rate_limiter.queries
        self._steps = driver.metrics.rate_limiter.steps

    def report(self) -> None:
        """Show what has happened since the last time, if that is a second ago."""
        now = time.monotonic()
        seconds = now - self._time
        if seconds < _STATUS_SECONDS:
            return
        metrics, limiter = self._driver.metrics, self._driver.metrics.rate_limiter
        queries = (limiter.queries - self._queries) / seconds
        samples = (limiter.steps - self._steps) * self._batch / seconds
        self._time, self._queries, self._steps = now, limiter.queries, limiter.steps
        waits = self._driver.waits_for
        self._status(
            metrics.spent,
            f"{queries:,.0f} queries/s, {samples:,.0f} samples/s, "
            f"{'nobody waits' if waits == 'nobody' else f'waiting for the {waits}'}, "
            f"{self._driver.actors_alive} of {len(metrics.made)} actors alive",
        )
