"""From the name that a user types to the settings of a simulator."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

from uflp.arguments import setting
from uflp.registry import unknown
from uflp.simulators import SIMULATORS
from uflp.simulators.user_env import UserEnv
from uflp.types import UsageError


def named(name: str, **settings: Any) -> Any:
    """Return settings whose `make(seed)` gives a simulator; see `parse` for the names."""
    kind, values = parse(name)
    known = [field.name for field in dataclasses.fields(kind)]
    for key in settings:
        if key not in known:
            raise UsageError(f"{name} has no {key}: its settings are {', '.join(known)}")
    return kind(**values, **settings)


def parse(name: str) -> tuple[Any, dict[str, Any]]:
    """Return the settings class that a name stands for, and the setting that the name makes.

    Args:
        name: a registered one (`deep-sea`), one with an id (`gym:CartPole-v1`, `bsuite:catch/0`,
            `minigrid:MiniGrid-DoorKey-8x8-v0`, `gymnax:CartPole-v1`,
            `dmc:cartpole-swingup_sparse`), or `module:factory`. A slash
            will do where ids have none before it (`atari/montezuma-revenge`).
    """
    if name in SIMULATORS:
        return SIMULATORS[name], {}
    kind, *rest = re.split("[:/]", name, maxsplit=1)
    if rest and kind in SIMULATORS:
        settings = SIMULATORS[kind]
        first = dataclasses.fields(settings)[0]
        if first.type not in (str, "str"):
            raise UsageError(
                f"{kind} has no ids, and {name} names one: call it {kind}, and set what it has "
                f"where a run is made, such as {setting(first.name, rest[0])}"
            )
        return settings, {first.name: rest[0]}
    if ":" in name:
        return UserEnv, {"factory": name}
    forms = [
        *SIMULATORS,
        "atari/GAME",
        "gym:ID",
        "gymnax:ID",
        "minigrid:ID",
        "bsuite:ID",
        "dmc:DOMAIN-TASK",
        "module:factory",
    ]
    raise UsageError(unknown("simulator", name, forms))
