"""Rollouts one after another: what Algorithm 2 of the paper does beside learning.

A run in one process and every actor of one that is spread collect by this.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np

from uflp import spaces
from uflp.collection import FailedRolloutError, Past, Rollout, Rule, Start
from uflp.memory.targets import Targets
from uflp.randomness import Randomness
from uflp.training.tally import Tally, require_finite
from uflp.training.whereabouts import Follower
from uflp.types import RunError, Transition

_PATIENCE = 10
"""Rollouts in a row that a simulator may fail in before the run gives up."""


class SimulatorFailedError(RunError):
    """The simulator raises errors, and fresh resets do not help."""


class Collecting:
    """Makes queries, and hands on what came of them.

    Attributes:
        queries: steps of the simulator so far.
        tally: what was counted.
    """

    def __init__(
        self,
        rollout: Rollout,
        targets: Targets,
        follower: Follower,
        randomness: Randomness,
        *,
        history: Past | None,
        rule: Rule | None,
        p_init: float,
        space: gymnasium.Space[Any],
    ):
        """Connects the parts.

        Args:
            rollout: makes the queries.
            targets: gets the transitions.
            follower: is told where the rollouts are.
            randomness: of the restarts.
            history: what there is to restart from, None if nothing ever is. A shared one always
                counts as something: a rule that goes by it finds out itself if it is empty.
            rule: says where to restart, None to begin all rollouts at the initial states.
            p_init: probability of beginning there with a rule too.
            space: of observations.
        """
        self.queries = 0
        self.tally = Tally()
        self._rollout = rollout
        self._targets = targets
        self._follower = follower
        self._randomness = randomness
        self._history = history
        self._rule = rule
        self._p_init = p_init
        # Only these may not be finite.
        self._floats = np.issubdtype(spaces.layout(space)[1], np.floating)

    def query(
        self,
        pause: Callable[[], None] = lambda: None,
        forget: Callable[[], None] = lambda: None,
    ) -> bool:
        """Makes one query, of a new rollout if none is under way.

        Args:
            pause: called just before the query.
            forget: called if the simulator failed, also if the run gives up.

        Returns:
            Whether it was answered. If the simulator failed, its rollout is forgotten.
        """
        try:
            if self._rollout.over:
                self._begin()
            pause()
            transition = self._rollout.step(self.queries)
        except FailedRolloutError as failure:
            forget()
            self._drop(failure)
            return False
        self.queries += 1
        self._count(transition)
        self._targets.add(transition)
        return True

    def _begin(self) -> None:
        start = self._start()
        self._rollout.begin(start)
        self._check(self._rollout.observation)
        self._follower.begin(self._rollout.observation, restarted=start.entry is not None)

    def _start(self) -> Start:
        """Decides where the next rollout begins."""
        if self._rule is None or not self._history:
            return Start()
        if self._rollout.demonstrates or self.tally.failures:
            return Start()
        rng = self._randomness.at("restart", self._rollout.rollouts)
        return Start() if rng.random() <= self._p_init else self._rule.choose(rng)

    def _drop(self, failure: FailedRolloutError) -> None:
        """Forgets the rollout that the simulator failed in; gives up if that goes on."""
        self._targets.drop()
        self.tally.drop()
        if self.tally.failures > _PATIENCE:
            raise SimulatorFailedError(
                f"the simulator failed in {self.tally.failures} rollouts in a row, last at query "
                f"{self.queries} with {failure.__cause__!r}"
            ) from failure.__cause__

    def _count(self, transition: Transition) -> None:
        require_finite("the reward", transition.reward, self.queries)
        self.tally.reward(transition.reward, self._rollout.over)
        self._check(transition.next_observation)
        self._follower.query(transition.next_observation)

    def _check(self, observation: Any) -> None:
        if self._floats:
            require_finite("the observation", observation, self.queries)
