"""Algorithm 1 of the paper, DataCollection, one query at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import numpy as np

from uflp.collection.acting import Actor
from uflp.collection.demonstrations import Demonstrations
from uflp.collection.rules import Rule, Start
from uflp.randomness import Randomness
from uflp.simulators.base import Simulator
from uflp.state import State, number
from uflp.types import Snapshot, Transition
from uflp.uncertainty.base import Uncertainty

T = TypeVar("T")


class Past(Protocol):
    """A history, seen from here; it may be elsewhere.

    Attributes:
        oldest: number of the oldest entry.
        newest: number of the newest.
    """

    oldest: int
    newest: int

    def add(self, snapshot: Snapshot, key: Any, mask: np.ndarray | None) -> int:
        """Adds a snapshot, and returns its number."""

    def fetch(self, entry: int) -> Snapshot | None:
        """Returns the snapshot of an entry, None if it has been evicted."""


class Ancestry(Protocol):
    """A lineage, seen from here."""

    def begin(self, entry: int | None) -> None:
        """Goes to an entry of the history, or to the initial state."""

    def stepped(self, executed: bytes, score: float) -> None:
        """Takes note of the actions of a step's frames, and of the screen score after it."""

    def added(self, entry: int, oldest: int) -> None:
        """Learns that the present state is a new entry of a history, and which is its oldest."""


class FailedRolloutError(Exception):
    """The simulator raised an error, which is the cause of this one; the rollout is over."""


