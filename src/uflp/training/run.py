"""Algorithm 2 of the paper, UncertaintyFirstLocalPlanning, in one process."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from uflp.networks.parameters import saved_tree
from uflp.planning import Demonstrations, Lineage, LocalPlanner, Rule
from uflp.planning.demonstrations import DemonstratedStarts
from uflp.planning.lineage import LineageObserver, Segment
from uflp.state import State, StateError, Stateful, flag, number, real
from uflp.training.build import Builder, PlannerParts
from uflp.training.counters import BadNumberError, require_finite
from uflp.training.exploration_log import ExplorationLog
from uflp.training.metrics import Row, RunCounts, metrics_row
from uflp.training.old_checkpoints import with_planner
from uflp.training.rate_limiter import RateLimiter
from uflp.training.settings import RunSettings
from uflp.training.warm_start import adopt_history
from uflp.types import Snapshot, UsageError


class Run:
    """One run: its parts, built from its settings, and the loop that drives them.

    Attributes:
        planner: decides where rollouts begin.
        starts: the planner, behind demonstrations if there are any.
        rollout: makes the queries.
        accumulator: turns transitions into rows of the replay.
        replay: what the agent learns from.
        agent_runner: the agent, and its SGD steps.
        evaluator: plays evaluations, in a simulator of its own.
        counters: what was counted.
        exploration_log: where the run has been.
        demonstrations: what the first rollouts play.
        lineage: where scores came from, None where the simulator's runs cannot be replayed.
        cluster_config: None; see `RunProtocol`.
    """

    def __init__(self, settings: RunSettings):
        self.settings = settings
        self.cluster_config: dict[str, Any] | None = None
        build = Builder(settings)
        self.randomness = build.randomness
        self.simulator = build.simulator
        self.replay = build.replay()
        self.agent_runner = build.agent_runner(self.replay)
        predict = self.agent_runner.predict
        self.evaluator = build.evaluator(self.agent_runner, settings.simulator.make(settings.seed))
        self._rate_limiter = RateLimiter(settings.replay, settings.learning, learns=build.learns)
        self.uncertainty = build.uncertainty()
        self.history = build.history(self.uncertainty)
        self.rule: Rule | None = None
        if self.history is not None:
            self.rule = build.rule(self.history, self.uncertainty, predict, td_errors=build.learns)
        self.exploration_log = ExplorationLog(self.simulator)
        self.lineage = Lineage() if self.simulator.replayable else None
        watching = None
        if self.lineage is not None:
            watching = LineageObserver(self.lineage, self.simulator, self.history)
        parts = PlannerParts(self.history, self.uncertainty, self.rule)
        collection = build.collection(
            self.agent_runner, self.replay, parts, self.exploration_log, watching
        )
        self.planner = collection.planner
        self.rollout = collection.rollout
        self.accumulator = collection.accumulator
        self.counters = collection.counters
        self.demonstrations = Demonstrations()
        self.starts: LocalPlanner | DemonstratedStarts = self.planner
        if settings.planning.demonstrations is not None:
            self.starts = DemonstratedStarts(self.demonstrations, self.planner)
        self._started = time.perf_counter()

    def prepare(
        self,
        history: Iterable[tuple[Snapshot, Segment | None]] = (),
        learner: State | None = None,
    ) -> None:
        """Take what the run begins with: demonstrations, and what other runs have left.

        Args:
            history: snapshots, oldest first, with the actions that led there if known.
            learner: the state of a trained agent; None begins with one that has learned nothing.
        """
        if learner is not None:
            self.agent_runner.adopt(learner)
        planning = self.settings.planning
        if planning.history_from is not None:
            adopt_history(
                history,
                planning.history_from,
                self.settings.evaluation.queries,
                self.simulator,
                self.planner,
                self.lineage,
            )
        if planning.demonstrations is not None:
            self.demonstrations.read(Path(planning.demonstrations), self.simulator)

    def train(self, pause: Callable[[], None] = lambda: None) -> Iterator[Row]:
        """Run until the budget is spent; yield a row of metrics after each evaluation.

        The last one is that of the spent budget, however it was spent: by a query, by a restore, or
        by one that failed.

        Args:
            pause: called before each query, when the run can be saved.
        """
        # Products this small lose more to handing work between threads than they gain from it.
        with threadpool_limits(1):
            done = False
            if self.evaluator.under_way:  # An evaluation failed, and the run goes on.
                yield self.evaluate()
                done = self._budget_is_spent()
            # A run that is resumed may have spent its budget on a restore that it was saved after:
            # it still makes the query that the restore was for.
            while not done:
                if self.rollout.over:
                    rng = self.randomness.at("restart", self.rollout.rollouts)
                    self.rollout.begin(self.starts.start(rng))
                pause()
                transition = self.rollout.step()
                if transition is not None:
                    self.accumulator.add(transition)
                    self.learn()
                done = self._budget_is_spent()
                if done or (transition is not None and self._evaluation_is_due()):
                    yield self.evaluate()

    def learn(self) -> None:
        """Run the SGD steps that are due after a query."""
        limiter = self._rate_limiter
        limiter.inserted(1, self.replay.added - limiter.inserts)
        for _ in range(limiter.due):
            next_query = None if self.rollout.over else self.queries
            loss = self.agent_runner.learn(self.rollout.observation, next_query)
            limiter.learned(1)
            require_finite("the loss", loss, self.queries)
            self.counters.loss(loss)

    def evaluate(self) -> Row:
        """Evaluate the agent; return a row of metrics with what has happened since the last."""
        self.check_parameters()
        evaluation = self.evaluator.evaluate(self.queries)
        self.exploration_log.evaluated(self.queries)
        counts = RunCounts(
            queries=self.spent,
            seconds=self.seconds,
            rollouts=self.rollout.rollouts,
            restarts=self.rollout.restarts,
            sgd_steps=self.sgd_steps,
            counted=self.counters.since_last_row(),
            simulator=self.simulator.metrics(),
        )
        return metrics_row(
            counts,
            evaluation,
            history_size=0 if self.history is None else len(self.history),
            replay_size=len(self.replay),
        )

    def _budget_is_spent(self) -> bool:
        return self.spent >= self.settings.evaluation.queries

    def _evaluation_is_due(self) -> bool:
        return self.queries % self.settings.evaluation.eval_period == 0

    @property
    def queries(self) -> int:
        """Steps of the training simulator so far."""
        return self.rollout.queries

    @property
    def spent(self) -> int:
        """Queries so far, with those that restores by replay have cost."""
        return self.queries + self.simulator.replayed

    @property
    def in_simulator(self) -> bool:
        """Whether the run was ended within a call of a simulator; it can be saved then."""
        return self.rollout.abandoned or self.evaluator.under_way

    @property
    def learner(self) -> Any:
        """The agent's present state."""
        return self.agent_runner.learner

    @property
    def sgd_steps(self) -> int:
        """SGD steps so far."""
        return self.agent_runner.steps

    def predict(self, observations: np.ndarray, actions: np.ndarray | None = None) -> np.ndarray:
        """Return action values of every ensemble member, [M, B, A], or [M, B, K] of K actions."""
        return self.agent_runner.predict(observations, actions)

    @property
    def seconds(self) -> float:
        """Time spent on the run so far, also before it was resumed."""
        return time.perf_counter() - self._started

    def state(self) -> State:
        """Return all that decides the rest of the run, settings aside; only while paused."""
        return {
            "seconds": self.seconds,
            "queries": self.queries,
            "evaluating": self.evaluator.under_way,
            **self.agent_runner.state(),
            **self.planner.state(),
            **{name: part.state() for name, part in self._parts().items()},
        }

    def load(self, state: State) -> None:
        """Take the state of an equal run; what follows is what would have followed there."""
        self._started = time.perf_counter() - real(state, "seconds", 0.0)
        evaluating = flag(state, "evaluating") if "evaluating" in state else False
        self.evaluator.under_way = evaluating
        self.agent_runner.load(state)
        self.planner.load(with_planner(state, self.settings.planning))
        for name, part in self._parts().items():
            part.load(state[name])
        self.rollout.queries = number(state, "queries", self.settings.evaluation.queries)
        if self.replay.added > self.queries:
            raise StateError(f"{self.replay.added} rows came of {self.queries} queries")
        self._rate_limiter.resume(self.queries, self.replay.added, self.sgd_steps)
        if self._rate_limiter.due > 1:
            raise StateError(f"{self._rate_limiter.due} SGD steps were left out")
        if isinstance(self.starts, DemonstratedStarts):
            self.starts.begun = self.rollout.rollouts
            if "planner" not in state and not self.rollout.over and self.starts.demonstrating:
                raise UsageError(
                    "version 0.1.0 wrote the checkpoint in the midst of a demonstration, which "
                    "this version cannot go on with: resume the run with version 0.1.0"
                )

    def kept(self) -> State:
        """Return what later runs may begin with: the history, and what led to its states."""
        parts = {"history": self.history, "lineage": self.lineage}
        return {name: part.state() for name, part in parts.items() if part is not None}

    def report(self) -> dict[str, Any]:
        """Return what is added to the summary."""
        return {"dropped_rollouts": self.counters.dropped_rollouts}

    def check_parameters(self) -> None:
        """Raise an error if any of the learner's numbers is not finite."""
        for leaf in saved_tree(self.learner)["leaves"]:
            if not np.isfinite(leaf).all():
                raise BadNumberError(f"a parameter was not finite at query {self.queries}")

    def _parts(self) -> dict[str, Stateful]:
        """Return the parts that change as the run goes on, by their names in a checkpoint."""
        demonstrated = self.settings.planning.demonstrations is not None
        parts: dict[str, Stateful | None] = {
            "tally": self.counters,
            "replay": self.replay,
            "targets": self.accumulator,
            "demonstrations": self.demonstrations if demonstrated else None,
            "rollout": self.rollout,
            "whereabouts": self.exploration_log,
            "lineage": self.lineage,
        }
        return {name: part for name, part in parts.items() if part is not None}
