"""How many actors the services of a distributed run keep up with, with simulated simulators.

An actor here makes the queries of a chunk by sleeping as long as the game's steps and the network's
values for them take a core (measured first, in CPU time), and then does all that a real one does
for them: it sends a parcel of real frames to the replay and real snapshots to the history, asks for
restarts as often as the paper's rule does, and reports. The learner sleeps too, and broadcasts
parameters of the real size. Driver, rate limiter, replay and history are the real ones.

    python -m benchmarks.scaling [--actors 1,2,4] [--seconds 20]

writes `results/scaling.csv`. Not part of `make bench`: it wants the machine to itself.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.simulated_actors import Payload, SimulatedWorkers, payload
from uflp.agents.compute import configure
from uflp.distributed.connection import connected
from uflp.distributed.driver import Driver
from uflp.distributed.metrics import Faults, RunMetrics
from uflp.distributed.settings import ClusterSettings
from uflp.experiments.resolve import resolve
from uflp.report.provenance import record
from uflp.training.settings import RunSettings

RESULTS = Path(__file__).parent.parent / "results" / "scaling.csv"
CHUNK = 192
"""Queries that an actor reports at a time: what it sends then is just below 100 KB, beyond which
Ray sends by way of its object store."""


def settings_of_run() -> RunSettings:
    """Returns the paper's run, with buffers that fit here and no evaluation in sight."""
    overrides = {"queries": 10**9, "eval_period": 10**9, "replay_size": 100_000}
    overrides |= {"history_size": 50_000, "min_replay": 2000}
    return resolve("atari/montezuma-revenge", agent="ddqn", overrides=overrides)


def measure(
    sample: Payload, actors: int, seconds: float, learner_limit: int, shards: int
) -> dict[str, Any]:
    """Lets simulated actors run for a while; returns a row of the table.

    Args:
        sample: what they send.
        actors: how many.
        seconds: how long, after as long a time to get under way as it takes.
        learner_limit: samples that the learner takes in a second.
        shards: of the replay.
    """
    settings, chunk = settings_of_run(), CHUNK
    simulator = settings.simulator.make(0)
    cluster = ClusterSettings(actors=actors, chunk=chunk, parameter_period=64).fitted(settings)
    step = settings.replay.learning_batch / learner_limit
    simulated = SimulatedWorkers(settings, actors, shards, sample, step)
    limiter = cluster.rate_limiter(settings)
    metrics = RunMetrics(simulator, limiter, actors)
    driver = Driver(settings, cluster, simulated.workers, metrics, Faults())

    def run_for(duration: float) -> None:
        end = time.monotonic() + duration
        while time.monotonic() < end:
            driver.assign()
            driver.receive()

    # Until whoever is ahead cannot get further ahead.
    while limiter.queries < 2 * limiter.slack or min(metrics.made) == 0:
        run_for(0.2)
    run_for(1.0)
    simulated.latencies(reset=True)
    queries, steps, sent = limiter.queries, limiter.steps, metrics.sent
    cpu, started = simulated.cpu(), time.perf_counter()
    run_for(seconds)
    took = time.perf_counter() - started
    cores = {name: round((now - cpu[name]) / took, 3) for name, now in simulated.cpu().items()}
    queries, steps, sent = limiter.queries - queries, limiter.steps - steps, metrics.sent - sent
    restarts, inserts = simulated.latencies()
    simulated.close()
    return {
        "actors": actors,
        "query_ms": round(sample.step * 1e3, 3),
        "queries_per_second": round(queries / took, 1),
        "of_linear": round(queries / took * sample.step / actors, 3),
        "learner_limit_samples_per_second": learner_limit,
        "samples_per_second": round(steps * settings.replay.learning_batch / took, 1),
        "samples_per_insert": round(steps * settings.replay.learning_batch / queries, 2),
        "waits_for": driver.waits_for,
        "insert_bytes_per_query": round(sent / queries, 1),
        "snapshot_bytes": round(np.mean([len(one.data) for one in sample.snapshots])),
        "restarts_per_second": round(len(restarts) / took, 1),
        "restart_p50_ms": round(float(np.median(restarts)), 1) if len(restarts) else None,
        "restart_p95_ms": round(float(np.quantile(restarts, 0.95)), 1) if len(restarts) else None,
        "insert_p50_ms": round(float(np.median(inserts)), 1),
        "insert_p95_ms": round(float(np.quantile(inserts, 0.95)), 1),
        **cores,
        "sample_cpu_ms": round(sample.sampling * 1e3, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--actors", default="1,2,4,8,16,32,64,128")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--learner-limit", type=int, default=100_000, help="samples a second")
    parser.add_argument("--shards", type=int, default=1)
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    rows = []
    configure()
    settings = settings_of_run()
    first, _ = settings.simulator.make(0).reset(seed=0)
    sample = payload(settings, CHUNK, first[-1].tobytes())
    with connected("local", 8):
        for actors in map(int, given.actors.split(",")):
            rows.append(measure(sample, actors, given.seconds, given.learner_limit, given.shards))
            print(rows[-1], file=sys.stderr, flush=True)
    with given.out.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    record(given.out, "python -m benchmarks.scaling")


if __name__ == "__main__":
    main()
