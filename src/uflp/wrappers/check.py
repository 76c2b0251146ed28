"""A quick check, when an environment is wrapped, of whether it goes back to where it was saved."""

from __future__ import annotations

import copy
import random
import warnings
from typing import Any

import numpy as np
from gymnasium.wrappers import NormalizeObservation

from uflp.simulators.action_script import Event, difference, ended, step
from uflp.simulators.base import Simulator, SnapshotError, UnsavableError
from uflp.simulators.env_layers import frozen_statistics, normalisers
from uflp.simulators.fidelity import TOLERANCE

_STEPS = 13
"""Steps to the save, and steps after it that are played twice.

A prime: what a restore leaves behind in a counter that goes round every 2, 3, 4, … steps shows.
"""


def check_going_back(simulator: Simulator, other: Simulator | None = None) -> None:
    """Save, play on, go back and play the same again; refuse or warn where that differs.

    It takes three dozen steps, which count as no queries. The simulator is left as just after a
    reset, with its generators as they were then; so are the global ones of NumPy and Python.
    Errors that the environment raises while it is played are no matter here.

    Args:
        simulator: what is checked.
        other: an equal simulator that goes to the same place; None means the simulator itself.

    Raises:
        UnsavableError: if what follows a restore differs.
    """
    numpy_state, python_state = np.random.get_state(), random.getstate()
    logs = simulator.logs()
    try:
        target = simulator if other is None else other
        with frozen_statistics(simulator), frozen_statistics(target):
            wrong, near = _difference(simulator, target)
    except SnapshotError as error:
        wrong, near = str(error), False
    except Exception:  # an environment is anybody's code
        wrong, near = "", False
    finally:
        np.random.set_state(numpy_state)
        random.setstate(python_state)
        simulator.load_logs(logs)
    _warn_of_moving_cells(simulator)
    if not wrong:
        return
    if near:
        warnings.warn(
            f"{simulator} goes back to where it was saved only up to rounding ({wrong}); "
            "check=False leaves this check out",
            stacklevel=4,
        )
        return
    raise UnsavableError(
        f"{simulator} does not go back to where it was saved ({wrong}): see `uflp check`, choose "
        "another strategy, or go on all the same with check=False"
    )


def _warn_of_moving_cells(simulator: Simulator) -> None:
    """Warn where equal states get other observations, and so other cells, as time goes on."""
    if any(isinstance(layer, NormalizeObservation) for layer in normalisers(simulator)):
        warnings.warn(
            "NormalizeObservation goes on learning its statistics, so that states which were "
            "counted look new later: put it outside, as NormalizeObservation(LocalAccess(env))",
            stacklevel=5,
        )


def _difference(simulator: Simulator, target: Simulator) -> tuple[str, bool]:
    """Return the first difference of a replay, or nothing, and whether it is one of rounding."""
    space = copy.deepcopy(simulator.action_space)
    space.seed(0)
    actions = [space.sample() for _ in range(2 * _STEPS)]
    simulator.reset()
    beginning = simulator.save()
    if target is not simulator:
        target.reset()
    try:
        for action in actions[:_STEPS]:
            if ended(step(simulator, action)):
                simulator.restore(beginning, randomness="exact")
        snapshot = simulator.save()
        expected = _played(simulator, actions[_STEPS:])
        target.restore(snapshot, randomness="exact")
        found = _played(target, actions[_STEPS:])
        near = not any(difference(expected, found, TOLERANCE))
        return next(difference(expected, found), ""), near
    finally:
        simulator.restore(beginning, randomness="exact")


def _played(simulator: Simulator, actions: list[Any]) -> list[Event]:
    """Take actions until the episode ends; return what they gave."""
    events = []
    for action in actions:
        result = step(simulator, action)
        events.append(copy.deepcopy(Event(*result[:4], simulator.mask)))
        if ended(result):
            break
    return events
