"""Algorithm 1, and the choice of where it begins."""

from uflp.collection.acting import Actor
from uflp.collection.demonstrations import DemonstrationRecorder, Demonstrations
from uflp.collection.lineage import Lineage
from uflp.collection.rollout import Ancestry, FailedRolloutError, Past, Rollout
from uflp.collection.rules import RULES, Rule, Sources, Start

__all__ = [
    "RULES",
    "Actor",
    "Ancestry",
    "DemonstrationRecorder",
    "Demonstrations",
    "FailedRolloutError",
    "Lineage",
    "Past",
    "Rollout",
    "Rule",
    "Sources",
    "Start",
]
