"""Algorithm 1, and the choice of where it begins."""

from uflp.collection.acting import Actor
from uflp.collection.lineage import Lineage
from uflp.collection.restart import Rule, Start, UncertaintyFirst
from uflp.collection.rollout import Ancestry, FailedRolloutError, Past, Rollout

__all__ = [
    "Actor",
    "Ancestry",
    "FailedRolloutError",
    "Lineage",
    "Past",
    "Rollout",
    "Rule",
    "Start",
    "UncertaintyFirst",
]
