"""Save and restore, against one `copy.deepcopy` of bsuite's own environment.

Going back by copies takes two of them, one to save and one to restore; only one is counted.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from bsuite.environments.deep_sea import DeepSea
from bsuite.experiments.cartpole_swingup.cartpole_swingup import CartpoleSwingup

from benchmarks.timing import seconds_per_call
from uflp.simulators import SIMULATORS, Simulator


def measure() -> dict[str, Any]:
    """Returns microseconds of each way to go back, and how many times faster ours is."""
    cases = {
        "deep-sea 50": (SIMULATORS["deep-sea"](size=50), DeepSea(50, mapping_seed=0)),
        "deep-sea 50, stochastic": (
            SIMULATORS["deep-sea"](size=50, stochastic=True),
            DeepSea(50, deterministic=False, mapping_seed=0),
        ),
        "swingup": (SIMULATORS["swingup"](), CartpoleSwingup(seed=0)),
    }
    outcome = {}
    for name, (settings, environment) in cases.items():
        simulator = settings.make(seed=0)
        simulator.reset(seed=0)
        environment.reset()
        for _ in range(5):
            simulator.step(1)
            environment.step(1)
        seconds = seconds_per_call(
            {"deepcopy": _deepcopy(environment), "save + restore": _save_restore(simulator)}
        )
        outcome[name] = {
            **{f"{way} (µs)": round(1e6 * value, 2) for way, value in seconds.items()},
            "ratio": round(seconds["deepcopy"] / seconds["save + restore"], 1),
        }
    return outcome


def _deepcopy(environment: Any) -> Callable[[], int]:
    def work() -> int:
        for _ in range(200):
            copy.deepcopy(environment)
        return 200

    return work


def _save_restore(simulator: Simulator) -> Callable[[], int]:
    def work() -> int:
        for _ in range(5000):
            simulator.restore(simulator.save())
        return 5000

    return work
