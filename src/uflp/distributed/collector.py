"""An actor: a simulator, an uncertainty, and rollouts that feed the replay and the history."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from uflp import spaces
from uflp.agents.compute import configure
from uflp.distributed.calls import Caller
from uflp.distributed.client import (
    HistoryClient,
    LineageClient,
    OwnChoice,
    SharedChoice,
    SharedCounts,
)
from uflp.distributed.exploration_buffer import ExplorationBuffer
from uflp.distributed.messages import Chunk, Task
from uflp.distributed.naming import naming_of
from uflp.distributed.parameters import Values
from uflp.distributed.replay import Receiver
from uflp.planning import Observer, Observers, Rollout, Rule
from uflp.planning.observers import OnFailure
from uflp.randomness import Randomness
from uflp.replay.transfer import make_outbox
from uflp.state import State, number
from uflp.training.counters import Counters, FiniteCheck
from uflp.training.settings import RunSettings
from uflp.training.wiring import make_accumulator, make_actor, make_planner, make_uncertainty


class Collector:
    """One of a run's actors, in a process of its own."""

    def __init__(
        self,
        settings: RunSettings,
        index: int,
        history: Caller | None,
        replay: Receiver,
        shared: bool,
        dictionary: bytes,
    ):
        """Makes an actor.

        Args:
            settings: of the run.
            index: number of the actor.
            history: the shared history, if there is one.
            replay: where rows go.
            shared: whether counts are shared.
            dictionary: see `FrameReplay`.
        """
        configure()
        # Products this small lose more to handing work between threads than they gain from it.
        threadpool_limits(1)
        self._replay = replay
        randomness = Randomness(settings.seed, index)
        self._simulator = settings.simulator.make(settings.seed)
        space = self._simulator.observation_space
        actions = spaces.actions(self._simulator.action_space)
        self._values = Values(settings, self._simulator)
        self._outbox = make_outbox(space, self._simulator.mask_size, dictionary)
        agent = self._values.agent
        predict = self._values.predict
        self._accumulator = make_accumulator(settings, agent.target, self._outbox, predict)
        own = make_uncertainty(settings, space, actions, Randomness(settings.seed))
        uncertainty: Any = own
        rule: Rule | None = None
        self._history: HistoryClient | None = None
        self._lineage: LineageClient | None = None
        if history is not None and own is not None:
            client = self._history = HistoryClient(history, index, naming_of(own))
            if shared:
                acts_on_it = settings.exploration != "greedy"
                uncertainty = SharedCounts(own, client, acts_on_it=acts_on_it)
                rule = SharedChoice(client, self._values)
            else:
                rule = OwnChoice(client, own, predict, settings.loop, actions)
            if self._simulator.replayable:
                self._lineage = LineageClient(client, self._simulator)
        self._counters = Counters()
        self._exploration = ExplorationBuffer(self._simulator)
        watching: list[Observer] = [FiniteCheck(space), self._counters, self._exploration]
        watching.append(OnFailure(self._accumulator.drop))
        if self._lineage is not None:
            watching.append(self._lineage)
        observers = Observers(watching)
        self._planner = make_planner(
            settings,
            history=self._history,
            uncertainty=uncertainty,
            rule=rule,
            predict=predict,
            observers=observers,
        )
        actor = make_actor(settings, agent, actions, self._looked_values, predict, own, randomness)
        self._randomness = randomness
        self._rollout = Rollout(self._simulator, actor, self._planner, randomness, observers)
        self._looked: np.ndarray | None = None

    def collect(self, task: Task) -> Chunk:
        """Makes queries, and sends on what came of them."""
        rollout = self._rollout
        if rollout.queries < task.made:
            # Another process was here before, and died: its random numbers are not drawn again.
            rollout.queries, rollout.rollouts = task.made, task.rollouts
        self._values.parameters = task.parameters
        self._looked = task.looked
        before = self._counts()
        while rollout.queries - before[0] + self._replayed - before[1] < task.queries:
            if rollout.over:
                rng = self._randomness.at("restart", rollout.rollouts)
                rollout.begin(self._planner.start(rng))
            transition = rollout.step()
            if transition is not None:
                self._accumulator.add(transition)
            self._looked = None
        parcel = self._outbox.pack()
        if parcel.size:
            self._replay.tell("insert", parcel)
        if self._history is not None:
            self._history.flush(task.settle)
        if task.settle:
            self._replay.settle()
        made, replayed, rollouts, restarts = (
            now - then for now, then in zip(self._counts(), before, strict=True)
        )
        visited, restarted = self._exploration.take()
        return Chunk(
            queries=made,
            replayed=replayed,
            rollouts=rollouts,
            restarts=restarts,
            rows=parcel.size,
            sent=parcel.nbytes,
            counted=self._counters.take(),
            visited=visited,
            restarted=restarted,
            observation=None if rollout.over else rollout.observation,
            logs=self._simulator.logs() if task.logs else None,
            pid=os.getpid(),
        )

    def state(self) -> State:
        """Return all that decides what this actor does next."""
        return {
            "queries": self._rollout.queries,
            **self._planner.state(),
            "tally": self._counters.state(),
            "rollout": self._rollout.state(),
            "targets": self._accumulator.state(),
            "lineage": {} if self._lineage is None else self._lineage.state(),
            "notes": self._exploration.state(),
        }

    def load(self, state: State) -> None:
        """Take the state of an equal actor."""
        # Version 0.1.0 wrote neither for parts that keep nothing here.
        self._planner.load({"history": {}, "rule": {}, **state})
        self._counters.load(state["tally"])
        self._accumulator.load(state["targets"])
        self._rollout.load(state["rollout"])
        self._rollout.queries = number(state, "queries")
        if self._lineage is not None:
            self._lineage.load(state["lineage"])
        self._exploration.load(state["notes"])

    def _counts(self) -> tuple[int, int, int, int]:
        rollout = self._rollout
        return rollout.queries, self._replayed, rollout.rollouts, rollout.restarts

    @property
    def _replayed(self) -> int:
        read = 0 if self._history is None else self._history.replayed
        return self._simulator.replayed + read

    def _looked_values(self, observation: Any, query: int) -> np.ndarray:
        if self._looked is not None:
            return self._looked
        return self._values.predict(np.asarray(observation)[None])[:, 0]
