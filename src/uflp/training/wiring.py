"""Makes the parts of a run from its settings."""

from __future__ import annotations

import gymnasium
import numpy as np

from uflp import spaces
from uflp.collection import UncertaintyFirst
from uflp.memory import FrameReplay, History, MonteCarlo, Nothing, NStep, Replay, Targets, Value
from uflp.randomness import Randomness
from uflp.simulators.base import Simulator
from uflp.training.settings import RunSettings
from uflp.types import UsageError
from uflp.uncertainty import Uncertainty
from uflp.uncertainty.base import Predict

_LARGE = 4096
"""Bytes of an image from which on it is worth compressing, and storing once."""


def make_replay(settings: RunSettings, space: gymnasium.Space, masked: int) -> Replay | FrameReplay:
    """Makes the replay that suits the observations, no larger than the budget can fill.

    Args:
        settings: of the run.
        space: of the observations.
        masked: A where masks say which actions are allowed, else 0.
    """
    large = spaces.channel_axis(space) is not None and np.prod(space.shape or ()) >= _LARGE
    kind = FrameReplay if large or isinstance(space, spaces.Frames) else Replay
    return kind(space, min(settings.loop.replay_size, settings.loop.queries), masked)


def make_uncertainty(
    settings: RunSettings, space: gymnasium.Space, actions: int, randomness: Randomness
) -> Uncertainty | None:
    """Makes the uncertainty, if the run has one."""
    if settings.uncertainty is None:
        return None
    made: Uncertainty = settings.uncertainty.make(space, actions, randomness.integer("uncertainty"))
    return made


def make_history(
    settings: RunSettings, simulator: Simulator, uncertainty: Uncertainty | None, masked: int
) -> History | None:
    """Makes the history; under online access there is none. For `masked` see `make_replay`."""
    if settings.access == "online" or uncertainty is None:
        return None
    return History(
        simulator.stamp,
        key_shape=uncertainty.key_shape,
        key_dtype=uncertainty.key_dtype,
        masked=masked,
        width=simulator.snapshot_width,
        entries=settings.loop.history_size,
        nbytes=settings.loop.history_bytes,
        portable=simulator.portable,
    )


def make_rule(
    settings: RunSettings,
    history: History | None,
    uncertainty: Uncertainty | None,
    predict: Predict,
    actions: int,
) -> UncertaintyFirst | None:
    """Makes the restart rule, if there is a history to restart from."""
    if history is None or uncertainty is None:
        return None
    loop = settings.loop
    return UncertaintyFirst(
        history, uncertainty, predict, actions=actions, batch=loop.batch, kind=loop.restart
    )


def make_targets(
    settings: RunSettings,
    target: str,
    replay: Replay | FrameReplay,
    value: Value,
) -> Targets:
    """Makes what turns transitions into rows of replay.

    Args:
        settings: of the run.
        target: what the agent learns from; see `Agent.target`.
        replay: where the rows go.
        value: max Q of a state, for returns that were cut short.
    """
    loop = settings.loop
    if target == "none":
        return Nothing()
    if target == "return":
        if not isinstance(replay, Replay):
            raise UsageError(f"{settings.agent} does not learn from images: choose ddqn")
        return MonteCarlo(replay, loop.discount, value)
    return NStep(replay, loop.discount, loop.n_step, loop.reward_clip)
