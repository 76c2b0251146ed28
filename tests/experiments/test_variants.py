"""Variants: named changes to a preset, in settings, on the command line, in records and labels."""

import json
import sys

import pytest

import uflp
from uflp import cli
from uflp.experiments.comparison import comparison_jobs
from uflp.experiments.figures import FIGURES, Changes
from uflp.experiments.recorded import recorded
from uflp.experiments.resolve import resolve
from uflp.report.groups import group_runs
from uflp.report.runs import read_runs
from uflp.report.style import labels
from uflp.types import UsageError

SMALL = {"size": 4, "hidden": (8,), "members": 2, "learning_batch": 8, "queries": 80}


def call(monkeypatch, capsys, *words):
    """Calls the command line; returns its code, and what it said."""
    monkeypatch.setattr(sys, "argv", ["uflp", *map(str, words)])
    try:
        cli.main()
        code = 0
    except SystemExit as stop:
        code = stop.code or 0
    said = capsys.readouterr()
    return code, said.out, said.err


def test_tuned_changes_what_it_says_and_nothing_else():
    for agent, access, expected in (
        ("boot-ddqn", "local", {"recent_fraction": 0.25, "restart_limit": 10}),
        ("boot-ddqn", "online", {"recent_fraction": 0.25}),
        ("pi-bonus", "local", {"recent_fraction": 0.25}),
    ):
        paper, tuned = (
            resolve("deep-sea", agent=agent, access=access, variant=variant).values()
            for variant in (None, "tuned")
        )
        assert {key: tuned[key] for key in tuned if tuned[key] != paper[key]} == expected


def test_what_is_set_takes_the_place_of_a_variant_s_value():
    settings = resolve(
        "deep-sea", agent="boot-ddqn", variant="tuned", overrides={"restart_limit": 20}
    )
    assert settings.planning.restart_limit == 20 and settings.replay.recent_fraction == 0.25


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("train", "deep-sea", "--variant", "tunde"), "did you mean 'tuned'"),
        (("train", "deep-sea", "--variant", "other"), "choose from tuned"),
        (("train", "swingup", "--variant", "tuned"), "swingup has no variants"),
        (("train", "gym:CartPole-v1", "--variant", "tuned"), "gym:CartPole-v1 has no variants"),
        (
            ("train", "deep-sea", "--agent", "ddqn", "--variant", "tuned"),
            "changes nothing for ddqn with local access",
        ),
        (("figure", "deep-sea-50", "--variant", "tunde"), "did you mean 'tuned'"),
        (("figure", "swingup", "--variant", "tuned"), "swingup has no variants"),
        (("figure", "deep-sea-scaling", "--set", "size=3"), "this figure sweeps size"),
        (("figure", "deep-sea-50", "--seeds", "0"), "--seeds must be at least 1, not 0"),
        (("figure", "deep-sea-50", "--set", "sizes=3"), "did you mean 'size'"),
        (("figure", "deep-sea-50", "--actors", "2"), "--actors goes with --ray"),
        (("compare", "deep-sea", "--variant", "tuned"), "changes nothing for ddqn"),
        (("sweep", "swingup", "--variant", "tuned", "--vary", "batch=1,2"), "has no variants"),
    ],
)
def test_a_variant_that_is_not_there_is_refused(words, sentence, tmp_path, monkeypatch, capsys):
    code, _, err = call(monkeypatch, capsys, *words, "--out", tmp_path / "out")
    assert code == 2 and sentence in err and err.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_variant_is_recorded_read_back_and_part_of_the_label(tmp_path, monkeypatch, capsys):
    words = [f"{key}={value}".strip("(,)") for key, value in SMALL.items() if key != "hidden"]
    words = ["train", "deep-sea", "hidden=8", *words, "--agent", "boot-ddqn"]
    outcomes = {}
    for variant in ([], ["--variant", "tuned"]):
        out = tmp_path / ("tuned" if variant else "paper")
        code, said, _ = call(monkeypatch, capsys, *words, *variant, "--out", out, "--json")
        assert code == 0
        outcomes[out.name] = json.loads(said.splitlines()[-1])
        config = json.loads((out / "config.json").read_text())
        assert config["variant"] == outcomes[out.name]["variant"]
    assert [outcomes[name]["variant"] for name in ("paper", "tuned")] == [None, "tuned"]
    assert recorded(tmp_path / "tuned")[0].variant == "tuned"
    groups, _ = group_runs(read_runs([tmp_path])[0])
    assert labels(groups) == ["BootDDQN, local", "BootDDQN tuned, local"]


def test_from_python_too():
    result = uflp.train("deep-sea", agent="boot-ddqn", variant="tuned", **SMALL)
    assert result.summary["variant"] == "tuned" and result.settings.planning.restart_limit == 10


