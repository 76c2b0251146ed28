"""The paper's figures: their data, their runs, and the numbers drawn from them."""

import contextlib
import csv
import json
import sys
from collections import Counter

import numpy as np
import pytest
from extras import require_settings_of, require_simulators_of

from uflp import cli
from uflp.experiments.figures import FIGURES, SCALES
from uflp.report.figures import auc, curves, finals, fit_exponent, gather, maxima, scaling
from uflp.report.statistics import final_score
from uflp.runs.folder import RunFolder, summarize


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", FIGURES)
def test_every_run_of_every_figure_resolves_and_has_a_folder_of_its_own(name, scale, tmp_path):
    require_settings_of(name)
    jobs = FIGURES[name].jobs(scale, tmp_path)
    assert len({job.folder for job in jobs}) == len(jobs) > 1


def test_deep_sea_50_has_the_paper_s_runs(tmp_path):
    jobs = FIGURES["deep-sea-50"].jobs("paper", tmp_path)
    values = [job.settings.values() for job in jobs]
    assert len(jobs) == 4 * 2 * 10
    assert {v["size"] for v in values} == {50} and {v["queries"] for v in values} == {300_000}
    assert {(j.settings.access, j.settings.planning.p_init) for j in jobs} == {
        ("local", 0.1),
        ("online", 1.0),
    }
    assert {j.settings.planning.batch for j in jobs} == {None}
    by_agent = {job.settings.agent: job.settings.values() for job in jobs}
    assert by_agent["boot-ddqn"]["members"] == 20 and by_agent["boot-ddqn"]["prior_scale"] == 40
    assert by_agent["pi-bonus"]["discount"] == 1.0 and by_agent["pi-bonus"]["sgd_period"] == 4
    assert by_agent["pi-bonus"]["regularization"] == 0.1
    assert by_agent["ddqn-bonus"]["epsilon"] == 0.1 and by_agent["ddqn"]["epsilon"] == 0.0
    runs = [job.settings for job in jobs]
    assert {(s.replay.recent_fraction, s.planning.restart_limit) for s in runs} == {(0.0, None)}


def test_montezuma_has_the_paper_s_runs(tmp_path):
    jobs = FIGURES["montezuma-ddqn"].jobs("paper", tmp_path)
    assert len(jobs) == 5 * len(FIGURES["montezuma-ddqn"].lines)
    assert {job.settings.evaluation.queries for job in jobs} == {10**9}
    values = {
        (s.agent, s.access, s.uncertainty_name): (
            s.planning.p_init,
            s.planning.batch,
            s.acting.epsilon,
        )
        for s in (job.settings for job in jobs)
    }
    assert values["ddqn", "online", None] == (1.0, 8, 0.1)
    assert values["ddqn", "local", "counts"] == (0.2, 8, 0.01)
    assert values["ddqn", "local", "rnd"] == (0.3, 32, 0.01)
    assert values["ddqn-intrinsic", "online", "counts"] == (1.0, 8, 0.01)
    assert values["ddqn-intrinsic", "local", "counts"] == (0.7, 8, 0.01)
    jobs = FIGURES["montezuma-p-init-batch"].jobs("paper", tmp_path)
    pairs = {(job.settings.planning.p_init, job.settings.planning.batch) for job in jobs}
    assert pairs == {(p, b) for p in (0.0, 0.1, 0.2, 0.3) for b in (1, 8, 64)}


def test_four_games_have_the_paper_s_runs(tmp_path):
    plan = FIGURES["atari-dist"]
    jobs = plan.jobs("paper", tmp_path)
    assert len(jobs) == 4 * len(plan.lines) * 5
    assert {(j.settings.preset, j.settings.evaluation.queries) for j in jobs} == {
        ("atari/montezuma-revenge", 10**9),
        *((f"atari/{game}", 2 * 10**8) for game in ("private-eye", "venture", "pitfall")),
    }
    local = [job.settings.planning for job in jobs if job.settings.access == "local"]
    assert {(planning.p_init, planning.batch) for planning in local} == {(0.3, 32)}
    by_rnd = [job.settings for job in jobs if job.settings.uncertainty_name == "rnd"]
    assert {(s.preset, s.agent_config.v_max) for s in by_rnd} == {
        ("atari/private-eye", 120_000),
        *((f"atari/{game}", 10_000) for game in ("montezuma-revenge", "venture", "pitfall")),
    }


