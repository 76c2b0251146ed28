"""The set-up of JAX for networks this small."""

from __future__ import annotations

import os

_FLAGS = ("xla_cpu_multi_thread_eigen", "xla_cpu_enable_concurrency_optimized_scheduler")


def configure() -> None:
    """Tell JAX's CPU backend to stay on the thread that calls it.

    An update of these networks is a hundred operations of microseconds each. Handing one to
    another thread costs tens of microseconds, and more on a busy machine, so all run where they are
    asked for, one after the other. Has no effect once the backend is up, and leaves alone what the
    user has set.
    """
    import jax

    flags = os.environ.get("XLA_FLAGS", "")
    for name in _FLAGS:
        if name not in flags:
            flags += f" --{name}=false"
    os.environ["XLA_FLAGS"] = flags.strip()
    os.environ.setdefault("PJRT_NPROC", "1")
    if "JAX_CPU_ENABLE_ASYNC_DISPATCH" not in os.environ:
        jax.config.update("jax_cpu_enable_async_dispatch", False)
