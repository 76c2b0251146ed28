"""An actor: a simulator, an uncertainty, and rollouts that feed the replay and the history."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from uflp import spaces
from uflp.agents.compute import configure
from uflp.collection import Rule
from uflp.distributed.calls import Caller
from uflp.distributed.client import (
    HistoryClient,
    LineageClient,
    OwnChoice,
    SharedChoice,
    SharedCounts,
)
from uflp.distributed.messages import Chunk, Task
from uflp.distributed.naming import naming_of
from uflp.distributed.notes import Notes
from uflp.distributed.parameters import Values
from uflp.distributed.replay import Receiver
from uflp.memory.parcels import make_outbox
from uflp.randomness import Randomness
from uflp.state import State, number
from uflp.training.collecting import Collecting
from uflp.training.settings import RunSettings
from uflp.training.wiring import (
    make_actor,
    make_rollout,
    make_rule,
    make_targets,
    make_uncertainty,
)


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
        self._targets = make_targets(settings, agent.target, self._outbox, predict)
        own = make_uncertainty(settings, space, actions, Randomness(settings.seed))
        self._uncertainty: Any = own
        self._history: HistoryClient | None = None
        self._rule: Rule | None = None
        self._lineage: LineageClient | None = None
        if history is not None and own is not None:
            client = self._history = HistoryClient(history, index, naming_of(own))
            if shared:
                acts_on_it = settings.exploration != "greedy"
                self._uncertainty = SharedCounts(own, client, acts_on_it=acts_on_it)
                self._rule = SharedChoice(client, self._values)
            else:
                past: Any = client  # The rule asks for no more than there is.
                rule = make_rule(settings, past, own, predict, agent.target, actions)
                assert rule is not None
                self._rule = OwnChoice(rule, client)
            if self._simulator.replayable:
                self._lineage = LineageClient(client)
        actor = make_actor(settings, agent, actions, self._looked_values, predict, own, randomness)
        self._rollout = make_rollout(
            settings,
            self._simulator,
            actor,
            randomness,
            history=self._history,
            uncertainty=self._uncertainty,
            rule=self._rule,
            lineage=self._lineage,
        )
        self._notes = Notes(self._simulator)
        self._collecting = Collecting(
            *(self._rollout, self._targets, self._notes, randomness),
            history=self._history,
            rule=self._rule,
            p_init=settings.loop.p_init,
            space=space,
        )
        self._looked: np.ndarray | None = None

    def collect(self, task: Task) -> Chunk:
        """Makes queries, and sends on what came of them."""
        collecting = self._collecting
        if collecting.queries < task.made:
            # Another process was here before, and died: its random numbers are not drawn again.
            collecting.queries, self._rollout.rollouts = task.made, task.rollouts
        self._values.parameters = task.parameters
        self._looked = task.looked
        before = self._counts()
        while collecting.queries - before[0] + self._replayed - before[1] < task.queries:
            collecting.query()
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
        return Chunk(
            *(made, replayed, rollouts, restarts, parcel.size, parcel.nbytes),
            collecting.tally.take(),
            *self._notes.take(),
            None if self._rollout.over else self._rollout.observation,
            self._simulator.logs() if task.logs else None,
            os.getpid(),
        )

    def state(self) -> State:
        """Returns all that decides what this actor does next."""
        return {
            "queries": self._collecting.queries,
            "tally": self._collecting.tally.state(),
            "rollout": self._rollout.state(),
            "targets": self._targets.state(),
            "uncertainty": {} if self._uncertainty is None else self._uncertainty.state(),
            "lineage": {} if self._lineage is None else self._lineage.state(),
            "notes": self._notes.state(),
        }

    def load(self, state: State) -> None:
        """Takes the state of an equal actor."""
        self._collecting.queries = number(state, "queries")
        self._collecting.tally.load(state["tally"])
        self._targets.load(state["targets"])
        if self._uncertainty is not None:
            self._uncertainty.load(state["uncertainty"])
        self._rollout.load(state["rollout"])
        if self._lineage is not None:
            self._lineage.load(state["lineage"])
        self._notes.load(state["notes"])

    def _counts(self) -> tuple[int, int, int, int]:
        rollout = self._rollout
        return self._collecting.queries, self._replayed, rollout.rollouts, rollout.restarts

    @property
    def _replayed(self) -> int:
        read = 0 if self._history is None else self._history.replayed
        return self._simulator.replayed + read

    def _looked_values(self, observation: Any) -> np.ndarray:
        if self._looked is not None:
            return self._looked
        return self._values.predict(np.asarray(observation)[None])[:, 0]
