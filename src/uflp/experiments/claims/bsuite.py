"""The paper's claims about Deep Sea and Cartpole Swingup."""

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
)

DEEP_SEA, SWINGUP = "Deep Sea", "Cartpole Swingup"
_LOCAL = {"access": "local"}
_DEEP_SEA_AGENTS = ("boot-ddqn", "ddqn-bonus", "ddqn", "pi-bonus")
_SWINGUP_AGENTS = ("boot-ddqn", "ddqn-bonus")
_AT_N_20 = "N = 20 in place of 50"


def _local_higher(figure: str, agents: tuple[str, ...], measure: Measure) -> tuple[Evidence, ...]:
    return tuple(
        Evidence(figure, {"agent": agent, **_LOCAL}, measure, HIGHER, ONLINE) for agent in agents
    )


def _of(
    figure: str, agents: tuple[str, ...], access: str, measure: Measure, expect: Expect
) -> tuple[Evidence, ...]:
    return tuple(
        Evidence(figure, {"agent": agent, "access": access}, measure, expect) for agent in agents
    )


def _largest(
    figure: str, agents: tuple[str, ...], sweep: str, values: tuple[str, ...]
) -> tuple[Evidence, ...]:
    return tuple(
        Evidence(
            figure, {"agent": agent}, "auc", Expect("largest at", values), text="", sweep=sweep
        )
        for agent in agents
    )


def _beats(
    figure: str, agents: tuple[str, ...], sweep: str, better: str, worse: str
) -> tuple[Evidence, ...]:
    return tuple(
        Evidence(
            figure,
            {"agent": agent, sweep: better},
            "auc",
            HIGHER,
            {sweep: worse},
            sweep=sweep,
        )
        for agent in agents
    )


def _flat(
    figure: str, agents: tuple[str, ...], sweep: str, values: tuple[str, ...]
) -> tuple[Evidence, ...]:
    expect = Expect("none significantly different", values)
    return tuple(Evidence(figure, {"agent": agent}, "auc", expect, sweep=sweep) for agent in agents)