def test_a_record_without_variant_and_with_an_old_key_is_read(tmp_path):
    uflp.train("deep-sea", agent="boot-ddqn", out=tmp_path / "run", recent_fraction=0.5, **SMALL)
    path = tmp_path / "run" / "config.json"
    config = json.loads(path.read_text())
    del config["variant"]
    config["settings"]["newest"] = config["settings"].pop("recent_fraction")
    path.write_text(json.dumps(config))
    settings, _ = recorded(tmp_path / "run")
    assert settings.variant is None and settings.replay.recent_fraction == 0.5
    (run,) = read_runs([tmp_path])[0]
    assert run.variant is None and run.settings["recent_fraction"] == 0.5
    assert "newest" not in run.settings


def test_the_old_key_is_an_alias():
    assert resolve("deep-sea", overrides={"newest": "0.5"}).replay.recent_fraction == 0.5
    with pytest.raises(UsageError, match="newest is the old name of recent_fraction"):
        resolve("deep-sea", overrides={"newest": 0.5, "recent_fraction": 0.5})


def test_lines_that_a_variant_does_not_change_are_the_paper_s(tmp_path):
    changes = Changes(variant="tuned", seeds=2, overrides={"queries": 700})
    jobs = FIGURES["deep-sea-50"].jobs("laptop", tmp_path, changes)
    assert {(job.settings.agent, job.settings.variant) for job in jobs} == {
        ("boot-ddqn", "tuned"),
        ("pi-bonus", "tuned"),
        ("ddqn", None),
        ("ddqn-bonus", None),
    }
    assert {(job.settings.seed, job.settings.evaluation.queries) for job in jobs} == {
        (0, 700),
        (1, 700),
    }
    expected = "uflp figure deep-sea-50 --scale laptop --variant tuned --seeds 2 --set queries=700"
    assert changes.command("deep-sea-50", "laptop") == expected


def test_both_sides_of_a_comparison_have_the_variant_where_it_changes_them(tmp_path):
    jobs = comparison_jobs(
        "deep-sea", tmp_path, seeds=1, agent="boot-ddqn", variant="tuned", overrides={"size": 5}
    )
    assert [job.settings.variant for job in jobs] == ["tuned", "tuned"]
    assert [job.settings.planning.restart_limit for job in jobs] == [10, None]


def test_the_list_says_what_a_variant_changes(monkeypatch, capsys):
    code, out, _ = call(monkeypatch, capsys, "list", "variants")
    assert code == 0
    assert "deep-sea --variant tuned" in out
    assert "recent_fraction=0.25" in out and "restart_limit=10" in out


def test_a_figure_says_how_it_was_made(tmp_path, monkeypatch, capsys):
    words = ("figure", "deep-sea-scaling", "--scale", "smoke", "--seeds", 1, "--variant", "tuned")
    code, _, _ = call(monkeypatch, capsys, *words, "--out", tmp_path)
    assert code == 0
    entry = json.loads((tmp_path / "provenance.json").read_text())["deep-sea-scaling"]
    assert entry["command"] == (
        "uflp figure deep-sea-scaling --scale smoke --variant tuned --seeds 1"
    )
    assert len(entry["revision"]) >= 40 and entry["versions"]["jax"] and "cores" in entry["machine"]
    assert entry["settings"]["variant"] == "tuned" and entry["settings"]["seeds"] == [0]
    assert entry["settings"]["recent_fraction"] == 0.25
    assert [line["size"] for line in entry["lines"]] == [3, 4, 5]
    assert str(tmp_path) not in json.dumps(entry)


def test_a_figure_can_be_spread_over_processes(tmp_path, monkeypatch):
    from uflp.distributed.settings import ClusterSettings
    from uflp.experiments import jobs as jobs_module

    cluster = ClusterSettings(ray="local", actors=3)
    jobs = FIGURES["montezuma-cells"].jobs("smoke", tmp_path, Changes(cluster=cluster))
    assert {job.cluster for job in jobs} == {cluster}
    asked = []

    def trainer(given):
        def train(settings, **options):
            asked.append((given, settings.access))
            return type("Result", (), {"summary": {"seed": settings.seed}})

        return train

    monkeypatch.setattr(jobs_module, "trainer", trainer)
    assert len(list(jobs_module.run_jobs(jobs))) == len(jobs)
    assert asked == [(cluster, job.settings.access) for job in jobs]


def test_a_run_that_was_spread_otherwise_is_made_again(tmp_path):
    from uflp.distributed.settings import ClusterSettings

    (job, *_) = FIGURES["deep-sea-scaling"].jobs("smoke", tmp_path, Changes(seeds=1))
    result = uflp.train(
        "deep-sea",
        agent="boot-ddqn",
        out=job.folder,
        stop_at_return=0.95,
        size=3,
        queries=1500,
        members=4,
    )
    assert job.unfinished() is None
    spread = FIGURES["deep-sea-scaling"].jobs(
        "smoke", tmp_path, Changes(seeds=1, cluster=ClusterSettings())
    )
    assert spread[0].folder == result.run_dir
    assert "spread over other processes" in spread[0].unfinished()
