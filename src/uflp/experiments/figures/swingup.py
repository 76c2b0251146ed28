"""The paper's figures of Cartpole Swingup, whose budgets it does not give."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from uflp.experiments.figures.plan import Figure, Scale, lines, scales

_AGENTS = ("boot-ddqn", "ddqn-bonus")
_P_INITS = {"p_init": (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)}
_BATCHES = {"batch": (1, 5, 25, 125)}
_Scales = tuple[Scale, Scale]
_SMOKE_VALUES = {
    "queries": 300,
    "eval_period": 100,
    "eval_episodes": 1,
    "max_time": 0.5,
    "learning_batch": 32,
    "hidden": (16, 16),
}
_SMOKE_AGENTS: Mapping[str, Mapping[str, Any]] = {
    "boot-ddqn": {"members": 2},
    "ddqn-bonus": {"feature_size": 20},
    "pi-bonus": {"feature_size": 20},
}


def _smoke(sweep: Mapping[str, tuple[Any, ...]] | None = None, **values: Any) -> Scale:
    return Scale(1, _SMOKE_VALUES | values, _SMOKE_AGENTS, sweep or {})


def _default(narrow: Mapping[str, tuple[Any, ...]] | None = None, **values: Any) -> _Scales:
    """Returns the larger scales of the default version.

    Args:
        narrow: what is swept with BootDDQN at laptop scale, with three seeds.
        **values: settings of all runs.
    """
    laptop = Scale(5, {"queries": 400_000, **values})
    if narrow:
        boot = {"boot-ddqn": narrow}
        laptop = dataclasses.replace(laptop, narrower=boot, fewer={("boot-ddqn", "local"): 3})
    return laptop, Scale(20, {"queries": 1_000_000, **values})


def _hard(**values: Any) -> _Scales:
    # Ten members with batches of 2048 take a core almost two hours for a million queries.
    boot = {"boot-ddqn": {"queries": 1_000_000}}
    laptop = Scale(5, {"queries": 3_000_000, **values}, boot)
    return laptop, Scale(20, {"queries": 3_000_000, **values})


SWINGUP_FIGURES: Mapping[str, Figure] = {
    "swingup": Figure(
        title="Cartpole Swingup: local and online access",
        claim="local and online access need about as many queries",
        presets=("swingup",),
        lines=lines(_AGENTS, "local", "online"),
        kind="curves",
        scales=scales(_smoke(), *_default()),
    ),
    "swingup-pi": Figure(
        title="Cartpole Swingup: policy iteration",
        claim="local access improves PI-Bonus significantly",
        presets=("swingup",),
        lines=lines(("pi-bonus",), "local", "online"),
        kind="curves",
        scales=scales(
            _smoke(),
            # Its greedy policy hardly has a return by then.
            Scale(5, {"queries": 400_000}, measure="positive_rewards"),
            Scale(20, {"queries": 3_000_000}),
        ),
    ),
    "swingup-hard": Figure(
        title="Cartpole Swingup, hard: local and online access",
        claim="local access is significantly better than online access for both agents",
        presets=("swingup-hard",),
        lines=lines(_AGENTS, "local", "online"),
        kind="curves",
        scales=scales(_smoke(), *_hard()),
    ),
    "swingup-hard-pi": Figure(
        title="Cartpole Swingup, hard: policy iteration",
        claim="PI-Bonus sees no reward with either access",
        presets=("swingup-hard",),
        lines=lines(("pi-bonus",), "local", "online"),
        kind="curves",
        measure="positive_rewards",
        scales=scales(
            _smoke(), Scale(3, {"queries": 1_000_000}), Scale(20, {"queries": 3_000_000})
        ),
    ),
    "swingup-hard-p-init": Figure(
        title="Cartpole Swingup, hard: how often to start at the start",
        claim="a small p_init, such as 0.2, is best, and 0 is bad",
        presets=("swingup-hard",),
        lines=lines(_AGENTS, "local"),
        kind="auc",
        scales=scales(_smoke({"p_init": (0.2, 1.0)}), *_hard(), sweep=_P_INITS),
    ),
    "swingup-p-init": Figure(
        title="Cartpole Swingup: how often to start at the start",
        claim="0 is bad; from 0.2 to 1 BootDDQN and DDQN-Bonus hardly differ, and PI-Bonus is best "
        "at 0.2",
        presets=("swingup",),
        lines=lines((*_AGENTS, "pi-bonus"), "local"),
        kind="auc",
        scales=scales(
            _smoke({"p_init": (0.2, 1.0)}, batch=5),
            *_default({"p_init": (0.0, 0.2, 1.0)}, batch=5),
            sweep=_P_INITS,
        ),
    ),
    "swingup-batch": Figure(
        title="Cartpole Swingup: how many snapshots to choose from",
        claim="BootDDQN and DDQN-Bonus hardly differ by B; PI-Bonus needs B above 1",
        presets=("swingup",),
        lines=lines((*_AGENTS, "pi-bonus"), "local"),
        kind="auc",
        scales=scales(
            _smoke({"batch": (1, 5)}, p_init=0.2),
            *_default({"batch": (1, 5, 125)}, p_init=0.2),
            sweep=_BATCHES,
        ),
    ),
    "swingup-hard-batch": Figure(
        title="Cartpole Swingup, hard: how many snapshots to choose from",
        claim="BootDDQN does not depend on B, so it gains by skipping the way from the start",
        presets=("swingup-hard",),
        lines=lines(_AGENTS, "local"),
        kind="auc",
        scales=scales(_smoke({"batch": (1, 5)}, p_init=0.2), *_hard(p_init=0.2), sweep=_BATCHES),
    ),
}
