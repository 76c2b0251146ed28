"""The evaluator: the greedy policy in a simulator of its own."""

from __future__ import annotations

import os

from uflp import spaces
from uflp.distributed.parameters import Parameters, Values
from uflp.randomness import Randomness
from uflp.training.counters import require_finite
from uflp.training.evaluation import Evaluation, evaluate, greedy, uniform
from uflp.training.settings import RunSettings


class Evaluator:
    """Evaluates parameters, in a process of its own."""

    def __init__(self, settings: RunSettings):
        self._settings = settings
        self._simulator = settings.simulator.make(settings.seed)
        actions = spaces.actions(self._simulator.action_space)
        self._values = Values(settings, self._simulator)
        learns = self._values.agent.target != "none"
        self._policy = greedy(self._values.predict) if learns else uniform(actions)

    def evaluate(self, parameters: Parameters, queries: int) -> tuple[Evaluation, int]:
        """Plays the episodes that are due after some queries; returns the process as well."""
        self._values.parameters = parameters
        result = evaluate(
            self._simulator,
            self._policy,
            self._settings.loop.eval_episodes,
            Randomness(self._settings.seed).at("evaluation", queries),
            limit=self._settings.loop.eval_limit,
        )
        require_finite("the return of an evaluation", result.mean, queries)
        return result, os.getpid()
