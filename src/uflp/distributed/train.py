"""From settings to a finished run on many processes."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any

from uflp.distributed.connection import connected, require_ray
from uflp.distributed.settings import ClusterSettings
from uflp.distributed.spreadable import require_spreadable
from uflp.runs.train import Result
from uflp.runs.train import train as train_run
from uflp.training.settings import RunSettings


def trainer(
    cluster: ClusterSettings | None,
    status: Callable[[int, str], None] = lambda queries, text: None,
) -> Callable[..., Result]:
    """Returns what trains: in this process, or spread over several.

    Args:
        cluster: how the run is spread, None if it is not.
        status: told every second how a run that is spread goes: queries, and a phrase.
    """
    return (
        train_run if cluster is None else functools.partial(train, cluster=cluster, status=status)
    )


def train(
    settings: RunSettings,
    cluster: ClusterSettings,
    status: Callable[[int, str], None] = lambda queries, text: None,
    **options: Any,
) -> Result:
    """Trains as `uflp.runs.train.train` does, with the work spread over processes.

    Args:
        settings: of the run.
        cluster: how it is spread.
        status: told every second how the run goes: queries, and a phrase.
        **options: see there.
    """
    fitted = cluster.fitted(settings)
    require_spreadable(settings, fitted)
    require_ray()
    from uflp.distributed.crew import processes
    from uflp.distributed.run import ClusterRun

    needed = processes(settings, fitted), int(cluster.gpu_learner)
    with connected(cluster.ray, *needed), contextlib.ExitStack() as stack:

        def make(chosen: RunSettings) -> ClusterRun:
            run = ClusterRun(chosen, cluster, status)
            stack.callback(run.close)
            return run

        return train_run(settings, make_run=make, **options)
