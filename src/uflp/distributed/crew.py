"""The parts of a run as Ray actors, which come back when they are killed."""

from __future__ import annotations

from typing import Any

import ray

from uflp.distributed.calls import RemoteCaller
from uflp.distributed.collector import Collector
from uflp.distributed.evaluator import Evaluator
from uflp.distributed.history import HistoryService
from uflp.distributed.learner import Learner
from uflp.distributed.replay import ReplayShard, Shards
from uflp.distributed.settings import ClusterSettings
from uflp.training.settings import RunSettings

# Whoever dies comes back, and calls to it are made again; the answer says by its process.
_LASTING = {"num_cpus": 1, "max_restarts": -1, "max_task_retries": -1}


class Crew:
    """Handles of all parts.

    Attributes:
        shards: of the replay.
        history: None under online access.
        learner: the one that learns.
        actors: those that collect.
        evaluator: the one that evaluates.
    """

    def __init__(self, settings: RunSettings, cluster: ClusterSettings, dictionary: bytes):
        shared = bool(cluster.shared_counts)
        shards = [f"replay {index}" for index in range(cluster.replay_shards)]
        self.shards = [
            _part(name, ReplayShard, settings, cluster.replay_shards, dictionary) for name in shards
        ]
        self.history: Any = None
        if settings.access == "local":
            self.history = _part("history", HistoryService, settings, shared)
        gpus = int(cluster.gpu_learner)
        self.learner = _part("learner", Learner, settings, Shards(shards), gpus=gpus)
        self.actors = [
            _part(
                *(f"actor {index}", Collector, settings, index),
                *(None if self.history is None else RemoteCaller("history"), Shards(shards)),
                *(shared, dictionary),
            )
            for index in range(cluster.actors)
        ]
        self.evaluator = _part("evaluator", Evaluator, settings)


def processes(settings: RunSettings, cluster: ClusterSettings) -> int:
    """Returns how many processes a run has, beside the one that drives it."""
    services = 3 if settings.access == "local" else 2
    return cluster.actors + cluster.replay_shards + services


def _part(name: str, kind: type, *arguments: Any, gpus: int = 0) -> Any:
    options = {**_LASTING, "name": name, "num_gpus": gpus}
    return ray.remote(kind).options(**options).remote(*arguments)
