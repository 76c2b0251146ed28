"""Makes the parts of a run from its settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import gymnasium
import numpy as np

from uflp import spaces
from uflp.collection import Actor, Ancestry, Past, Rollout, Rule, UncertaintyFirst
from uflp.memory import FrameReplay, History, MonteCarlo, Nothing, NStep, Replay, Targets
from uflp.memory.parcels import FrameOutbox
from uflp.memory.targets import Rows
from uflp.randomness import Randomness
from uflp.simulators.base import Simulator
from uflp.training.settings import RunSettings
from uflp.types import UsageError
from uflp.uncertainty import Uncertainty
from uflp.uncertainty.base import Predict

if TYPE_CHECKING:
    from uflp.agents.base import Agent


def make_replay(
    settings: RunSettings, space: gymnasium.Space, shards: int = 1, dictionary: bytes = b""
) -> Replay | FrameReplay:
    """Makes the replay that suits the observations, no larger than the budget can fill.

    Args:
        settings: of the run.
        space: of observations.
        shards: into how many it is divided, of which this is one.
        dictionary: see `FrameReplay`.
    """
    capacity = -(-min(settings.loop.replay_size, settings.loop.queries) // shards)
    if isinstance(space, spaces.Frames):
        return FrameReplay(space, capacity, dictionary)
    return Replay(space, capacity)


def make_uncertainty(
    settings: RunSettings, space: gymnasium.Space, actions: int, randomness: Randomness
) -> Uncertainty | None:
    """Makes the uncertainty, if the run has one."""
    if settings.uncertainty is None:
        return None
    made: Uncertainty = settings.uncertainty.make(space, actions, randomness.integer("uncertainty"))
    return made


class Keys(Protocol):
    """What a history keeps beside a snapshot."""

    key_shape: tuple[int, ...]
    key_dtype: np.dtype


def make_history(settings: RunSettings, simulator: Simulator, keys: Keys | None) -> History | None:
    """Makes the history of an uncertainty's keys; under online access there is none."""
    if settings.access == "online" or keys is None:
        return None
    return History(
        simulator.stamp,
        key_shape=keys.key_shape,
        key_dtype=keys.key_dtype,
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


def make_actor(
    settings: RunSettings,
    agent: Agent,
    actions: int,
    values: Callable[[Any], np.ndarray],
    predict: Predict,
    uncertainty: Uncertainty | None,
    randomness: Randomness,
) -> Actor:
    """Makes what chooses actions by an agent's values."""
    loop = settings.loop
    return Actor(
        values,
        predict,
        uncertainty,
        randomness,
        actions=actions,
        members=agent.members,
        epsilon=loop.epsilon,
        repeat_probability=loop.repeat_probability,
        bonus_scale=loop.bonus_scale if settings.exploration == "bonus" else 0.0,
    )


def make_rollout(
    settings: RunSettings,
    simulator: Simulator,
    actor: Actor,
    randomness: Randomness,
    *,
    history: Past | None,
    uncertainty: Uncertainty | None,
    rule: Rule | None,
    lineage: Ancestry | None,
) -> Rollout:
    """Makes the means of collection."""
    loop = settings.loop
    return Rollout(
        simulator,
        actor,
        randomness,
        history=history,
        uncertainty=uncertainty,
        rule=rule,
        checkpoint_period=loop.checkpoint_period,
        limit=loop.rollout_limit,
        intrinsic_scale=loop.bonus_scale if settings.exploration == "intrinsic" else 0.0,
        lineage=lineage,
    )


def make_targets(
    settings: RunSettings,
    target: str,
    replay: Rows,
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
        if isinstance(replay, FrameReplay | FrameOutbox):
            raise UsageError(f"{settings.agent} does not learn from images: choose ddqn")
        return MonteCarlo(replay, loop.discount, value)
    return NStep(replay, loop.discount, loop.n_step, loop.reward_clip)
