"""Makes the parts of a run from its settings."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np

from uflp import masks, spaces
from uflp.planning import Actor, HistoryLike, LocalPlanner, Observers, Rule, Sources
from uflp.planning.acting import Values
from uflp.planning.history import History, history_of
from uflp.randomness import Randomness
from uflp.replay import Accumulator, FrameReplay, MonteCarlo, NoAccumulator, NStep, Replay, Value
from uflp.replay.accumulators import RowStore
from uflp.replay.frames import has_frames
from uflp.replay.transfer import FrameOutbox
from uflp.simulators.base import Simulator
from uflp.training.agent_runner import AgentRunner, compiled
from uflp.training.settings import RunSettings
from uflp.types import Transition, UsageError
from uflp.uncertainty import Uncertainty
from uflp.uncertainty.base import Predict

if TYPE_CHECKING:
    from uflp.agents.base import Agent


def make_replay(
    settings: RunSettings,
    space: gymnasium.Space,
    masked: int,
    shards: int = 1,
    dictionary: bytes = b"",
) -> Replay | FrameReplay:
    """Makes the replay that suits the observations, no larger than the budget can fill.

    Args:
        settings: of the run.
        space: of the observations.
        masked: A where masks say which actions are allowed, else 0.
        shards: into how many it is divided, of which this is one.
        dictionary: see `FrameReplay`.
    """
    loop = settings.loop
    capacity = -(-min(loop.replay_size, loop.queries) // shards)
    if has_frames(space):
        return FrameReplay(space, capacity, masked, loop.recent_rows, dictionary)
    return Replay(space, capacity, masked, loop.recent_rows)


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
            f"{settings.agent} would act as if there were none: choose counts or covariance, or "
            "an agent without bonus, such as ddqn"
        )
    return made


def make_history(
    settings: RunSettings, simulator: Simulator, uncertainty: Uncertainty | None
) -> History | None:
    """Makes the history; under online access there is none."""
    loop = settings.loop
    if settings.access == "online":
        if loop.history_from is not None or loop.keep_history or loop.demonstrations is not None:
            raise UsageError("online access has no history to begin with or to keep")
        return None
    if loop.keep_history and not simulator.portable:
        raise UsageError("keep_history cannot be: snapshots of this simulator live in memory only")

    return history_of(simulator, uncertainty, entries=loop.history_size, nbytes=loop.history_bytes)


def make_rule(
    settings: RunSettings,
    history: History | None,
    uncertainty: Uncertainty | None,
    predict: Predict,
    target: str,
    actions: int,
) -> Rule | None:
    """Makes the restart rule, if there is a history to restart from.

    Args:
        settings: of the run.
        history: what it chooses from.
        uncertainty: what it may go by, if the run has one.
        predict: action values, likewise.
        target: what the agent learns from; see `Agent.target`.
        actions: how many there are.
    """
    if history is None:
        return None
    loop = settings.loop
    sources = Sources(
        history=history,
        actions=actions,
        batch=loop.batch,
        kind=loop.restart,
        uncertainty=uncertainty,
        predict=predict,
        td_error=None if target == "none" else make_td_error(settings, predict),
    )
    return settings.rule.make(sources)


def make_td_error(settings: RunSettings, predict: Predict) -> Callable[[Transition], float]:
    """Returns how to find the one-step TD error of a transition.

    Ensembles are taken at their mean; rewards are those that are learned from.
    """
    loop = settings.loop

    def td_error(transition: Transition) -> float:
        pair = np.stack([transition.observation, transition.next_observation])
        values, next_values = predict(pair).mean(axis=0)
        clip = math.inf if loop.reward_clip is None else loop.reward_clip
        reward = min(max(transition.reward, -clip), clip) + transition.intrinsic
        discount = 0.0 if transition.terminated else loop.discount
        best = masks.only(next_values, transition.next_mask).max()
        return float(reward + discount * best - values[transition.action])

    return td_error


def make_agent_runner(
    settings: RunSettings,
    simulator: Simulator,
    replay: Replay | FrameReplay,
    randomness: Randomness,
) -> AgentRunner:
    """Makes the agent, and what it learns by."""
    loop, space = settings.loop, simulator.observation_space
    dtype = spaces.layout(space)[1]
    agent, update = compiled(
        settings.learner, space, spaces.actions(simulator.action_space), replay.row
    )
    return AgentRunner(agent, update, replay, randomness, size=loop.learning_batch, dtype=dtype)


def make_actor(
    settings: RunSettings,
    agent: Agent,
    actions: int,
    values: Values,
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
        epsilon=loop.epsilon if agent.target != "none" else 1.0,
        repeat_probability=loop.repeat_probability,
        bonus_scale=loop.bonus_scale if settings.exploration == "bonus" else 0.0,
    )


def make_planner(
    settings: RunSettings,
    *,
    history: HistoryLike | None,
    uncertainty: Uncertainty | None,
    rule: Rule | None,
    predict: Predict,
    observers: Observers,
) -> LocalPlanner:
    """Makes the planner."""
    loop = settings.loop
    return LocalPlanner(
        history=history,
        uncertainty=uncertainty,
        rule=rule,
        p_init=loop.p_init,
        checkpoint_period=loop.checkpoint_period,
        rollout_limit=loop.rollout_limit,
        restart_limit=loop.restart_limit,
        predict=predict,
        intrinsic_scale=loop.bonus_scale if settings.exploration == "intrinsic" else 0.0,
        observers=observers,
    )


def make_accumulator(
    settings: RunSettings,
    target: str,
    replay: RowStore,
    predict: Predict,
) -> Accumulator:
    """Makes what turns transitions into rows of replay.

    Args:
        settings: of the run.
        target: what the agent learns from; see `Agent.target`.
        replay: where the rows go.
        predict: action values, for returns that were cut short.
    """
    loop = settings.loop
    if target == "none":
        return NoAccumulator()
    if target == "return":
        if isinstance(replay, FrameReplay | FrameOutbox):
            raise UsageError(f"{settings.agent} does not learn from images: choose ddqn")
        if loop.n_step != 1 or loop.reward_clip is not None:
            raise UsageError(
                f"{settings.agent} learns from whole returns, as they are: leave out n_step and "
                "reward_clip"
            )
        return MonteCarlo(replay, loop.discount, make_value(predict))
    return NStep(replay, loop.discount, loop.n_step, loop.reward_clip)


def make_value(predict: Predict) -> Value:
    """Returns how to find max Q of a state, for returns that were cut short."""

    def value(observation: Any, mask: np.ndarray | None) -> float:
        values = predict(np.asarray(observation)[None]).mean(axis=0)[0]
        return float(masks.only(values, mask).max())

    return value
