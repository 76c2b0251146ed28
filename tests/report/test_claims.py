"""The pages say what the results say, and every claim of the paper has a row."""

import csv
import json
import re
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import scipy.stats

from uflp.experiments.claims import CLAIMS, TABLE_CELLS
from uflp.experiments.figures import FIGURES
from uflp.report import sac_returns
from uflp.report.blocks import PAGES
from uflp.report.claims import check, main
from uflp.report.results import Results, measured
from uflp.report.verdicts import judge, judge_cell

ROOT = Path(__file__).parent.parent.parent

# What the paper says, typed in from its text, and the claim that covers it.
SAID = (
    ("Abstract", "super-human performance on Montezuma's Revenge", "montezuma-super-human"),
    ("Section 1", "many RL agents can easily solve the task", "deep-sea-local-solves"),
    ("Section 1", "in the online access setting they can only obtain zero", "deep-sea-online-zero"),
    ("Section 1", "double DQN results in a super-human score", "montezuma-super-human"),
    ("Section 6.1", "DDQN-Intrinsic does not converge", "intrinsic-does-not-converge"),
    ("Section 6.1", "significantly higher mean return for each agent", "deep-sea-local-higher"),
    ("Section 6.1", "none of the agents can get a return", "deep-sea-online-zero"),
    ("Section 6.1", "except for BootDDQN", "deep-sea-online-boot"),
    ("Section 6.1", "local access significantly improves", "deep-sea-local-higher"),
    ("Section 6.1", "best with a relatively small p_init, 0.0 to 0.3", "deep-sea-p-init"),
    ("Section 6.1", "best performance is achieved with B = |H|", "deep-sea-batch-boot"),
    ("Section 6.1", "importance of starting from an uncertain state", "deep-sea-batch-boot"),
    ("Section 6.1", "near-optimal dependency of O(N^2.47)", "deep-sea-scaling"),
    ("Section 6.1", "efficiency of online and local are similar", "swingup-similar"),
    ("Section 6.1", "with dense reward the benefit can be small", "swingup-similar"),
    ("Section 6.1", "for PI-Bonus local leads to a significant improvement", "swingup-pi"),
    ("Section 6.1", "hard version: significant improvement for both", "swingup-hard"),
    ("Section 6.1", "no positive rewards in the hard version, PI-Bonus", "swingup-hard-pi"),
    ("Section 6.1", "best with a small p_init, e.g., 0.2, hard", "swingup-hard-p-init"),
    ("Section 6.1", "when p_init = 0.0, the performance is bad", "swingup-hard-p-init-0"),
    ("Section 6.2", "improves the final return for both uncertainties", "montezuma-ddqn"),
    ("Section 6.2", "in the local access setting, the agent finds more cells", "montezuma-cells"),
    ("Section 6.2", "B = 8, 64 is significantly better than B = 1", "montezuma-batch"),
    ("Section 6.2", "p_init = 0.0 is a bad choice in this game", "montezuma-p-init-0"),
    ("Section 6.2", "p_init in [0.1, 0.3] leads to similar", "montezuma-p-init-flat"),
    ("Section 6.2", "improvement for DDQN-Intrinsic using local", "montezuma-intrinsic"),
    ("Section 6.2", "the additional benefit is relatively small", "montezuma-intrinsic"),
    ("Section 6.2", "need a larger value of p_init, i.e., 0.7", "montezuma-intrinsic-p-init"),
    ("Section 6.2", "dramatically improves to a super-human level", "dist-montezuma"),
    ("Section 6.2", "PrivateEye: sample complexity and stability", "dist-private-eye"),
    ("Section 6.2", "Venture results are neutral", "dist-venture"),
    ("Section 6.2", "Pitfall: both fail to obtain positive scores", "dist-pitfall"),
    ("Section 6.2", "actor returns are considerably higher", "actors-above-policies"),
    ("Section 6.2", "14300 vs. 7100 for Montezuma, 1800 vs. 0", "actors-above-policies"),
    ("Appendix A.1", "DDQN-Bonus, DDQN, PI-Bonus: best with |H|", "deep-sea-batch-others"),
    ("Appendix A.2", "p_init = 0.0 is a bad choice, default", "swingup-p-init-0"),
    ("Appendix A.2", "comparable for p_init in [0.2, 1.0]", "swingup-p-init-flat"),
    ("Appendix A.2", "for PI-Bonus significant improvement over online", "swingup-p-init-pi"),
    ("Appendix A.2", "PI-Bonus best with non-zero p_init, i.e., 0.2", "swingup-p-init-pi"),
    ("Appendix A.2", "comparable for different values of B", "swingup-batch-flat"),
    ("Appendix A.2", "for PI-Bonus, B > 1 is important", "swingup-batch-pi"),
    ("Appendix A.2", "BootDDQN hard: B = 1, 5, 25, 125 are comparable", "swingup-hard-batch"),
    ("Appendix A.3", "DDQN-Intrinsic: more cells with local", "montezuma-cells-intrinsic"),
    ("Appendix A.3", "more cells than using DDQN and local access", "montezuma-cells-not-return"),
    ("Appendix A.3", "DDQN with local achieves better return", "montezuma-cells-not-return"),
    (
        "Appendix A.3",
        "reaches a screen score 14300",
        "table-4-montezuma-revenge-dist-ddqn-local-counts",
    ),
    ("Appendix A.3", "screen scores > 100000", "dist-treasure-room"),
    ("Appendix A.3", "one RND seed reaches a positive score on Pitfall", "dist-pitfall-actors"),
)
FIGURES_OF_THE_PAPER = [
    "2",
    "3(a)",
    "3(b)",
    "4",
    "5(a)",
    "5(b)",
    "5(c)",
    "5(d)",
    "6",
    "7(a)",
    "7(b)",
    "8",
    "9",
    "10(a)",
    "10(b)",
    "10(c)",
    "11",
]
# The tables of the paper's appendix, row by row, as it prints them.
TABLES = {
    1: "2500.0 ± 0.0; 4980.0 ± 1086.91; 5518.0 ± 491.6; 6276.0 ± 551.3; 5772.0 ± 955.75",
    2: "4421.33 ± 869.63; 6235.33 ± 860.91; 5534.0 ± 118.11; "
    "88258.27 ± 15908.99; 100645.17 ± 62.16; 100571.25 ± 93.18; "
    "1792.67 ± 37.39; 1803.33 ± 50.34; 1691.33 ± 33.4; -1.31 ± 0.91; 0.0 ± 0.0; -2.21 ± 2.29",
    3: "3000; 6600; 8900; 9500; 8000",
    4: "6000; 14300; 6500; 100800; 100800; 100800; 2200; 3000; 2600; 0; 0; 1800",
}
CLAIM = {claim.id: claim for claim in CLAIMS}