def test_costly_agents_have_fewer_seeds_and_values(tmp_path):
    jobs = FIGURES["deep-sea-50"].jobs("laptop", tmp_path)
    runs = Counter((job.settings.agent, job.settings.access) for job in jobs)
    assert runs.pop(("boot-ddqn", "online")) == 5
    assert len(runs) == 7 and set(runs.values()) == {10}
    jobs = FIGURES["swingup-p-init"].jobs("laptop", tmp_path)
    runs = Counter((job.settings.agent, job.settings.planning.p_init) for job in jobs)
    assert {value: n for (agent, value), n in runs.items() if agent == "boot-ddqn"} == {
        0.0: 3,
        0.2: 3,
        1.0: 3,
    }
    assert {n for (agent, _), n in runs.items() if agent != "boot-ddqn"} == {5}
    assert len(runs) == 3 + 2 * 6


def test_at_laptop_scale_only_access_differs(tmp_path):
    jobs = FIGURES["montezuma-cells"].jobs("laptop", tmp_path)
    assert {(job.settings.access, job.settings.seed) for job in jobs} == {
        (access, seed) for access in ("local", "online") for seed in (0, 1)
    }
    assert {job.settings.acting.epsilon for job in jobs} == {0.1}
    (rate,) = {job.settings.learning.samples_per_insert for job in jobs}
    assert rate < 8, "fewer than the paper's"


@pytest.mark.parametrize("scale", SCALES)
def test_figures_of_the_same_runs_find_them_in_one_place(scale, tmp_path):
    at_home = [(name, plan.home) for name, plan in FIGURES.items() if plan.home is not None]
    assert len(at_home) == 6
    for name, home in at_home:
        there = {job.folder: job for job in FIGURES[home].jobs(scale, tmp_path)}
        for job in FIGURES[name].jobs(scale, tmp_path):
            assert there[job.folder] == job


