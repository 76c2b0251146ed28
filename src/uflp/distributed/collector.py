"""An actor: a simulator, an uncertainty, and rollouts that feed the replay and the history."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from uflp import spaces
from uflp.agents.compute import configure
from uflp.collection import FailedRolloutError, Rule, Start
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
from uflp.memory.parcels import make_outbox
from uflp.randomness import Randomness
from uflp.state import State, number
from uflp.training.run import PATIENCE, SimulatorFailedError
from uflp.training.settings import RunSettings
from uflp.training.tally import require_finite
from uflp.training.wiring import (
    make_actor,
    make_rollout,
    make_rule,
    make_targets,
    make_uncertainty,
)
from uflp.types import Transition


class Collector:
    """One of a run's actors, in a process of its own."""

    def __init__(
        self,
        settings: RunSettings,
        index: int,
        history: Caller | None,
        replay: Caller,
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
        self._settings = settings
        self._replay = replay
        self._randomness = Randomness(settings.seed, index)
        self._simulator = settings.simulator.make(settings.seed)
        space = self._simulator.observation_space
        actions = spaces.actions(self._simulator.action_space)
        self._floats = np.issubdtype(spaces.layout(space)[1], np.floating)
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
        actor = make_actor(
            settings, agent, actions, self._looked_values, predict, own, self._randomness
        )
        self._rollout = make_rollout(
            settings,
            self._simulator,
            actor,
            self._randomness,
            history=self._history,
            uncertainty=self._uncertainty,
            rule=self._rule,
            lineage=self._lineage,
        )
        self._notes = Notes(self._simulator)
        self._queries = 0
        self._failures = 0
        self._return = 0.0
        self._looked: np.ndarray | None = None

    def collect(self, task: Task) -> Chunk:
        """Makes queries, and sends on what came of them."""
        if self._queries < task.made:
            # Another process was here before, and died: its random numbers are not drawn again.
            self._queries, self._rollout.rollouts = task.made, task.rollouts
        self._values.parameters = task.parameters
        self._looked = task.looked
        before = self._counts()
        chunk = _Counted()
        while self._queries - before[0] + self._replayed - before[1] < task.queries:
            try:
                if self._rollout.over:
                    self._begin(self._start())
                transition = self._rollout.step(self._queries)
            except FailedRolloutError as failure:
                self._drop(failure)
                chunk.dropped += 1
                continue
            self._looked = None
            self._queries += 1
            self._count(transition, chunk)
            self._targets.add(transition)
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
            *(chunk.positive_rewards, chunk.returns, chunk.dropped),
            *self._notes.take(),
            None if self._rollout.over else self._rollout.observation,
            self._simulator.logs() if task.logs else None,
            os.getpid(),
        )

    def state(self) -> State:
        """Returns all that decides what this actor does next."""
        return {
            "queries": self._queries,
            "failures": min(1, self._failures),
            "return": self._return,
            "rollout": self._rollout.state(),
            "targets": self._targets.state(),
            "uncertainty": {} if self._uncertainty is None else self._uncertainty.state(),
            "lineage": {} if self._lineage is None else self._lineage.state(),
            "notes": self._notes.state(),
        }

    def load(self, state: State) -> None:
        """Takes the state of an equal actor."""
        self._queries = number(state, "queries")
        self._failures = number(state, "failures")
        self._return = float(state["return"])
        self._targets.load(state["targets"])
        if self._uncertainty is not None:
            self._uncertainty.load(state["uncertainty"])
        self._rollout.load(state["rollout"])
        if self._lineage is not None:
            self._lineage.load(state["lineage"])
        self._notes.load(state["notes"])

    def _counts(self) -> tuple[int, int, int, int]:
        rollout = self._rollout
        return self._queries, self._replayed, rollout.rollouts, rollout.restarts

    @property
    def _replayed(self) -> int:
        read = 0 if self._history is None else self._history.replayed
        return self._simulator.replayed + read

    def _begin(self, start: Start) -> None:
        self._rollout.begin(start)
        self._check(self._rollout.observation)
        self._notes.begin(self._rollout.observation, restarted=start.entry is not None)

    def _start(self) -> Start:
        """Decides where the next rollout begins."""
        if self._rule is None or self._failures:
            return Start()
        rng = self._randomness.at("restart", self._rollout.rollouts)
        return Start() if rng.random() <= self._settings.loop.p_init else self._rule.choose(rng)

    def _drop(self, failure: FailedRolloutError) -> None:
        """Forgets the rollout that the simulator failed in; gives up if that goes on."""
        self._targets.drop()
        self._return = 0.0
        self._failures += 1
        if self._failures > PATIENCE:
            raise SimulatorFailedError(
                f"the simulator of an actor failed in {self._failures} rollouts in a row, last "
                f"with {failure.__cause__!r}"
            )

    def _count(self, transition: Transition, chunk: _Counted) -> None:
        require_finite("the reward", transition.reward, self._queries)
        self._check(transition.next_observation)
        chunk.positive_rewards += bool(transition.reward > 0)
        self._return += transition.reward
        if self._rollout.over:
            chunk.returns.append(self._return)
            self._return = 0.0
            self._failures = 0
        self._notes.query(transition.next_observation)

    def _check(self, observation: Any) -> None:
        if self._floats:
            require_finite("the observation", observation, self._queries)

    def _looked_values(self, observation: Any) -> np.ndarray:
        if self._looked is not None:
            return self._looked
        return self._values.predict(np.asarray(observation)[None])[:, 0]


class _Counted:
    """What is counted during a chunk."""

    def __init__(self) -> None:
        self.positive_rewards = 0
        self.returns: list[float] = []
        self.dropped = 0
