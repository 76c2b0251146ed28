"""Algorithm 2 of the paper, UncertaintyFirstLocalPlanning, as one loop over queries."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from uflp import spaces
from uflp.collection import Actor, Rollout, Start, UncertaintyFirst
from uflp.memory import History, MonteCarlo, OneStep, Replay, Targets
from uflp.randomness import Randomness
from uflp.state import State, Stateful, number
from uflp.training.compiled import compiled, learner_state, loaded_learner
from uflp.training.evaluation import evaluate
from uflp.training.settings import RunSettings
from uflp.types import RunError, Transition
from uflp.uncertainty import Uncertainty

Row = dict[str, Any]


class BadNumberError(RunError):
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
        space, actions = self.simulator.observation_space, int(self.simulator.action_space.n)
        self._dtype = spaces.layout(space)[1]
        self.replay = Replay(space, min(loop.replay_size, loop.queries))
        self.agent, self._learn_and_look = compiled(
            settings.learner, space, actions, self.replay.row
        )
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
        # Values of the state to act in at query `_looked_at`: they come with an update at less than
        # a call's cost.
        self._looked_at = -1
        self._next_values = np.empty(0)
        self._losses: list[float] = []
        self._returns: list[float] = []
        self._return = 0.0
        self._started = time.perf_counter()

    def train(self, pause: Callable[[], None] = lambda: None) -> Iterator[Row]:
        """Runs until the budget is spent; yields a row of metrics after each evaluation.

        Args:
            pause: called before each query, where the run is in a state that can be saved.
        """
        loop = self.settings.loop
        # Products this small lose more to handing work between threads than they gain from it.
        with threadpool_limits(1):
            while self.queries < loop.queries:
                if self.rollout.over:
                    self.rollout.begin(self._start())
                pause()
                transition = self.rollout.step(self.queries)
                self.queries += 1
                self._count(transition)
                self.targets.add(transition)
                if self.queries % loop.sgd_period == 0 and len(self.replay) >= self._min_replay:
                    self._learn()
                if self.queries % loop.eval_period == 0 or self.queries == loop.queries:
                    yield self._row()

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
        if self._looked_at == self.queries:
            return self._next_values
        return self.predict(np.asarray(observation)[None])[:, 0]

    @property
    def seconds(self) -> float:
        """Time spent on the run so far, also before it was resumed."""
        return time.perf_counter() - self._started

    def state(self) -> State:
        """Returns all that decides the rest of the run, settings aside; only while paused."""
        return {
            "seconds": self.seconds,
            "queries": self.queries,
            "sgd_steps": self.sgd_steps,
            "positive_rewards": int(self.positive_rewards),
            "losses": np.array(self._losses),
            "returns": np.array(self._returns),
            "return": self._return,
            "looked_at": self._looked_at,
            "next_values": self._next_values,
            "learner": learner_state(self.learner),
            **{name: part.state() for name, part in self._parts().items()},
        }

    def load(self, state: State) -> None:
        """Takes the state of an equal run; what follows is what would have followed there."""
        self._started = time.perf_counter() - state["seconds"]
        self.queries = number(state, "queries")
        self.sgd_steps = number(state, "sgd_steps")
        self.positive_rewards = number(state, "positive_rewards")
        self._losses = state["losses"].tolist()
        self._returns = state["returns"].tolist()
        self._return = state["return"]
        self._looked_at = state["looked_at"]
        self._next_values = state["next_values"]
        self.learner = loaded_learner(state["learner"], self.learner)
        for name, part in self._parts().items():
            part.load(state[name])

    def check_parameters(self) -> None:
        """Raises an error if any of the learner's numbers is not finite."""
        for leaf in learner_state(self.learner)["leaves"]:
            if not np.isfinite(leaf).all():
                raise BadNumberError(f"the parameters were not finite at query {self.queries}")

    def _parts(self) -> dict[str, Stateful]:
        """Returns the parts that change as the run goes on."""
        parts: dict[str, Stateful | None] = {
            "replay": self.replay,
            "targets": self.targets,
            "uncertainty": self.uncertainty,
            "history": self.history,
            "rule": self.rule,
            "rollout": self.rollout,
        }
        return {name: part for name, part in parts.items() if part is not None}

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
        # The next rollout begins elsewhere.
        self._looked_at = -1 if self.rollout.over else self.queries
        self._next_values = np.asarray(values)
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

    def _row(self) -> Row:
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
            "queries": self.queries,
            "wall_seconds": round(self.seconds, 3),
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