def fabricate(jobs, needed):
    """Writes runs that reach their target at the number of queries that `needed` gives."""
    for job in jobs:
        queries = needed(job.settings)
        points = ((queries // 2, 0.0), (queries, 0.99))
        write(job, [{"queries": query, "eval_return_mean": value} for query, value in points])


def write(job, rows):
    """Writes a finished run with these rows."""
    rows = [{"positive_rewards": 0, **row} for row in rows]
    folder = RunFolder(job.folder, job.settings, job.stop_at_return)
    for row in rows:
        folder.append(row)
    folder.finish(summarize(job.settings, rows, 1.0, job.folder))


def test_the_exponent_is_that_of_the_runs(tmp_path):
    plan = FIGURES["deep-sea-scaling"]
    jobs = plan.jobs("laptop", tmp_path)
    fabricate(jobs, lambda s: round((3 + s.seed) * s.simulator.size ** (2 + 0.1 * s.seed)))
    exponent = fit_exponent(gather(plan, jobs))
    assert exponent.seeds == 10
    assert exponent.mean == pytest.approx(2.45, abs=1e-3)
    assert 2.0 < exponent.low < 2.45 < exponent.high < 2.9


def test_runs_that_never_reach_the_target_do_not_count(tmp_path):
    plan = FIGURES["deep-sea-scaling"]
    jobs = [job for job in plan.jobs("laptop", tmp_path) if job.settings.seed < 2]
    fabricate(jobs, lambda s: s.simulator.size**2)
    for job in jobs:
        if job.settings.seed == 1:
            metrics = job.folder / "metrics.csv"
            metrics.write_text(metrics.read_text().replace("0.99", "0.5"))
    exponent = fit_exponent(gather(plan, jobs))
    assert exponent.seeds == 1 and exponent.mean == pytest.approx(2.0)


def run(monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["uflp", *map(str, words)])
    cli.main()


@pytest.mark.parametrize(("scale", "targets"), [("paper", ["target 300"]), ("laptop", [])])
def test_a_target_is_drawn_among_returns_alone(scale, targets, tmp_path):
    plan = FIGURES["swingup-pi"]
    jobs = plan.jobs(scale, tmp_path)
    fabricate(jobs, lambda settings: settings.evaluation.queries)
    shown = plan.at(scale)
    (axes,) = curves(shown, gather(shown, jobs)).axes
    assert [text.get_text() for text in axes.texts if "300" in text.get_text()] == targets


@pytest.mark.parametrize("seeds", [3, 5, 10])
def test_areas_of_few_seeds_are_dots_and_of_many_a_band(seeds, tmp_path):
    plan = FIGURES["swingup-batch"]
    jobs = [job for job in plan.jobs("paper", tmp_path) if job.settings.seed < seeds]
    for job in jobs:
        value = 1.0 + job.settings.seed
        write(job, [{"queries": job.settings.evaluation.queries, "eval_return_mean": value}])
    (axes,) = auc(plan, gather(plan, jobs)).axes
    assert axes.get_ylim()[0] <= 0
    dots = [line for line in axes.lines if line.get_marker() == "o"]
    agents = len(plan.lines)
    # A run that is always at a value has that as its area: here, one more than its seed.
    if seeds < 10:
        assert [set(line.get_ydata()) for line in dots[:seeds]] == [
            {1.0 + seed} for seed in range(seeds)
        ]
    means = [line for line in dots if line.get_linestyle() == "-"]
    if seeds >= 5:
        assert len(means) == agents and set(means[0].get_ydata()) == {(1 + seeds) / 2}
    (words,) = [text.get_text() for text in axes.texts]
    bands = agents if seeds == 10 else 0
    assert len(axes.collections) == bands
    if bands:
        heights = axes.collections[0].get_paths()[0].vertices[:, 1]
        # Of 1 to 10: 5.5 and ± 1.96 times the standard error √0.825.
        assert (heights.min(), heights.max()) == pytest.approx((3.72, 7.28), abs=0.15)
    assert (
        words
        == {
            3: "each of 3 seeds",
            5: "mean and each of 5 seeds",
            10: "mean and 95 % bootstrap interval, 10 seeds",
        }[seeds]
    )


@pytest.mark.parametrize(
    ("seeds", "words"),
    [
        (1, "one seed"),
        (3, "(2.00, 2.10, 2.20), 3 seeds"),
        (5, "[2.00, 2.40], 95 % t interval, 5 seeds"),
    ],
)
def test_an_exponent_is_told_with_what_its_seeds_support(seeds, words, tmp_path):
    plan = FIGURES["deep-sea-scaling"]
    jobs = [job for job in plan.jobs("paper", tmp_path) if job.settings.seed < seeds]
    fabricate(jobs, lambda s: round(1000 * s.simulator.size ** (2 + 0.1 * s.seed)))
    (axes,) = scaling(plan, gather(plan, jobs)).axes
    label = axes.get_legend().get_texts()[0].get_text()
    # Of 2.0 to 2.4, with standard error √0.005 and t of four degrees of freedom: 2.2 ± 0.196.
    assert label.endswith(words)


def test_tables_hold_the_last_evaluations_and_the_highest_scores(tmp_path):
    plan = FIGURES["eval-ddqn"]
    jobs = [job for job in plan.jobs("laptop", tmp_path) if job.settings.seed < 2]
    for number, job in enumerate(jobs):
        # Forty evaluations, of which the first ten must not count: 1,000 is far from the rest.
        returns = [1000.0] * 10 + [float(number)] * 15 + [float(number + 2)] * 15
        rows = [
            {"queries": n + 1, "eval_return_mean": value, "max_screen_score": 100 * number}
            for n, value in enumerate(returns)
        ]
        write(job, rows)
    series = gather(plan, jobs)
    assert final_score(series[0].group.runs[0].curve()) == 1.0
    page, numbers = finals(plan, series)
    rows = list(csv.DictReader(numbers.splitlines()))
    # Seeds 0 and 1 of the first line have finals 1 and 2, of the next line 3 and 4.
    assert [float(row["mean"]) for row in rows[:2]] == [1.5, 3.5]
    # Two seeds have no interval.
    assert (rows[0]["low"], rows[0]["high"], rows[0]["interval"]) == ("", "", "none")
    assert rows[0]["paper"] == "2500.0 ± 0.0" and rows[0]["human"] == "4753"
    assert "| Montezuma Revenge | DDQN | online | – | 2 | 1.500 (1.000, 2.000) |" in page
    plan = FIGURES["actor-ddqn"]
    page, numbers = maxima(plan, gather(plan, jobs))
    rows = list(csv.DictReader(numbers.splitlines()))
    assert [float(row["maximum"]) for row in rows[:2]] == [100, 300]
    assert "| counts | 2 | 300 | 6600 | 4,753 | 43,000 |" in page


def test_results_of_the_paper_stand_with_their_lines():
    of_local_counts = {"eval-ddqn": "6276.0 ± 551.3", "actor-ddqn": "9500"}
    for name, result in of_local_counts.items():
        (reported,) = FIGURES[name].reported.values()
        assert len(reported) == len(FIGURES[name].lines) == 5
        assert reported[FIGURES[name].lines.index(("ddqn", "local", "counts", None))] == result
    for name in ("eval-dist", "actor-dist"):
        assert {len(results) for results in FIGURES[name].reported.values()} == {3}
        assert FIGURES[name].lines == (
            ("dist-ddqn", "online", None, None),
            ("dist-ddqn", "local", "counts", None),
            ("dist-ddqn", "local", "rnd", None),
        )


FAMILIES = {
    home: [name for name, plan in FIGURES.items() if (plan.home or name) == home]
    for home in (name for name, plan in FIGURES.items() if plan.home is None)
}


def test_a_title_tells_what_differs_from_the_figure():
    plan = FIGURES["deep-sea-50"]
    assert plan.at("laptop").title == plan.title
    assert plan.at("paper", {"size": 10, "n_step": 3}).title == f"{plan.title} (size=10, n_step=3)"
    assert plan.at("smoke", {"size": 4}).title == f"{plan.title} (smoke test, size=4)"


@pytest.mark.parametrize("home", FAMILIES)
def test_figures_are_made_at_smoke_scale(home, tmp_path, monkeypatch, capsys):
    require_simulators_of(home)
    for name in FAMILIES[home]:
        try:
            run(monkeypatch, "figure", name, "--scale", "smoke", "--out", tmp_path)
        except SystemExit as stop:
            assert not stop.code
        out = capsys.readouterr().out
        assert (name == home) == ("are there already" not in out)
        plan = FIGURES[name]
        if plan.kind in ("finals", "maxima"):
            assert str(tmp_path / f"{name}.md") in out
            assert (
                (tmp_path / f"{name}.md").read_text().startswith(f"# {plan.title} (smoke test)\n")
            )
        else:
            assert str(tmp_path / f"{name}.png") in out
            assert (tmp_path / f"{name}.png").read_bytes()[:4] == b"\x89PNG"
            assert (tmp_path / f"{name}.svg").stat().st_size > 1000
        with (tmp_path / f"{name}.csv").open() as file:
            rows = list(csv.DictReader(file))
        assert {(row["agent"], row["access"]) for row in rows} == {
            (line.agent, line.access) for line in plan.lines
        }
        column = {"finals": "mean", "maxima": "maximum"}.get(plan.kind, plan.measure)
        assert np.isfinite([float(row[column]) for row in rows]).all()


def test_an_interrupted_figure_goes_on(tmp_path, monkeypatch, capsys):
    plan = FIGURES["deep-sea-scaling"]
    jobs = plan.jobs("smoke", tmp_path / "runs")
    fabricate(jobs, lambda s: 100 * s.simulator.size)
    kept = (jobs[0].folder / "metrics.csv").read_bytes()
    (jobs[1].folder / "summary.json").unlink()
    config = json.loads((jobs[2].folder / "config.json").read_text())
    config["settings"]["members"] = 3
    (jobs[2].folder / "config.json").write_text(json.dumps(config))
    try:
        words = ("figure", "deep-sea-scaling", "--scale", "smoke", "--out", tmp_path)
        run(monkeypatch, *words)
    except SystemExit as stop:
        assert not stop.code
    out = capsys.readouterr().out
    assert f"{jobs[1].folder} continues: it was interrupted" in out
    again = f"{jobs[2].folder} is moved aside and made again"
    assert f"{again}: it was made with other settings: members was 3, not 4" in out
    assert f"{len(jobs) - 2} of {len(jobs)} runs are there already" in out
    assert (jobs[0].folder / "metrics.csv").read_bytes() == kept


def test_a_figure_can_be_drawn_before_all_runs_are_there(tmp_path, monkeypatch, capsys):
    plan = FIGURES["deep-sea-scaling"]
    words = ("figure", "deep-sea-scaling", "--scale", "smoke", "--partial", "--out", tmp_path)
    with pytest.raises(SystemExit) as stop:
        run(monkeypatch, *words)
    assert stop.value.code == 2
    assert "none of the 6 runs" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
    jobs = plan.jobs("smoke", tmp_path / "runs")
    fabricate(jobs[:5], lambda s: 100 * s.simulator.size)
    with contextlib.suppress(SystemExit):
        run(monkeypatch, *words)
    assert not jobs[5].folder.exists()
    picture = (tmp_path / "deep-sea-scaling.svg").read_text()
    assert "(smoke test) (5 of 6 runs)" in picture
    entry = json.loads((tmp_path / "provenance.json").read_text())["deep-sea-scaling"]
    assert entry["runs"] == {"planned": 6, "finished": 5}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("figure", "deep-see-50"), "did you mean 'deep-sea-50'"),
        (("figure", "deep-sea-50", "--scale", "tiny"), "choose from smoke, laptop, paper"),
    ],
)
def test_an_unknown_figure_names_the_nearest(words, sentence, tmp_path, monkeypatch, capsys):
    with pytest.raises(SystemExit) as stop:
        run(monkeypatch, *words, "--out", tmp_path / "out")
    assert stop.value.code == 2
    assert sentence in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
