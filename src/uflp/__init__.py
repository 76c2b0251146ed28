"""Reinforcement learning with a simulator that can go back: uncertainty-first local planning."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uflp.types import RunError, Snapshot, Transition, UsageError

if TYPE_CHECKING:
    from uflp.runs.policy import Policy
    from uflp.runs.train import Result
    from uflp.wrappers import LocalAccess

__version__ = "0.1.0"
__all__ = [
    "LocalAccess",
    "RunError",
    "Snapshot",
    "Transition",
    "UsageError",
    "load",
    "resume",
    "train",
]


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
    variant: str | None = None,
    seed: int = 0,
    out: str | Path | None = None,
    stop_at_return: float | None = None,
    callback: Callable[[dict[str, Any]], Any] | None = None,
    checkpoint_seconds: float = 600.0,
    history_from: str | Path | None = None,
    demonstrations: str | Path | None = None,
    ray: str | None = None,
    actors: int = 2,
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
        variant: a named set of changes to the preset, such as `tuned`; None changes nothing.
        seed: of all randomness; equal seeds give equal numbers.
        out: the run folder to write; None writes nothing.
        stop_at_return: ends the run at the first evaluation whose mean return reaches it.
        callback: called with a row of metrics after each evaluation; a true answer ends the run.
        checkpoint_seconds: wall-clock time from one checkpoint in the run folder to the next.
        history_from: folder of a run whose history this one begins with.
        demonstrations: file of episodes that the first rollouts play.
        ray: spreads the run over processes: `local`, `auto` or an address; see docs/clusters.md.
        actors: how many of them collect; only with `ray`.
        **settings: any key of the preset, such as `size=20` or `p_init=0.2`.

    Returns:
        The outcome: `summary`, `metrics` as arrays, and `to_dataframe()`.
    """
    # Imported here so that `import uflp` stays quick: this is what pulls in JAX.
    from uflp.distributed.settings import ClusterSettings
    from uflp.distributed.train import trainer
    from uflp.experiments.resolve import resolve

    files = {"history_from": history_from, "demonstrations": demonstrations}
    # Whole paths, so that the record of the run holds wherever it is read.
    settings |= {key: str(Path(path).absolute()) for key, path in files.items() if path is not None}
    resolved = resolve(
        preset,
        agent=agent,
        uncertainty=uncertainty,
        access=access,
        variant=variant,
        seed=seed,
        overrides=settings,
    )
    cluster = None if ray is None else ClusterSettings(ray=ray, actors=actors)
    return trainer(cluster)(
        resolved,
        out=None if out is None else Path(out),
        stop_at_return=stop_at_return,
        callback=callback,
        checkpoint_seconds=checkpoint_seconds,
    )


def resume(
    folder: str | Path,
    *,
    callback: Callable[[dict[str, Any]], Any] | None = None,
    checkpoint_seconds: float = 600.0,
    trust: bool = False,
) -> Result:
    """Goes on with an interrupted run; the same as `uflp train --resume` on the command line.

    Its numbers are those that it would have had without the interruption.

    Args:
        folder: of the run.
        callback: see `train`; only called for rows that are new.
        checkpoint_seconds: see `train`.
        trust: whether you trust what the folder names: a `module:factory` to import, the address
            of a Ray cluster. Needed once for a run that was not made here; see docs/security.md.

    Returns:
        The outcome of the whole run.
    """
    from uflp.distributed.train import trainer
    from uflp.experiments.recorded import recorded, recorded_cluster

    settings, stop_at_return = recorded(Path(folder), trust=trust)
    return trainer(recorded_cluster(Path(folder), trust=trust))(
        settings,
        out=Path(folder),
        stop_at_return=stop_at_return,
        callback=callback,
        checkpoint_seconds=checkpoint_seconds,
        resume=True,
    )


def load(run: str | Path, *, trust: bool = False) -> Policy:
    """Returns a trained agent.

    Example:
        >>> policy = uflp.load("runs/bonus/seed-0")
        >>> action = policy.act(observation)
        >>> policy.evaluate(episodes=20).mean

    Args:
        run: a run folder, finished or not, or a file that `uflp export` wrote.
        trust: whether you trust the `module:factory` that it names, if any, to be imported. Needed
            once for a run that was not made here; see docs/security.md.
    """
    from uflp.experiments.trained import load as load_policy

    return load_policy(Path(run), trust=trust)
