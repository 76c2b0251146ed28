"""The paper's figures of Deep Sea and Cartpole Swingup, and the tuned variant beside them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from uflp.experiments.figures.plan import Figure, Line, Scale, lines, scales

_DEEP_SEA_AGENTS = ("boot-ddqn", "ddqn-bonus", "ddqn", "pi-bonus")
_SMALL_ENSEMBLE = {"boot-ddqn": {"members": 4}}
_DEEP_SEA_SMOKE = {"size": 6, "queries": 400, "eval_period": 40}
_DEEP_SEA_PAPER = Scale(seeds=10, values={"size": 50, "queries": 300_000})
_LAPTOP_ABLATION = {"size": 50, "queries": 100_000}


def _scaling(seeds: int, sizes: tuple[int, ...], **values: int) -> Scale:
    return Scale(seeds, values, sweep={"size": sizes}, stop_at_return=0.95)


_DEEP_SEA: Mapping[str, Figure] = {
    "deep-sea-50": Figure(
        title="Deep Sea 50: local and online access",
        claim="with local access every agent's return rises far above its online one; online, all "
        "but BootDDQN stay at 0 for 300,000 queries",
        presets=("deep-sea",),
        lines=lines(_DEEP_SEA_AGENTS, "local", "online"),
        kind="curves",
        scales=scales(
            smoke=Scale(seeds=2, values=_DEEP_SEA_SMOKE, by_name=_SMALL_ENSEMBLE),
            laptop=Scale(
                seeds=10,
                values={"size": 50, "queries": 300_000},
                stop_at_return=0.95,
                # One that is not solved takes a core 20 minutes.
                fewer={("boot-ddqn", "online"): 5},
            ),
            paper=_DEEP_SEA_PAPER,
        ),
    ),
    "deep-sea-20": Figure(
        title="Deep Sea 20: local and online access",
        claim="(of Deep Sea 50) local access leads to a far higher return for every agent",
        presets=("deep-sea",),
        lines=lines(_DEEP_SEA_AGENTS, "local", "online"),
        kind="curves",
        scales=scales(
            smoke=Scale(seeds=1, values=_DEEP_SEA_SMOKE, by_name=_SMALL_ENSEMBLE),
            laptop=Scale(seeds=10, values={"size": 20, "queries": 20_000}, stop_at_return=0.95),
            paper=Scale(seeds=10, values={"size": 20, "queries": 100_000}),
        ),
    ),
    "deep-sea-p-init": Figure(
        title="Deep Sea: how often to start at the start",
        claim="the area under the curve is largest for a small p_init, 0.0 to 0.3",
        presets=("deep-sea",),
        lines=lines(_DEEP_SEA_AGENTS, "local"),
        kind="auc",
        scales=scales(
            smoke=Scale(1, _DEEP_SEA_SMOKE, _SMALL_ENSEMBLE, sweep={"p_init": (0.1, 0.9)}),
            laptop=Scale(
                3, _LAPTOP_ABLATION, sweep={"p_init": (0.0, 0.1, 0.3, 0.7)}, stop_at_return=0.95
            ),
            paper=_DEEP_SEA_PAPER,
            sweep={"p_init": (0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1.0)},
        ),
    ),
    "deep-sea-batch": Figure(
        title="Deep Sea: how many snapshots to choose from",
        claim="the whole history is best, and B = 1, which ignores uncertainty, is worst",
        presets=("deep-sea",),
        lines=lines(_DEEP_SEA_AGENTS, "local"),
        kind="curves",
        panels="agent",
        scales=scales(
            smoke=Scale(1, _DEEP_SEA_SMOKE, _SMALL_ENSEMBLE, sweep={"batch": (1, None)}),
            laptop=Scale(
                3, _LAPTOP_ABLATION, sweep={"batch": (1, 5, 25, None)}, stop_at_return=0.95
            ),
            paper=_DEEP_SEA_PAPER,
            sweep={"batch": (1, 5, None)},
        ),
    ),
    "deep-sea-scaling": Figure(
        title="Deep Sea: queries needed against size",
        claim="BootDDQN needs a number of queries that grows as N^2.47, near the optimal N^2",
        presets=("deep-sea",),
        lines=lines(("boot-ddqn",), "local"),
        kind="scaling",
        scales=scales(
            smoke=_scaling(2, (3, 4, 5), queries=1500, members=4),
            laptop=_scaling(10, (20, 30, 40, 50, 60), queries=200_000),
            paper=_scaling(10, (10, 20, 30, 40, 50, 60, 70, 80), queries=300_000),
        ),
    ),
    "deep-sea-scaling-tuned": Figure(
        title="Deep Sea: queries needed against size",
        claim="",
        presets=("deep-sea",),
        lines=(Line("boot-ddqn", variant="tuned"),),
        kind="scaling",
        scales=scales(
            smoke=_scaling(2, (3, 4, 5), queries=1500, members=4),
            laptop=_scaling(5, (20, 40, 60, 80, 100), queries=200_000),
            paper=_scaling(10, (20, 40, 60, 80, 100), queries=300_000),
        ),
    ),
}

# The paper does not give the budgets of Swingup.
_SWINGUP_AGENTS = ("boot-ddqn", "ddqn-bonus")
_P_INITS = {"p_init": (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)}
_BATCHES = {"batch": (1, 5, 25, 125)}
_Scales = tuple[Scale, Scale]
_SWINGUP_SMOKE = {
    "queries": 300,
    "eval_period": 100,
    "eval_episodes": 1,
    "max_time": 0.5,
    "learning_batch": 32,
    "hidden": (16, 16),
}
_SWINGUP_SMOKE_AGENTS: Mapping[str, Mapping[str, Any]] = {
    "boot-ddqn": {"members": 2},
    "ddqn-bonus": {"feature_size": 20},
    "pi-bonus": {"feature_size": 20},
}


def _swingup_smoke(sweep: Mapping[str, tuple[Any, ...]] | None = None, **values: Any) -> Scale:
    return Scale(1, _SWINGUP_SMOKE | values, _SWINGUP_SMOKE_AGENTS, sweep or {})


def _swingup(narrow: Mapping[str, tuple[Any, ...]] | None = None, **values: Any) -> _Scales:
    """Return the larger scales of the default version.

    Args:
        narrow: what is swept with BootDDQN at laptop scale, with three seeds.
        **values: settings of all runs.
    """
    laptop = Scale(5, {"queries": 400_000, **values})
    if narrow:
        boot = {"boot-ddqn": narrow}
        laptop = dataclasses.replace(laptop, narrower=boot, fewer={("boot-ddqn", "local"): 3})
    return laptop, Scale(20, {"queries": 1_000_000, **values})


def _swingup_hard(**values: Any) -> _Scales:
    # Ten members with batches of 2048 take a core almost two hours for a million queries.
    boot = {"boot-ddqn": {"queries": 1_000_000}}
    laptop = Scale(5, {"queries": 3_000_000, **values}, boot)
    return laptop, Scale(20, {"queries": 3_000_000, **values})


_SWINGUP: Mapping[str, Figure] = {
    "swingup": Figure(
        title="Cartpole Swingup: local and online access",
        claim="local and online access need about as many queries",
        presets=("swingup",),
        lines=lines(_SWINGUP_AGENTS, "local", "online"),
        kind="curves",
        scales=scales(_swingup_smoke(), *_swingup()),
    ),
    "swingup-pi": Figure(
        title="Cartpole Swingup: policy iteration",
        claim="local access improves PI-Bonus significantly",
        presets=("swingup",),
        lines=lines(("pi-bonus",), "local", "online"),
        kind="curves",
        scales=scales(
            _swingup_smoke(),
            # Its greedy policy hardly has a return by then.
            Scale(5, {"queries": 400_000}, measure="positive_rewards"),
            Scale(20, {"queries": 3_000_000}),
        ),
    ),
    "swingup-hard": Figure(
        title="Cartpole Swingup, hard: local and online access",
        claim="local access is significantly better than online access for both agents",
        presets=("swingup-hard",),
        lines=lines(_SWINGUP_AGENTS, "local", "online"),
        kind="curves",
        scales=scales(_swingup_smoke(), *_swingup_hard()),
    ),
    "swingup-hard-pi": Figure(
        title="Cartpole Swingup, hard: policy iteration",
        claim="PI-Bonus sees no reward with either access",
        presets=("swingup-hard",),
        lines=lines(("pi-bonus",), "local", "online"),
        kind="curves",
        measure="positive_rewards",
        scales=scales(
            _swingup_smoke(), Scale(3, {"queries": 1_000_000}), Scale(20, {"queries": 3_000_000})
        ),
    ),
    "swingup-hard-p-init": Figure(
        title="Cartpole Swingup, hard: how often to start at the start",
        claim="a small p_init, such as 0.2, is best, and 0 is bad",
        presets=("swingup-hard",),
        lines=lines(_SWINGUP_AGENTS, "local"),
        kind="auc",
        scales=scales(_swingup_smoke({"p_init": (0.2, 1.0)}), *_swingup_hard(), sweep=_P_INITS),
    ),
    "swingup-p-init": Figure(
        title="Cartpole Swingup: how often to start at the start",
        claim="0 is bad; from 0.2 to 1 BootDDQN and DDQN-Bonus hardly differ, and PI-Bonus is best "
        "at 0.2",
        presets=("swingup",),
        lines=lines((*_SWINGUP_AGENTS, "pi-bonus"), "local"),
        kind="auc",
        scales=scales(
            _swingup_smoke({"p_init": (0.2, 1.0)}, batch=5),
            *_swingup({"p_init": (0.0, 0.2, 1.0)}, batch=5),
            sweep=_P_INITS,
        ),
    ),
    "swingup-batch": Figure(
        title="Cartpole Swingup: how many snapshots to choose from",
        claim="BootDDQN and DDQN-Bonus hardly differ by B; PI-Bonus needs B above 1",
        presets=("swingup",),
        lines=lines((*_SWINGUP_AGENTS, "pi-bonus"), "local"),
        kind="auc",
        scales=scales(
            _swingup_smoke({"batch": (1, 5)}, p_init=0.2),
            *_swingup({"batch": (1, 5, 125)}, p_init=0.2),
            sweep=_BATCHES,
        ),
    ),
    "swingup-hard-batch": Figure(
        title="Cartpole Swingup, hard: how many snapshots to choose from",
        claim="BootDDQN does not depend on B, so it gains by skipping the way from the start",
        presets=("swingup-hard",),
        lines=lines(_SWINGUP_AGENTS, "local"),
        kind="auc",
        scales=scales(
            _swingup_smoke({"batch": (1, 5)}, p_init=0.2),
            *_swingup_hard(p_init=0.2),
            sweep=_BATCHES,
        ),
    ),
}

BSUITE_FIGURES: Mapping[str, Figure] = {**_DEEP_SEA, **_SWINGUP}
