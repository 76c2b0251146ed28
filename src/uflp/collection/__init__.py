"""Algorithm 1, and the choice of where it begins."""

from uflp.collection.acting import Actor
from uflp.collection.restart import Start, UncertaintyFirst
from uflp.collection.rollout import FailedRolloutError, Rollout

__all__ = ["Actor", "FailedRolloutError", "Rollout", "Start", "UncertaintyFirst"]
