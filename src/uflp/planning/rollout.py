"""Algorithm 1 of the paper, DataCollection, one query at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from uflp import spaces
from uflp.planning.acting import Acting
from uflp.planning.observers import Observers
from uflp.planning.planner import LocalPlanner
from uflp.planning.rules.base import Start
from uflp.randomness import Randomness
from uflp.simulators.base import Simulator
from uflp.state import State, StateError, flag, number, real
from uflp.types import Action, RunError, Snapshot, Transition, error_text

T = TypeVar("T")

PATIENCE = 10
"""Rollouts in a row that a simulator may fail in before the run gives up."""

FAILURES = (Exception, SystemExit)
"""Errors that count as failures of a simulator. One that calls `sys.exit` does not end the run."""


class SimulatorFailedError(RunError):
    """The simulator raises errors, and fresh resets do not help."""


class Rollout:
    """Rollouts in one simulator, one after another, of which one is under way.

    Attributes:
        over: whether the present rollout has ended, so that the next must begin.
        observation: what was seen last.
        queries: steps of the simulator so far.
        rollouts: rollouts begun so far.
        restarts: how many of them began from a snapshot.
        abandoned: whether somebody ended the process within a call of the simulator; the rollout is
            over then, as after a failure.
    """

    def __init__(
        self,
        simulator: Simulator,
        actor: Acting,
        planner: LocalPlanner,
        randomness: Randomness,
        observers: Observers | None = None,
    ):
        """Make the means of collection.

        Args:
            simulator: what is queried.
            actor: chooses actions.
            planner: counts queries, saves states, and learns how rollouts end.
            randomness: of the run.
            observers: watch.
        """
        self.over = True
        self.observation: Any = None
        self.queries = 0
        self.rollouts = 0
        self.restarts = 0
        self.abandoned = False
        self._simulator = simulator
        self._actor = actor
        self._planner = planner
        self._randomness = randomness
        self._observers = observers or Observers()
        # Actions that are not left to the agent: a0, a script.
        self._given: deque[Action] = deque()

    def begin(self, start: Start) -> None:
        """Go to s0, and add it to the history. If the simulator fails, the rollout is over."""
        rng = self._randomness.at("rollout", self.rollouts)
        self.rollouts += 1
        try:
            if start.snapshot is None:
                seed = int(rng.integers(2**32)) if start.seed is None else start.seed
                self.observation, _ = self._ask(lambda: self._simulator.reset(seed=seed))
            else:
                snapshot = start.snapshot
                self.observation, _ = self._ask(lambda: self._simulator.restore(snapshot))
                self.restarts += 1
            self._actor.begin_rollout(rng)
            first = [] if start.action is None else [start.action]
            self._given = deque(first if start.script is None else start.script)
            for began in self._observers.began:
                began(start, self.observation, self.queries)
            self._planner.began(start, self.observation, self._simulator.mask, self._save)
            self.over = False
        except _FailedError as failure:
            self._drop(failure)

    def step(self) -> Transition | None:
        """Make one query: a0 first, then whatever the agent chooses.

        Returns:
            What came of it; None if the simulator failed, now or at the beginning. Then the rollout
            is over, and nothing of it is to be learned from.
        """
        if self.over:
            return None
        try:
            return self._query()
        except _FailedError as failure:
            self._drop(failure)
            return None

    def _query(self) -> Transition:
        simulator, planner, observation = self._simulator, self._planner, self.observation
        if self._given:
            action = self._given.popleft()
        else:
            action = self._actor.act(observation, planner.key, self.queries, simulator.mask)
        # A simulator may write into the vector that it is given.
        taken = action if isinstance(action, int) else action.copy()
        result = self._ask(lambda: simulator.step(taken))
        next_observation, reward, terminated, stopped, _ = result
        intrinsic = planner.visited(action)
        # Reaching a limit ends the rollout, not the task: values bootstrap through.
        final = terminated or stopped
        over = final or planner.at_limit
        transition = Transition(
            observation,
            action,
            reward,
            next_observation,
            terminated,
            truncated=over and not terminated,
            intrinsic=intrinsic,
            next_mask=simulator.mask,
        )
        for stepped in self._observers.stepped:
            stepped(transition, self.queries + 1)
        planner.reached(transition, self._save, final=final)
        if over:
            planner.ended(simulator.screen_score)
        self.observation, self.over = next_observation, over
        self.queries += 1
        return transition

    def state(self) -> State:
        """Return where the present rollout is, with the simulator in mid-episode."""
        # Between rollouts there is nothing to save.
        snapshot = None if self.over else self._simulator.save()
        return {
            "snapshot": None if snapshot is None else list(snapshot),
            "logs": self._simulator.logs(),
            "observation": self.observation,
            "actor": self._actor.state(),
            "given": list(self._given),
            "over": self.over,
            "rollouts": self.rollouts,
            "restarts": self.restarts,
        }

    def load(self, state: State) -> None:
        """Go to where a rollout was, noise included, once the planner has its state."""
        self.over = flag(state, "over")
        if not self.over:
            stamp, data, score = state["snapshot"]
            snapshot = Snapshot(stamp, data, real({"screen_score": score}, "screen_score"))
            self._simulator.restore(snapshot, randomness="exact")
        self._simulator.load_logs(state["logs"])
        self.observation = state["observation"]
        if not self.over:
            wrong = spaces.outside(self._simulator.observation_space, self.observation)
            if wrong:
                raise StateError(f"the observation {wrong}")
        self._actor.load(state["actor"])
        # Version 0.1.0 kept a0 alone.
        first = [] if state.get("action") is None else [state["action"]]
        actions = spaces.actions(self._simulator.action_space)
        given = state.get("given", first)
        if not isinstance(given, list | np.ndarray):
            raise StateError(f"given is a {type(given).__name__}, not a list of actions")
        self._given = deque(spaces.read_action(action, actions) for action in given)
        self.rollouts = number(state, "rollouts")
        self.restarts = number(state, "restarts")
        if not self.over:
            self._planner.resume(self.observation)

    def _save(self) -> Snapshot:
        return self._ask(self._simulator.save)

    def _ask(self, question: Callable[[], T]) -> T:
        """Ask the simulator, and tell its errors from ours."""
        try:
            return question()
        except FAILURES as error:
            raise _FailedError from error
        except BaseException:
            self.abandoned = True
            self._forget()
            raise

    def _drop(self, failure: _FailedError) -> None:
        """End a rollout that the simulator failed in; give up if that goes on."""
        self._forget()
        if self._planner.failures > PATIENCE:
            raise SimulatorFailedError(
                f"the simulator failed in {self._planner.failures} rollouts in a row, last at "
                f"query {self.queries} with {error_text(failure.__cause__)}"
            ) from failure.__cause__

    def _forget(self) -> None:
        self.over = True
        self._planner.failed()
        for failed in self._observers.failed:
            failed()


class _FailedError(Exception):
    """The simulator raised an error, which is the cause of this one."""
