"""Actors and a learner that take their time, but send what real ones send."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import ray

from uflp.distributed.actor import CollectResult, CollectTask
from uflp.distributed.history_service import Added, Began, Event, HistoryService, HistoryUpdate
from uflp.distributed.learner import LearnResult, LearnTask
from uflp.distributed.parameters import RemoteValues
from uflp.distributed.replay_shards import ReplayClient, ReplayShard
from uflp.distributed.rpc import RemoteCaller, Workers
from uflp.replay import FrameReplay
from uflp.replay.accumulators import NStep
from uflp.replay.transfer import Parcel, make_outbox, unpack
from uflp.training.build import Builder
from uflp.training.counters import Counted
from uflp.training.settings import RunSettings
from uflp.types import Snapshot, Transition
from uflp.uncertainty.counts import CellCounts

TOGETHER = 16
"""Simulated actors in one process."""
PARAMETERS = 16_200_000
"""Bytes that a broadcast of the double DQN on images has."""
ROLLOUT = 500
"""Queries of a rollout, on average."""


class Payload(NamedTuple):
    """What an actor sends for one chunk, taken from a real game.

    Attributes:
        step: seconds of one query, action values included.
        sampling: seconds of CPU time of drawing one learning batch from the replay.
        parcel: rows of a chunk.
        snapshots: those of a chunk.
        names: of their cells.
    """

    step: float
    sampling: float
    parcel: Parcel
    snapshots: list[Snapshot]
    names: np.ndarray


def payload(settings: RunSettings, chunk: int, dictionary: bytes) -> Payload:
    """Plays a game with random actions, and keeps what an actor would send."""
    simulator = settings.simulator.make(0)
    space: Any = simulator.observation_space
    counts: CellCounts = settings.uncertainty.make(space, 18, 0)  # type: ignore[union-attr]
    outbox = make_outbox(space, 0, dictionary)
    targets = NStep(outbox, 0.99, settings.learning.n_step, 1.0)
    rng = np.random.default_rng(0)
    observation, _ = simulator.reset(seed=0)
    snapshots, keys, seconds = [], [], []
    for query in range(3 * chunk):
        action = int(rng.integers(18))
        started = time.thread_time()  # Whatever else the machine does meanwhile.
        following, reward, terminated, truncated, _ = simulator.step(action)
        seconds.append(time.thread_time() - started)
        targets.add(Transition(observation, action, reward, following, terminated, truncated))
        observation = following
        if terminated:
            observation, _ = simulator.reset()
        elif query % settings.planning.checkpoint_period == 0:
            snapshots.append(simulator.save())
            keys.append(counts.key_of(observation))
        if query == 2 * chunk:
            outbox.pack()  # The first frames of a game are hardly typical.
    kept = chunk // settings.planning.checkpoint_period
    names = counts.names(keys[-kept:])
    parcel = outbox.pack()
    replay = FrameReplay(space, 4 * chunk, dictionary=dictionary)
    unpack(parcel, replay)
    uniforms = rng.random(settings.replay.learning_batch)
    sampling = cpu_seconds(lambda: replay.sample(uniforms))
    values = RemoteValues(Builder(settings))
    acting = cpu_seconds(lambda: values.predict(observation[None]))
    step = float(np.median(seconds)) + acting
    return Payload(step, sampling, parcel, snapshots[-kept:], names)


def cpu_seconds(work: Callable[[], Any], times: int = 50) -> float:
    """Returns the median CPU time of some work, after it was done once."""
    work()
    taken = []
    for _ in range(times):
        started = time.process_time()
        work()
        taken.append(time.process_time() - started)
    return float(np.median(taken))


def cpu_of(process: int) -> float:
    """Returns the CPU seconds of a process so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Actors:
    """Several simulated actors in one process, each in a thread of its own."""

    def __init__(self, sample: Payload, history: str, replay: list[str], batch: int, p_init: float):
        # Threads that only wait for answers must not wait for each other as well.
        sys.setswitchinterval(2e-4)
        self._sample = sample
        self._history = RemoteCaller(history)
        self._replay = [ReplayClient(replay) for _ in range(TOGETHER)]
        self._batch = batch
        self._p_init = p_init
        self._rng = [np.random.default_rng([os.getpid(), index]) for index in range(TOGETHER)]
        self._version = 0
        self._restart: list[float] = []
        self._insert: list[float] = []

    def collect(self, index: int, actor: int, task: CollectTask) -> CollectResult:
        """Does for one chunk what an actor does, but for the queries themselves."""
        rng, sample = self._rng[index], self._sample
        rollouts = int(rng.binomial(task.queries, 1 / ROLLOUT))
        restarts = int(rng.binomial(rollouts, 1 - self._p_init))
        if task.parameters.version > self._version:
            self._version = task.parameters.version
            task.parameters.arrays()
        time.sleep(task.queries * sample.step)
        for _ in range(restarts):
            started = time.perf_counter()
            found = self._history.call("sample", rng, self._batch)
            if found is not None:
                self._history.call(
                    "fetch", int(rng.integers(found.oldest, found.newest + 1)), actor
                )
                self._restart.append(time.perf_counter() - started)
        events: list[Event] = [Began()]
        events += [Added(one.data, one.screen_score, None, bytes(40)) for one in sample.snapshots]
        nothing = np.zeros(0, np.int64)
        started = time.perf_counter()
        update = HistoryUpdate(actor, events, sample.names, nothing, nothing)
        told = self._history.begin("update", update)
        self._replay[index].insert(sample.parcel)
        self._replay[index].wait()
        self._insert.append(time.perf_counter() - started)
        ray.get(told)
        return CollectResult(
            queries=task.queries,
            replayed=0,
            rollouts=rollouts,
            restarts=restarts,
            rows=task.queries,
            sent=sample.parcel.nbytes,
            counted=Counted(0, [], 0),
            visited=[],
            restarted=[],
            observation=None,
            logs=None,
            pid=os.getpid(),
        )

    def pid(self) -> int:
        """Returns the number of the process."""
        return os.getpid()

    def latencies(self, reset: bool) -> tuple[list[float], list[float]]:
        """Returns the seconds of every restart choice and insert since they were last forgotten."""
        found = list(self._restart), list(self._insert)
        if reset:
            self._restart.clear()
            self._insert.clear()
        return found


