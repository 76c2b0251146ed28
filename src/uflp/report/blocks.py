"""The blocks of hand-written pages that show results: of the README and of the documentation."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from uflp.experiments.figures import FIGURES
from uflp.report import formatting, others_on_sparse_tasks, sac_returns
from uflp.report.formatting import markdown_table
from uflp.report.results import (
    RecordedRun,
    Results,
    measured,
    random_cells,
    scope_of,
    sides_of,
    which_settings,
)
from uflp.report.style import label_of
from uflp.runs.folder import read_object

PICTURES = ("deep-sea-50", "deep-sea-20", "montezuma-random")
"""Figures for the first screen: the first is shown whose runs are all finished."""

BENCH = "results/bench.json"
SB3, PPO = "results/sb3-deep-sea.csv", "results/sb3-frozen-lake.csv"
FINDS = "results/local-access-finds.csv"
FAITHFUL = "results/faithful.csv"
SCALING = "results/scaling.csv"

PAGES: dict[str, tuple[str, ...]] = {
    "README.md": (),
    "docs/continuous-actions.md": (sac_returns.RESULTS,),
    "docs/index.md": (),
    "docs/local-access.md": (FINDS,),
    "docs/saving.md": (FAITHFUL,),
    "docs/scaling.md": (SCALING,),
    "docs/stable-baselines3.md": (SB3, PPO, others_on_sparse_tasks.RESULTS),
    "docs/speed.md": (BENCH,),
}
"""Pages with blocks, and the files that each cannot do without."""

_BLOCK = re.compile(r"<!-- claims:(\w+) -->\n.*?<!-- /claims -->", re.DOTALL)
_LINK = re.compile(r"\]\((?=results/|examples/)")


def with_blocks(page: str, text: str, results: Results) -> str:
    """Return a page whose blocks are written anew.

    Args:
        page: its path in the checkout.
        text: of it.
        results: that the blocks show.
    """
    up = "../" * page.count("/")

    def written(found: re.Match[str]) -> str:
        block = _LINK.sub(f"]({up}", _BLOCKS[found[1]](results))
        return f"<!-- claims:{found[1]} -->\n{block}\n<!-- /claims -->"

    return _BLOCK.sub(written, text)


def _picture(results: Results) -> str:
    """Return a picture, its caption, and what was measured as a small table."""
    there = [one for one in PICTURES if results.select(one, {})]
    figure = next((one for one in there if not results.partial(one)), there[0])
    title, runs = FIGURES[figure].title, results.select(figure, {})
    links = f"[CSV](results/{figure}/{figure}.csv), [all claims and verdicts](results/claims.md)"
    picture = f"![{title}](results/{figure}/{figure}.png)"
    if figure == "montezuma-random":
        text = (
            f"{title}, the number of different cells seen: {random_cells(results)}. "
            "No agent learns here, and the paper has no such figure."
        )
        return f"{picture}\n\n*{text}* ({links})"
    scope = scope_of(figure, runs[0])
    budget = formatting.span([int(run.budget) for run in runs])
    text = (
        f"{title.partition(':')[0]} with {which_settings(figure, runs, results)} and a budget of "
        f"{budget} queries. The table has the seeds that solved it, and the queries that they "
        f"needed. All finished runs are shown; the paper has {scope.seeds} seeds."
    )
    agents = dict.fromkeys(run.names["agent"] for run in runs)
    rows = [
        [label_of(agent), *(_solved(runs, agent, access) for access in ("local", "online"))]
        for agent in agents
    ]
    table = markdown_table(["agent", "solved with local access", "solved with online access"], rows)
    return f"{picture}\n\n*{text}* ({links})\n\n{table}"


def _solved(runs: Sequence[RecordedRun], agent: str, access: str) -> str:
    """Return how many seeds of an agent were solved, and after how many queries."""
    own = [run for run in runs if (run.names["agent"], run.names["access"]) == (agent, access)]
    needed = [int(one) for one in measured(own, "queries_to_target") if np.isfinite(one)]
    text = f"{len(needed)} of {len(own)}" if own else ""
    return f"{text}, after {formatting.span(needed)}" if needed else text


def _stable_baselines(results: Results) -> str:
    dqn, ppo = (sides_of(results.rows(path)) for path in (SB3, PPO))
    rows = []
    for access, name in (("online", "DQN"), ("local", "DQN with `LocalAccess`")):
        side = dqn[access]
        needed = formatting.span(side.needed) if side.needed else ""
        rows.append(
            [name, f"{side.solved} of {side.seeds}", needed, formatting.span(side.rewarded)]
        )
    local, online = ppo["local"], ppo["online"]
    far = others_on_sparse_tasks.table(results)
    return "\n".join(
        [
            "Tasks with one far goal. The agent has the same settings on both sides, chosen on",
            "other seeds. Solved is the goal in 18 of 20 greedy episodes from a reset",
            f"([script](examples/sparse_tasks.py), [results]({others_on_sparse_tasks.RESULTS})):",
            "",
            far,
            "",
            f"Stable-Baselines3's DQN on Deep Sea 20, {formatting.seeds(dqn['local'].seeds)}, "
            f"{dqn['online'].queries:,} queries each",
            f"([script](examples/sb3_deep_sea.py), [results]({SB3})):",
            "",
            markdown_table(["agent", "solved", "queries to solve", "rewarded queries"], rows),
            "",
            f"Its PPO on FrozenLake 8 × 8, {online.queries:,} queries "
            f"([script](examples/sb3_ppo.py), [results]({PPO})):",
            f"{local.solved} of {local.seeds} solved with `LocalAccess`, "
            f"{online.solved} of {online.seeds} without.",
        ]
    )


_SPEED = (
    (
        "training on Deep Sea 50, `ddqn` with counts, whole history",
        "bsuite's JAX `dqn`, same network, batch and SGD period",
        ("throughput", "ddqn, counts", "ratio"),
    ),
    (
        "the same with covariance, d = 1500",
        "the same peer, which computes no uncertainty",
        ("throughput", "ddqn, covariance", "ratio"),
    ),
    (
        "`boot-ddqn`, 20 members",
        "bsuite's JAX `boot_dqn`, 20 members",
        ("throughput", "boot-ddqn", "ratio"),
    ),
    (
        "training on Swingup, `ddqn`, one thread",
        "Stable-Baselines3's DQN, same network, batch and period",
        ("swingup", "ddqn, online", "ratio"),
    ),
    (
        "two seeds of it on two cores",
        "one of Stable-Baselines3's",
        ("swingup", "ddqn, online, two seeds at once", "ratio"),
    ),
    (
        "training on HalfCheetah, `sac`, one thread",
        "Stable-Baselines3's SAC, same networks and batch",
        ("sac", "sac, online, HalfCheetah-v5", "ratio"),
    ),
    (
        "a step of MountainCar with `LocalAccess`",
        "the bare step, by its time",
        ("local_access", "ratio"),
    ),
    (
        "two actors on Ray, Montezuma with random actions",
        "one process",
        ("actors", "2 actors", "ratio"),
    ),
    (
        "save + restore of Deep Sea 50",
        "one `copy.deepcopy`",
        ("snapshots", "deep-sea 50", "ratio"),
    ),
    ("save + restore of Swingup", "one `copy.deepcopy`", ("snapshots", "swingup", "ratio")),
    (
        "`--agent random` on Montezuma: counts, history, restarts",
        "a bare loop of the emulator and the same preprocessing",
        ("atari", "random agent, of a bare loop's speed"),
    ),
)
"""A measurement, its peer, and the keys of the ratio in `bench.json`."""


def _speed(results: Results) -> str:
    bench = read_object(results.root / BENCH) or {}
    rows = [[what, against, f"{_at(bench, keys):g}×"] for what, against, keys in _SPEED]
    whole = _at(bench, ("restarts", "counts, 2,500 ids", "|H| = 1,000,000"))
    ratio = whole["scoring all (ms)"] / whole["choice (ms)"]
    choice = "whole-history choice among 10⁶ snapshots, counts on 2,500 states"
    rows.insert(-1, [choice, "scoring every snapshot", f"{ratio:.0f}×"])
    note = "Ratios, each measured in one run on two shared CPU cores "
    note += f"([{BENCH}]({BENCH}), `make bench`):"
    return f"{note}\n\n{markdown_table(['what', 'against', 'ratio'], rows)}"


def _at(value: Any, keys: Sequence[str]) -> Any:
    for key in keys:
        value = value[key]
    return value


def _finds(results: Results) -> str:
    """Return what random actions find on MountainCar, by what is saved."""
    sides = defaultdict(list)
    for row in results.rows(FINDS):
        sides[row["saved"]].append(row)
    names = {
        "nothing": "nothing (online)",
        "novelty": "by novelty (the default)",
        "every state": "every state (`checkpoint_period=1`)",
    }
    rows = []
    for saved, name in names.items():
        goals = [int(row["goals"]) for row in sides[saved]]
        snapshots, time = (
            float(np.median([float(row[key]) for row in sides[saved]]))
            for key in ("snapshots", "time")
        )
        reached = f"{sum(one > 0 for one in goals)} of {len(goals)}"
        rows.append([name, reached, formatting.span(goals), f"{snapshots:,.0f}", f"{time:.1f}×"])
    heads = ["saved", "seeds that reach the goal", "goals of a seed", "snapshots", "time"]
    return "\n".join(
        [
            f"MountainCar, 20,000 random actions, {formatting.seeds(len(sides['novelty']))} "
            f"([results]({FINDS})). Snapshots and time are medians.",
            "The time is that of the process against the bare environment:",
            "",
            markdown_table(heads, rows),
        ]
    )


_SNAPSHOTS = (
    "MountainCar-v0",
    "Ant-v5",
    "PointMaze_Large-v3",
    "AntMaze_Large-v5",
    "FetchReach-v4",
    "FrankaKitchen-v1",
)
"""Environments whose snapshots a page names, from small to large."""


def _snapshots(results: Results) -> str:
    """Return the sizes of some snapshots."""
    sizes = {row["simulator"]: int(row["bytes"]) for row in results.rows(FAITHFUL) if row["bytes"]}
    rows = [[name, f"{sizes[f'gym:{name}']:,}"] for name in _SNAPSHOTS]
    table = markdown_table(["environment", "bytes of a snapshot"], rows, names=1)
    return f"{table}\n\n([results of every environment]({FAITHFUL}))"


def _scaling(results: Results) -> str:
    """Return how many queries a second simulated actors make, and what they wait for."""
    measured = results.rows(SCALING)
    one = float(measured[0]["queries_per_second"])
    rows = []
    for row in measured:
        rate = float(row["queries_per_second"])
        restart, insert = (
            f"{row[f'{name}_p50_ms']} / {row[f'{name}_p95_ms']}" for name in ("restart", "insert")
        )
        cores = [f"{float(row[f'{name}_cpu']):.3f}" for name in ("driver", "replay", "history")]
        share = f"{rate / (one * int(row['actors'])):.0%}".replace("%", " %")
        paced = [f"{float(row['samples_per_insert']):g}", row["waits_for"]]
        rows.append([row["actors"], f"{rate:,.0f}", share, *paced, restart, insert, *cores])
    heads = [
        "actors",
        "queries/s",
        "of one actor's times K",
        "samples per insert",
        "waiting for",
        "restart choice, p50 / p95 ms",
        "insert, p50 / p95 ms",
        "command, cores",
        "replay",
        "history",
    ]
    return markdown_table(heads, rows)


_BLOCKS: dict[str, Callable[[Results], str]] = {
    "picture": _picture,
    "sb3": _stable_baselines,
    "speed": _speed,
    "finds": _finds,
    "snapshots": _snapshots,
    "scaling": _scaling,
    "sac": sac_returns.table,
}
"""Writers of the blocks, with links as from the folder of the checkout."""