def test_the_pages_say_what_the_results_say():
    assert check(ROOT) == []


def test_every_claim_of_the_paper_has_one_row():
    ids = [claim.id for claim in CLAIMS] + [cell.id for cell in TABLE_CELLS]
    assert max(Counter(ids).values()) == 1
    assert max(Counter(phrase for _, phrase, _ in SAID).values()) == 1
    covered = {name for _, _, name in SAID}
    assert covered <= set(ids)
    assert {claim.id for claim in CLAIMS} <= covered
    for source, phrase, name in SAID:
        assert name not in CLAIM or source in CLAIM[name].source or source == "Section 1", phrase


def test_every_figure_of_the_paper_has_a_row_and_every_figure_here_is_looked_at():
    sources = " ".join(claim.source + "," for claim in CLAIMS)
    for figure in FIGURES_OF_THE_PAPER:
        assert re.search(rf"(Figure|Figures|,|and) {re.escape(figure)}(,| and)", sources), figure
    looked_at = {one.figure for claim in CLAIMS for one in (*claim.evidence, *claim.instead)}
    looked_at |= {cell.figure for cell in TABLE_CELLS}
    beside = {name for name, figure in FIGURES.items() if not figure.claim}
    assert looked_at | beside == set(FIGURES)


def test_the_tables_are_the_papers():
    for number, text in TABLES.items():
        cells = [cell.reported for cell in TABLE_CELLS if cell.table == number]
        assert cells == text.split("; ")


