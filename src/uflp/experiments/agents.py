"""The paper's agent names: a learner, and how uncertainty enters what it does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from uflp.agents import LEARNERS
from uflp.registry import unknown
from uflp.training.settings import Exploration
from uflp.types import UsageError


class NamedAgent(NamedTuple):
    """Learner and exploration behind an agent's name.

    Attributes:
        learner: name of the learner.
        exploration: how uncertainty enters what it does.
        summary: one line for `uflp list`.
        values: settings that come with the agent, in whichever preset.
        uncertainty: the one that it uses unless another is named; None leaves it to the preset
            and to whether it has an ensemble.
    """

    learner: str
    exploration: Exploration
    summary: str
    values: Mapping[str, Any] = {}
    uncertainty: str | None = None


AGENTS = {
    "ddqn": NamedAgent("ddqn", "greedy", "double DQN, ε-greedy"),
    "ddqn-bonus": NamedAgent("ddqn", "bonus", "double DQN that acts on Q + c·u"),
    "ddqn-intrinsic": NamedAgent("ddqn", "intrinsic", "double DQN that learns from r + c·u"),
    "dist-ddqn": NamedAgent("dist-ddqn", "greedy", "double DQN on distributions of returns"),
    "boot-ddqn": NamedAgent("boot-ddqn", "greedy", "bootstrapped double DQN, one member a rollout"),
    "random": NamedAgent(
        "random",
        "greedy",
        "random actions, no learning: what restarts do alone",
        {"replay_size": 1, "learning_batch": 1, "min_replay": None},
    ),
    "sac": NamedAgent("sac", "greedy", "soft actor-critic, for real-valued actions", {}, "counts"),
    "sac-bonus": NamedAgent(
        "sac", "bonus", "soft actor-critic that takes the best of K actions by Q + c·u"
    ),
    "sac-intrinsic": NamedAgent(
        "sac", "intrinsic", "soft actor-critic that learns from r + c·u", {}, "counts"
    ),
    "pi": NamedAgent("pi", "greedy", "policy iteration on Monte Carlo returns"),
    "pi-bonus": NamedAgent("pi", "bonus", "policy iteration that acts on Q + c·u"),
}


def find_agent(name: str) -> NamedAgent:
    """Return what a name stands for; a learner of the user's own acts ε-greedily on its values.

    Args:
        name: of an agent, of a registered learner, or `module:Class` of a learner's settings.
    """
    if name in AGENTS:
        return AGENTS[name]
    if name in LEARNERS or ":" in name:
        return NamedAgent(name, "greedy", "")
    raise UsageError(unknown("agent", name, [*AGENTS, *(x for x in LEARNERS if x not in AGENTS)]))
