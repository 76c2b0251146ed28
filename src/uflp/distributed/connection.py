"""Connect to Ray, or start it."""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from types import ModuleType

from uflp.arguments import argument
from uflp.types import UsageError

_CONNECT_SECONDS = 10.0
"""Time in which an address must answer."""

HEALTH_SECONDS = 18.0
"""Further time in which it must show that it is Ray."""

_LOCAL_STORE_BYTES = 200 * 2**20
"""Size of Ray's object store on one machine: parameters, samples, messages."""


def require_ray() -> ModuleType:
    """Return Ray, or raise an error that says how to install it."""
    try:
        import ray
    except ImportError as error:
        raise UsageError("many actors need Ray: pip install 'uflp[ray]'") from error
    return ray


@contextlib.contextmanager
def connected(address: str, processes: int, gpus: int = 0) -> Iterator[None]:
    """Connect to Ray, or start it, until the end of the block.

    A cluster that is started here listens to this machine alone, and answers only those who know a
    token that is drawn for it. One that is found has its own rules, and the user's token, if any.

    Args:
        address: `local`, `auto`, or host:port.
        processes: number of processes of the run.
        gpus: number of them that need a GPU.
    """
    ray = require_ray()
    if ray.is_initialized():  # The caller did that, and also ends it.
        _require_gpus(gpus)
        yield
        return
    with contextlib.ExitStack() as stack:
        stack.enter_context(_environment(_unless_set({"RAY_USAGE_STATS_ENABLED": "0"})))
        if address == "local":
            stack.enter_context(private_cluster())
        stack.callback(ray.shutdown)
        _connect(ray, address, processes)
        _require_gpus(gpus)
        yield


def _connect(ray: ModuleType, address: str, processes: int) -> None:
    quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address == "local":
        ray.init(
            address="local",
            # As many as there are processes: the system decides how they share the cores.
            num_cpus=processes,
            include_dashboard=False,
            object_store_memory=_LOCAL_STORE_BYTES,
            **quiet,
        )
        return
    _probe(address)
    try:
        ray.init(address=address, **quiet)
    except (ConnectionError, RuntimeError, ValueError, TimeoutError) as error:
        raise UsageError(_unanswered(address, error)) from error
    available = ray.cluster_resources().get("CPU", 0)
    if available < processes:
        raise UsageError(
            f"the cluster has {available:g} CPUs, and this run has {processes} processes: "
            "use fewer actors, or add machines"
        )


@contextlib.contextmanager
def private_cluster() -> Iterator[None]:
    """Keep a cluster private that is started inside the block.

    It listens on the loopback interface, and answers only those who know a token. The token is in
    the environment of the processes that Ray starts, where only the same user can read it, and in
    no file.
    """
    try:
        from ray._private import ray_constants
        from ray._raylet import AuthenticationTokenLoader, Config
    except ImportError as error:
        raise UsageError(
            "this version of Ray cannot keep strangers out: pip install 'uflp[ray]'"
        ) from error

    def refresh() -> None:
        """Make Ray read the environment again, which it does only once by itself."""
        # In this order: a thread that is still ending must not look for a token that is gone.
        Config.initialize("")
        AuthenticationTokenLoader.instance().reset_cache()

    values = {
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
        "RAY_AUTH_TOKEN_PATH": None,
        # It tells Ray that other machines must not reach this one.
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
        # A busy machine takes longer to start it than Ray would wait.
        **_unless_set({"RAY_raylet_start_wait_time_s": "180"}),
    }
    reachable = ray_constants.ENABLE_RAY_CLUSTER
    try:
        with _environment(values):
            ray_constants.ENABLE_RAY_CLUSTER = False  # It was read when Ray was imported.
            refresh()
            yield
    finally:
        ray_constants.ENABLE_RAY_CLUSTER = reachable
        refresh()


def _unless_set(values: Mapping[str, str]) -> dict[str, str | None]:
    return {name: value for name, value in values.items() if name not in os.environ}


@contextlib.contextmanager
def _environment(values: Mapping[str, str | None]) -> Iterator[None]:
    """Set environment variables until the end of the block; None removes one."""
    before = {name: os.environ.get(name) for name in values}
    _set_environment(values)
    try:
        yield
    finally:
        _set_environment(before)


def _set_environment(values: Mapping[str, str | None]) -> None:
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def _require_gpus(gpus: int) -> None:
    """Refuse too few GPUs: Ray itself would wait for others without end."""
    available = require_ray().cluster_resources().get("GPU", 0)
    if available < gpus:
        raise UsageError(
            f"Ray finds {available:g} GPUs, and this run needs {gpus}: leave out "
            f"{argument('gpu_learner')}, or add a machine that has one"
        )


def _probe(address: str) -> None:
    """Raise an error unless a cluster answers: Ray itself would keep trying for minutes."""
    if address != "auto":
        _probe_port(address)
    if address.startswith("ray://"):
        return
    # Without an address it looks for the cluster of this machine, which may be long gone.
    where = [] if address == "auto" else ["--address", address]
    check = [sys.executable, "-m", "ray.scripts.scripts", "health-check", *where]
    try:
        subprocess.run(check, timeout=HEALTH_SECONDS, check=True, capture_output=True)
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError) as error:
        if address == "auto":
            raise UsageError(
                "this machine belongs to no Ray cluster that answers: use "
                f"{argument('ray', 'local')}, or start one with `ray start --head`"
            ) from error
        raise UsageError(
            f"what answers at {address!r} is no Ray cluster, or one that asks for a token "
            "(RAY_AUTH_TOKEN)"
        ) from error


def _probe_port(address: str) -> None:
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        raise UsageError(f"an address is local, auto or HOST:PORT, not {address!r}")
    try:
        socket.create_connection((host, int(port)), timeout=_CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise UsageError(_unanswered(address, error)) from error


def _unanswered(address: str, error: BaseException) -> str:
    reason = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
    return f"no Ray cluster answers at {address!r}: {reason}"
