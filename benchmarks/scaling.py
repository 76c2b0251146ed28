"""How many actors the services of a distributed run keep up with, with simulated simulators.

An actor here makes the queries of a chunk by sleeping as long as a game would take, and then does
all that a real one does for them: it sends a parcel of real frames to the replay, real snapshots to
the history, asks for restarts as often as the paper's rule does, and reports. The learner sleeps
too, and broadcasts parameters of the real size. Desk, flow, replay and history are the real ones.

    python -m benchmarks.scaling [--actors 1,2,4] [--seconds 20]

writes `results/scaling.csv`. Not part of `make bench`: it wants the machine to itself.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import ray

from uflp.distributed.calls import RemoteCaller
from uflp.distributed.connection import connected
from uflp.distributed.desk import Desk
from uflp.distributed.faults import Faults
from uflp.distributed.flow import Flow
from uflp.distributed.history import Added, Began, HistoryService, Post
from uflp.distributed.ledger import Ledger
from uflp.distributed.messages import Chunk, Learned, Lesson, Task
from uflp.distributed.replay import ReplayShard, Shards
from uflp.distributed.settings import ClusterSettings
from uflp.experiments.resolve import resolve
from uflp.memory.parcels import Parcel, make_outbox
from uflp.memory.targets import NStep
from uflp.training.settings import RunSettings
from uflp.types import Snapshot, Transition
from uflp.uncertainty.counts import CellCounts

RESULTS = Path(__file__).parent.parent / "results" / "scaling.csv"
TOGETHER = 16
"""Simulated actors in one process."""
PARAMETERS = 16_200_000
"""Bytes that a broadcast of the double DQN on images has."""
CHUNK = 192
"""Queries that an actor reports at a time: what it sends then is just below 100 KB, beyond which
Ray sends by way of its object store."""
ROLLOUT = 500
"""Queries of a rollout, on average."""


class Payload(NamedTuple):
    """What an actor sends for one chunk, taken from a real game.

    Attributes:
        step: seconds of one query.
        parcel: rows of a chunk.
        snapshots: those of a chunk.
        names: of their cells.
    """

    step: float
    parcel: Parcel
    snapshots: list[Snapshot]
    names: np.ndarray


def payload(settings: RunSettings, chunk: int, dictionary: bytes) -> Payload:
    """Plays a game with random actions, and keeps what an actor would send."""
    simulator = settings.simulator.make(0)
    space: Any = simulator.observation_space
    counts: CellCounts = settings.uncertainty.make(space, 18, 0)  # type: ignore[union-attr]
    outbox = make_outbox(space, dictionary)
    targets = NStep(outbox, 0.99, settings.loop.n_step, 1.0)
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
        elif query % settings.loop.checkpoint_period == 0:
            snapshots.append(simulator.save())
            keys.append(counts.key_of(observation))
        if query == 2 * chunk:
            outbox.pack()  # The first frames of a game are hardly typical.
    kept = chunk // settings.loop.checkpoint_period
    names = counts.names(keys[-kept:])
    return Payload(float(np.median(seconds)), outbox.pack(), snapshots[-kept:], names)


class Actors:
    """Several simulated actors in one process, each in a thread of its own."""

    def __init__(self, sample: Payload, history: str, replay: list[str], batch: int, p_init: float):
        self._sample = sample
        self._history = RemoteCaller(history)
        self._replay = [Shards(replay) for _ in range(TOGETHER)]
        self._batch = batch
        self._p_init = p_init
        self._rng = [np.random.default_rng([os.getpid(), index]) for index in range(TOGETHER)]
        self._version = 0
        self._restart: list[float] = []
        self._insert: list[float] = []

    def collect(self, index: int, actor: int, task: Task) -> Chunk:
        """Does for one chunk what an actor does, but for the queries themselves."""
        rng, sample = self._rng[index], self._sample
        rollouts = int(rng.binomial(task.queries, 1 / ROLLOUT))
        restarts = int(rng.binomial(rollouts, 1 - self._p_init))
        if task.parameters.version > self._version:
            self._version = task.parameters.version
            task.parameters.leaves()
        time.sleep(task.queries * sample.step)
        for _ in range(restarts):
            started = time.perf_counter()
            found = self._history.ask("sample", rng, self._batch)
            if found is not None:
                self._history.ask("fetch", int(rng.integers(found.oldest, found.newest + 1)), actor)
                self._restart.append(time.perf_counter() - started)
        events: list[Any] = [Began()]
        events += [Added(one.data, one.screen_score, bytes(40)) for one in sample.snapshots]
        nothing = np.zeros(0, np.int64)
        started = time.perf_counter()
        told = self._history.begin("take", Post(actor, events, sample.names, nothing, nothing))
        self._replay[index].ask("insert", sample.parcel)
        self._insert.append(time.perf_counter() - started)
        ray.get(told)
        return Chunk(
            *(task.queries, 0, rollouts, restarts, task.queries, sample.parcel.nbytes),
            *(0, [], 0, [], [], None, None, os.getpid()),
        )

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

    def learn(self, lesson: Lesson) -> tuple[Learned, Any]:
        """Sleeps."""
        time.sleep(lesson.steps * self._seconds)
        self._steps += lesson.steps
        learned = Learned([0.0] * lesson.steps, None, False, os.getpid())
        return learned, self._parameters if lesson.publish else None

    def state(self) -> dict[str, Any]:
        """Returns little: a copy of the learner is not what is measured."""
        return {"steps": self._steps}


class _Bound:
    """One simulated actor, with the face of a handle."""

    def __init__(self, process: Any, index: int, actor: int):
        self.collect = self
        self._call = process.collect
        self._index, self._actor = index, actor

    def remote(self, task: Task) -> Any:
        return self._call.remote(self._index, self._actor, task)


class SimulatedCrew:
    """The services of a run, with simulated actors and a simulated learner."""

    def __init__(
        self, settings: RunSettings, actors: int, shards: int, sample: Payload, step: float
    ):
        run = f"{time.time_ns()}"
        names = [f"{run} replay {index}" for index in range(shards)]
        service = {"num_cpus": 0}
        self.shards = [
            ray.remote(ReplayShard).options(name=name, **service).remote(settings, shards, b"")
            for name in names
        ]
        self.history = (
            ray.remote(HistoryService)
            .options(name=f"{run} history", **service)
            .remote(settings, False)
        )
        self.learner = ray.remote(SimulatedLearner).options(**service).remote(step)
        self.evaluator: Any = None
        loop = settings.loop
        self.processes = [
            ray.remote(Actors)
            .options(max_concurrency=TOGETHER + 1, **service)
            .remote(sample, f"{run} history", names, loop.batch, loop.p_init)
            for _ in range(-(-actors // TOGETHER))
        ]
        self.actors = [
            _Bound(self.processes[actor // TOGETHER], actor % TOGETHER, actor)
            for actor in range(actors)
        ]

    def latencies(self, reset: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Returns all restart choices and inserts in milliseconds."""
        found = ray.get([process.latencies.remote(reset) for process in self.processes])
        restarts, inserts = (np.concatenate(one) * 1e3 for one in zip(*found, strict=True))
        return restarts, inserts

    def dismiss(self) -> None:
        """Ends all parts."""
        for part in (*self.shards, self.history, self.learner, *self.processes):
            ray.kill(part)


