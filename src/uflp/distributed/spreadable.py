"""What cannot be spread over processes is said here, before any of them starts."""

from __future__ import annotations

from uflp import spaces
from uflp.distributed.settings import ClusterSettings
from uflp.randomness import Randomness
from uflp.training.settings import RunSettings
from uflp.training.wiring import make_history, make_rule, make_uncertainty
from uflp.types import UsageError


def require_spreadable(settings: RunSettings, cluster: ClusterSettings) -> None:
    """Raises an error, of one sentence, if a run needs one process.

    Args:
        settings: of the run.
        cluster: how it is to be spread.
    """
    loop = settings.loop
    simulator = settings.simulator.make(settings.seed)
    if not simulator.portable:
        raise UsageError(
            "snapshots of this simulator live in the memory of one process: train without Ray"
        )
    for name in ("history_from", "demonstrations"):
        if getattr(loop, name) is not None:
            raise UsageError(f"a run on Ray begins with nothing: leave out {name}, or Ray")
    if settings.access == "online":
        return
    if loop.rule != "uncertainty":
        raise UsageError(f"the rule {loop.rule} sees the history of one process: train without Ray")
    # The parts by which the processes will choose: what does not fit together says so here.
    actions = spaces.actions(simulator.action_space)
    randomness = Randomness(settings.seed)
    uncertainty = make_uncertainty(settings, simulator.observation_space, actions, randomness)
    assert uncertainty is not None, "the rule goes by one"
    history = make_history(settings, simulator, uncertainty)
    make_rule(settings, history, uncertainty, lambda observations: observations, "none", actions)
    if cluster.shared_counts and uncertainty.key_shape is None:
        raise UsageError(
            f"{settings.uncertainty_name} looks at whole observations, of which there are too many "
            "to share: let each actor have its own counts"
        )
