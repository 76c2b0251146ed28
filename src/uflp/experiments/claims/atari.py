"""The paper's claims about Atari games."""

from __future__ import annotations

from uflp.experiments.claims.claim import (
    ALIKE,
    HIGHER,
    NEVER_POSITIVE,
    ONLINE,
    POSITIVE,
    Claim,
    Evidence,
    Expect,
    Measure,
    Where,
)

ATARI = "Atari"
_HUMAN = 4753.0
_BY_CELLS = "random actions and their cells in place of DDQN and its return"
_MONTEZUMA = "montezuma-ddqn"
_DDQN_ONLINE: Where = {"agent": "ddqn", "access": "online"}
_DDQN_COUNTS: Where = {"agent": "ddqn", "access": "local", "uncertainty": "counts"}
_DDQN_RND: Where = {"agent": "ddqn", "access": "local", "uncertainty": "rnd"}
_INTRINSIC_LOCAL: Where = {"agent": "ddqn-intrinsic", "access": "local"}
_INTRINSIC_ONLINE: Where = {"agent": "ddqn-intrinsic", "access": "online"}
_NO_UNCERTAINTY: Where = {"access": "online", "uncertainty": ""}


def _dist(game: str, uncertainty: str) -> Where:
    access = "local" if uncertainty else "online"
    return {
        "preset": f"atari/{game}",
        "agent": "dist-ddqn",
        "access": access,
        "uncertainty": uncertainty,
    }


def _dist_both(game: str, measure: Measure, expect: Expect) -> tuple[Evidence, ...]:
    """Return local access by counts and by RND, against online access where that is compared."""
    against = None if "seed" in expect.predicate else _NO_UNCERTAINTY
    return tuple(
        Evidence("atari-dist", _dist(game, name), measure, expect, against, text)
        for name, text in (("counts", "counts"), ("rnd", "RND"))
    )


def _montezuma_sweep(
    agent: str, measure: Measure, where: Where, expect: Expect, against: Where | None = None
) -> Evidence:
    return Evidence(
        "montezuma-p-init-batch",
        {"agent": agent, **where},
        measure,
        expect,
        against,
        sweep="batch" if against and "batch" in against else "p_init",
    )


