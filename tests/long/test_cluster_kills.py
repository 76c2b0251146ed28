"""Parts of a distributed run, and a whole machine, are lost in mid-run."""

import csv
import os
import random
import signal

import pytest
import ray
from ray.cluster_utils import Cluster

from uflp.distributed.run import ClusterRun
from uflp.distributed.settings import ClusterSettings
from uflp.experiments.resolve import resolve
from uflp.runs.train import train

pytestmark = pytest.mark.long

KILLS = 20
PARTS = 6
"""Two actors, replay, history, learner and evaluator."""


@pytest.fixture
def machines():
    """A cluster of two machines, as far as Ray can tell, of which one is to be lost."""
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": PARTS})
    cluster.add_node(num_cpus=PARTS)
    ray.init(address=cluster.address, log_to_driver=False)
    yield cluster
    ray.shutdown()
    cluster.shutdown()


def settings_of(queries):
    values = {"size": 8, "queries": queries, "hidden": 16, "learning_batch": 32}
    return resolve("deep-sea", uncertainty="counts", overrides=values)


def run_through(settings, folder, strike):
    """Trains with two actors; `strike` is called with the run and each row."""
    runs = []

    def make(settings):
        runs.append(ClusterRun(settings, ClusterSettings(actors=2)))
        return runs[0]

    try:
        result = train(
            settings, out=folder, callback=lambda row: strike(runs[0], row), make_run=make
        )
    finally:
        runs[0].close()
    with (folder / "metrics.csv").open() as file:
        queries = [int(row["queries"]) for row in csv.DictReader(file)]
    assert queries == sorted(set(queries))
    assert queries[-1] == settings.evaluation.queries
    return result.summary


def test_twenty_random_kills(machines, tmp_path):
    rng, struck = random.Random(0), []

    def strike(run, row):
        if row["queries"] // 500 > len(struck) and len(struck) < KILLS:
            part, process = rng.choice(sorted(run.faults.processes.items()))
            struck.append(part)
            os.kill(process, signal.SIGKILL)

    summary = run_through(settings_of(12_000), tmp_path / "run", strike)
    print(struck, summary["faults"], summary["lost"])
    assert len(struck) == KILLS
    assert summary["faults"] >= KILLS / 2  # A part may be struck again before it has answered.


def test_a_machine_is_lost(machines, tmp_path):
    lost = []

    def strike(run, row):
        if row["queries"] > 1000 and not lost:
            (machine,) = machines.worker_nodes
            machines.remove_node(machine, allow_graceful=False)
            lost.append(machine)

    summary = run_through(settings_of(4000), tmp_path / "run", strike)
    print(summary["faults"], summary["lost"])
    assert lost and summary["faults"] >= 1
