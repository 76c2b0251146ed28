"""The paper's figures and tables of Atari games; the tables come from the figures' runs."""

from __future__ import annotations

from collections.abc import Mapping

from uflp.experiments.figures.plan import Figure, Known, Line, Scale, scales

_MONTEZUMA, _PRIVATE_EYE = "atari/montezuma-revenge", "atari/private-eye"
_VENTURE, _PITFALL = "atari/venture", "atari/pitfall"
_GAMES = (_MONTEZUMA, _PRIVATE_EYE, _VENTURE, _PITFALL)
_CELLS, _SCORE = "cells", "max_screen_score"

_KNOWN: Mapping[str, tuple[Known, ...]] = {
    # Means of human players (Badia et al. 2020), and the best that the paper names (Go-Explore).
    _MONTEZUMA: (Known("human", 4753.0), Known("best known", 43_000.0)),
    _PRIVATE_EYE: (Known("human", 69_000.0),),
    _VENTURE: (Known("human", 1187.0),),
}

_UNCERTAINTIES = ("counts", "rnd")
_DDQN_ONLINE = Line("ddqn", "online")
_DDQN_LOCAL = tuple(Line("ddqn", "local", name) for name in _UNCERTAINTIES)
_INTRINSIC = (Line("ddqn-intrinsic", "online", "counts"), Line("ddqn-intrinsic", "local", "counts"))
_DDQN_AGENTS = (_DDQN_ONLINE, *_INTRINSIC, *_DDQN_LOCAL)
_DIST_AGENTS = (
    Line("dist-ddqn", "online"),
    *(Line("dist-ddqn", "local", name) for name in _UNCERTAINTIES),
)

_SHORT_EPISODES = {"queries": 60, "eval_period": 30, "max_frames": 80, "rollout_limit": 12}
_SMOKE = Scale(
    1,
    {
        **_SHORT_EPISODES,
        "hidden": (8,),
        "learning_batch": 2,
        "min_replay": 6,
        "sgd_period": 8,
        "discount": 0.99,
    },
    # The same numbers in every game, so that the same program is compiled for all.
    by_name={"dist-ddqn": {"atoms": 11, "v_max": 10.0}, "rnd": {"rnd_width": 8}},
)
_LAPTOP_VALUES = {
    # A batch of 128 takes a core half a second: there are few of them. One ε for both kinds of
    # access, so that only access differs.
    "queries": 400_000,
    "samples_per_insert": 0.25,
    "min_replay": 20_000,
    "target_period": 100,
    "epsilon": 0.1,
}
_LAPTOP_DIST_VALUES = _LAPTOP_VALUES | {"queries": 200_000}
_PAPER = Scale(5, {})
_DDQN_SCALES = scales(_SMOKE, Scale(2, _LAPTOP_VALUES), _PAPER)
_DIST_SCALES = scales(_SMOKE, Scale(1, _LAPTOP_DIST_VALUES), _PAPER)
# In so few queries no greedy policy scores: what was reached while acting is shown.
_DDQN_SCORES = {**_DDQN_SCALES, "laptop": Scale(2, _LAPTOP_VALUES, measure=_SCORE)}
_DIST_SCORES = {**_DIST_SCALES, "laptop": Scale(1, _LAPTOP_DIST_VALUES, measure=_SCORE)}

