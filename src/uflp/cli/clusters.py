"""The options of `uflp train` that spread a run over processes."""

from __future__ import annotations

from typing import Any

from uflp.types import UsageError

_OPTIONS = {
    "actors": "--actors",
    "gpu_learner": "--gpu-learner",
    "shared_counts": "--shared-counts",
    "replay_shards": "--replay-shards",
    "lock_step": "--lock-step",
}


def cluster_settings(ray: str | None, seeds: int | None, **given: Any) -> Any:
    """Returns how the run is spread, None if it is not.

    Args:
        ray: `--ray`.
        seeds: `--seeds`.
        **given: further options by name, None where they were not given.
    """
    chosen = {name: value for name, value in given.items() if value is not None}
    if ray is None:
        for name in chosen:
            raise UsageError(f"{_OPTIONS[name]} goes with --ray, such as --ray local")
        return None
    if seeds is not None:
        raise UsageError("--ray spreads one run: give one --seed at a time")
    from uflp.distributed.settings import ClusterSettings

    if chosen.get("lock_step"):
        chosen.setdefault("actors", 1)
    return ClusterSettings(ray=ray, **chosen)
