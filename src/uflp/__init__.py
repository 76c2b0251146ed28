"""Reinforcement learning with a simulator that can go back: uncertainty-first local planning."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uflp.types import Snapshot, Transition, UsageError

if TYPE_CHECKING:
    from uflp.training.train import Result
    from uflp.wrappers import LocalAccess

__version__ = "0.1.0"
__all__ = ["LocalAccess", "Snapshot", "Transition", "UsageError", "train"]


def __getattr__(name: str) -> Any:
    # Looked up when first used, so that `import uflp` need not bring in Gymnasium.
    if name == "LocalAccess":
        from uflp.wrappers import LocalAccess

        return LocalAccess
    raise AttributeError(f"module 'uflp' has no attribute {name!r}")


def train(
    preset: str,
    *,
    agent: str | None = None,
    uncertainty: str | None = None,
    access: str = "local",
    seed: int = 0,
    out: str | Path | None = None,
    stop_at_return: float | None = None,
    callback: Callable[[dict[str, Any]], Any] | None = None,
    **settings: Any,
) -> Result:
    """Trains an agent; the same as `uflp train` on the command line.

    Example:
        >>> result = uflp.train("deep-sea", size=20, seed=0, stop_at_return=0.95)
        >>> result.summary["queries_to_target"]

    Args:
        preset: the experiment, such as `deep-sea`; `uflp list presets` names them all.
        agent: such as `ddqn` or `ddqn-bonus`; the preset's own if None.
        uncertainty: such as `covariance` or `counts`; what preset and agent suggest if None.
        access: `local`, which restarts from saved states, or `online`, which never does.
        seed: of all randomness; equal seeds give equal numbers.
        out: the run folder to write; None writes nothing.
        stop_at_return: ends the run at the first evaluation whose mean return reaches it.
        callback: called with a row of metrics after each evaluation; a true answer ends the run.
        **settings: any key of the preset, such as `size=20` or `p_init=0.2`.

    Returns:
        The outcome: `summary`, `metrics` as arrays, and `to_dataframe()`.
    """
    # Imported here so that `import uflp` stays quick: this is what pulls in JAX.
    from uflp.experiments.resolve import resolve
    from uflp.training.train import train as run

    resolved = resolve(
        preset,
        agent=agent,
        uncertainty=uncertainty,
        access=access,
        seed=seed,
        overrides=settings,
    )
    return run(
        resolved,
        out=None if out is None else Path(out),
        stop_at_return=stop_at_return,
        callback=callback,
    )