class Rollout:
    """A sequence of rollouts in one simulator, of which one is under way.

    Attributes:
        over: whether the present rollout has ended, so that the next must begin.
        observation: what was seen last.
        rollouts: rollouts begun so far.
        restarts: how many of them began from a snapshot.
    """

    def __init__(
        self,
        simulator: Simulator,
        actor: Actor,
        randomness: Randomness,
        *,
        history: Past | None,
        uncertainty: Uncertainty | None,
        rule: Rule | None,
        checkpoint_period: int = 1,
        limit: int | None = None,
        restart_limit: int | None = None,
        intrinsic_scale: float = 0.0,
        lineage: Ancestry | None = None,
        demonstrations: Demonstrations | None = None,
    ):
        """Makes the means of collection.

        Args:
            simulator: what is queried.
            actor: chooses actions.
            randomness: of the run.
            history: where snapshots go; None under online access.
            uncertainty: observes every query, if there is one.
            rule: told of every snapshot and of what became of it, if there is one.
            checkpoint_period: a state is saved every so many observations.
            limit: queries after which a rollout is truncated.
            restart_limit: queries after which one that began with a restart is, if that is sooner.
            intrinsic_scale: c of the intrinsic reward c·u(s, a), Eq. 5.
            lineage: told of every action that the simulator executes, if it says which.
            demonstrations: what the first rollouts play, in the place of the actor.
        """
        self.over = True
        self.observation: Any = None
        self.rollouts = 0
        self.restarts = 0
        self._simulator = simulator
        self._actor = actor
        self._randomness = randomness
        self._history = history
        self._uncertainty = uncertainty
        self._rule = rule
        self._period = checkpoint_period
        self._limit = limit
        limits = [most for most in (limit, restart_limit) if most is not None]
        self._restart_limit = min(limits, default=None)
        self._intrinsic_scale = intrinsic_scale
        self._restarted = False
        self._key: Any = None
        self._action: int | None = None
        self._length = 0
        self._lineage = lineage
        self._demonstrations = Demonstrations() if demonstrations is None else demonstrations

    @property
    def demonstrates(self) -> bool:
        """Whether the next rollout plays a demonstration."""
        return self.rollouts < len(self._demonstrations)

    @property
    def left(self) -> int | None:
        """Queries until the present rollout is truncated, None if it goes on to its end."""
        played = self._played()
        if played is not None:
            return len(played) - self._length
        limit = self._restart_limit if self._restarted else self._limit
        return None if limit is None else limit - self._length

    def adopt(self, snapshot: Snapshot) -> None:
        """Adds a snapshot that another run has left to the history; the lineage is there already.

        Args:
            snapshot: of a simulator with the same stamp.
        """
        observation, _ = self._simulator.restore(snapshot)
        self._key = self._key_of(observation)
        self._remember()

    def begin(self, start: Start) -> None:
        """Goes to s0, and adds it to the history."""
        rng = self._randomness.at("rollout", self.rollouts)
        demonstrated = self._demonstrations.seed(self.rollouts) if self.demonstrates else None
        self.rollouts += 1
        if start.entry is None or self._history is None:
            self._restarted = False
            seed = int(rng.integers(2**32)) if demonstrated is None else demonstrated
            self.observation, _ = self._ask(lambda: self._simulator.reset(seed=seed))
        else:
            snapshot = self._history.fetch(start.entry)
            assert snapshot is not None, "a rule chose an entry that the history has evicted"
            self.observation, _ = self._ask(lambda: self._simulator.restore(snapshot))
            self._restarted = True
            self.restarts += 1
        if self._lineage is not None:
            self._lineage.begin(start.entry)
        self._actor.begin_rollout(rng)
        self._key = self._key_of(self.observation)
        self._action = start.action
        self._length = 0
        self.over = False
        self._remember()

    def step(self, query: int) -> Transition:
        """Makes one query: a0 first, then whatever the agent chooses."""
        observation, key, action = self.observation, self._key, self._action
        played = self._played()
        if played is not None:
            action = played[self._length]
        elif action is None:
            action = self._actor.act(observation, key, query, self._simulator.mask)
        result = self._ask(lambda: self._simulator.step(action))
        next_observation, reward, terminated, stopped, _ = result
        if self._lineage is not None:
            self._lineage.stepped(self._simulator.executed, self._simulator.screen_score)
        intrinsic = self._visit(key, action)
        self._length += 1
        # Reaching the limit ends the rollout, not the task: values bootstrap through, and the state
        # is one to go on from.
        final = terminated or stopped
        self.over = final or self.left == 0
        self.observation, self._action = next_observation, None
        transition = Transition(
            *(observation, action, reward, next_observation, terminated),
            *(self.over and not terminated, intrinsic),
            next_mask=self._simulator.mask,
        )
        self._tell_left(transition)
        if not final:
            self._key = self._key_of(next_observation)
            if self._length % self._period == 0:
                self._remember()
        if self.over:
            self._tell_ended(seen=self._length - 1 if final else self._length)
        return transition

    def state(self) -> State:
        """Returns where the present rollout is, with the simulator in mid-episode."""
        # Between rollouts there is nothing to save.
        snapshot = None if self.over else self._simulator.save()
        return {
            "snapshot": None if snapshot is None else list(snapshot),
            "logs": self._simulator.logs(),
            "observation": self.observation,
            "actor": self._actor.state(),
            "action": self._action,
            "length": self._length,
            "restarted": self._restarted,
            "over": self.over,
            "rollouts": self.rollouts,
            "restarts": self.restarts,
        }

    def load(self, state: State) -> None:
        """Goes to where a rollout was, noise included."""
        if state["snapshot"] is not None:
            self._simulator.restore(Snapshot(*state["snapshot"]), randomness="exact")
        self._simulator.load_logs(state["logs"])
        self.observation = state["observation"]
        self._actor.load(state["actor"])
        self._action = state["action"]
        self._length = number(state, "length")
        # Runs of before there was a restart limit have none, and it makes no difference to them.
        self._restarted = state.get("restarted", False)
        self.over = state["over"]
        self.rollouts = number(state, "rollouts")
        self.restarts = number(state, "restarts")
        self._key = None if self.over else self._key_of(self.observation)

    def _played(self) -> list[int] | None:
        """Returns the actions of the demonstration that the present rollout plays, if it does."""
        number = self.rollouts - 1
        return self._demonstrations.actions(number) if number < len(self._demonstrations) else None

    def _visit(self, key: Any, action: int) -> float:
        """Lets the uncertainty observe the query; returns the intrinsic reward it had before."""
        if self._uncertainty is None:
            return 0.0
        intrinsic = 0.0
        if self._intrinsic_scale:
            intrinsic = self._intrinsic_scale * self._actor.uncertainty_of(key, action)
        self._uncertainty.observe(key, action)
        return intrinsic

    def _remember(self) -> None:
        """Adds the present state to the history."""
        if self._history is None:
            return
        entry = self._history.add(self._ask(self._simulator.save), self._key, self._simulator.mask)
        if self._rule is not None:
            self._rule.added(entry, self._key)
        if self._lineage is not None:
            self._lineage.added(entry, self._history.oldest)

    def _tell_left(self, transition: Transition) -> None:
        """Tells the rule what happened in the last entry's state, if it happened there."""
        if self._rule is None or self._history is None or (self._length - 1) % self._period:
            return
        self._rule.left(self._history.newest, transition)

    def _tell_ended(self, seen: int) -> None:
        """Tells the rule of the end of a rollout that has seen so many states after s0."""
        if self._rule is None or self._history is None:
            return
        newest = self._history.newest
        first = max(newest - seen // self._period, self._history.oldest)
        self._rule.ended(np.arange(first, newest + 1), self._simulator.screen_score)

    def _ask(self, question: Callable[[], T]) -> T:
        """Asks the simulator, and ends the rollout if it raises an error."""
        try:
            return question()
        except Exception as error:
            self.over = True
            raise FailedRolloutError from error

    def _key_of(self, observation: Any) -> Any:
        return 0 if self._uncertainty is None else self._uncertainty.key_of(observation)