class SimulatedLearner:
    """Takes as long as it is told to."""

    def __init__(self, seconds: float):
        self._seconds = seconds
        self._parameters = [np.zeros(PARAMETERS, np.uint8)]
        self._steps = 0

    def learn(self, task: LearnTask) -> tuple[LearnResult, Any]:
        """Sleeps."""
        time.sleep(task.steps * self._seconds)
        self._steps += task.steps
        size = PARAMETERS if task.publish else 0
        learned = LearnResult([0.0] * task.steps, None, False, os.getpid(), size)
        return learned, self._parameters if task.publish else None

    def state(self) -> dict[str, Any]:
        """Returns little: a copy of the learner is not what is measured."""
        return {"steps": self._steps}


class _Bound:
    """One simulated actor, with the face of a handle."""

    def __init__(self, process: Any, index: int, actor: int):
        self.collect = self
        self._call = process.collect
        self._index, self._actor = index, actor

    def remote(self, task: CollectTask) -> Any:
        return self._call.remote(self._index, self._actor, task)


class SimulatedWorkers:
    """The services of a run, with simulated actors and a simulated learner.

    Attributes:
        workers: handles of all of them.
    """

    def __init__(
        self, settings: RunSettings, actors: int, shards: int, sample: Payload, step: float
    ):
        run = f"{time.time_ns()}"
        names = [f"{run} replay {index}" for index in range(shards)]
        service = {"num_cpus": 0}
        shard_handles = [
            ray.remote(ReplayShard).options(name=name, **service).remote(settings, shards, b"")
            for name in names
        ]
        history = (
            ray.remote(HistoryService)
            .options(name=f"{run} history", **service)
            .remote(settings, False)
        )
        learner = ray.remote(SimulatedLearner).options(**service).remote(step)
        planning = settings.planning
        self._processes = [
            ray.remote(Actors)
            .options(max_concurrency=TOGETHER + 1, **service)
            .remote(sample, f"{run} history", names, planning.batch, planning.p_init)
            for _ in range(-(-actors // TOGETHER))
        ]
        bound = [
            _Bound(self._processes[actor // TOGETHER], actor % TOGETHER, actor)
            for actor in range(actors)
        ]
        self.workers = Workers(bound, shard_handles, history, learner, evaluator=None)

    def latencies(self, reset: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Returns all restart choices and inserts in milliseconds."""
        found = ray.get([process.latencies.remote(reset) for process in self._processes])
        restarts, inserts = (np.concatenate(one) * 1e3 for one in zip(*found, strict=True))
        return restarts, inserts

    def cpu(self) -> dict[str, float]:
        """Returns the CPU seconds of the processes so far."""
        workers: Any = self.workers
        shards = ray.get([shard.status.remote() for shard in workers.shards])
        actors = ray.get([process.pid.remote() for process in self._processes])
        history = ray.get(workers.history.status.remote(0.0))
        return {
            "driver_cpu": time.process_time(),
            "replay_cpu": sum(cpu_of(shard.pid) for shard in shards),
            "history_cpu": cpu_of(history.pid),
            "actors_cpu": sum(map(cpu_of, actors)),
        }

    def close(self) -> None:
        """Ends all workers."""
        workers = self.workers
        for worker in (*workers.shards, workers.history, workers.learner, *self._processes):
            ray.kill(worker)
