"""Algorithm 2 of the paper, UncertaintyFirstLocalPlanning: collects a query, then learns."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from uflp import spaces
from uflp.collection import Demonstrations, Lineage
from uflp.networks.parameters import saved_tree
from uflp.randomness import Randomness
from uflp.state import State, Stateful, number
from uflp.training.beginning import prepare
from uflp.training.collecting import Collecting
from uflp.training.evaluation import evaluate, greedy, uniform
from uflp.training.settings import RunSettings
from uflp.training.tally import BadNumberError, require_finite
from uflp.training.trainable import Row
from uflp.training.whereabouts import Whereabouts
from uflp.training.wiring import (
    make_actor,
    make_history,
    make_learning,
    make_pace,
    make_replay,
    make_rollout,
    make_rule,
    make_targets,
    make_uncertainty,
)


class Run:
    """One run: its parts, wired by its settings, and the loop that drives them.

    Attributes:
        collecting: makes the queries.
        learning: the agent, and its SGD steps.
        whereabouts: where it has been.
        demonstrations: what the first rollouts play.
        lineage: where scores came from, None where the simulator's runs cannot be replayed.
        spread: nothing; see `Trainable`.
    """

    def __init__(self, settings: RunSettings):
        self.settings = settings
        self.spread: dict[str, Any] = {}
        self.randomness = Randomness(settings.seed)
        self.simulator = settings.simulator.make(settings.seed)
        self.evaluation_simulator = settings.simulator.make(settings.seed)
        space = self.simulator.observation_space
        actions = spaces.actions(self.simulator.action_space)
        self.replay = make_replay(settings, space, self.simulator.mask_size)
        self.learning = make_learning(settings, self.simulator, self.replay, self.randomness)
        self.agent = self.learning.agent
        self.uncertainty = make_uncertainty(settings, space, actions, self.randomness)
        self.history = make_history(settings, self.simulator, self.uncertainty)
        target = self.agent.target
        self.rule = make_rule(
            settings, self.history, self.uncertainty, self.predict, target, actions
        )
        self.targets = make_targets(settings, target, self.replay, self.predict)
        self._pace = make_pace(settings.loop)
        learns = target != "none"
        self._policy = greedy(self.predict) if learns else uniform(actions)
        self.lineage = Lineage() if self.simulator.replayable else None
        self.demonstrations = Demonstrations()
        actor = make_actor(
            *(settings, self.agent, actions, self.values, self.predict),
            *(self.uncertainty, self.randomness),
        )
        self.rollout = make_rollout(
            settings,
            self.simulator,
            actor,
            self.randomness,
            history=self.history,
            uncertainty=self.uncertainty,
            rule=self.rule,
            lineage=self.lineage,
            demonstrations=self.demonstrations,
        )
        self.whereabouts = Whereabouts(self.simulator)
        self.collecting = Collecting(
            *(self.rollout, self.targets, self.whereabouts, self.randomness),
            history=self.history,
            rule=self.rule,
            p_init=settings.loop.p_init,
            space=space,
        )
        self._started = time.perf_counter()

    def prepare(self) -> None:
        """Takes what the settings let the run begin with: a history, demonstrations."""
        prepare(
            *(self.settings.loop, self.simulator, self.rollout),
            *(self.lineage, self.demonstrations),
        )

    def train(self, pause: Callable[[], None] = lambda: None) -> Iterator[Row]:
        """Runs until the budget is spent; yields a row of metrics after each evaluation.

        The last one is that of the spent budget, however it was spent: by a query, by a restore, or
        by one that failed.

        Args:
            pause: called before each query, when the run can be saved.
        """
        loop = self.settings.loop
        # Products this small lose more to handing work between threads than they gain from it.
        with threadpool_limits(1):
            over = False
            # A run that is resumed may have spent its budget on a restore that it was saved after:
            # it still makes the query that the restore was for.
            while not over:
                answered = self.collecting.query(pause, self.learning.forget)
                if answered:
                    self._learn()
                over = self.spent >= loop.queries
                if over or (answered and self.queries % loop.eval_period == 0):
                    yield self._row()

    @property
    def queries(self) -> int:
        """Steps of the training simulator so far."""
        return self.collecting.queries

    @property
    def spent(self) -> int:
        """Queries so far, with those that restores by replay have cost."""
        return self.queries + self.simulator.replayed

    @property
    def learner(self) -> Any:
        """The agent's present state."""
        return self.learning.learner

    @property
    def sgd_steps(self) -> int:
        """SGD steps so far."""
        return self.learning.steps

    def predict(self, observations: np.ndarray) -> np.ndarray:
        """Returns action values of every ensemble member, [M, B, A]."""
        return self.learning.predict(observations)

    def values(self, observation: Any) -> np.ndarray:
        """Returns action values of the present observation by every ensemble member, [M, A]."""
        return self.learning.values(observation, self.queries)

    @property
    def seconds(self) -> float:
        """Time spent on the run so far, also before it was resumed."""
        return time.perf_counter() - self._started

    def state(self) -> State:
        """Returns all that decides the rest of the run, settings aside; only while paused."""
        return {
            "seconds": self.seconds,
            "queries": self.queries,
            **self.learning.state(),
            **{name: part.state() for name, part in self._parts().items()},
        }

    def load(self, state: State) -> None:
        """Takes the state of an equal run; what follows is what would have followed there."""
        self._started = time.perf_counter() - state["seconds"]
        self.collecting.queries = number(state, "queries")
        self.learning.load(state)
        for name, part in self._parts().items():
            part.load(state[name])

    def kept(self) -> State:
        """Returns what later runs may begin with: the history, and what led to its states."""
        parts = {"history": self.history, "lineage": self.lineage}
        return {name: part.state() for name, part in parts.items() if part is not None}

    def report(self) -> dict[str, Any]:
        """Returns what is added to the summary."""
        return {"dropped_rollouts": self.collecting.tally.dropped_rollouts}

    def check_parameters(self) -> None:
        """Raises an error if any of the learner's numbers is not finite."""
        for leaf in saved_tree(self.learner)["leaves"]:
            if not np.isfinite(leaf).all():
                raise BadNumberError(f"a parameter was not finite at query {self.queries}")

    def _parts(self) -> dict[str, Stateful]:
        """Returns the parts that change as the run goes on."""
        parts: dict[str, Stateful | None] = {
            "tally": self.collecting.tally,
            "replay": self.replay,
            "targets": self.targets,
            "uncertainty": self.uncertainty,
            "history": self.history,
            "rule": self.rule,
            "demonstrations": self.demonstrations if self.settings.loop.demonstrations else None,
            "rollout": self.rollout,
            "whereabouts": self.whereabouts,
            "lineage": self.lineage,
        }
        return {name: part for name, part in parts.items() if part is not None}

    def _learn(self) -> None:
        """Takes the SGD steps that are due after a query."""
        due = self._pace.steps_due(self.queries, self.replay.added, self.sgd_steps)
        for _ in range(due):
            loss = self.learning.learn(self.rollout, self.queries)
            require_finite("the loss", loss, self.queries)
            self.collecting.tally.loss(loss)

    def _row(self) -> Row:
        """Evaluates, and sums up what has happened since the last row."""
        self.check_parameters()
        result = evaluate(
            self.evaluation_simulator,
            self._policy,
            self.settings.loop.eval_episodes,
            self.randomness.at("evaluation", self.queries),
            limit=self.settings.loop.eval_limit,
        )
        require_finite("the return of an evaluation", result.mean, self.queries)
        self.whereabouts.evaluated(self.queries)
        return {
            "queries": self.spent,
            "wall_seconds": round(self.seconds, 3),
            "rollouts": self.rollout.rollouts,
            "restarts": self.rollout.restarts,
            "sgd_steps": self.sgd_steps,
            "eval_return_mean": result.mean,
            "eval_return_std": result.std,
            "eval_episodes": result.episodes,
            **self.collecting.tally.row(),
            "history_size": len(self.history) if self.history is not None else 0,
            "replay_size": len(self.replay),
            "positive_rewards": self.collecting.tally.positive_rewards,
            **self.simulator.metrics(),
        }