ATARI_FIGURES: Mapping[str, Figure] = {
    "montezuma-ddqn": Figure(
        title="Montezuma's Revenge: DDQN",
        claim="local access improves the final return of DDQN by far with either uncertainty, and "
        "that of DDQN-Intrinsic a little",
        presets=(_MONTEZUMA,),
        lines=_DDQN_AGENTS,
        kind="curves",
        known=_KNOWN,
        scales=_DDQN_SCORES,
    ),
    "montezuma-cells": Figure(
        title="Montezuma's Revenge: cells, DDQN",
        claim="with local access more cells are found",
        presets=(_MONTEZUMA,),
        lines=(_DDQN_ONLINE, Line("ddqn", "local", "counts")),
        kind="curves",
        measure=_CELLS,
        scales=_DDQN_SCALES,
        home="montezuma-ddqn",
    ),
    "montezuma-cells-intrinsic": Figure(
        title="Montezuma's Revenge: cells, DDQN-Intrinsic",
        claim="with local access more cells are found; online, more than DDQN finds with local "
        "access, which has the better return all the same",
        presets=(_MONTEZUMA,),
        lines=_INTRINSIC,
        kind="curves",
        measure=_CELLS,
        scales=_DDQN_SCALES,
        home="montezuma-ddqn",
    ),
    "montezuma-p-init-batch": Figure(
        title="Montezuma's Revenge: p_init and B",
        claim="B = 8 and 64 are significantly better than 1; p_init = 0 is bad, and 0.1 to 0.3 "
        "hardly differ",
        presets=(_MONTEZUMA,),
        lines=(Line("ddqn", "local", "counts"),),
        kind="auc",
        scales=scales(
            smoke=Scale(1, _SMOKE.values, sweep={"p_init": (0.0, 0.2), "batch": (1, 8)}),
            laptop=Scale(
                3,
                {"queries": 150_000, "eval_period": 10_000},
                lines=(Line("random", "local", "counts"),),
                measure=_CELLS,
            ),
            paper=_PAPER,
            sweep={"p_init": (0.0, 0.1, 0.2, 0.3), "batch": (1, 8, 64)},
        ),
    ),
    "montezuma-random": Figure(
        title="Montezuma's Revenge: random actions",
        claim="",
        presets=(_MONTEZUMA,),
        lines=(Line("random", "local", "counts"), Line("random", "online")),
        kind="curves",
        measure=_CELLS,
        scales=scales(
            Scale(1, _SHORT_EPISODES),
            Scale(5, {"queries": 1_000_000}),
            Scale(5, {"queries": 10_000_000}),
        ),
    ),
    "atari-dist": Figure(
        title="Four games: distributional DDQN",
        claim="local access lifts the score above a human's on Montezuma's Revenge, and makes "
        "learning quicker and steadier on PrivateEye; Venture is neutral, and on Pitfall no policy "
        "scores",
        presets=_GAMES,
        lines=_DIST_AGENTS,
        kind="curves",
        panels="preset",
        known=_KNOWN,
        scales=_DIST_SCORES,
    ),
    "eval-ddqn": Figure(
        title="Evaluation of DDQN and DDQN-Intrinsic",
        claim="DDQN with local access is best, by approximate counts before RND",
        presets=(_MONTEZUMA,),
        lines=_DDQN_AGENTS,
        kind="finals",
        known=_KNOWN,
        reported={
            _MONTEZUMA: (
                "2500.0 ± 0.0",
                "4980.0 ± 1086.91",
                "5518.0 ± 491.6",
                "6276.0 ± 551.3",
                "5772.0 ± 955.75",
            )
        },
        scales=_DDQN_SCALES,
        home="montezuma-ddqn",
    ),
    "eval-dist": Figure(
        title="Evaluation of distributional DDQN",
        claim="local access by approximate counts is best in every game, in Venture within the "
        "intervals",
        presets=_GAMES,
        lines=_DIST_AGENTS,
        kind="finals",
        known=_KNOWN,
        reported={
            _MONTEZUMA: ("4421.33 ± 869.63", "6235.33 ± 860.91", "5534.0 ± 118.11"),
            _PRIVATE_EYE: ("88258.27 ± 15908.99", "100645.17 ± 62.16", "100571.25 ± 93.18"),
            _VENTURE: ("1792.67 ± 37.39", "1803.33 ± 50.34", "1691.33 ± 33.4"),
            _PITFALL: ("-1.31 ± 0.91", "0.0 ± 0.0", "-2.21 ± 2.29"),
        },
        scales=_DIST_SCALES,
        home="atari-dist",
    ),
    "actor-ddqn": Figure(
        title="Highest screen score of DDQN and DDQN-Intrinsic",
        claim="actors reach more than greedy policies do, and most with local access",
        presets=(_MONTEZUMA,),
        lines=_DDQN_AGENTS,
        kind="maxima",
        measure=_SCORE,
        known=_KNOWN,
        reported={_MONTEZUMA: ("3000", "6600", "8900", "9500", "8000")},
        scales=_DDQN_SCALES,
        home="montezuma-ddqn",
    ),
    "actor-dist": Figure(
        title="Highest screen score of distributional DDQN",
        claim="14,300 on Montezuma's Revenge with local access by approximate counts, and 1,800 on "
        "Pitfall by RND, where nothing else scores",
        presets=_GAMES,
        lines=_DIST_AGENTS,
        kind="maxima",
        measure=_SCORE,
        known=_KNOWN,
        reported={
            _MONTEZUMA: ("6000", "14300", "6500"),
            _PRIVATE_EYE: ("100800", "100800", "100800"),
            _VENTURE: ("2200", "3000", "2600"),
            _PITFALL: ("0", "0", "1800"),
        },
        scales=_DIST_SCALES,
        home="atari-dist",
    ),
}
