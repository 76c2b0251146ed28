"""The paper's claims as data: what it says, where, and which numbers here would bear it out.

Verdicts are not written here. `uflp.report.claims` derives them from the results.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from uflp.experiments.figures import FIGURES

Measure = Literal[
    "queries_to_target",
    "auc",
    "auc_cells",
    "best_return",
    "final_return",
    "positive_rewards",
    "cells",
    "max_screen_score",
    "exponent",
]
"""A number of one run; `exponent` is one of a seed, over all sizes."""

Predicate = Literal[
    "every seed solved",
    "every seed at most",
    "every seed above",
    "some seed above",
    "significantly higher",
    "not significantly different",
    "none significantly different",
    "largest at",
    "interval contains",
    "less spread",
    "smaller gain",
    "above its evaluations",
]

TARGET = 0.95
"""Mean return at which the paper calls Deep Sea solved."""

Where = Mapping[str, str]
"""Values of columns of a CSV; `variant` is the paper's settings unless it is named."""


class Expect(NamedTuple):
    """What the paper leads one to expect of a number.

    Attributes:
        predicate: its name.
        value: what the predicate compares with, if anything: a number, values of the swept
            setting, or the two sides of another comparison.
    """

    predicate: Predicate
    value: Any = None


@dataclass(frozen=True)
class Evidence:
    """A number of some runs, and what is expected of it.

    Attributes:
        figure: id of the figure whose CSV holds the runs.
        where: which of its rows.
        measure: the number.
        expect: what the paper leads one to expect of it.
        against: columns in which the runs differ that these are compared with.
        text: what the page calls these runs; empty means the agent.
        sweep: the swept setting that an expectation of several values is about.
    """

    figure: str
    where: Where
    measure: Measure
    expect: Expect
    against: Where | None = None
    text: str = ""
    sweep: str = ""


@dataclass(frozen=True)
class Claim:
    """A claim of the paper.

    Attributes:
        id: short name.
        section: of the page.
        statement: what the paper claims.
        source: where it does.
        evidence: what would bear it out.
        instead: what is looked at while there are no runs of the evidence. It makes a claim
            `partly` true at best.
        cap: why `instead` is not the same.
        most: whether it is enough that more than half of the expectations hold.
        final: whether the claim is about the whole of the paper's budget, so that fewer queries
            decide nothing of the evidence.
        missing: why there are no runs, where no figure has any.
        note: a paragraph below the table, without numbers, shown once there are runs.
    """

    id: str
    section: str
    statement: str
    source: str
    evidence: tuple[Evidence, ...] = ()
    instead: tuple[Evidence, ...] = ()
    cap: str = ""
    most: bool = False
    final: bool = False
    missing: str = ""
    note: str = ""


class Scope(NamedTuple):
    """How much the paper ran: seeds, and queries where it says."""

    seeds: int
    queries: int | None


PAPER: Mapping[str, Scope] = {
    "deep-sea": Scope(10, 300_000),
    "swingup": Scope(20, None),
    "montezuma": Scope(5, 1_000_000_000),
    "atari/montezuma-revenge": Scope(5, 1_000_000_000),
    "atari/private-eye": Scope(5, 200_000_000),
    "atari/venture": Scope(5, 200_000_000),
    "atari/pitfall": Scope(5, 200_000_000),
}
"""By preset, or else by how a figure's id begins."""

DEEP_SEA, SWINGUP, ATARI = "Deep Sea", "Cartpole Swingup", "Atari"
_HUMAN = 4753.0
_HIGHER, _ALIKE = Expect("significantly higher"), Expect("not significantly different")
_NEVER_POSITIVE, _POSITIVE = Expect("every seed at most", 0.0), Expect("some seed above", 0.0)
_LOCAL, _ONLINE = {"access": "local"}, {"access": "online"}
_DEEP_SEA_AGENTS = ("boot-ddqn", "ddqn-bonus", "ddqn", "pi-bonus")
_SWINGUP_AGENTS = ("boot-ddqn", "ddqn-bonus")


