"""Whether a run's best screen score is real: its own actions, played from the initial state."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from uflp.arrays import read_arrays
from uflp.experiments.recorded import read_object, recorded
from uflp.runs.folder import BEST, CONFIG
from uflp.types import UsageError


@dataclass(frozen=True)
class BestScore:
    """A run's best screen score, and what led to it.

    Attributes:
        screen_score: as the run recorded it.
        actions: one byte a frame.
        simulator: that plays them, of the same stamp as the run's.
    """

    screen_score: float
    actions: bytes
    simulator: Any

    def play(self) -> Iterator[tuple[float, np.ndarray]]:
        """Yields the screen score and the screen after each frame, from the initial state."""
        return self.simulator.replay(self.actions)


def best_score(folder: Path, *, trust: bool = False) -> BestScore:
    """Reads the best screen score of a run folder; executes nothing that is in it.

    Args:
        folder: of the run.
        trust: whether the user trusts the code that it names.
    """
    settings, _ = recorded(folder, trust=trust)
    try:
        best = read_arrays(folder / BEST, ("screen_score", "actions"))
        score, actions = float(best["screen_score"]), best["actions"].astype(np.uint8)
    except FileNotFoundError as error:
        raise UsageError(f"{folder} has no {BEST}: only Atari runs keep their actions") from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{folder / BEST} is damaged: {error}") from error
    simulator = settings.simulator.make(settings.seed)
    stamp = (read_object(folder / CONFIG) or {}).get("simulator")
    if simulator.stamp != stamp:
        raise UsageError(f"{folder} was made with {stamp!r}, and this is {simulator.stamp!r}")
    return BestScore(score, actions.tobytes(), simulator)
