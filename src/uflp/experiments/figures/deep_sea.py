"""The paper's figures of Deep Sea, and the tuned variant beside them."""

from __future__ import annotations

from collections.abc import Mapping

from uflp.experiments.figures.plan import Figure, Line, Scale, lines, scales

_AGENTS = ("boot-ddqn", "ddqn-bonus", "ddqn", "pi-bonus")
_SMALL_ENSEMBLE = {"boot-ddqn": {"members": 4}}
_SMOKE = {"size": 6, "queries": 400, "eval_period": 40}
_PAPER = Scale(seeds=10, values={"size": 50, "queries": 300_000})
_LAPTOP_ABLATION = {"size": 50, "queries": 100_000}


def _scaling(seeds: int, sizes: tuple[int, ...], **values: int) -> Scale:
    return Scale(seeds, values, sweep={"size": sizes}, stop_at_return=0.95)


DEEP_SEA_FIGURES: Mapping[str, Figure] = {
    "deep-sea-50": Figure(
        title="Deep Sea 50: local and online access",
        claim="with local access every agent's return rises far above its online one; online, all "
        "but BootDDQN stay at 0 for 300,000 queries",
        presets=("deep-sea",),
        lines=lines(_AGENTS, "local", "online"),
        kind="curves",
        scales=scales(
            smoke=Scale(seeds=2, values=_SMOKE, by_name=_SMALL_ENSEMBLE),
            laptop=Scale(
                seeds=10,
                values={"size": 50, "queries": 300_000},
                stop_at_return=0.95,
                # One that is not solved takes a core 20 minutes.
                fewer={("boot-ddqn", "online"): 5},
            ),
            paper=_PAPER,
        ),
    ),
    "deep-sea-20": Figure(
        title="Deep Sea 20: local and online access",
        claim="(of Deep Sea 50) local access leads to a far higher return for every agent",
        presets=("deep-sea",),
        lines=lines(_AGENTS, "local", "online"),
        kind="curves",
        scales=scales(
            smoke=Scale(seeds=1, values=_SMOKE, by_name=_SMALL_ENSEMBLE),
            laptop=Scale(seeds=10, values={"size": 20, "queries": 20_000}, stop_at_return=0.95),
            paper=Scale(seeds=10, values={"size": 20, "queries": 100_000}),
        ),
    ),
    "deep-sea-p-init": Figure(
        title="Deep Sea: how often to start at the start",
        claim="the area under the curve is largest for a small p_init, 0.0 to 0.3",
        presets=("deep-sea",),
        lines=lines(_AGENTS, "local"),
        kind="auc",
        scales=scales(
            smoke=Scale(1, _SMOKE, _SMALL_ENSEMBLE, sweep={"p_init": (0.1, 0.9)}),
            laptop=Scale(
                3, _LAPTOP_ABLATION, sweep={"p_init": (0.0, 0.1, 0.3, 0.7)}, stop_at_return=0.95
            ),
            paper=_PAPER,
            sweep={"p_init": (0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1.0)},
        ),
    ),
    "deep-sea-batch": Figure(
        title="Deep Sea: how many snapshots to choose from",
        claim="the whole history is best, and B = 1, which ignores uncertainty, is worst",
        presets=("deep-sea",),
        lines=lines(_AGENTS, "local"),
        kind="curves",
        panels="agent",
        scales=scales(
            smoke=Scale(1, _SMOKE, _SMALL_ENSEMBLE, sweep={"batch": (1, None)}),
            laptop=Scale(
                3, _LAPTOP_ABLATION, sweep={"batch": (1, 5, 25, None)}, stop_at_return=0.95
            ),
            paper=_PAPER,
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