def measure(actors: int, seconds: float, learner_limit: int, shards: int) -> dict[str, Any]:
    """Lets simulated actors run for a while; returns a row of the table.

    Args:
        actors: how many.
        seconds: how long, after as long a time to get under way as it takes.
        learner_limit: samples that the learner takes in a second.
        shards: of the replay.
    """
    chunk = CHUNK
    overrides = {
        *(("queries", 10**9), ("eval_period", 10**9), ("replay_size", 100_000)),
        *(("history_size", 50_000), ("min_replay", 2000)),
    }
    settings = resolve("atari/montezuma-revenge", agent="ddqn", overrides=dict(overrides))
    loop = settings.loop
    simulator = settings.simulator.make(0)
    observation, _ = simulator.reset(seed=0)
    sample = payload(settings, chunk, observation[-1].tobytes())
    cluster = ClusterSettings(actors=actors, chunk=chunk, parameter_period=64).fitted(settings)
    step = loop.learning_batch / learner_limit
    crew = SimulatedCrew(settings, actors, shards, sample, step)
    slack = 2 * actors * chunk + 2 * cluster.parameter_period * loop.sgd_period
    flow = Flow(loop.sgd_period, loop.min_replay or 1, slack)
    ledger = Ledger(simulator, flow, actors)
    crew_like: Any = crew
    desk = Desk(settings, cluster, crew_like, ledger, Faults())

    def run_for(duration: float) -> None:
        end = time.monotonic() + duration
        while time.monotonic() < end:
            desk.hand_out()
            desk.take_in()

    while flow.steps < 200 or min(ledger.made) == 0:
        run_for(0.2)
    run_for(2.0)
    crew.latencies(reset=True)
    queries, steps, sent = flow.queries, flow.steps, ledger.sent
    cpu, started = time.process_time(), time.perf_counter()
    run_for(seconds)
    took, driver = time.perf_counter() - started, time.process_time() - cpu
    queries, steps, sent = flow.queries - queries, flow.steps - steps, ledger.sent - sent
    restarts, inserts = crew.latencies()
    crew.dismiss()
    return {
        "actors": actors,
        "query_ms": round(sample.step * 1e3, 3),
        "queries_per_second": round(queries / took, 1),
        "of_linear": round(queries / took * sample.step / actors, 3),
        "learner_limit_samples_per_second": learner_limit,
        "samples_per_second": round(steps * loop.learning_batch / took, 1),
        "samples_per_insert": round(steps * loop.learning_batch / queries, 2),
        "waits_for": flow.waits_for,
        "insert_bytes_per_query": round(sent / queries, 1),
        "snapshot_bytes": round(np.mean([len(one.data) for one in sample.snapshots])),
        "restarts_per_second": round(len(restarts) / took, 1),
        "restart_p50_ms": round(float(np.median(restarts)), 1) if len(restarts) else None,
        "restart_p95_ms": round(float(np.quantile(restarts, 0.95)), 1) if len(restarts) else None,
        "insert_p50_ms": round(float(np.median(inserts)), 1),
        "insert_p95_ms": round(float(np.quantile(inserts, 0.95)), 1),
        "driver_cpu": round(driver / took, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--actors", default="1,2,4,8,16,32,64,128")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--learner-limit", type=int, default=1_000_000, help="samples a second")
    parser.add_argument("--shards", type=int, default=1)
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    rows = []
    with connected("local", 8):
        for actors in map(int, given.actors.split(",")):
            rows.append(measure(actors, given.seconds, given.learner_limit, given.shards))
            print(rows[-1], file=sys.stderr, flush=True)
    with given.out.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
