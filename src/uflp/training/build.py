"""The parts of a run, built from its settings.

A run in one process asks a `Builder` for all of its parts, each worker of a cluster for those that
it has. So both are made of the same parts.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import gymnasium
import numpy as np

from uflp import masks, spaces
from uflp.agents import LEARNERS
from uflp.planning import (
    Actor,
    EveryKth,
    History,
    HistoryLike,
    LocalPlanner,
    Observer,
    Observers,
    PolicyActor,
    Rollout,
    Rule,
    Sources,
)
from uflp.planning.history import history_of
from uflp.planning.observers import OnFailure
from uflp.randomness import Randomness
from uflp.registry import Registry
from uflp.replay import (
    Accumulator,
    FrameReplay,
    MonteCarlo,
    NoAccumulator,
    NStep,
    Replay,
    Value,
    replay_of,
)
from uflp.replay.accumulators import RowStore
from uflp.replay.transfer import FrameOutbox
from uflp.replay.transitions import layout_of_row
from uflp.simulators.base import Simulator
from uflp.simulators.guard import guard
from uflp.training.agent_runner import AgentRunner, LearnAndLook, compiled
from uflp.training.counters import Counters, FiniteCheck
from uflp.training.evaluation import Evaluator, at_the_mean, greedy, uniform
from uflp.training.exploration_log import ExplorationObserver
from uflp.training.settings import RunSettings
from uflp.types import Transition, UsageError
from uflp.uncertainty import UNCERTAINTIES, Uncertainty
from uflp.uncertainty.base import Predict

if TYPE_CHECKING:
    from uflp.agents.base import Agent


class ActionValues(Protocol):
    """The action values of a run's agent, which may learn in another process."""

    def predict(self, observations: np.ndarray, actions: np.ndarray | None = None) -> np.ndarray:
        """Return action values of every ensemble member, [M, B, A], or [M, B, K] of K actions."""

    def policy(self, observations: np.ndarray) -> np.ndarray:
        """Return the means and log deviations of real-valued actions, [2, B, D]."""

    def values(self, observation: Any, query: int) -> np.ndarray:
        """Return action values by every ensemble member, [M, A], of what is seen at a query.

        Where actions are real-valued, return the policy's means and log deviations, [2, D].
        """

    @property
    def has_learned(self) -> bool:
        """Whether the agent is another than the one it was at the beginning."""

    def forget(self) -> None:
        """Forget the values of a state that is never acted in, since its rollout is dropped."""


class PlannerParts(NamedTuple):
    """The parts that a planner decides by.

    Attributes:
        history: the saved states; None under online access.
        uncertainty: observes every query; None where nothing needs it.
        rule: chooses among the saved states; None under online access.
    """

    history: HistoryLike | None
    uncertainty: Uncertainty | None
    rule: Rule | None


class Collection(NamedTuple):
    """The parts that collect data in one simulator.

    Attributes:
        randomness: of the actor.
        planner: decides where rollouts begin.
        rollout: makes the queries.
        accumulator: turns transitions into rows.
        counters: what was counted.
    """

    randomness: Randomness
    planner: LocalPlanner
    rollout: Rollout
    accumulator: Accumulator
    counters: Counters