@pytest.fixture(scope="module")
def _committed(tmp_path_factory):
    root = tmp_path_factory.mktemp("committed")
    shutil.copytree(ROOT / "results", root / "results")
    (root / "docs").mkdir()
    for page in PAGES:
        shutil.copy(ROOT / page, root / page)
    return root


@pytest.fixture
def copy(_committed):
    """A copy of the results and their pages; what a test changes is put back after it."""
    kept = {path: path.read_bytes() for path in _committed.rglob("*") if path.is_file()}
    yield _committed
    for path in _committed.rglob("*"):
        if path.is_file() and path not in kept:
            path.unlink()
    for path, data in kept.items():
        if not path.exists() or path.read_bytes() != data:
            path.write_bytes(data)


def change(path, pattern):
    """Changes the digit that ends the first match of a pattern."""
    text = path.read_text()
    end = re.search(pattern, text).end()
    path.write_text(f"{text[: end - 1]}{(int(text[end - 1]) + 1) % 10}{text[end:]}")


def test_a_changed_number_in_a_csv_is_named(copy):
    change(copy / "results" / "sb3-deep-sea.csv", r"local,0,\d+,\d")
    problems = "\n".join(check(copy))
    assert "results/sb3-deep-sea.csv" in problems
    assert "results/claims.md" in problems and "docs/stable-baselines3.md" in problems


def test_a_changed_number_in_a_figures_csv_is_named(copy):
    # The first evaluation of the first run counts for the area under its curve.
    path = copy / "results" / "swingup" / "swingup.csv"
    head, first, *rest = path.read_text().splitlines()
    cells = dict(zip(head.split(","), first.split(","), strict=True))
    cells["eval_return_mean"] = "-9999"
    path.write_text("\n".join([head, ",".join(cells.values()), *rest]) + "\n")
    problems = [line for line in check(copy) if "swingup/swingup.csv" in line]
    assert problems and problems[0].startswith("results/claims.md, line ")


@pytest.mark.parametrize(
    ("page", "pattern"),
    [
        ("results/claims.md", r"seeds solved, after \d"),
        ("results/claims.md", r"\*\*\d"),
        ("results/deep-sea-scaling/exponent.md", r"random: acts by chance \| \d"),
        ("docs/stable-baselines3.md", r"with `LocalAccess` \| \d"),
        ("docs/speed.md", r"\| \d+\.\d(?=\d*×)"),
        ("docs/local-access.md", r"the default\) \| \d"),
        ("README.md", r"\| BootDDQN \| \d"),
    ],
)
def test_a_changed_number_in_a_page_is_named(copy, page, pattern, capsys):
    change(copy / page, pattern)
    assert main(["--check"], copy) == 1
    assert capsys.readouterr().out.startswith(f"{page}, line ")
    assert main([], copy) == 0
    assert main(["--check"], copy) == 0


def test_missing_files_are_named(copy):
    for path in ("faithful.csv", "deep-sea-scaling/priors-alone.csv", "swingup/swingup.csv"):
        (copy / "results" / path).unlink()
    problems = check(copy)
    assert "results/claims.md quotes results/faithful.csv, which is missing" in problems
    assert "results/claims.md quotes results/swingup/swingup.csv, which is missing" in problems
    priors = "results/deep-sea-scaling/priors-alone.csv"
    assert f"results/deep-sea-scaling/exponent.md quotes {priors}, which is missing" in problems


@pytest.mark.parametrize("name", ["swingup/other.csv", "swingup/other.png", "new.svg"])
def test_a_result_that_does_not_say_how_it_was_made_is_named(copy, name):
    (copy / "results" / name).write_text("")
    record = Path("results", name).parent / "provenance.json"
    assert check(copy) == [f"results/{name} has no entry in {record}"]


def test_the_caption_of_the_first_picture_is_short():
    text = (ROOT / "README.md").read_text()
    (caption,) = re.findall(r"claims:picture -->\n!.*\n\n\*(.*)\*", text)
    assert len(caption.split()) <= 60


# Numbers in the README that are settings, a version or a year.
SETTINGS = {"20_000", "2023", "0.95", "3.11"}


