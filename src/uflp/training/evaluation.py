"""Evaluation: the greedy policy in a simulator of its own, which is never restored."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from uflp import masks
from uflp.planning import DemonstrationRecorder
from uflp.simulators.base import Simulator
from uflp.types import RunError
from uflp.uncertainty.base import Predict

Watch = Callable[[Any], None]
"""Called with the simulator at every state of an evaluation."""
Policy = Callable[[Any, np.ndarray | None, np.random.Generator], int]
"""An action for an observation and its mask."""


class FailedEvaluationError(RunError):
    """The simulator raised an error in an evaluation."""


class Evaluation(NamedTuple):
    """Returns of evaluation episodes, summarised."""

    mean: float
    std: float
    episodes: int


def evaluate(
    simulator: Simulator | DemonstrationRecorder,
    policy: Policy,
    episodes: int,
    rng: np.random.Generator,
    watch: Watch | None = None,
    limit: int | None = None,
) -> Evaluation:
    """Plays episodes, and sums up their returns.

    Args:
        simulator: to play in.
        policy: chooses actions.
        episodes: how many.
        rng: of the simulator's seeds, and of chance in the policy.
        watch: called with the simulator at every state.
        limit: steps after which an episode is cut short; None plays to the end.
    """
    watch = watch or (lambda simulator: None)
    returns = np.zeros(episodes)
    for episode in range(episodes):
        with _told():
            observation, _ = simulator.reset(seed=int(rng.integers(2**32)))
        watch(simulator)
        over, steps = False, 0
        while not over and steps != limit:
            action = policy(observation, simulator.mask, rng)
            with _told():
                observation, reward, terminated, truncated, _ = simulator.step(action)
            watch(simulator)
            returns[episode] += reward
            over = terminated or truncated
            steps += 1
    return Evaluation(float(returns.mean()), float(returns.std()), episodes)


@contextlib.contextmanager
def _told() -> Iterator[None]:
    """Tells apart what the simulator raises from errors of ours."""
    try:
        yield
    except Exception as error:
        raise FailedEvaluationError(f"the simulator failed in an evaluation: {error!r}") from error


def greedy(predict: Predict) -> Policy:
    """Returns the policy that is greedy on the mean of the ensemble's values, without bonus."""

    def policy(observation: Any, mask: np.ndarray | None, rng: np.random.Generator) -> int:
        values = predict(np.asarray(observation)[None]).mean(axis=0)[0]
        return int(masks.only(values, mask).argmax())

    return policy


def uniform(actions: int) -> Policy:
    """Returns the policy of an agent that does not learn."""
    return lambda observation, mask, rng: masks.draw(rng, actions, mask)
