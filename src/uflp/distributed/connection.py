"""Finding Ray, or starting it."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from types import ModuleType

from uflp.types import UsageError

_PATIENCE = 10.0
"""Seconds that an address has to answer at all."""

_HEALTH = 18.0
"""Further seconds that what answers has to show that it is Ray."""

_LOCAL_STORE = 200 * 2**20
"""Bytes of Ray's object store on one machine: parameters, samples, and what is under way."""


def require_ray() -> ModuleType:
    """Returns Ray, or says how to install it."""
    try:
        import ray
    except ImportError as error:
        raise UsageError("many actors need Ray: pip install 'uflp[ray]'") from error
    return ray


@contextlib.contextmanager
def connected(address: str, processes: int, gpus: int = 0) -> Iterator[None]:
    """Connects to Ray, or starts it, until the end of the block.

    Args:
        address: `local`, `auto`, or host:port.
        processes: how many the run will have.
        gpus: how many of them need one.
    """
    ray = require_ray()
    if ray.is_initialized():  # Whoever did that also ends it.
        _require_gpus(gpus)
        yield
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address == "local":
        # A busy machine takes longer to start it than Ray would wait.
        os.environ.setdefault("RAY_raylet_start_wait_time_s", "180")
        # As many as there are processes: how they share the cores is the system's business.
        os.environ.setdefault("RAY_AUTH_MODE", "disabled")  # It listens to this machine alone.
        ray.init(
            address="local",
            num_cpus=processes,
            include_dashboard=False,
            object_store_memory=_LOCAL_STORE,
            **quiet,
        )
    else:
        _probe(address)
        try:
            ray.init(address=address, **quiet)
        except (ConnectionError, RuntimeError, ValueError, TimeoutError) as error:
            raise UsageError(_unanswered(address, error)) from error
        available = ray.cluster_resources().get("CPU", 0)
        if available < processes:
            ray.shutdown()
            raise UsageError(
                f"the cluster has {available:g} CPUs, and this run has {processes} processes: "
                "use fewer actors, or add machines"
            )
    try:
        _require_gpus(gpus)
        yield
    finally:
        ray.shutdown()


def _require_gpus(gpus: int) -> None:
    """Refuses too few GPUs: Ray itself would wait for others without end."""
    available = require_ray().cluster_resources().get("GPU", 0)
    if available < gpus:
        raise UsageError(
            f"Ray finds {available:g} GPUs, and this run needs {gpus}: leave out --gpu-learner, "
            "or add a machine that has one"
        )


def _probe(address: str) -> None:
    """Makes sure that a cluster answers: Ray itself would keep trying for minutes."""
    if address != "auto":
        _probe_port(address)
    if address.startswith("ray://"):
        return
    # Without an address it looks for the cluster of this machine, which may be long gone.
    where = [] if address == "auto" else ["--address", address]
    check = [sys.executable, "-m", "ray.scripts.scripts", "health-check", *where]
    try:
        subprocess.run(check, timeout=_HEALTH, check=True, capture_output=True)
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError) as error:
        if address == "auto":
            raise UsageError(
                "this machine belongs to no Ray cluster that answers: use --ray local, or start "
                "one with `ray start --head`"
            ) from error
        raise UsageError(f"what answers at {address!r} is no Ray cluster") from error


def _probe_port(address: str) -> None:
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        raise UsageError(f"an address is local, auto or HOST:PORT, not {address!r}")
    try:
        socket.create_connection((host, int(port)), timeout=_PATIENCE).close()
    except (OSError, OverflowError) as error:
        raise UsageError(_unanswered(address, error)) from error


def _unanswered(address: str, error: BaseException) -> str:
    reason = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
    return f"no Ray cluster answers at {address!r}: {reason}"
