"""Runs on Ray itself: few, since each takes several processes."""

import csv
import json
import os
import signal
import subprocess
import sys

import pytest
from resuming import rows_of, small

from uflp.distributed.connection import connected
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
def crews():
    runs = []
    yield lambda *given: runs.append(ClusterRun(*given)) or runs[-1]
    for run in runs:
        run.close()


PARTS = ["actor 1", "shard 0 of the replay", "the history", "the learner", "the evaluator"]


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


def test_one_actor_in_lock_step_has_the_numbers_of_a_run_without_ray(cluster, crews, tmp_path):
    settings = small("deep-sea", "ddqn-bonus", "covariance", sgd_period=4, stochastic=True)
    spread = ClusterSettings(actors=1, lock_step=True)
    first, rows = crews(settings, spread), []
    checkpoints = Checkpoints(tmp_path)

    def pause():
        if first.queries >= settings.loop.queries // 2:
            checkpoints.save(first.state())
            raise StoppedError

    with pytest.raises(StoppedError):
        rows_of(first, rows, pause=pause)
    first.close()
    second = crews(settings, spread)
    second.load(Checkpoints(tmp_path).newest())
    assert rows_of(second, rows) == rows_of(Run(settings))


def test_actors_with_counts_of_their_own_choose_as_a_run_without_ray_does(cluster, crews):
    more = {"queries": 400, "eval_period": 200, "min_replay": None}
    longer = {"rollout_limit": 30, "max_frames": 400}
    settings = small("atari/ms-pacman", "random", "counts", **more, **longer)
    spread, local = crews(settings, ClusterSettings(actors=1, lock_step=True)), Run(settings)
    assert rows_of(spread) == rows_of(local)
    assert spread.lineage.best_actions() == local.lineage.best_actions() != b""


def test_parts_that_are_killed_come_back(cluster, crews, tmp_path):
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
        made.append(crews(settings, ClusterSettings(actors=2)))
        return made[0]

    def strike(row):
        """Kills one part after another; each has its turn once the one before is back."""
        if row["queries"] // 150 > len(struck) and len(struck) < len(PARTS):
            struck.append(PARTS[len(struck)])
            os.kill(made[0].faults._processes[struck[-1]], signal.SIGKILL)

    struck = []
    result = train(settings, out=tmp_path / "run", callback=strike, make_run=make)
    assert struck == PARTS
    assert result.summary["faults"] == 5
    assert result.summary["lost"].keys() == {
        *("queries", "rows", "snapshots", "SGD steps", "evaluations")
    }
    with (tmp_path / "run" / "metrics.csv").open() as file:
        queries = [int(row["queries"]) for row in csv.DictReader(file)]
    assert queries == sorted(set(queries))
    assert queries[-1] == 2000
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert config["cluster"]["actors"] == 2
