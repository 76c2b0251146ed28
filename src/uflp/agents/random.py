"""No learning at all: what restarts do alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import gymnasium
import numpy as np

from uflp.agents.base import Agent, Learner
from uflp.spaces import Actions
from uflp.types import Batch


@dataclass(frozen=True)
class RandomActions:
    """Uniformly random actions, and no learning."""

    action_kinds: ClassVar[tuple[str, ...]] = ("numbered", "real")

    def make(self, space: gymnasium.Space, actions: Actions) -> Agent:
        """Return an agent to whom all actions are alike."""
        width = actions if isinstance(actions, int) else actions.size

        def predict(learner: Learner, observations: Any) -> Any:
            return np.zeros((1, len(observations), width), np.float32)

        return Agent(_init, predict, _update, target="none")


def _init(key: Any) -> Learner:
    return None


def _update(learner: Learner, batch: Batch) -> tuple[Learner, Any]:
    raise AssertionError("an agent without a target never learns")
