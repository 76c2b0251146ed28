"""What all tests share. Being here, it also lets them import `probes` from this folder."""

from __future__ import annotations

import os
import signal
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# Before any test imports JAX, which reads them once: products this small want one thread.
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault(
    "XLA_FLAGS",
    "--xla_cpu_multi_thread_eigen=false --xla_cpu_enable_concurrency_optimized_scheduler=false",
)

# Most of the time goes into compiling the same few programs in many processes: once is enough.
_CACHE = Path(__file__).parent.parent / ".pytest_cache" / "jax"
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(_CACHE))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")

# What tests trust is no business of whoever runs them.
_CONFIGURATION = tempfile.TemporaryDirectory(prefix="uflp-tests-")
os.environ["XDG_CONFIG_HOME"] = _CONFIGURATION.name

# Whoever starts the tests in the background may have these ignored, and some tests send them.
signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP"):
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

# Equal runs on every machine, and no deadline: a slow machine is not a failure.
settings.register_profile("uflp", deadline=None, derandomize=True, database=None)
settings.load_profile("uflp")


_agents: dict[Any, Any] = {}


@pytest.fixture
def compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets equal agents share their compiled functions, which are pure: compiling is the cost."""
    from uflp.agents.ddqn import DDQN

    make = DDQN.make

    def make_once(config: DDQN, space: Any, actions: int) -> Any:
        key = config, repr(space), actions
        if key not in _agents:
            _agents[key] = make(config, space, actions)
        return _agents[key]

    monkeypatch.setattr(DDQN, "make", make_once)
