"""From a run folder back to the settings of its run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from uflp.arguments import argument
from uflp.distributed.settings import ClusterSettings
from uflp.experiments.resolve import resolve
from uflp.runs.folder import CONFIG, as_json, completed, extend, read_object
from uflp.training.settings import RunSettings
from uflp.trust import UntrustedError, names_from, permit_address
from uflp.types import UsageError


def recorded(folder: Path, *, trust: bool = False) -> tuple[RunSettings, float | None]:
    """Return the settings of the run that a folder holds, and its `stop_at_return`.

    Args:
        folder: of the run.
        trust: see `resolved`.
    """
    config = read_object(folder / CONFIG)
    if config is None:
        raise UsageError(f"{folder} is not a run folder: it has no readable {CONFIG}")
    return resolved(config, folder / CONFIG, folder, trust=trust)


def extended(
    folder: Path, queries: int, *, trust: bool = False
) -> tuple[RunSettings, float | None]:
    """Give the run in a folder a larger budget; return its settings and its `stop_at_return`.

    Args:
        folder: of the run.
        queries: the whole budget, with what is spent.
        trust: see `resolved`.
    """
    config = read_object(folder / CONFIG)
    if config is None:
        raise UsageError(f"{folder} is not a run folder: it has no readable {CONFIG}")
    if config.get("cluster") is not None:
        raise UsageError(f"{folder} holds a run on Ray, whose budget cannot be changed")
    resolved(config, folder / CONFIG, folder, trust=trust)  # refuses what was changed otherwise
    more = {**config, "settings": {**config["settings"], "queries": queries}}
    settings, stop_at_return = resolved(more, folder / CONFIG, folder, trust=trust)
    extend(folder, settings)
    return settings, stop_at_return


def recorded_cluster(
    folder: Path, ray: str | None = None, *, trust: bool = False
) -> ClusterSettings | None:
    """Return how the run in a folder is spread, None if it is not.

    Args:
        folder: of the run.
        ray: where to go on, instead of where it was.
        trust: whether the user trusts the address that the folder names.
    """
    spread = (read_object(folder / CONFIG) or {}).get("cluster")
    if spread is None:
        if ray is not None:
            raise UsageError(f"{folder} holds a run of one process: leave out {argument('ray')}")
        return None
    try:
        cluster = ClusterSettings(**spread)
        if type(cluster.ray) is not str:
            raise TypeError
    except TypeError as error:
        raise UsageError(f"{folder / CONFIG} does not say how its run is spread") from error
    if ray is not None:
        return cluster.at(ray)
    with names_from(folder, trust=trust):
        permit_address(cluster.ray)
    return cluster


def resolved(
    config: dict[str, Any], path: Path, place: Path, *, trust: bool = False
) -> tuple[RunSettings, float | None]:
    """Return the settings that `described` made a record of, and `stop_at_return`.

    Args:
        config: the record.
        path: where it was found.
        place: the run folder or file that it is the record of.
        trust: whether the user trusts the code that the record names.

    Raises:
        UntrustedError: if it names code that the user has not trusted.
    """
    with names_from(place, trust=trust):
        return _resolved(config, path)


def _resolved(config: dict[str, Any], path: Path) -> tuple[RunSettings, float | None]:
    try:
        names = {key: config[key] for key in ("preset", "agent", "uncertainty", "access", "seed")}
        names["variant"] = config.get("variant")
        for key in ("preset", "agent", "uncertainty", "access", "variant"):
            if not isinstance(names[key], str) and (
                names[key] is not None or key not in ("uncertainty", "variant")
            ):
                raise UsageError(f"its {key} is {names[key]!r}")
        stop_at_return = _goal(config["stop_at_return"])
        settings = resolve(**names, overrides=config["settings"])
        values = completed(config, settings)["settings"]
        settings = resolve(**names, overrides=values)
    except UntrustedError:
        raise
    except UsageError as error:
        raise UsageError(f"{path} is not the configuration of a run: {error}") from error
    except KeyError as error:
        raise UsageError(f"{path} is not the configuration of a run: it lacks {error}") from error
    except (TypeError, AttributeError) as error:
        raise UsageError(
            f"{path} is not the configuration of a run: a value in it has the wrong type"
        ) from error
    if as_json(settings.values()) != values:
        raise UsageError(f"{path} was written by another version: its settings are incomplete")
    return settings, stop_at_return


def _goal(value: Any) -> float | None:
    if value is None:
        return None
    if type(value) not in (int, float) or not abs(value) <= sys.float_info.max:
        raise UsageError(f"stop_at_return must be a finite number or null, not {value!r}")
    return float(value)
