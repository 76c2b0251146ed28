"""Algorithm 1, and the choice of where it begins."""

from uflp.collection.acting import Actor
from uflp.collection.lineage import Lineage
from uflp.collection.restart import Start, UncertaintyFirst
from uflp.collection.rollout import FailedRolloutError, Rollout

__all__ = ["Actor", "FailedRolloutError", "Lineage", "Rollout", "Start", "UncertaintyFirst"]
