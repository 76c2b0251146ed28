"""Runs on Ray itself: few, since each takes several processes."""

import csv
import json
import os
import signal
import subprocess
import sys
from types import SimpleNamespace

import pytest
from resuming import rows_of, small

from uflp.distributed.connection import connected
from uflp.distributed.learner import LearnerClient, LearnResult
from uflp.distributed.metrics import Faults, RunMetrics
from uflp.distributed.run import ClusterRun
from uflp.distributed.settings import ClusterSettings
from uflp.experiments.resolve import resolve
from uflp.runs.checkpoints import Checkpoints
from uflp.runs.train import train
from uflp.training.run import Run


@pytest.fixture(scope="module")
def cluster():
    with connected("local", 12):
        yield


@pytest.fixture
def runs():
    runs = []
    yield lambda *given: runs.append(ClusterRun(*given)) or runs[-1]
    for run in runs:
        run.close()


WORKERS = ["actor 1", "shard 0 of the replay", "the history", "the learner", "the evaluator"]


class StoppedError(Exception):
    """Ends a run from within."""


INTRUDER = """
import logging, sys
import ray
ray.init(address=sys.argv[1], log_to_driver=False, logging_level=logging.ERROR)
print(ray.get(ray.remote(lambda: "inside").remote()))
"""


def test_who_lacks_the_token_is_refused_and_no_other_machine_is_listened_to(cluster):
    import psutil
    import ray

    address = ray.get_runtime_context().gcs_address
    # Else it would give up only after half a minute.
    patience = {"RAY_gcs_rpc_server_connect_timeout_s": "2", "RAY_py_gcs_connect_timeout_s": "2"}
    knowing = {**os.environ, **patience}
    secrets = ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN")
    stranger = {name: value for name, value in knowing.items() if name not in secrets}
    intrusions = [
        subprocess.run(
            [sys.executable, "-c", INTRUDER, address], env=env, capture_output=True, text=True
        )
        for env in (knowing, stranger, {**knowing, "RAY_AUTH_TOKEN": "0" * 64})
    ]
    assert [ended.stdout for ended in intrusions] == ["inside\n", "", ""]
    assert all("InvalidAuthToken" in ended.stderr for ended in intrusions[1:])

    here = psutil.Process()
    listening = {
        connection.laddr.ip
        for process in [here, *here.children(recursive=True)]
        for connection in process.net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    }
    assert listening and listening <= {"127.0.0.1", "::ffff:127.0.0.1", "::1"}


@pytest.mark.parametrize(
    ("names", "values"),
    [
        (("deep-sea", "ddqn-bonus", "covariance"), {"sgd_period": 4, "stochastic": True}),
        (("gym:Pendulum-v1", "sac", "ensemble-std"), {"n_step": 3}),
    ],
)
def test_one_actor_in_lock_step_has_the_numbers_of_a_run_without_ray(
    names, values, cluster, runs, tmp_path
):
    settings = small(*names, **values)
    lock_step = ClusterSettings(actors=1, lock_step=True)
    first, rows = runs(settings, lock_step), []
    checkpoints = Checkpoints(tmp_path)

    def pause():
        if first.queries >= settings.evaluation.queries // 2:
            checkpoints.save(first.state())
            raise StoppedError

    with pytest.raises(StoppedError):
        rows_of(first, rows, pause=pause)
    first.close()
    second = runs(settings, lock_step)
    second.load(Checkpoints(tmp_path).newest())
    assert rows_of(second, rows) == rows_of(Run(settings))


def test_actors_with_counts_of_their_own_choose_as_a_run_without_ray_does(cluster, runs):
    more = {"queries": 400, "eval_period": 200, "min_replay": None}
    longer = {"rollout_limit": 30, "max_frames": 400}
    settings = small("atari/ms-pacman", "random", "counts", **more, **longer)
    remote, local = runs(settings, ClusterSettings(actors=1, lock_step=True)), Run(settings)
    assert rows_of(remote) == rows_of(local)
    assert remote.lineage.best_actions() == local.lineage.best_actions() != b""


def test_workers_that_are_killed_come_back(cluster, runs, tmp_path):
    settings = resolve(
        "deep-sea",
        uncertainty="counts",
        overrides={
            "size": 6,
            "queries": 2000,
            "hidden": 8,
            "learning_batch": 16,
            "replay_size": 900,
        },
    )
    made = []

    def make(settings):
        made.append(runs(settings, ClusterSettings(actors=2)))
        return made[0]

    def strike(row):
        """Kills one worker after another; each has its turn once the one before is back."""
        if row["queries"] // 150 > len(struck) and len(struck) < len(WORKERS):
            struck.append(WORKERS[len(struck)])
            os.kill(made[0].faults.processes[struck[-1]], signal.SIGKILL)

    struck = []
    result = train(settings, out=tmp_path / "run", callback=strike, make_run=make)
    assert struck == WORKERS
    assert result.summary["faults"] == 5
    assert result.summary["lost"].keys() == {
        "queries",
        "rows",
        "snapshots",
        "SGD steps",
        "evaluations",
    }
    with (tmp_path / "run" / "metrics.csv").open() as file:
        queries = [int(row["queries"]) for row in csv.DictReader(file)]
    assert queries == sorted(set(queries))
    assert queries[-1] == 2000
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert config["cluster"]["actors"] == 2


def simulated_learner(size):
    """Starts a worker that learns nothing, and whose parameters have a given size."""
    import ray

    class SimulatedLearner:
        def learn(self, task):
            published = size if task.publish else 0
            return LearnResult([0.0] * task.steps, None, False, 1, published), "parameters"

    return ray.remote(SimulatedLearner).options(num_cpus=0).remote()


@pytest.mark.parametrize(("size", "most"), [(10**4, 20), (16 * 10**6, 4), (64 * 10**6, 1)])
def test_broadcasts_wait_until_the_object_store_has_room_again(cluster, size, most):
    """A broadcast waits 0.05 s, or a second for each 64 MB: so many fit into one second."""
    settings = resolve("deep-sea", agent="ddqn")
    fitted = ClusterSettings(actors=2).fitted(settings)
    metrics = RunMetrics(settings.simulator.make(0), fitted.rate_limiter(settings), 2)
    time = SimpleNamespace(now=100.0)
    period = fitted.parameter_period
    client = LearnerClient(simulated_learner(size), metrics, Faults(), period, lambda: time.now)
    for _ in range(100):
        client.begin(period)
        client.finish()
        time.now += 0.01
    assert metrics.rate_limiter.steps == 100 * period
    assert most <= client.parameters.version <= most + 1