ATARI_CLAIMS: tuple[Claim, ...] = (
    Claim(
        "montezuma-ddqn",
        ATARI,
        "Montezuma's Revenge: local access improves DDQN's final return significantly with either "
        "uncertainty.",
        "Section 6.2, Figure 6",
        (
            Evidence(_MONTEZUMA, _DDQN_COUNTS, "final_return", HIGHER, _NO_UNCERTAINTY, "counts"),
            Evidence(_MONTEZUMA, _DDQN_RND, "final_return", HIGHER, _NO_UNCERTAINTY, "RND"),
        ),
        final=True,
    ),
    Claim(
        "montezuma-super-human",
        ATARI,
        "Montezuma's Revenge: a simple double DQN with local access has a super-human score (above "
        "4753).",
        "Abstract, Section 1",
        (
            Evidence(
                _MONTEZUMA,
                _DDQN_COUNTS,
                "final_return",
                Expect("every seed above", _HUMAN),
                text="counts",
            ),
            Evidence(
                _MONTEZUMA,
                _DDQN_RND,
                "final_return",
                Expect("every seed above", _HUMAN),
                text="RND",
            ),
        ),
        final=True,
    ),
    Claim(
        "montezuma-cells",
        ATARI,
        "Montezuma's Revenge: DDQN finds more cells with local access.",
        "Section 6.2, Figure 7(a)",
        (Evidence("montezuma-cells", _DDQN_COUNTS, "cells", HIGHER, _NO_UNCERTAINTY),),
    ),
    Claim(
        "montezuma-batch",
        ATARI,
        "Montezuma's Revenge: B = 8 and 64 are significantly better than B = 1.",
        "Section 6.2, Figure 7(b)",
        tuple(
            _montezuma_sweep(
                "ddqn", "auc", {"p_init": "0.2", "batch": batch}, HIGHER, {"batch": "1"}
            )
            for batch in ("8", "64")
        ),
        tuple(
            _montezuma_sweep(
                "random", "auc_cells", {"p_init": "0.2", "batch": batch}, HIGHER, {"batch": "1"}
            )
            for batch in ("8", "64")
        ),
        cap=_BY_CELLS,
    ),
    Claim(
        "montezuma-p-init-0",
        ATARI,
        "Montezuma's Revenge: p_init = 0 is bad.",
        "Section 6.2, Figure 7(b)",
        (
            _montezuma_sweep(
                "ddqn", "auc", {"p_init": "0.2", "batch": "8"}, HIGHER, {"p_init": "0.0"}
            ),
        ),
        (
            _montezuma_sweep(
                "random", "auc_cells", {"p_init": "0.2", "batch": "8"}, HIGHER, {"p_init": "0.0"}
            ),
        ),
        cap=_BY_CELLS,
    ),
    Claim(
        "montezuma-p-init-flat",
        ATARI,
        "Montezuma's Revenge: p_init from 0.1 to 0.3 leads to similar performance.",
        "Section 6.2, Figure 7(b)",
        (
            _montezuma_sweep(
                "ddqn",
                "auc",
                {"batch": "8"},
                Expect("none significantly different", ("0.1", "0.2", "0.3")),
            ),
        ),
        (
            _montezuma_sweep(
                "random",
                "auc_cells",
                {"batch": "8"},
                Expect("none significantly different", ("0.1", "0.2", "0.3")),
            ),
        ),
        cap=_BY_CELLS,
    ),
    Claim(
        "montezuma-intrinsic",
        ATARI,
        "Montezuma's Revenge: local access improves DDQN-Intrinsic too, by less than DDQN.",
        "Section 6.2, Figure 6",
        (
            Evidence(_MONTEZUMA, _INTRINSIC_LOCAL, "final_return", HIGHER, ONLINE),
            Evidence(
                _MONTEZUMA,
                _INTRINSIC_LOCAL,
                "final_return",
                Expect("smaller gain", (_DDQN_COUNTS, _DDQN_ONLINE)),
                ONLINE,
                text="gain",
            ),
        ),
        final=True,
    ),
    Claim(
        "montezuma-intrinsic-p-init",
        ATARI,
        "Montezuma's Revenge: DDQN-Intrinsic with local access needs a larger p_init, 0.7.",
        "Section 6.2",
        missing="the paper shows no such runs, and no figure here has them",
    ),
    Claim(
        "montezuma-cells-intrinsic",
        ATARI,
        "Montezuma's Revenge: DDQN-Intrinsic finds more cells with local access.",
        "Appendix A.3, Figure 11",
        (Evidence("montezuma-cells-intrinsic", _INTRINSIC_LOCAL, "cells", HIGHER, ONLINE),),
    ),
    Claim(
        "montezuma-cells-not-return",
        ATARI,
        "Montezuma's Revenge: DDQN-Intrinsic finds more cells online than DDQN does with local "
        "access, whose mean return is better all the same.",
        "Appendix A.3, Figures 6, 7(a) and 11",
        (
            Evidence(_MONTEZUMA, _INTRINSIC_ONLINE, "cells", HIGHER, _DDQN_COUNTS, "cells"),
            Evidence(
                _MONTEZUMA,
                _DDQN_COUNTS,
                "final_return",
                HIGHER,
                {**_INTRINSIC_ONLINE, "uncertainty": "counts"},
                "return",
            ),
        ),
        final=True,
    ),
    Claim(
        "dist-montezuma",
        ATARI,
        "Distributional DDQN, Montezuma's Revenge: local access lifts the score to a super-human "
        "level (above 4753).",
        "Section 6.2, Figure 8",
        (
            *_dist_both("montezuma-revenge", "final_return", HIGHER),
            *_dist_both("montezuma-revenge", "final_return", Expect("every seed above", _HUMAN)),
        ),
        final=True,
    ),
    Claim(
        "dist-private-eye",
        ATARI,
        "Distributional DDQN, PrivateEye: local access improves sample complexity and stability.",
        "Section 6.2, Figure 8",
        (
            *_dist_both("private-eye", "auc", HIGHER),
            *_dist_both("private-eye", "final_return", Expect("less spread")),
        ),
        final=True,
    ),
    Claim(
        "dist-venture",
        ATARI,
        "Distributional DDQN, Venture: results are neutral.",
        "Section 6.2, Figure 8",
        _dist_both("venture", "final_return", ALIKE),
        final=True,
    ),
    Claim(
        "dist-pitfall",
        ATARI,
        "Distributional DDQN, Pitfall: no positive score with either access.",
        "Section 6.2, Figure 8",
        tuple(
            Evidence(
                "atari-dist", _dist("pitfall", name), "final_return", NEVER_POSITIVE, text=text
            )
            for name, text in (("", "online"), ("counts", "counts"), ("rnd", "RND"))
        ),
        final=True,
    ),
    Claim(
        "actors-above-policies",
        ATARI,
        "Actors score considerably more than the learned policies: 14300 against 7100 in "
        "Montezuma's Revenge, 1800 against 0 in Pitfall.",
        "Section 6.2",
        (
            Evidence(
                "atari-dist",
                _dist("montezuma-revenge", "counts"),
                "max_screen_score",
                Expect("above its evaluations"),
                text="Montezuma's Revenge, counts",
            ),
            Evidence(
                "atari-dist",
                _dist("pitfall", "rnd"),
                "max_screen_score",
                Expect("above its evaluations"),
                text="Pitfall, RND",
            ),
        ),
        final=True,
    ),
    Claim(
        "dist-treasure-room",
        ATARI,
        "Montezuma's Revenge: screen scores above 100000 are seen, by a bug of the treasure room.",
        "Appendix A.3",
        (
            Evidence(
                "atari-dist",
                _dist("montezuma-revenge", "counts"),
                "max_screen_score",
                Expect("some seed above", 100_000.0),
                text="counts",
            ),
        ),
        final=True,
    ),
    Claim(
        "dist-pitfall-actors",
        ATARI,
        "Pitfall: at least one seed of local access with RND reaches a positive screen score.",
        "Appendix A.3",
        (
            Evidence(
                "atari-dist", _dist("pitfall", "rnd"), "max_screen_score", POSITIVE, text="RND"
            ),
        ),
        final=True,
    ),
)