def test_no_result_stands_in_the_readme_outside_of_a_block():
    text = (ROOT / "README.md").read_text()
    text = re.sub(r"<!-- claims:.*?<!-- /claims -->", "", text, flags=re.DOTALL)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    numbers = re.findall(r"\d[\d,._]*", text)
    long = {one.rstrip(".,_") for one in numbers if sum(map(str.isdigit, one)) >= 3}
    assert long == SETTINGS
    assert "×" not in text


# Verdicts from results that are made up, with numbers worked by hand.


def write(root, figure, lines, *, variant_column=True, record=True, **settings):
    """Writes a figure's CSV and record.

    Args:
        root: of the checkout.
        figure: its id.
        lines: from names to one list of evaluations (queries, return, rewards) a seed.
        variant_column: whether the CSV has one.
        record: whether there is a record.
        **settings: of all runs, for the record.
    """
    folder = root / "results" / figure
    folder.mkdir(parents=True)
    keys = list(dict(next(iter(lines))))
    if not variant_column:
        keys.remove("variant")
    with (folder / f"{figure}.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*keys, "seed", "queries", "eval_return_mean", "positive_rewards"])
        for names, seeds in lines.items():
            for seed, evaluations in enumerate(seeds):
                for row in evaluations:
                    writer.writerow([*(dict(names)[key] for key in keys), seed, *row])
    if record:
        entries = [
            {key: value or None for key, value in names} | {"seeds": [*range(len(seeds))]}
            for names, seeds in lines.items()
        ]
        entry = {"command": f"uflp figure {figure}", "settings": settings, "lines": entries}
        (folder / "provenance.json").write_text(json.dumps({figure: entry}))


def line(agent, access="local", uncertainty="", variant="", **swept):
    names = {"agent": agent, "uncertainty": uncertainty, "access": access, "variant": variant}
    return tuple((names | swept).items())


def constant(*values, queries=1000):
    """Returns one seed a value whose evaluations all have that value."""
    return [[(queries // 2, value, 0), (queries, value, 0)] for value in values]


def verdict(root, name):
    one = judge(CLAIM[name], Results(root))
    return one.verdict, one.reason, [found.numbers for found in one.findings]


PI = ("pi-bonus", "local"), ("pi-bonus", "online")


def pi_bonus(local, online):
    return {line(*PI[0]): local, line(*PI[1]): online}


def rewarded(*counts):
    return [[(1000, 5.0 + count, count)] for count in counts]


def test_five_seeds_that_do_not_overlap_agree(tmp_path):
    write(
        tmp_path,
        "swingup-pi",
        pi_bonus(rewarded(6, 7, 8, 9, 10), rewarded(*range(5))),
        queries=1000,
    )
    said, reason, (auc, rewards) = verdict(tmp_path, "swingup-pi")
    # Of the 252 ways to choose five of ten seeds two are as extreme as this: p = 0.0079.
    assert (said, reason) == ("agrees", "")
    assert auc == "normalised AUC 13.0 against 7.000, p = 0.008"
    assert rewards == "rewarded queries 8 against 2, p = 0.008"


def test_three_seeds_are_partly_at_best(tmp_path):
    write(tmp_path, "swingup-pi", pi_bonus(rewarded(7, 8, 9), rewarded(1, 2, 3)), queries=1000)
    said, reason, (auc, _) = verdict(tmp_path, "swingup-pi")
    assert said == "partly"
    assert reason == "3 seeds a side, with which nothing can be significant"
    assert auc == "normalised AUC 12.0, 13.0, 14.0 against 6.000, 7.000, 8.000, p = 0.100"


def test_what_is_lower_disagrees(tmp_path):
    write(
        tmp_path,
        "swingup-pi",
        pi_bonus(rewarded(*range(5)), rewarded(6, 7, 8, 9, 10)),
        queries=1000,
    )
    said, reason, _ = verdict(tmp_path, "swingup-pi")
    assert said == "disagrees" and "not higher (p = 0.008)" in reason


def test_what_is_lower_on_few_seeds_is_open(tmp_path):
    write(tmp_path, "swingup-pi", pi_bonus(rewarded(1, 2, 3), rewarded(7, 8, 9)), queries=1000)
    said, reason, _ = verdict(tmp_path, "swingup-pi")
    assert said == "not measured"
    assert reason == "not higher, but 3 seeds a side, with which nothing can be significant"


def test_a_budget_that_the_claim_names_is_needed(tmp_path):
    lines = {
        line(agent, "online"): constant(*[0] * 10) for agent in ("ddqn-bonus", "ddqn", "pi-bonus")
    }
    write(tmp_path, "deep-sea-50", lines, queries=1000)
    said, reason, numbers = verdict(tmp_path, "deep-sea-online-zero")
    assert (said, reason) == ("not measured", "only 1,000 of the paper's 300,000 queries")
    assert numbers == ["best evaluation 0.000, 0 of 10 seeds above 0"] * 3


def test_returns_say_nothing_before_any_is_above_0(tmp_path):
    local = [[(1000, -1.0, count)] for count in (6, 7, 8, 9, 10)]
    online = [[(1000, -9.0, count)] for count in range(5)]
    write(tmp_path, "swingup-pi", pi_bonus(local, online), queries=1000)
    said, reason, (auc, _) = verdict(tmp_path, "swingup-pi")
    # Rewarded queries are significantly more, but nothing was learned.
    assert said == "partly" and reason.startswith("no evaluation above 0 within 1,000 queries")
    assert auc == ""


def test_runs_that_were_cut_short_decide_nothing(tmp_path):
    write(
        tmp_path, "swingup-pi", pi_bonus(rewarded(7, 8, 9, 10), rewarded(1, 2, 3, 4)), queries=2000
    )
    assert verdict(tmp_path, "swingup-pi")[:2] == ("not measured", "a run was cut short")


def test_a_variant_is_not_the_papers(tmp_path):
    sizes = {line("boot-ddqn", variant="tuned", size=size): constant(1.0) for size in (10, 20)}
    write(tmp_path, "deep-sea-scaling", sizes, queries=1000)
    assert verdict(tmp_path, "deep-sea-scaling")[0] == "not measured"


@pytest.mark.parametrize(("record", "said"), [(True, "agrees"), (False, "not measured")])
def test_a_csv_without_variants_is_the_papers_only_if_its_record_says_so(tmp_path, record, said):
    lines = pi_bonus(rewarded(6, 7, 8, 9, 10), rewarded(*range(5)))
    write(tmp_path, "swingup-pi", lines, variant_column=False, record=record, queries=1000)
    assert verdict(tmp_path, "swingup-pi")[0] == said


def solved_after(*queries):
    return [[(10, 0.0, 0), (after, 0.99, 1)] for after in queries]


@pytest.mark.parametrize(
    ("at_100", "text", "said"),
    [
        # From N = 10 to 100 queries grow from 1,000 to 10⁵: an exponent of 2 on every seed.
        ([100_000] * 10, "exponent 2.00 [2.00, 2.00]", "disagrees"),
        # Five seeds with 2 and five with 3, so that the interval is about 2.2 to 2.8.
        ([100_000] * 5 + [1_000_000] * 5, "exponent 2.50 [2.", "agrees"),
        # Four seeds have no interval.
        ([100_000] * 2 + [1_000_000] * 2, "exponent 2.50 (2.00, 2.00, 3.00, 3.00)", "partly"),
    ],
)
def test_the_exponent_is_fitted_to_each_seed(tmp_path, at_100, text, said):
    sizes = {
        line("boot-ddqn", size=10): solved_after(*[1000] * len(at_100)),
        line("boot-ddqn", size=100): solved_after(*at_100),
    }
    write(tmp_path, "deep-sea-scaling", sizes, queries=10_000_000, stop_at_return=0.95)
    found, _, (numbers,) = verdict(tmp_path, "deep-sea-scaling")
    assert found == said and numbers.startswith(text)


def test_a_run_that_stopped_once_solved_keeps_its_last_value(tmp_path):
    run = [[(100, 0.0, 0), (200, 1.0, 1)]]
    write(tmp_path, "deep-sea-50", {line("ddqn"): run}, queries=1000, stop_at_return=0.95)
    runs = Results(tmp_path).select("deep-sea-50", {"agent": "ddqn"})
    # 0 up to 100, then a triangle of 50, then 1 from 200 to 1000: 850 of 1000.
    assert measured(runs, "auc") == [pytest.approx(0.85)]
    assert measured(runs, "queries_to_target") == [200]


def test_a_smaller_sea_is_partly_at_best(tmp_path):
    agents = ("boot-ddqn", "ddqn-bonus", "ddqn", "pi-bonus")
    lines = {line(agent): solved_after(500, 600, 700) for agent in agents}
    write(tmp_path, "deep-sea-20", lines, queries=20_000, stop_at_return=0.95)
    said, reason, numbers = verdict(tmp_path, "deep-sea-local-solves")
    assert (said, reason) == ("partly", "as the paper says, but with N = 20 in place of 50")
    assert numbers == ["3 of 3 solved, after 500 to 700"] * 4
    write(tmp_path, "deep-sea-50", lines, queries=20_000, stop_at_return=0.95)
    assert verdict(tmp_path, "deep-sea-local-solves")[:2] == ("agrees", "")


def test_a_figure_without_all_its_runs_is_partly_at_best(tmp_path):
    lines = pi_bonus(rewarded(6, 7, 8, 9, 10), rewarded(*range(5)))
    write(tmp_path, "swingup-pi", lines, queries=1000)
    path = tmp_path / "results" / "swingup-pi" / "provenance.json"
    entries = json.loads(path.read_text())
    entries["swingup-pi"]["runs"] = {"planned": 40, "finished": 10}
    path.write_text(json.dumps(entries))
    said, reason, _ = verdict(tmp_path, "swingup-pi")
    assert said == "partly"
    assert reason == "as the paper says, but with only 10 of 40 of its runs finished"


def test_most_agents_are_enough_where_the_paper_says_most(tmp_path):
    good = {"0.0": constant(1, 1, 1, 1), "0.9": constant(0, 0, 0, 0)}
    lines = {
        line(agent, p_init=value): seeds
        for agent in ("boot-ddqn", "ddqn-bonus", "ddqn")
        for value, seeds in good.items()
    }
    lines |= {
        line("pi-bonus", p_init="0.0"): good["0.9"],
        line("pi-bonus", p_init="0.9"): good["0.0"],
    }
    write(tmp_path, "deep-sea-p-init", lines, queries=1000)
    said, reason, numbers = verdict(tmp_path, "deep-sea-p-init")
    assert (said, reason) == ("agrees", "largest at 0.9 (PI-Bonus)")
    assert numbers[0] == "normalised AUC by p_init: 1.000 at 0.0, 0.000 at 0.9"


def test_values_that_differ_significantly_are_not_comparable(tmp_path):
    lines = {
        line("boot-ddqn", batch="1"): constant(1, 2, 3, 4),
        line("boot-ddqn", batch="5"): constant(1, 2, 3, 5),
        line("boot-ddqn", batch="25"): constant(7, 8, 9, 10),
        line("boot-ddqn", batch="125"): constant(1, 2, 4, 5),
    }
    write(tmp_path, "swingup-hard-batch", lines, queries=1000)
    said, reason, _ = verdict(tmp_path, "swingup-hard-batch")
    # Four seeds against four that do not overlap: 2 of 70, p = 0.029.
    assert said == "disagrees"
    assert reason == "significantly different: 1 and 25, 5 and 25, 25 and 125"


def test_fewer_queries_than_the_papers_decide_nothing_of_final_scores(tmp_path):
    lines = {
        line("ddqn", "local", "counts"): constant(*[6000] * 5),
        line("ddqn", "local", "rnd"): constant(*[5000] * 5),
        line("ddqn", "online"): constant(*[2500] * 5),
    }
    write(tmp_path, "montezuma-ddqn", lines, queries=1000)
    said, reason, numbers = verdict(tmp_path, "montezuma-ddqn")
    assert said == "not measured"
    assert reason == "only 1,000 of the paper's 1,000,000,000 queries"
    assert numbers[0].startswith("mean of the last 30 evaluations 6,000 against 2,500")


@pytest.mark.parametrize(
    ("queries", "low", "high", "said"),
    [
        (400_000, 2400, 2600, "not measured"),
        (1_000_000_000, 2400, 2600, "agrees"),
        (1_000_000_000, 2600, 2700, "disagrees"),
    ],
)
def test_a_cell_of_a_table_is_judged_at_the_papers_budget(tmp_path, queries, low, high, said):
    folder = tmp_path / "results" / "eval-ddqn"
    folder.mkdir(parents=True)
    (folder / "eval-ddqn.csv").write_text(
        "preset,agent,access,uncertainty,variant,seeds,mean,low,high,interval,paper\n"
        f"atari/montezuma-revenge,ddqn,online,,,5,{(low + high) / 2},{low},{high},t,2500.0 ± 0.0\n"
    )
    names = {"agent": "ddqn", "access": "online", "uncertainty": None, "queries": queries}
    (folder / "provenance.json").write_text(json.dumps({"eval-ddqn": {"lines": [names]}}))
    cell = next(one for one in TABLE_CELLS if one.id == "table-1-montezuma-revenge-ddqn-online")
    assert judge_cell(cell, Results(tmp_path)).verdict == said


def test_sparse_tasks_have_a_row_once_both_sides_have_the_same_seeds(copy):
    path = copy / "results" / "sparse-tasks.csv"
    head = "agent,task,seed,access,budget,queries_to_solve,queries"
    rows = ["sb3-dqn,mountain-car,0,local,200000,90000,90000"]
    rows += ["sb3-dqn,mountain-car,0,online,200000,,200000"]
    rows += ["sb3-ppo,door-key,0,local,200000,5000,5000"]
    path.write_text("\n".join([head, *rows]) + "\n")
    main([], copy)
    (line,) = (
        line
        for line in (copy / "results" / "claims.md").read_text().splitlines()
        if "(sparse-tasks.csv)" in line
    )
    assert "Stable-Baselines3's DQN, on MountainCar" in line
    said = "local 1 of 1 seeds solved, after 90,000 queries; online 0 of 1 seeds solved"
    assert f"{said}; within 200,000" in line


def test_returns_of_sac_stand_beside_those_of_its_peer_with_the_same_seeds(tmp_path):
    (tmp_path / "results").mkdir()
    rows = [f"sac,Pendulum-v1,{seed},500,{-100.0 - seed},1" for seed in range(5)]
    rows += [f"stable-baselines3,Pendulum-v1,{seed},500,{-200.0 - seed},1" for seed in range(5)]
    rows += ["sac,HalfCheetah-v5,0,500,9,1"]  # Its peer is not there yet.
    text = "\n".join(["agent,task,seed,queries,mean_return,wall_seconds", *rows]) + "\n"
    (tmp_path / "results" / "sac-returns.csv").write_text(text)
    results = Results(tmp_path)
    # ± t(0.975, 4) √0.5 = 1.963.
    ours, peer = "-102.0 [-104.0, -100.0]", "-202.0 [-204.0, -200.0]"
    ((_, said),) = sac_returns.claims(results)
    assert said.startswith(f"mean return {ours}, Stable-Baselines3's {peer}; 5 seeds, 500 queries")
    row = sac_returns.table(results).splitlines()[-1]
    assert row == f"| Pendulum-v1 | 500 | 5 | {ours} | {peer} |"


def test_a_sparse_robot_task_has_a_row_with_returns_finds_and_a_test():
    (said,) = (
        line
        for line in (ROOT / "results" / "claims.md").read_text().splitlines()
        if "(cartpole-sparse/cartpole-sparse.png)" in line
    )
    with (ROOT / "results" / "cartpole-sparse" / "cartpole-sparse.csv").open() as file:
        rows = list(csv.DictReader(file))
    lasts = {}
    for access in ("local", "online"):
        runs = {}
        for row in rows:
            if row["access"] == access:
                runs.setdefault(row["seed"], []).append(row)
        finds = [int(run[-1]["positive_rewards"]) for run in runs.values()]
        assert len(finds) == 5
        assert f"{min(finds):,} to {max(finds):,} rewarded queries" in said
        lasts[access] = [
            np.mean([float(row["eval_return_mean"]) for row in run[-5:]]) for run in runs.values()
        ]
        assert f"{access} {lasts[access][0]:.1f}, " in said
    sides = (lasts["local"], lasts["online"])
    p = scipy.stats.permutation_test(sides, lambda one, two: np.mean(one) - np.mean(two)).pvalue
    assert f"p = {p:.3f}" in said
