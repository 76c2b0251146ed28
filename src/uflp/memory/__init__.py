"""What a run remembers: snapshots in the history, transitions in the replay."""

from uflp.memory.history import History
from uflp.memory.replay import Replay
from uflp.memory.targets import MonteCarlo, Nothing, OneStep, Targets

__all__ = ["History", "MonteCarlo", "Nothing", "OneStep", "Replay", "Targets"]
