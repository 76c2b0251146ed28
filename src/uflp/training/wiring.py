"""Makes the parts of a run from its settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium

from uflp import spaces
from uflp.collection import UncertaintyFirst
from uflp.memory import FrameReplay, History, MonteCarlo, Nothing, NStep, Replay, Targets
from uflp.randomness import Randomness
from uflp.simulators.base import Simulator
from uflp.training.pace import Pace, SamplesPerInsert, SgdPeriod
from uflp.training.settings import LoopSettings, RunSettings
from uflp.types import UsageError
from uflp.uncertainty import Uncertainty
from uflp.uncertainty.base import Predict


def make_replay(settings: RunSettings, space: gymnasium.Space) -> Replay | FrameReplay:
    """Makes the replay that suits the observations, no larger than the budget can fill."""
    kind = FrameReplay if isinstance(space, spaces.Frames) else Replay
    return kind(space, min(settings.loop.replay_size, settings.loop.queries))


def make_uncertainty(
    settings: RunSettings, space: gymnasium.Space, actions: int, randomness: Randomness
) -> Uncertainty | None:
    """Makes the uncertainty, if the run has one."""
    if settings.uncertainty is None:
        return None
    made: Uncertainty = settings.uncertainty.make(space, actions, randomness.integer("uncertainty"))
    if settings.exploration == "bonus" and not made.knows_actions:
        raise UsageError(
            f"{settings.uncertainty_name} gives all actions of a state the same bonus, so that "
            f"{settings.agent} would act as if there were none: choose ddqn or ddqn-intrinsic"
        )
    return made


def make_history(
    settings: RunSettings, simulator: Simulator, uncertainty: Uncertainty | None
) -> History | None:
    """Makes the history; under online access there is none."""
    if settings.access == "online" or uncertainty is None:
        return None
    return History(
        simulator.stamp,
        key_shape=uncertainty.key_shape,
        key_dtype=uncertainty.key_dtype,
        read_key=lambda snapshot: uncertainty.key_of(simulator.observation_of(snapshot)),
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


def make_pace(loop: LoopSettings) -> Pace:
    """Makes what says when to learn."""
    min_replay = loop.min_replay or loop.learning_batch
    if loop.samples_per_insert is None:
        return SgdPeriod(loop.sgd_period or 1, min_replay)
    return SamplesPerInsert(loop.samples_per_insert, loop.learning_batch, min_replay)


def make_targets(
    settings: RunSettings,
    target: str,
    replay: Replay | FrameReplay,
    value: Callable[[Any], float],
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
