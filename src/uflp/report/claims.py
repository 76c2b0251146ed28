"""Write the pages that compare the paper with the results: `python -m uflp.report.claims`.

All numbers come from files in `results/`. With `--check` nothing is written, and what differs from
the results is named.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from uflp.experiments.claims import CLAIMS, TABLE_CELLS
from uflp.experiments.figures.robotics import ROBOTICS_FIGURES
from uflp.report import blocks, exponent, formatting, others_on_sparse_tasks, sac_returns
from uflp.report.formatting import markdown_table
from uflp.report.provenance import PROVENANCE
from uflp.report.results import (
    RecordedRun,
    Results,
    exponent_text,
    exponents,
    measured,
    random_cells,
    settings_text,
    solved_text,
)
from uflp.report.statistics import FEWEST_FOR_TEST, permutation_test
from uflp.report.style import label_of, title_of
from uflp.report.verdicts import VERDICTS, Judged, JudgedCell, judge, judge_cell, name_of
from uflp.runs.folder import read_object

PAGE = "results/claims.md"
_FAITHFUL, _ATARI_FAITHFUL = "results/faithful.csv", "results/atari-faithful.csv"
SOURCES = {
    PAGE: (blocks.SB3, blocks.PPO, _FAITHFUL, _ATARI_FAITHFUL),
    exponent.PAGE: (exponent.RESTARTS, exponent.PRIORS, exponent.SEEKING),
    **blocks.PAGES,
}
"""Files that each page cannot do without; figures are quoted as they come."""

_LINK = re.compile(r"\]\(([\w./-]+\.(?:csv|json|png|svg))\)")


def main(arguments: Sequence[str], root: Path) -> int:
    """Write the pages, or with `--check` name what differs; return the exit code.

    Args:
        arguments: of the command line.
        root: of the checkout.
    """
    if list(arguments) not in ([], ["--check"]):
        print("usage: python -m uflp.report.claims [--check]", file=sys.stderr)
        return 2
    if arguments:
        problems = check(root)
        print("\n".join(problems) or "the pages say what the results say")
        return 1 if problems else 0
    absent = _missing(root)
    if absent:
        print("\n".join(absent), file=sys.stderr)
        return 1
    for path, text in pages(root).items():
        (root / path).write_text(text)
        print(path)
    return 0


def pages(root: Path) -> dict[str, str]:
    """Return the text of each page by its path, as the results have it."""
    results = Results(root)
    with_blocks = {
        page: blocks.with_blocks(page, (root / page).read_text(), results) for page in blocks.PAGES
    }
    return {PAGE: _page(results), exponent.PAGE: exponent.page(results), **with_blocks}


def check(root: Path) -> list[str]:
    """Return what is wrong with the pages, or with the records of results, one line each."""
    absent = _missing(root)
    problems = [*absent, *_broken_links(root)]
    if not absent:
        for path, text in pages(root).items():
            problems += _differences(path, (root / path).read_text(), text)
    return [*problems, *unrecorded(root)]


def unrecorded(root: Path) -> list[str]:
    """Return results that do not say how they were made.

    Every CSV, PNG and SVG has an entry in the `provenance.json` of its folder. The files of a run
    folder do not need one: its `config.json` says more.
    """
    problems = []
    for path in sorted((root / "results").rglob("*")):
        if path.suffix not in (".csv", ".png", ".svg") or (path.parent / "config.json").exists():
            continue
        if path.stem not in (read_object(path.parent / PROVENANCE) or {}):
            name, record = path.relative_to(root), path.parent.relative_to(root) / PROVENANCE
            problems.append(f"{name} has no entry in {record}")
    return problems


def _missing(root: Path) -> list[str]:
    """Return which files are missing without which a page cannot be written."""
    return [
        f"{page} quotes {source}, which is missing"
        for page, sources in SOURCES.items()
        for source in sources
        if not (root / source).exists()
    ]


def _broken_links(root: Path) -> list[str]:
    """Return which other files are missing that the pages link to as they are."""
    problems = []
    for page in SOURCES:
        for link in dict.fromkeys(_LINK.findall((root / page).read_text())):
            name = _linked(page, link)
            if not (root / name).exists() and name not in SOURCES[page]:
                problems.append(f"{page} quotes {name}, which is missing")
    return problems


def _linked(page: str, link: str) -> str:
    """Return where a page's link leads, as a path in the checkout."""
    parts: list[str] = []
    for part in (Path(page).parent / link).parts:
        parts = parts[:-1] if part == ".." else [*parts, part]
    return "/".join(parts)


