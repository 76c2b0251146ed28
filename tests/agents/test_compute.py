"""How JAX is set up: checked in processes of their own, since a backend starts only once."""

from __future__ import annotations

import os
import subprocess
import sys

REPORT = """
from uflp.agents.compute import configure
configure()
import os, jax
dispatch = jax.config.read("jax_cpu_enable_async_dispatch")
print(os.environ["XLA_FLAGS"], os.environ["PJRT_NPROC"], dispatch)
"""


def configured(**settings):
    """Returns what `configure` makes of an environment."""
    hidden = ("XLA_FLAGS", "PJRT_NPROC", "JAX_CPU_ENABLE_ASYNC_DISPATCH")
    inherited = {key: value for key, value in os.environ.items() if key not in hidden}
    result = subprocess.run(
        [sys.executable, "-c", REPORT],
        env=inherited | settings,
        capture_output=True,
        text=True,
        check=True,
    )
    return result.stdout.strip()


def test_small_products_stay_on_one_thread():
    flags = "--xla_cpu_multi_thread_eigen=false"
    flags += " --xla_cpu_enable_concurrency_optimized_scheduler=false"
    assert configured() == f"{flags} 1 False"


def test_what_the_user_has_set_is_left_alone():
    flags = "--xla_cpu_multi_thread_eigen=true --xla_cpu_enable_fast_math=false"
    flags += " --xla_cpu_enable_concurrency_optimized_scheduler=true"
    report = configured(XLA_FLAGS=flags, PJRT_NPROC="3", JAX_CPU_ENABLE_ASYNC_DISPATCH="true")
    assert report == f"{flags} 3 True"
