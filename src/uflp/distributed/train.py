"""From settings to a finished run on many processes: check, connect, train."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any

from uflp.distributed.connection import connected, require_ray
from uflp.distributed.settings import ClusterSettings
from uflp.runs.outcome import Outcome
from uflp.runs.train import train as train_run
from uflp.training.build import Builder
from uflp.training.settings import RunSettings
from uflp.types import UsageError


def trainer(
    cluster: ClusterSettings | None,
    status: Callable[[int, str], None] = lambda queries, text: None,
) -> Callable[..., Outcome]:
    """Return the function that trains: in this process, or on a cluster.

    Args:
        cluster: how runs are distributed, None for one process.
        status: called every second of a run on a cluster, with its queries and a phrase.
    """
    if cluster is None:
        return train_run
    return functools.partial(train, cluster=cluster, status=status)


def train(
    settings: RunSettings,
    cluster: ClusterSettings,
    status: Callable[[int, str], None] = lambda queries, text: None,
    **options: Any,
) -> Outcome:
    """Train as `uflp.runs.train.train` does, with the work distributed over processes.

    Args:
        settings: of the run.
        cluster: how it is distributed.
        status: called every second, with the queries so far and a phrase.
        **options: see there.
    """
    fitted = cluster.fitted(settings)
    require_distributable(settings, fitted)
    require_ray()
    from uflp.distributed.run import ClusterRun, count_workers

    processes, gpus = count_workers(settings, fitted), int(cluster.gpu_learner)
    with connected(cluster.ray, processes, gpus), contextlib.ExitStack() as stack:

        def make(chosen: RunSettings) -> ClusterRun:
            run = ClusterRun(chosen, cluster, status)
            stack.callback(run.close)
            return run

        return train_run(settings, make_run=make, **options)


def require_distributable(settings: RunSettings, cluster: ClusterSettings) -> None:
    """Raise an error, of one sentence, if a run needs one process; nothing has started yet.

    Args:
        settings: of the run.
        cluster: how it is to be distributed.
    """
    build = Builder(settings)
    if not build.simulator.portable:
        raise UsageError(
            "snapshots of this simulator live in the memory of one process: train without Ray"
        )
    begins_with = {
        "history_from": settings.planning.history_from,
        "demonstrations": settings.planning.demonstrations,
        "init_from": settings.learning.init_from,
    }
    for name, given in begins_with.items():
        if given is not None:
            raise UsageError(f"a run on Ray begins with nothing: leave out {name}, or Ray")
    if settings.access == "online":
        return
    rule = settings.planning.rule
    if rule != "uncertainty":
        raise UsageError(f"the rule {rule} sees the history of one process: train without Ray")
    # The parts that the workers will make: what does not fit together is refused here.
    uncertainty = build.uncertainty()
    history = build.history(uncertainty)
    assert uncertainty is not None and history is not None, "local access has both"
    build.rule(history, uncertainty, lambda observations: observations)
    if cluster.shared_counts and uncertainty.key_shape is None:
        raise UsageError(
            f"{settings.uncertainty_name} looks at whole observations, of which there are too many "
            "to share: let each actor have its own counts"
        )