def _differences(path: str, there: str, right: str) -> list[str]:
    """Return the first line that differs, and the files that its numbers come from."""
    if there == right:
        return []
    old, new = there.splitlines(), right.splitlines()
    number = next(
        (i for i, pair in enumerate(zip(old, new, strict=False)) if pair[0] != pair[1]),
        min(len(old), len(new)),
    )
    has, gives = (lines[number] if number < len(lines) else "nothing" for lines in (old, new))
    links = dict.fromkeys(_linked(path, link) for link in _LINK.findall(f"{has} {gives}"))
    files = [link for link in links if link.endswith(("csv", "json"))]
    # The summary and the blocks of other pages do not link line by line.
    origin = ", ".join(files or SOURCES[path])
    return [
        f"{path}, line {number + 1}, is not what {origin} gives; `make claims` writes it anew:",
        f"  has   {has}",
        f"  gives {gives}",
    ]


def _page(results: Results) -> str:
    judged = [judge(claim, results) for claim in CLAIMS]
    cells = [judge_cell(cell, results) for cell in TABLE_CELLS]
    counts = Counter(one.verdict for one in judged)
    verdicts = " ".join(f"{verdict.capitalize()}: {counts[verdict]}." for verdict in VERDICTS)
    open_cells = Counter(one.verdict for one in cells)["not measured"]
    parts = [
        "# What the paper claims, and what was measured here",
        "<!-- Written by `make claims` from the CSVs: do not edit. -->",
        f"**{len(judged)} claims. {verdicts}** Of the {len(cells)} numbers in the paper's tables "
        f"{open_cells} are not measured at its budget.",
        _HOW_TO_READ,
    ]
    for section in dict.fromkeys(one.claim.section for one in judged):
        members = [one for one in judged if one.claim.section == section]
        rows = [_claim_row(one, results) for one in members]
        parts += [
            f"## {section}",
            markdown_table(("claim", "what was run", "measured", "verdict"), rows),
        ]
        parts += [
            f"**{one.claim.statement}** {one.claim.note}"
            for one in members
            if one.claim.note and any(found.runs for found in one.findings)
        ]
    heads = ("table", "game", "agent and access", "the paper", "here", "verdict")
    parts += ["## The paper's tables", markdown_table(heads, [_cell_row(one) for one in cells])]
    parts += [
        "## Beside the paper",
        _BESIDE,
        markdown_table(("what", "measured"), _beside(results)),
    ]
    return "\n\n".join(parts) + "\n"


_HOW_TO_READ = """\
The paper is Yin et al. 2023. The CSVs beside the pictures hold every evaluation of every run, and
`provenance.json` beside them says how they were made. A verdict is derived from the numbers:
*agrees* if all that the claim leads one to expect holds, *partly* if some of it does, *disagrees*
if nothing does, and *not measured* where there are no runs or where they cannot decide it yet.
*Significant* is only what an exact two-sided permutation test over seeds gives at p ≤ 0.05. Three
seeds a side cannot reach that, and such a claim is *partly* true at best.

*Solved* means a mean evaluation return of 0.95, and *after* the queries up to the first evaluation
that reached it. The *normalised AUC* is the area under the evaluations divided by the queries of
the budget; a run that stopped once it was solved keeps its last value for the rest of it. *Rewarded
queries* are those of training with a positive reward. The exponent is fitted to each seed.
Intervals are 95 %. Where runs differ from the paper is in [deviations](../docs/deviations.md)."""

_BESIDE = "What the paper does not claim has no verdict."


def _claim_row(one: Judged, results: Results) -> list[str]:
    numbers = "; ".join(
        f"{name_of(found.evidence)}: {found.numbers}" for found in one.findings if found.numbers
    )
    verdict = f"**{one.verdict}**" + (f": {one.reason}" if one.reason else "")
    claim = f"{one.claim.statement} ({one.claim.source})"
    return [claim, _what_was_run(one, results), numbers, verdict]


def _what_was_run(one: Judged, results: Results) -> str:
    figures: dict[str, list[RecordedRun]] = {}
    for found in one.findings:
        figures.setdefault(found.evidence.figure, []).extend(found.runs)
    texts = []
    for figure, runs in figures.items():
        if not runs:
            texts.append(f"nothing of `{figure}`")
            continue
        picture, numbers = f"{figure}/{figure}.png", f"{figure}/{figure}.csv"
        texts.append(
            f"[{figure}]({picture}) ([CSV]({numbers})): {settings_text(figure, runs, results)}"
        )
    return "; ".join(texts)


def _cell_row(one: JudgedCell) -> list[str]:
    cell = one.cell
    names = [label_of(cell.where["agent"]), cell.where["access"], cell.where["uncertainty"]]
    verdict = one.verdict + (f": {one.reason}" if one.reason else "")
    who = " ".join(name for name in names if name)
    return [str(cell.table), title_of(cell.preset), who, cell.reported, one.here, verdict]