def _local_higher(figure: str, agents: tuple[str, ...], measure: Measure) -> tuple[Evidence, ...]:
    return tuple(
        Evidence(figure, {"agent": agent, **_LOCAL}, measure, _HIGHER, _ONLINE) for agent in agents
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
            _HIGHER,
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


_AT_N_20 = "N = 20 in place of 50"
_BY_CELLS = "random actions and their cells in place of DDQN and its return"

CLAIMS: tuple[Claim, ...] = (
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
        _of("deep-sea-50", _DEEP_SEA_AGENTS[1:], "online", "best_return", _NEVER_POSITIVE),
        _of("deep-sea-20", _DEEP_SEA_AGENTS[1:], "online", "best_return", _NEVER_POSITIVE),
        cap=_AT_N_20,
        final=True,
    ),
    Claim(
        "deep-sea-online-boot",
        DEEP_SEA,
        "Online, BootDDQN does get a return above 0.",
        "Section 6.1, Figure 2",
        _of("deep-sea-50", ("boot-ddqn",), "online", "best_return", _POSITIVE),
        _of("deep-sea-20", ("boot-ddqn",), "online", "best_return", _POSITIVE),
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
            Evidence("swingup", {"agent": agent, **_LOCAL}, "auc", _ALIKE, _ONLINE)
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
                _NEVER_POSITIVE,
                text="local",
            ),
            Evidence(
                "swingup-hard-pi",
                {"agent": "pi-bonus", **_ONLINE},
                "positive_rewards",
                _NEVER_POSITIVE,
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
    Claim(
        "montezuma-ddqn",
        ATARI,
        "Montezuma's Revenge: local access improves DDQN's final return significantly with either "
        "uncertainty.",
        "Section 6.2, Figure 6",
        (
            Evidence(_MONTEZUMA, _DDQN_COUNTS, "final_return", _HIGHER, _NO_UNCERTAINTY, "counts"),
            Evidence(_MONTEZUMA, _DDQN_RND, "final_return", _HIGHER, _NO_UNCERTAINTY, "RND"),
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
        (Evidence("montezuma-cells", _DDQN_COUNTS, "cells", _HIGHER, _NO_UNCERTAINTY),),
    ),
    Claim(
        "montezuma-batch",
        ATARI,
        "Montezuma's Revenge: B = 8 and 64 are significantly better than B = 1.",
        "Section 6.2, Figure 7(b)",
        tuple(
            _montezuma_sweep(
                "ddqn", "auc", {"p_init": "0.2", "batch": batch}, _HIGHER, {"batch": "1"}
            )
            for batch in ("8", "64")
        ),
        tuple(
            _montezuma_sweep(
                "random", "auc_cells", {"p_init": "0.2", "batch": batch}, _HIGHER, {"batch": "1"}
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
                "ddqn", "auc", {"p_init": "0.2", "batch": "8"}, _HIGHER, {"p_init": "0.0"}
            ),
        ),
        (
            _montezuma_sweep(
                "random", "auc_cells", {"p_init": "0.2", "batch": "8"}, _HIGHER, {"p_init": "0.0"}
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
            Evidence(_MONTEZUMA, _INTRINSIC_LOCAL, "final_return", _HIGHER, _ONLINE),
            Evidence(
                _MONTEZUMA,
                _INTRINSIC_LOCAL,
                "final_return",
                Expect("smaller gain", (_DDQN_COUNTS, _DDQN_ONLINE)),
                _ONLINE,
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
        (Evidence("montezuma-cells-intrinsic", _INTRINSIC_LOCAL, "cells", _HIGHER, _ONLINE),),
    ),
    Claim(
        "montezuma-cells-not-return",
        ATARI,
        "Montezuma's Revenge: DDQN-Intrinsic finds more cells online than DDQN does with local "
        "access, whose mean return is better all the same.",
        "Appendix A.3, Figures 6, 7(a) and 11",
        (
            Evidence(_MONTEZUMA, _INTRINSIC_ONLINE, "cells", _HIGHER, _DDQN_COUNTS, "cells"),
            Evidence(
                _MONTEZUMA,
                _DDQN_COUNTS,
                "final_return",
                _HIGHER,
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
            *_dist_both("montezuma-revenge", "final_return", _HIGHER),
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
            *_dist_both("private-eye", "auc", _HIGHER),
            *_dist_both("private-eye", "final_return", Expect("less spread")),
        ),
        final=True,
    ),
    Claim(
        "dist-venture",
        ATARI,
        "Distributional DDQN, Venture: results are neutral.",
        "Section 6.2, Figure 8",
        _dist_both("venture", "final_return", _ALIKE),
        final=True,
    ),
    Claim(
        "dist-pitfall",
        ATARI,
        "Distributional DDQN, Pitfall: no positive score with either access.",
        "Section 6.2, Figure 8",
        tuple(
            Evidence(
                "atari-dist", _dist("pitfall", name), "final_return", _NEVER_POSITIVE, text=text
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
                "atari-dist", _dist("pitfall", "rnd"), "max_screen_score", _POSITIVE, text="RND"
            ),
        ),
        final=True,
    ),
)


class TableCell(NamedTuple):
    """A number of one of the paper's tables.

    Attributes:
        table: its number in the paper.
        figure: id here.
        preset: the game.
        where: agent, access and uncertainty.
        reported: as the paper writes it.
    """

    table: int
    figure: str
    preset: str
    where: Where
    reported: str

    @property
    def id(self) -> str:
        """Short name, as a claim has one."""
        names = (self.preset.rpartition("/")[2], *self.where.values())
        return "-".join([f"table-{self.table}", *(name for name in names if name)])


TABLES: Mapping[int, str] = {1: "eval-ddqn", 2: "eval-dist", 3: "actor-ddqn", 4: "actor-dist"}

TABLE_CELLS: tuple[TableCell, ...] = tuple(
    TableCell(
        number,
        figure,
        preset,
        {"agent": line.agent, "access": line.access, "uncertainty": line.uncertainty or ""},
        reported,
    )
    for number, figure in TABLES.items()
    for preset, cells in FIGURES[figure].reported.items()
    for line, reported in zip(FIGURES[figure].lines, cells, strict=True)
)
