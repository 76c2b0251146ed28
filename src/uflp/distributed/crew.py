"""The parts of a run as Ray actors, which come back when they are killed."""

from __future__ import annotations

import uuid
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
        # Several runs may go on in one cluster.
        self._run = uuid.uuid4().hex
        self._parts: list[Any] = []
        shared = bool(cluster.shared_counts)
        count = cluster.replay_shards
        self.shards = [
            self._part(f"replay {index}", ReplayShard, settings, count, dictionary)
            for index in range(count)
        ]
        replay = Shards([f"{self._run} replay {index}" for index in range(count)])
        self.history: Any = None
        history = None
        if settings.access == "local":
            self.history = self._part("history", HistoryService, settings, shared)
            history = RemoteCaller(f"{self._run} history")
        gpus = int(cluster.gpu_learner)
        self.learner = self._part("learner", Learner, settings, replay, gpus=gpus)
        self.actors = [
            self._part(
                f"actor {index}",
                *(Collector, settings, index, history, replay, shared, dictionary),
            )
            for index in range(cluster.actors)
        ]
        self.evaluator = self._part("evaluator", Evaluator, settings)

    def dismiss(self) -> None:
        """Ends all parts."""
        for part in self._parts:
            ray.kill(part)

    def _part(self, name: str, kind: type, *arguments: Any, gpus: int = 0) -> Any:
        options = {**_LASTING, "name": f"{self._run} {name}", "num_gpus": gpus}
        self._parts.append(ray.remote(kind).options(**options).remote(*arguments))
        return self._parts[-1]


def processes(settings: RunSettings, cluster: ClusterSettings) -> int:
    """Returns how many processes a run has, beside the one that drives it."""
    services = 3 if settings.access == "local" else 2
    return cluster.actors + cluster.replay_shards + services
