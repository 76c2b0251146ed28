"""What a run remembers: snapshots in the history, transitions in the replay."""

from uflp.memory.frames import FrameReplay
from uflp.memory.history import History
from uflp.memory.replay import Replay
from uflp.memory.targets import MonteCarlo, Nothing, NStep, Targets, Value

__all__ = [
    "FrameReplay",
    "History",
    "MonteCarlo",
    "NStep",
    "Nothing",
    "Replay",
    "Targets",
    "Value",
]
