"""What an update is measured against: a matrix product in the same process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from uflp.types import Batch

_SIDE = 1024
PRODUCT = 2 * _SIDE**3
"""Operations of the product."""


def updates(agent: Any, batch: Batch) -> Callable[[], int]:
    """Returns work that is one update."""
    learner = agent.init(jax.random.key(0))

    def work() -> int:
        nonlocal learner
        learner, loss = agent.update(learner, batch)
        jax.block_until_ready(loss)
        return 1

    return work


def product() -> Callable[[], int]:
    """Returns work that is a few products of 1024 × 1024 float32 matrices."""
    matrix = jax.random.normal(jax.random.key(0), (_SIDE, _SIDE))
    multiply = jax.jit(lambda x: x @ x)

    def work() -> int:
        for _ in range(4):
            jax.block_until_ready(multiply(matrix))
        return 4

    return work
