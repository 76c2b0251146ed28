"""Evaluation: the greedy policy in a simulator of its own, which is never restored."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from uflp import masks
from uflp.planning import DemonstrationRecorder, SimulatorFailedError
from uflp.planning.acting import mean_action
from uflp.planning.rollout import FAILURES, PATIENCE
from uflp.randomness import Randomness
from uflp.simulators.base import Simulator
from uflp.spaces import Actions, RealActions
from uflp.training.counters import require_finite
from uflp.training.settings import EvaluationSettings
from uflp.types import Action, error_text
from uflp.uncertainty.base import Predict

Watch = Callable[[Any], None]
"""Called with the simulator at every state of an evaluation."""
Policy = Callable[[Any, np.ndarray | None, np.random.Generator], Action]
"""An action for an observation and its mask."""


class FailedEvaluationError(SimulatorFailedError):
    """The simulator raises errors in an evaluation, and fresh resets do not help."""


class Evaluation(NamedTuple):
    """Returns of evaluation episodes, summarised."""

    mean: float
    std: float
    episodes: int


class Evaluator:
    """Evaluates one policy at times in a run.

    Attributes:
        simulator: to play in.
        under_way: whether an evaluation has begun and not ended, as after an error within it.
    """

    def __init__(
        self,
        simulator: Simulator,
        policy: Policy,
        settings: EvaluationSettings,
        randomness: Randomness,
    ):
        """Make an evaluator.

        Args:
            simulator: to play in; nothing else uses it.
            policy: chooses actions.
            settings: how many episodes, and how long.
            randomness: of the run.
        """
        self.simulator = simulator
        self.under_way = False
        self._policy = policy
        self._settings = settings
        self._randomness = randomness

    def evaluate(self, queries: int) -> Evaluation:
        """Play the episodes that are due after some queries; equal policies give equal returns."""
        self.under_way = True
        evaluation = evaluate(
            self.simulator,
            self._policy,
            self._settings.eval_episodes,
            self._randomness.at("evaluation", queries),
            limit=self._settings.eval_limit,
        )
        self.under_way = False
        require_finite("the return of an evaluation", evaluation.mean, queries)
        return evaluation


def evaluate(
    simulator: Simulator | DemonstrationRecorder,
    policy: Policy,
    episodes: int,
    rng: np.random.Generator,
    watch: Watch | None = None,
    limit: int | None = None,
) -> Evaluation:
    """Play episodes, and sum up their returns.

    An episode that the simulator fails in is dropped, and another one is played in its place.

    Args:
        simulator: to play in.
        policy: chooses actions.
        episodes: how many.
        rng: of the simulator's seeds, and of chance in the policy.
        watch: called with the simulator at every state.
        limit: steps after which an episode is cut short; None plays to the end.

    Raises:
        FailedEvaluationError: if it fails again and again.
    """
    watch = watch or (lambda simulator: None)
    returns: list[float] = []
    failures = 0
    while len(returns) < episodes:
        try:
            returns.append(_play(simulator, policy, rng, watch, limit))
            failures = 0
        except _FailedError as failure:
            failures += 1
            if failures > PATIENCE:
                raise FailedEvaluationError(
                    f"the simulator failed in {failures} episodes of an evaluation in a row, last "
                    f"with {error_text(failure.__cause__)}"
                ) from failure.__cause__
    return Evaluation(float(np.mean(returns)), float(np.std(returns)), episodes)


def _play(
    simulator: Simulator | DemonstrationRecorder,
    policy: Policy,
    rng: np.random.Generator,
    watch: Watch,
    limit: int | None,
) -> float:
    """Return the return of one episode."""
    with _failing():
        observation, _ = simulator.reset(seed=int(rng.integers(2**32)))
    watch(simulator)
    total, over, steps = 0.0, False, 0
    while not over and steps != limit:
        action = policy(observation, simulator.mask, rng)
        with _failing():
            observation, reward, terminated, truncated, _ = simulator.step(action)
        watch(simulator)
        total += float(reward)
        over = terminated or truncated
        steps += 1
    return total


class _FailedError(Exception):
    """The simulator raised an error, which is the cause of this one."""


@contextlib.contextmanager
def _failing() -> Iterator[None]:
    """Tell apart what the simulator raises from errors of ours."""
    try:
        yield
    except FAILURES as error:
        raise _FailedError from error


def greedy(predict: Predict) -> Policy:
    """Return the policy that is greedy on the mean of the ensemble's values, without bonus."""

    def policy(observation: Any, mask: np.ndarray | None, rng: np.random.Generator) -> int:
        values = predict(np.asarray(observation)[None]).mean(axis=0)[0]
        return int(masks.only(values, mask).argmax())

    return policy


def at_the_mean(policy: Predict, actions: RealActions) -> Policy:
    """Return the policy that takes the mean action of a distribution.

    Args:
        policy: means and log deviations of observations, [2, B, D].
        actions: what they are.
    """

    def act(observation: Any, mask: np.ndarray | None, rng: np.random.Generator) -> np.ndarray:
        return mean_action(policy(np.asarray(observation)[None])[:, 0], actions)

    return act


def uniform(actions: Actions) -> Policy:
    """Return the policy of an agent that does not learn."""
    if isinstance(actions, RealActions):
        return lambda observation, mask, rng: actions.draw(rng)
    return lambda observation, mask, rng: masks.draw(rng, actions, mask)
