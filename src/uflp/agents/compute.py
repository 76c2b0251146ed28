"""How JAX is set up for networks this small."""

from __future__ import annotations

import os


def configure() -> None:
    """Tells JAX's CPU backend to stay on the thread that calls it.

    An update of these networks is a hundred operations of microseconds each. Handing one to
    another thread costs tens of microseconds, and more on a busy machine, so all run where they are
    asked for. Has no effect once the backend is up, and leaves alone what the user has set.
    """
    import jax

    flags = os.environ.get("XLA_FLAGS", "")
    if "xla_cpu_multi_thread_eigen" not in flags:
        os.environ["XLA_FLAGS"] = f"{flags} --xla_cpu_multi_thread_eigen=false".strip()
    os.environ.setdefault("PJRT_NPROC", "1")
    if "JAX_CPU_ENABLE_ASYNC_DISPATCH" not in os.environ:
        jax.config.update("jax_cpu_enable_async_dispatch", False)
