"""Evaluation: the greedy policy in a simulator of its own, which is never restored."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from uflp.simulators.base import Simulator
from uflp.uncertainty.base import Predict

Watch = Callable[[Simulator], None]
"""Called with the simulator at every state of an evaluation."""


class Evaluation(NamedTuple):
    """Returns of evaluation episodes, summarised."""

    mean: float
    std: float
    episodes: int


def evaluate(
    simulator: Simulator,
    predict: Predict,
    episodes: int,
    rng: np.random.Generator,
    watch: Watch | None = None,
) -> Evaluation:
    """Plays episodes greedily on the mean of the ensemble's values, without bonus or chance."""
    watch = watch or (lambda simulator: None)
    returns = np.zeros(episodes)
    for episode in range(episodes):
        observation, _ = simulator.reset(seed=int(rng.integers(2**32)))
        watch(simulator)
        over = False
        while not over:
            values = predict(np.asarray(observation)[None]).mean(axis=0)[0]
            observation, reward, terminated, truncated, _ = simulator.step(int(values.argmax()))
            watch(simulator)
            returns[episode] += reward
            over = terminated or truncated
    return Evaluation(float(returns.mean()), float(returns.std()), episodes)
