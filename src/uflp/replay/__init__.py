"""The replay: the transitions that an agent learns from, and how they come to be rows of it."""

from uflp.replay.accumulators import Accumulator, MonteCarlo, NoAccumulator, NStep, Value
from uflp.replay.frames import FrameReplay, replay_of
from uflp.replay.transitions import Replay

__all__ = [
    "Accumulator",
    "FrameReplay",
    "MonteCarlo",
    "NStep",
    "NoAccumulator",
    "Replay",
    "Value",
    "replay_of",
]
