"""Simulators: environments that can be saved and restored."""

from uflp.registry import Registry
from uflp.simulators.base import Simulator, SnapshotError, UnsavableError

SIMULATORS = Registry(
    "simulator",
    {
        "deep-sea": "uflp.simulators.deep_sea:DeepSea",
        "swingup": "uflp.simulators.swingup:Swingup",
        "bsuite": "uflp.simulators.bsuite:Bsuite",
        "atari": "uflp.simulators.atari:Atari",
        "dmc": "uflp.simulators.dmc:Dmc",
        "gym": "uflp.simulators.gymnasium:Gymnasium",
        "gymnax": "uflp.simulators.gymnax:Gymnax",
        "minigrid": "uflp.simulators.minigrid:Minigrid",
    },
    group="uflp.simulators",
)

__all__ = ["SIMULATORS", "Simulator", "SnapshotError", "UnsavableError"]
