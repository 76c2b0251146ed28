"""From a run folder, or a file exported from one, to the trained agent and the best score."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from uflp import spaces
from uflp.arrays import read_arrays
from uflp.experiments.recorded import recorded, resolved
from uflp.runs.checkpoints import read_agent
from uflp.runs.folder import BEST, CONFIG, read_object
from uflp.runs.policy import Policy, write_policy
from uflp.state import StateError
from uflp.trust import names_of_run, remember
from uflp.types import UsageError


def load(path: Path, *, trust: bool = False) -> Policy:
    """Return the trained agent of a run, or of a file that `export` wrote.

    Of a run that is not finished, it is the agent of the newest checkpoint.

    Args:
        path: the run folder or file.
        trust: whether the user trusts the code that it names.
    """
    saved = read_agent(path)
    try:
        settings, _ = resolved(json.loads(saved["identity"]), path, path, trust=trust)
        return Policy(settings, saved["run"])
    except UsageError:
        raise
    except StateError as error:
        raise UsageError(f"{path} does not hold an agent that can be used: {error}") from error
    except Exception as error:  # whole and with its checksum, but not written by this code
        raise UsageError(
            f"{path} does not hold an agent that this version of uflp can read"
        ) from error


def export(path: Path, out: Path, *, trust: bool = False) -> None:
    """Write the settings and the agent of a run into one file, without replay and history.

    Args:
        path: the run folder or file.
        out: the file to write.
        trust: whether the user trusts the code that the run names.
    """
    made = [folder for folder in out.parents if not folder.exists()]
    try:
        if out.is_dir():
            raise UsageError(f"{out} is a folder: name a file in it, or write {out}/")
    except OSError as error:
        raise UsageError(f"{out} cannot be written: {error.strerror}") from error
    policy = load(path, trust=trust)  # refuses what could not be loaded again
    saved = read_agent(path)
    run = saved["run"]
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        write_policy(out, saved["identity"], run["queries"], run["learner"])
        remember(out, names_of_run(policy.settings.imports, None))
    except OSError as error:
        for folder in made:
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise UsageError(f"{out} cannot be written: {error.strerror}") from error


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
        """Yield the screen score and the screen after each frame, from the initial state."""
        return self.simulator.replay(self.actions)


def best_score(folder: Path, *, trust: bool = False) -> BestScore:
    """Read the best screen score of a run folder; execute nothing that is in it.

    Args:
        folder: of the run.
        trust: whether the user trusts the code that it names.
    """
    settings, _ = recorded(folder, trust=trust)
    try:
        best = read_arrays(folder / BEST, ("screen_score", "actions"))
        if not np.isfinite(best["screen_score"]).all() or best["actions"].ndim != 1:
            raise ValueError("it holds no score, or no row of actions")
        score, actions = float(best["screen_score"]), best["actions"].astype(np.uint8)
    except FileNotFoundError as error:
        raise UsageError(f"{folder} has no {BEST}: only Atari runs keep their actions") from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{folder / BEST} is damaged: {error}") from error
    simulator = settings.simulator.make(settings.seed)
    if len(actions) and actions.max() >= (spaces.count(simulator.action_space) or 0):
        raise UsageError(f"{folder / BEST} is damaged: there is no action {actions.max()}")
    stamp = (read_object(folder / CONFIG) or {}).get("simulator")
    if simulator.stamp != stamp:
        raise UsageError(f"{folder} was made with {stamp!r}, and this is {simulator.stamp!r}")
    return BestScore(score, actions.tobytes(), simulator)
