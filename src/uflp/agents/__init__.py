"""Learners: what turns data into action values."""

from uflp.registry import Registry

LEARNERS = Registry(
    "agent",
    {
        "ddqn": "uflp.agents.ddqn:DDQN",
        "boot-ddqn": "uflp.agents.boot_ddqn:BootDDQN",
        "dist-ddqn": "uflp.agents.dist_ddqn:DistDDQN",
        "random": "uflp.agents.random:RandomActions",
        "sac": "uflp.agents.sac:SAC",
        "pi": "uflp.agents.policy_iteration:PolicyIteration",
    },
    group="uflp.agents",
)

__all__ = ["LEARNERS"]
