"""How JAX is set up for networks this small."""

from __future__ import annotations

import os


def configure() -> None:
    """Tells JAX's CPU backend to run small products where they are asked for.

    Handing a product of microseconds to another thread costs several times what it saves, so
    execution stays on the calling thread. Has no effect once the backend is up, and leaves alone
    what the user has set.
    """
    import jax

    flags = os.environ.get("XLA_FLAGS", "")
    if "xla_cpu_multi_thread_eigen" not in flags:
        os.environ["XLA_FLAGS"] = f"{flags} --xla_cpu_multi_thread_eigen=false".strip()
    if "JAX_CPU_ENABLE_ASYNC_DISPATCH" not in os.environ:
        jax.config.update("jax_cpu_enable_async_dispatch", False)
