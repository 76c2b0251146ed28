"""Algorithm 2 of the paper, UncertaintyFirstLocalPlanning, as one loop over queries."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from threadpoolctl import threadpool_limits

from uflp import spaces
from uflp.collection import Actor, Rollout, Start, UncertaintyFirst
from uflp.memory import History, MonteCarlo, OneStep, Replay, Targets
from uflp.randomness import Randomness
from uflp.training.evaluation import evaluate
from uflp.training.settings import RunSettings
from uflp.types import Transition
from uflp.uncertainty import Uncertainty

if TYPE_CHECKING:
    from uflp.agents.base import Agent

Row = dict[str, Any]


class BadNumberError(ArithmeticError):
    """A reward, a loss or a return was not finite; the message says which, and at which query."""


class Run:
    """One run: its parts, wired by its settings, and the loop that drives them.

    Attributes:
        queries: steps of the training simulator so far.
        sgd_steps: SGD steps so far.
        positive_rewards: queries so far whose reward was positive.
        learner: the agent's present state.
    """

    def __init__(self, settings: RunSettings):
        import jax

        self.settings = settings
        self.queries = 0
        self.sgd_steps = 0
        self.positive_rewards = 0
        loop = settings.loop
        self.randomness = Randomness(settings.seed)
        self.simulator = settings.simulator.make(settings.seed)
        self.evaluation_simulator = settings.simulator.make(settings.seed)
        space = self.simulator.observation_space
        actions = spaces.actions(self.simulator.action_space)
        self._dtype = spaces.layout(space)[1]
        self.replay = Replay(space, min(loop.replay_size, loop.queries))
        self.agent, self._learn_and_look = _compiled(settings.learner, space, actions, self.replay)
        self.learner = self.agent.init(jax.random.key(self.randomness.integer("agent")))
        self.uncertainty: Uncertainty | None = None
        if settings.uncertainty is not None:
            seed = self.randomness.integer("uncertainty")
            self.uncertainty = settings.uncertainty.make(space, actions, seed)
        self.history, self.rule = self._local_access(actions)
        self.targets: Targets = (
            OneStep(self.replay, loop.discount)
            if self.agent.target == "td"
            else MonteCarlo(self.replay, loop.discount, self._value)
        )
        actor = Actor(
            self.values,
            self.predict,
            self.uncertainty,
            self.randomness,
            actions=actions,
            members=self.agent.members,
            epsilon=loop.epsilon,
            bonus_scale=loop.bonus_scale if settings.exploration == "bonus" else 0.0,
        )
        self.rollout = Rollout(
            self.simulator,
            actor,
            self.randomness,
            history=self.history,
            uncertainty=self.uncertainty,
            rule=self.rule,
            checkpoint_period=loop.checkpoint_period,
            limit=loop.rollout_limit,
            intrinsic_scale=loop.bonus_scale if settings.exploration == "intrinsic" else 0.0,
        )
        # The state to act in next: its values come with an update at less than a call's cost.
        self._next_observation: Any = None
        self._next_values = np.empty(0)
        self._losses: list[float] = []
        self._returns: list[float] = []
        self._return = 0.0

    def train(self) -> Iterator[Row]:
        """Runs until the budget is spent; yields a row of metrics after each evaluation."""
        loop = self.settings.loop
        started = time.perf_counter()
        # Products this small lose more to handing work between threads than they gain from it.
        with threadpool_limits(1):
            while self.spent < loop.queries:
                if self.rollout.over:
                    self.rollout.begin(self._start())
                transition = self.rollout.step(self.queries)
                self.queries += 1
                self._count(transition)
                self.targets.add(transition)
                if self.queries % loop.sgd_period == 0 and len(self.replay) >= self._min_replay:
                    self._learn()
                if self.queries % loop.eval_period == 0 or self.spent >= loop.queries:
                    yield self._row(time.perf_counter() - started)

    @property
    def spent(self) -> int:
        """Queries so far, with those that restores by replay have cost."""
        return self.queries + self.simulator.replayed

    def predict(self, observations: np.ndarray) -> np.ndarray:
        """Returns action values of every ensemble member, [M, B, A].

        Batches are filled up to a power of two, so that few shapes are ever compiled.
        """
        size = len(observations)
        batch = np.zeros((1 << (size - 1).bit_length(), *observations.shape[1:]), self._dtype)
        batch[:size] = observations
        return np.asarray(self.agent.predict(self.learner, batch))[:, :size]

    def values(self, observation: Any) -> np.ndarray:
        """Returns action values of one observation by every ensemble member, [M, A]."""
        if observation is self._next_observation:
            return self._next_values
        return self.predict(np.asarray(observation)[None])[:, 0]

    def _start(self) -> Start:
        """Decides where the next rollout begins."""
        if self.rule is None or not self.history:
            return Start()
        rng = self.randomness.at("restart", self.rollout.rollouts)
        return Start() if rng.random() <= self.settings.loop.p_init else self.rule.choose(rng)

    def _learn(self) -> None:
        """Takes one SGD step."""
        size = self.settings.loop.learning_batch
        sample = self.replay.sample(self.randomness.uniforms("replay", self.sgd_steps, size))
        seen = np.asarray(self.rollout.observation, self._dtype)
        self.learner, loss, values = self._learn_and_look(self.learner, sample, seen)
        self._next_observation, self._next_values = self.rollout.observation, np.asarray(values)
        self.sgd_steps += 1
        self._losses.append(np.asarray(loss).item())
        if not math.isfinite(self._losses[-1]):
            raise BadNumberError(f"the loss was {self._losses[-1]} at query {self.queries}")

    def _count(self, transition: Transition) -> None:
        if not math.isfinite(transition.reward):
            raise BadNumberError(f"the reward was {transition.reward} at query {self.queries}")
        self.positive_rewards += transition.reward > 0
        self._return += transition.reward
        if self.rollout.over:
            self._returns.append(self._return)
            self._return = 0.0

    def _row(self, seconds: float) -> Row:
        """Evaluates, and sums up what has happened since the last row."""
        result = evaluate(
            self.evaluation_simulator,
            self.predict,
            self.settings.loop.eval_episodes,
            self.randomness.at("evaluation", self.queries),
        )
        if not math.isfinite(result.mean):
            raise BadNumberError(f"an evaluation returned {result.mean} at query {self.queries}")
        row = {
            "queries": self.spent,
            "wall_seconds": round(seconds, 3),
            "rollouts": self.rollout.rollouts,
            "restarts": self.rollout.restarts,
            "sgd_steps": self.sgd_steps,
            "eval_return_mean": result.mean,
            "eval_return_std": result.std,
            "eval_episodes": result.episodes,
            "train_return_mean": float(np.mean(self._returns)) if self._returns else math.nan,
            "loss": float(np.mean(self._losses)) if self._losses else math.nan,
            "history_size": len(self.history) if self.history is not None else 0,
            "replay_size": len(self.replay),
            "positive_rewards": self.positive_rewards,
            **self.simulator.metrics(),
        }
        self._losses.clear()
        self._returns.clear()
        return row

    def _local_access(self, actions: int) -> tuple[History | None, UncertaintyFirst | None]:
        """Makes the history and the restart rule; under online access there are none."""
        loop = self.settings.loop
        if self.settings.access == "online" or self.uncertainty is None:
            return None, None
        history = History(
            self.simulator.stamp,
            key_shape=self.uncertainty.key_shape,
            key_dtype=self.uncertainty.key_dtype,
            width=self.simulator.snapshot_width,
            entries=loop.history_size,
            nbytes=loop.history_bytes,
            portable=self.simulator.portable,
        )
        rule = UncertaintyFirst(
            history,
            self.uncertainty,
            self.predict,
            actions=actions,
            batch=loop.batch,
            kind=loop.restart,
        )
        return history, rule

    def _value(self, observation: Any) -> float:
        """Returns max Q of a state, for returns that were cut short."""
        return float(self.predict(np.asarray(observation)[None]).mean(axis=0)[0].max())

    @property
    def _min_replay(self) -> int:
        return self.settings.loop.min_replay or self.settings.loop.learning_batch


LearnAndLook = Callable[[Any, np.ndarray, np.ndarray], tuple[Any, Any, Any]]

_COMPILED: dict[tuple[Any, str, int], tuple[Agent, LearnAndLook]] = {}


def _compiled(
    learner: Any, space: gymnasium.Space, actions: int, replay: Replay
) -> tuple[Agent, LearnAndLook]:
    """Makes an agent, and one function for its update and the values of one observation after it.

    Those made last are kept, so that the next seed need not compile them again.
    """
    import jax

    from uflp.agents.batches import unpack

    key = (learner, repr(space), actions)
    if key not in _COMPILED:
        _COMPILED.clear()
        agent, row = learner.make(space, actions), replay.row

        def learn_and_look(state: Any, sample: Any, observation: Any) -> tuple[Any, Any, Any]:
            state, loss = agent.update(state, unpack(sample, row))
            return state, loss, agent.predict(state, observation[None])[:, 0]

        _COMPILED[key] = agent, jax.jit(learn_and_look, donate_argnums=0)
    return _COMPILED[key]