def _beside(results: Results) -> list[tuple[str, str]]:
    rows = [
        (
            f"`LocalAccess` with Stable-Baselines3's DQN on Deep Sea 20, {_csv(blocks.SB3)}",
            f"{solved_text(results.rows(blocks.SB3))}. It needs the forced first action",
        ),
        (
            f"`LocalAccess` with Stable-Baselines3's PPO on FrozenLake 8 × 8, {_csv(blocks.PPO)}",
            f"{solved_text(results.rows(blocks.PPO))}. Its settings were chosen on the first two "
            "seeds",
        ),
    ]
    rows += others_on_sparse_tasks.claims(results)
    rows += _point_maze(results)
    rows += _sparse_figures(results)
    rows += sac_returns.claims(results)
    random = random_cells(results)
    if random:
        what = "Montezuma's Revenge, random actions, restarts from the rarest cell"
        rows.append((f"{what}, {_figure('montezuma-random')}", random))
    rows.append((f"environments that can go back, {_csv(_FAITHFUL)}", _faithful(results)))
    games = results.rows(_ATARI_FAITHFUL)
    restores = formatting.span([int(row["restores"]) for row in games])
    different = sum(int(row["different"]) for row in games)
    rows.append(
        (
            f"Atari games that go back exactly, {_csv(_ATARI_FAITHFUL)}",
            f"{len(games)} games, {restores} exact restores each, {different} differences",
        )
    )
    rows += _tuned(results)
    page = Path(exponent.PAGE).relative_to("results")
    rows.append(("what decides the exponent of Deep Sea", f"[a page of its own]({page})"))
    return rows


def _point_maze(results: Results) -> Iterator[tuple[str, str]]:
    """Yield on how many seeds `sac` reached the far goal of PointMaze in its last evaluations."""
    runs = results.select("point-maze", {})
    texts = []
    for access in ("local", "online"):
        own = [run for run in runs if run.names["access"] == access]
        solved = sum(_last_return(run) >= 0.9 for run in own)
        if own:
            texts.append(f"{access} {solved} of {len(own)} seeds solved")
    if texts:
        film = "[film](point-maze/point-maze.gif)"
        yield (
            f"`sac` on PointMaze Large, the two cells that lie furthest apart, "
            f"{_figure('point-maze')}, {film}",
            f"{'; '.join(texts)}; {formatting.span([int(run.budget) for run in runs])} queries. "
            "Solved is a success rate of 0.9 over the last five evaluations. Settings were chosen "
            "on a seed that is not shown",
        )


def _last_return(run: RecordedRun) -> float:
    """Return the mean of the last five evaluations."""
    return float(run.numbers["eval_return_mean"][-5:].mean())


def _sparse_figures(results: Results) -> Iterator[tuple[str, str]]:
    """Yield the returns and finds of `sac` on tasks with a sparse reward."""
    for figure, plan in ROBOTICS_FIGURES.items():
        runs = results.select(figure, {})
        sides = {
            access: [run for run in runs if run.names["access"] == access]
            for access in ("local", "online")
        }
        if figure == "point-maze" or not all(sides.values()):
            continue
        texts, finals = [], []
        for access, own in sides.items():
            finals.append([_last_return(run) for run in own])
            finds = formatting.span([int(one) for one in measured(own, "positive_rewards")])
            returns = ", ".join(formatting.number(one) for one in finals[-1])
            texts.append(f"{access} {returns} with {finds} rewarded queries")
        text = f"mean return of the last five evaluations by seed: {'; '.join(texts)}"
        if min(map(len, finals)) >= FEWEST_FOR_TEST:
            p = permutation_test(*finals)
            text += f"; permutation test, {formatting.p_value(p)}"
        budget = formatting.span([int(run.budget) for run in runs])
        what = plan.title.partition(":")[0]
        yield f"`sac` on {what}, {_figure(figure)}", f"{text}; {budget} queries"


def _csv(path: str) -> str:
    return f"[CSV]({Path(path).relative_to('results')})"


def _figure(name: str) -> str:
    return f"[figure]({name}/{name}.png), [CSV]({name}/{name}.csv)"


def _faithful(results: Results) -> str:
    rows = results.rows(_FAITHFUL)
    texts = []
    for kinds in (("gym", "dmc", "bsuite", "minigrid"), ("gymnax",)):
        own = [row for row in rows if row["simulator"].partition(":")[0] in kinds]
        counts = Counter(row["verdict"] for row in own)
        verdicts = ", ".join(f"{counts[verdict]} {verdict}" for verdict in sorted(counts))
        texts.append(f"of {len(own)} of {', '.join(kinds)}: {verdicts}")
    return "; ".join(texts)


def _tuned(results: Results) -> Iterator[tuple[str, str]]:
    figure = "deep-sea-scaling-tuned"
    fitted, _ = exponents(results.select(figure, {"agent": "boot-ddqn", "variant": "tuned"}))
    if fitted:
        yield (
            f"BootDDQN's exponent with the variant `tuned`, {_figure(figure)}",
            f"{exponent_text(fitted)}; {formatting.seeds(len(fitted))}",
        )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], Path.cwd()))