class Builder:
    """Builds the parts of one run.

    Attributes:
        settings: what decides the run.
        randomness: of the run.
        simulator: to train in.
        space: of its observations.
        actions: A, how many actions it has, or what they are where they are real-valued.
    """

    def __init__(self, settings: RunSettings):
        self.settings = settings
        self.randomness = Randomness(settings.seed)
        timeout = settings.planning.call_timeout
        self.simulator: Simulator = guard(settings.simulator.make(settings.seed), timeout)
        self.space = self.simulator.observation_space
        self.actions = spaces.actions(self.simulator.action_space)
        require_fit(LEARNERS, settings.agent, settings.agent_config, self.simulator.action_space)
        if settings.uncertainty is not None:
            require_fit(
                UNCERTAINTIES,
                settings.uncertainty_name or "",
                settings.uncertainty,
                self.simulator.action_space,
            )

    @property
    def agent(self) -> Agent:
        """The agent, made when it is first asked for."""
        return self._compiled[0]

    @property
    def learn_and_look(self) -> LearnAndLook:
        """The agent's compiled update."""
        return self._compiled[1]

    @property
    def learns(self) -> bool:
        """Whether the agent learns."""
        return self.agent.target != "none"

    def replay(self, *, shards: int = 1, dictionary: bytes = b"") -> Replay | FrameReplay:
        """Build the replay that suits the observations, no larger than the budget can fill.

        Args:
            shards: into how many it is divided, of which this is one.
            dictionary: see `FrameReplay`.
        """
        settings = self.settings.replay
        rows = min(settings.replay_size, self.settings.evaluation.queries)
        return replay_of(
            self.space,
            -(-rows // shards),
            masked=self.simulator.mask_size,
            recent=settings.recent_rows,
            dictionary=dictionary,
            actions=self.actions,
        )

    def agent_runner(self, replay: Replay | FrameReplay) -> AgentRunner:
        """Build what runs the agent, and its SGD steps, in this process."""
        return AgentRunner(
            self.agent,
            self.learn_and_look,
            replay,
            self.randomness,
            size=self.settings.replay.learning_batch,
            dtype=spaces.layout(self.space)[1],
        )

    def evaluator(self, values: ActionValues, simulator: Simulator) -> Evaluator:
        """Build the evaluator of the greedy policy; an agent that does not learn acts at random.

        Args:
            values: what the agent acts by.
            simulator: to play in; nothing else uses it.
        """
        if not self.learns:
            policy = uniform(self.actions)
        elif isinstance(self.actions, int):
            policy = greedy(values.predict)
        else:
            policy = at_the_mean(values.policy, self.actions)
        guard(simulator, self.settings.planning.call_timeout)
        return Evaluator(simulator, policy, self.settings.evaluation, self.randomness)

    def uncertainty(self) -> Uncertainty | None:
        """Build the uncertainty, None if the run has none."""
        settings = self.settings
        if settings.uncertainty is None:
            return None
        seed = self.randomness.integer("uncertainty")
        made: Uncertainty = settings.uncertainty.make(self.space, self.actions, seed)
        if settings.exploration == "bonus" and not made.knows_actions:
            numbered = isinstance(self.actions, int)
            raise UsageError(
                f"{settings.uncertainty_name} gives all actions of a state the same bonus, so that "
                f"{settings.agent} would act as if there were none: choose "
                f"{'counts' if numbered else 'ensemble-std'} or covariance, "
                f"or an agent without bonus, such as {'ddqn' if numbered else 'sac'}"
            )
        return made

    def history(self, uncertainty: Uncertainty | None) -> History | None:
        """Build an empty history, None under online access.

        Args:
            uncertainty: scores its entries.
        """
        planning = self.settings.planning
        if self.settings.access == "online":
            given = (planning.history_from, planning.demonstrations)
            if planning.keep_history or given != (None, None):
                raise UsageError("online access has no history to begin with or to keep")
            return None
        if planning.keep_history and not self.simulator.portable:
            raise UsageError(
                "keep_history cannot be: snapshots of this simulator live in memory only"
            )
        return history_of(
            self.simulator,
            uncertainty,
            entries=planning.history_size,
            nbytes=planning.history_bytes,
        )

    def rule(
        self,
        history: History,
        uncertainty: Uncertainty | None,
        predict: Predict,
        *,
        td_errors: bool = False,
    ) -> Rule:
        """Build the restart rule.

        Args:
            history: what it chooses from.
            uncertainty: what it may choose by, if the run has one.
            predict: action values, for uncertainties that ask.
            td_errors: whether it may ask for TD errors, which are those of an agent that learns.
        """
        planning = self.settings.planning
        if planning.restart == "pair" and isinstance(self.actions, spaces.RealActions):
            self._require_pairs(uncertainty)
        numbered = isinstance(self.actions, int)
        return self.settings.rule.make(
            Sources(
                history=history,
                actions=self.actions,
                batch=planning.batch,
                kind=planning.restart,
                uncertainty=uncertainty,
                predict=predict,
                td_error=self._td_error(predict) if td_errors and numbered else None,
                sampled_actions=planning.sampled_actions,
            )
        )

    def _require_pairs(self, uncertainty: Uncertainty | None) -> None:
        """Refuse an uncertainty that cannot tell real-valued actions apart."""
        if uncertainty is not None and not uncertainty.knows_actions:
            raise UsageError(
                f"{self.settings.uncertainty_name} scores states alone where actions are "
                "real-valued: use restart=state, or covariance or ensemble-std, which score pairs"
            )

    def collection(
        self,
        values: ActionValues,
        rows: RowStore,
        parts: PlannerParts,
        exploration: ExplorationObserver,
        lineage: Observer | None,
        actor: int = 0,
    ) -> Collection:
        """Build the parts that collect data in the simulator.

        Args:
            values: what the agent acts by.
            rows: the replay, or what sends rows to one.
            parts: what the planner decides by.
            exploration: observes where the run has been.
            lineage: observes which actions led to scores, None where nothing can be replayed.
            actor: number of the actor, where there are several.
        """
        accumulator = self._accumulator(rows, values.predict)
        counters = Counters()
        watching: list[Observer] = [
            FiniteCheck(self.space),
            counters,
            exploration,
            OnFailure(accumulator.drop, values.forget),
        ]
        if lineage is not None:
            watching.append(lineage)
        observers = Observers(watching)
        randomness = Randomness(self.settings.seed, actor)
        planner = self._planner(parts, values.predict, observers)
        acting = self._actor(values, parts.uncertainty, randomness)
        rollout = Rollout(self.simulator, acting, planner, randomness, observers)
        return Collection(randomness, planner, rollout, accumulator, counters)

    @cached_property
    def _compiled(self) -> tuple[Agent, LearnAndLook]:
        row = layout_of_row(self.space, self.simulator.mask_size, self.actions)
        return compiled(self.settings.agent_config, self.space, self.actions, row)

    def _planner(self, parts: PlannerParts, predict: Predict, observers: Observers) -> LocalPlanner:
        planning, acting = self.settings.planning, self.settings.acting
        intrinsic = self.settings.exploration == "intrinsic"
        return LocalPlanner(
            history=parts.history,
            uncertainty=parts.uncertainty,
            rule=parts.rule,
            p_init=planning.p_init,
            schedule=EveryKth(planning.checkpoint_period),
            rollout_limit=planning.rollout_limit,
            restart_limit=planning.restart_limit,
            predict=predict,
            intrinsic_scale=acting.bonus_scale if intrinsic else 0.0,
            observers=observers,
        )

    def _actor(
        self, values: ActionValues, uncertainty: Uncertainty | None, randomness: Randomness
    ) -> Actor | PolicyActor:
        acting = self.settings.acting
        if isinstance(self.actions, spaces.RealActions):
            begins_trained = self.settings.learning.init_from is not None
            return PolicyActor(
                values.values,
                values.predict,
                uncertainty,
                randomness,
                actions=self.actions,
                has_learned=lambda: begins_trained or values.has_learned,
                sampled_actions=self.settings.planning.sampled_actions,
                epsilon=acting.epsilon if self.learns else 1.0,
                repeat_probability=acting.repeat_probability,
                bonus_scale=acting.bonus_scale if self.settings.exploration == "bonus" else 0.0,
            )
        return Actor(
            values.values,
            values.predict,
            uncertainty,
            randomness,
            actions=self.actions,
            members=self.agent.members,
            epsilon=acting.epsilon if self.learns else 1.0,
            repeat_probability=acting.repeat_probability,
            bonus_scale=acting.bonus_scale if self.settings.exploration == "bonus" else 0.0,
        )

    def _accumulator(self, rows: RowStore, predict: Predict) -> Accumulator:
        learning, target = self.settings.learning, self.agent.target
        if target == "none":
            return NoAccumulator()
        if target == "td":
            return NStep(rows, learning.discount, learning.n_step, learning.reward_clip)
        if isinstance(rows, FrameReplay | FrameOutbox):
            raise UsageError(f"{self.settings.agent} does not learn from images: choose ddqn")
        if learning.n_step != 1 or learning.reward_clip is not None:
            raise UsageError(
                f"{self.settings.agent} learns from whole returns, as they are: leave out n_step "
                "and reward_clip"
            )
        return MonteCarlo(rows, learning.discount, state_value(predict))

    def _td_error(self, predict: Predict) -> Callable[[Transition], float]:
        """Return the function that gives the one-step TD error of a transition.

        Ensembles are taken at their mean; rewards are those that are learned from.
        """
        learning = self.settings.learning
        clip = math.inf if learning.reward_clip is None else learning.reward_clip

        def td_error(transition: Transition) -> float:
            pair = np.stack([transition.observation, transition.next_observation])
            values, next_values = predict(pair).mean(axis=0)
            reward = min(max(transition.reward, -clip), clip) + transition.intrinsic
            discount = 0.0 if transition.terminated else learning.discount
            best = masks.only(next_values, transition.next_mask).max()
            return float(reward + discount * best - values[transition.action])

        return td_error


def require_fit(registry: Registry, name: str, settings: Any, space: gymnasium.Space[Any]) -> None:
    """Refuse an agent or uncertainty that cannot do with the actions that there are.

    Args:
        registry: of agents, or of uncertainties.
        name: of the one.
        settings: of it; what kinds of actions it is for is its `action_kinds`.
        space: of the actions.
    """
    real = isinstance(spaces.actions(space), spaces.RealActions)
    kind, of = ("real", "real-valued") if real else ("numbered", "numbered")
    if kind in _action_kinds(settings):
        return
    fitting = [other for other in registry if kind in _action_kinds(registry[other])]
    raise UsageError(
        f"{name} is not for {of} actions, and these are {space}: choose {', '.join(fitting)}"
    )


def _action_kinds(settings: Any) -> tuple[str, ...]:
    kinds: tuple[str, ...] = getattr(settings, "action_kinds", ("numbered",))
    return kinds


def state_value(predict: Predict) -> Value:
    """Return the function that gives max Q of a state, for returns that were cut short."""

    def value(observation: Any, mask: np.ndarray | None) -> float:
        values = predict(np.asarray(observation)[None]).mean(axis=0)[0]
        return float(masks.only(values, mask).max())

    return value
