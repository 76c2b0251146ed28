"""The paper's agent names: a learner, and how uncertainty enters what it does."""

from __future__ import annotations

from typing import NamedTuple

from uflp.training.settings import Exploration


class NamedAgent(NamedTuple):
    """What an agent's name stands for."""

    learner: str
    exploration: Exploration
    summary: str


AGENTS = {
    "ddqn": NamedAgent("ddqn", "greedy", "double DQN, ε-greedy"),
    "ddqn-bonus": NamedAgent("ddqn", "bonus", "double DQN that acts on Q + c·u"),
    "ddqn-intrinsic": NamedAgent("ddqn", "intrinsic", "double DQN that learns from r + c·u"),
    "boot-ddqn": NamedAgent("boot-ddqn", "greedy", "bootstrapped double DQN, one member a rollout"),
    "pi": NamedAgent("pi", "greedy", "policy iteration on Monte Carlo returns"),
    "pi-bonus": NamedAgent("pi", "bonus", "policy iteration that acts on Q + c·u"),
}
