"""Learners: what turns data into action values."""

from uflp.registry import Registry

LEARNERS = Registry(
    "learner",
    {
        "ddqn": "uflp.agents.ddqn:DDQN",
    },
)

__all__ = ["LEARNERS"]