BSUITE_CLAIMS: tuple[Claim, ...] = (
    Claim(
        "deep-sea-local-higher",
        DEEP_SEA,
        "Local access leads to a significantly higher mean return for each agent (N = 50).",
        "Section 6.1, Figure 2",
        _local_higher("deep-sea-50", _DEEP_SEA_AGENTS, "auc"),
        _local_higher("deep-sea-20", _DEEP_SEA_AGENTS, "auc"),
        cap=_AT_N_20,
    ),
    Claim(
        "deep-sea-local-solves",
        DEEP_SEA,
        "With local access many agents easily solve Deep Sea.",
        "Section 1, Figure 2",
        _of(
            "deep-sea-50",
            _DEEP_SEA_AGENTS,
            "local",
            "queries_to_target",
            Expect("every seed solved"),
        ),
        _of(
            "deep-sea-20",
            _DEEP_SEA_AGENTS,
            "local",
            "queries_to_target",
            Expect("every seed solved"),
        ),
        cap=_AT_N_20,
        most=True,
        note="PI-Bonus learns late what is new. A return counts for the row above only once it has "
        "been learned, so the corner's worth climbs row by row, and a new return waits long for "
        "its turn in a replay that is drawn from uniformly.",
    ),
    Claim(
        "deep-sea-online-zero",
        DEEP_SEA,
        "Online, no agent but BootDDQN gets a return significantly above 0 within 3·10⁵ queries.",
        "Section 6.1, Figure 2",
        _of("deep-sea-50", _DEEP_SEA_AGENTS[1:], "online", "best_return", NEVER_POSITIVE),
        _of("deep-sea-20", _DEEP_SEA_AGENTS[1:], "online", "best_return", NEVER_POSITIVE),
        cap=_AT_N_20,
        final=True,
    ),
    Claim(
        "deep-sea-online-boot",
        DEEP_SEA,
        "Online, BootDDQN does get a return above 0.",
        "Section 6.1, Figure 2",
        _of("deep-sea-50", ("boot-ddqn",), "online", "best_return", POSITIVE),
        _of("deep-sea-20", ("boot-ddqn",), "online", "best_return", POSITIVE),
        cap=_AT_N_20,
    ),
    Claim(
        "deep-sea-p-init",
        DEEP_SEA,
        "The area under the curve is largest for a small p_init, 0 to 0.3, for most agents.",
        "Section 6.1, Figure 3(a)",
        _largest("deep-sea-p-init", _DEEP_SEA_AGENTS, "p_init", ("0.0", "0.1", "0.2", "0.3")),
        most=True,
    ),
    Claim(
        "deep-sea-batch-boot",
        DEEP_SEA,
        "BootDDQN does best with the whole history as B: to start from an uncertain state matters.",
        "Section 6.1, Figure 3(b)",
        (
            *_largest("deep-sea-batch", ("boot-ddqn",), "batch", ("all",)),
            *_beats("deep-sea-batch", ("boot-ddqn",), "batch", "all", "1"),
        ),
    ),
    Claim(
        "deep-sea-batch-others",
        DEEP_SEA,
        "DDQN-Bonus, DDQN and PI-Bonus do best with the whole history as B.",
        "Appendix A.1, Figure 9",
        _largest("deep-sea-batch", _DEEP_SEA_AGENTS[1:], "batch", ("all",)),
    ),
    Claim(
        "deep-sea-scaling",
        DEEP_SEA,
        "BootDDQN's queries to a mean return of 0.95 grow as N^2.47, near the optimal N².",
        "Section 6.1, Figure 4",
        (
            Evidence(
                "deep-sea-scaling",
                {"agent": "boot-ddqn"},
                "exponent",
                Expect("interval contains", 2.47),
                sweep="size",
            ),
        ),
    ),
    Claim(
        "intrinsic-does-not-converge",
        DEEP_SEA,
        "DDQN-Intrinsic does not converge on Deep Sea and Swingup, for numerical reasons.",
        "Section 6.1",
        missing="the paper shows no such runs, and no figure here has them",
    ),
    Claim(
        "swingup-similar",
        SWINGUP,
        "Default version: BootDDQN and DDQN-Bonus are about as sample efficient with online as "
        "with local access.",
        "Section 6.1, Figure 5(a)",
        tuple(
            Evidence("swingup", {"agent": agent, **_LOCAL}, "auc", ALIKE, ONLINE)
            for agent in _SWINGUP_AGENTS
        ),
    ),
    Claim(
        "swingup-pi",
        SWINGUP,
        "Default version: local access improves PI-Bonus significantly.",
        "Section 6.1, Figure 5(b)",
        (
            *_local_higher("swingup-pi", ("pi-bonus",), "auc"),
            *_local_higher("swingup-pi", ("pi-bonus",), "positive_rewards"),
        ),
        note="Rewarded queries are finds, and restarts near a reward add to them: they do not say "
        "that anything was learned. PI-Bonus learns late, because its values are fitted to the "
        "returns of all rollouts in the replay, most of which explored.",
    ),
    Claim(
        "swingup-hard",
        SWINGUP,
        "Hard version: local access improves BootDDQN and DDQN-Bonus significantly.",
        "Section 6.1, Figure 5(c)",
        (
            *_local_higher("swingup-hard", _SWINGUP_AGENTS, "auc"),
            *_local_higher("swingup-hard", _SWINGUP_AGENTS, "positive_rewards"),
        ),
        note="Of a replay with few rewarded transitions a batch holds hardly any, so that learning "
        "comes long after finding.",
    ),
    Claim(
        "swingup-hard-pi",
        SWINGUP,
        "Hard version: PI-Bonus sees no positive reward with either access.",
        "Section 6.1",
        (
            Evidence(
                "swingup-hard-pi",
                {"agent": "pi-bonus", **_LOCAL},
                "positive_rewards",
                NEVER_POSITIVE,
                text="local",
            ),
            Evidence(
                "swingup-hard-pi",
                {"agent": "pi-bonus", **ONLINE},
                "positive_rewards",
                NEVER_POSITIVE,
                text="online",
            ),
        ),
    ),
    Claim(
        "swingup-hard-p-init",
        SWINGUP,
        "Hard version: a relatively small p_init, such as 0.2, is best.",
        "Section 6.1, Figure 5(d)",
        _largest("swingup-hard-p-init", _SWINGUP_AGENTS, "p_init", ("0.2", "0.4")),
    ),
    Claim(
        "swingup-hard-p-init-0",
        SWINGUP,
        "Hard version: p_init = 0 is bad.",
        "Section 6.1, Figure 5(d)",
        _beats("swingup-hard-p-init", _SWINGUP_AGENTS, "p_init", "0.2", "0.0"),
    ),
    Claim(
        "swingup-p-init-0",
        SWINGUP,
        "Default version: p_init = 0 is bad (B = 5).",
        "Appendix A.2, Figure 10(a)",
        _beats("swingup-p-init", (*_SWINGUP_AGENTS, "pi-bonus"), "p_init", "0.2", "0.0"),
    ),
    Claim(
        "swingup-p-init-flat",
        SWINGUP,
        "Default version: BootDDQN and DDQN-Bonus hardly differ for p_init from 0.2 to 1.",
        "Appendix A.2, Figure 10(a)",
        _flat("swingup-p-init", _SWINGUP_AGENTS, "p_init", ("0.2", "0.4", "0.6", "0.8", "1.0")),
    ),
    Claim(
        "swingup-p-init-pi",
        SWINGUP,
        "Default version: PI-Bonus is significantly better with local access, and best at "
        "p_init = 0.2.",
        "Appendix A.2, Figure 10(a)",
        (
            *_beats("swingup-p-init", ("pi-bonus",), "p_init", "0.2", "1.0"),
            *_largest("swingup-p-init", ("pi-bonus",), "p_init", ("0.2",)),
        ),
    ),
    Claim(
        "swingup-batch-flat",
        SWINGUP,
        "Default version: BootDDQN and DDQN-Bonus hardly differ by B (p_init = 0.2).",
        "Appendix A.2, Figure 10(b)",
        _flat("swingup-batch", _SWINGUP_AGENTS, "batch", ("1", "5", "25", "125")),
    ),
    Claim(
        "swingup-batch-pi",
        SWINGUP,
        "Default version: PI-Bonus needs B above 1.",
        "Appendix A.2, Figure 10(b)",
        tuple(
            one
            for batch in ("5", "25", "125")
            for one in _beats("swingup-batch", ("pi-bonus",), "batch", batch, "1")
        ),
    ),
    Claim(
        "swingup-hard-batch",
        SWINGUP,
        "Hard version: BootDDQN's areas under the curve for B = 1, 5, 25 and 125 are comparable.",
        "Appendix A.2, Figure 10(c)",
        _flat("swingup-hard-batch", ("boot-ddqn",), "batch", ("1", "5", "25", "125")),
    ),
)
