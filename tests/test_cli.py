"""The command line: what it writes, what it says, and what it refuses."""

from __future__ import annotations

import csv
import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from uflp import __version__, cli
from uflp.cli.common import folder_name, print_table
from uflp.experiments import jobs as jobs_module
from uflp.experiments import seeds as seeds_module
from uflp.experiments.agents import AGENTS
from uflp.experiments.presets import PRESETS
from uflp.experiments.resolve import resolve
from uflp.planning import RULES
from uflp.progress import Progress
from uflp.runs.interruption import Interrupted
from uflp.simulators import SIMULATORS
from uflp.types import RunError, UsageError
from uflp.uncertainty import UNCERTAINTIES

COLUMNS = [
    "queries",
    "wall_seconds",
    "rollouts",
    "restarts",
    "sgd_steps",
    "eval_return_mean",
    "eval_return_std",
    "eval_episodes",
    "train_return_mean",
    "loss",
    "history_size",
    "replay_size",
    "positive_rewards",
]
OUTCOME = [
    "preset",
    "agent",
    "uncertainty",
    "access",
    "seed",
    "queries",
    "queries_to_target",
    "final_return",
    "best_return",
    "wall_seconds",
    "queries_per_second",
    "run_dir",
]
# A run that takes no time once JAX has compiled it.
SMALL = ["--set", "size=4", "hidden=8", "feature_size=8", "learning_batch=8"]


class Ended(NamedTuple):
    code: int
    out: str
    err: str


Call = Callable[..., Ended]


@pytest.fixture
def uflp(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Call:
    """Calls the command line in this process, in an empty folder."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)

    def call(*words: str) -> Ended:
        monkeypatch.setattr(sys, "argv", ["uflp", *map(str, words)])
        code: Any = 0
        try:
            cli.main()
        except SystemExit as stop:
            code = stop.code or 0
        return Ended(code, *capsys.readouterr())

    return call


def tree(folder: Path) -> dict[str, bytes | None]:
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


def refused(ended: Ended, *words: str) -> None:
    """Checks for exit code 2 and one sentence on standard error that contains all words."""
    assert ended.code == 2, ended
    assert ended.out == ""
    assert ended.err.startswith("uflp: ")
    assert ended.err.endswith(".\n")
    assert ended.err.count("\n") == 1
    for word in words:
        assert word in ended.err


# What is refused


@pytest.fixture
def no_training(monkeypatch: pytest.MonkeyPatch) -> None:
    """What should have been refused fails at once instead of being trained."""

    def trained(*rest: object) -> None:
        raise AssertionError("this was not refused")

    monkeypatch.setattr("uflp.distributed.train.trainer", trained)
    monkeypatch.setattr(seeds_module, "train_seeds", trained)


@pytest.mark.usefixtures("no_training")
@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["deep-see"], ["unknown preset", "did you mean 'deep-sea'", *PRESETS]),
        (["deep-sea", "--agent", "dqn"], ["unknown agent", "did you mean 'ddqn'", *AGENTS]),
        (
            ["deep-sea", "--uncertainty", "count"],
            ["unknown uncertainty", "did you mean 'counts'", *UNCERTAINTIES],
        ),
        (["deep-sea", "--access", "offline"], ["unknown access", "local, online"]),
        (
            ["deep-sea", "--set", "sizes=5"],
            ["unknown key", "did you mean 'size'", "checkpoint_period", "hidden", "feature_kind"],
        ),
        (["deep-sea", "--uncertainty", "counts", "--set", "feature_size=5"], ["unknown key"]),
        (["deep-sea", "--set", "size=big"], ["size must be a whole number, not 'big'"]),
        (["deep-sea", "--set", "size=5.5"], ["size must be a whole number"]),
        (["deep-sea", "--set", "size=true"], ["size must be a whole number"]),
        (["deep-sea", "--set", "size=none"], ["size must be a whole number"]),
        (["deep-sea", "--set", "size={[]:1}"], ["size must be a whole number"]),
        (["deep-sea", "--set", "batch=few"], ["batch must be a whole number or none"]),
        (["deep-sea", "--set", "learning_rate=fast"], ["learning_rate must be a number"]),
        (["deep-sea", "--set", "learning_rate=1e999"], ["learning_rate must be a number"]),
        (["deep-sea", "--set", "learning_rate=0"], ["learning_rate", "positive"]),
        (["deep-sea", "--set", "stochastic=2"], ["stochastic must be true or false"]),
        (["deep-sea", "--set", "hidden=8,wide"], ["hidden must be whole numbers"]),
        (["deep-sea", "--set", "hidden=0"], ["hidden"]),
        (["deep-sea", "--set", "restart=both"], ["restart must be pair or state"]),
        (["deep-sea", "--set", "feature_kind=cosine"], ["fourier", "network", "one-hot"]),
        (["deep-sea", "--set", "p_init=1.5"], ["p_init must lie in [0, 1], not 1.5"]),
        (["deep-sea", "--set", "p_init=-0.1"], ["p_init must lie in [0, 1]"]),
        (["deep-sea", "--set", "p_init=nan"], ["p_init must be a number"]),
        (["deep-sea", "--set", "batch=0"], ["batch must be at least 1"]),
        (["deep-sea", "--set", "batch=-3"], ["batch must be at least 1"]),
        (["deep-sea", "--set", "size=1"], ["size of at least 2"]),
        (["deep-sea", "--set", "epsilon=2"], ["epsilon must lie in [0, 1]"]),
        (["deep-sea", "--set", "newest=32"], ["recent_fraction must lie in [0, 1], not 32"]),
        (["deep-sea", "--set", "bonus_scale=-1"], ["bonus_scale"]),
        (["deep-sea", "--set", "checkpoint_period=0"], ["checkpoint_period must be at least 1"]),
        (["deep-sea", "--set", "rollout_limit=0"], ["rollout_limit must be at least 1"]),
        (["deep-sea", "--set", "replay_size=5"], ["replay_size"]),
        (["deep-sea", "--queries", "0"], ["queries must be at least 1"]),
        (["deep-sea", "--queries", "9", "--set", "queries=8"], ["queries is set twice"]),
        (["deep-sea", "--set", "size=4", "--set", "size=5"], ["size is set twice"]),
        (["deep-sea", "--rule", "unifrom"], ["unknown rule", "did you mean 'uniform'"]),
        (["deep-sea", "--rule", "uniform", "--set", "rule=return"], ["rule is set twice"]),
        (["deep-sea", "--rule", "uniform", "--access", "online"], ["online access never restarts"]),
        (["deep-sea", "--set", "keep_history=maybe"], ["keep_history must be true or false"]),
        (["deep-sea", "--set", "needs=foo"], ["unknown key 'needs'"]),
        (["deep-sea", "--set", "seeds=2"], ["seeds is not a setting", "--seeds"]),
        (["deep-sea", "--set", "size"], ["KEY=VALUE"]),
        (["deep-sea", "--set", "=5"], ["KEY=VALUE"]),
        (["deep-sea", "--seed", "-1"], ["seed must not be negative"]),
        (["deep-sea", "--seeds", "0"], ["--seeds must be at least 1"]),
        (["deep-sea", "--seed", "1", "--seeds", "2"], ["--seed", "--seeds"]),
        (["deep-sea", "--access", "online", "--set", "p_init=0.5"], ["--access local"]),
        (
            ["deep-sea", "--agent", "ddqn", "--uncertainty", "ensemble-std"],
            ["ddqn has no ensemble", "counts, covariance"],
        ),
    ],
    ids=lambda value: "_".join(value[1:]) if isinstance(value, list) else None,
)
def test_bad_input_is_refused_in_one_sentence_and_nothing_is_written(
    uflp: Call, tmp_path: Path, words: list[str], says: list[str]
) -> None:
    refused(uflp("train", *words), *says)
    refused(uflp("train", *words, "--out", "run"), *says)
    assert tree(tmp_path) == {"here": None}


@pytest.mark.usefixtures("no_training")
@pytest.mark.parametrize(
    "words", [["--queries", "many"], ["--no-such-option"], ["--seed", "1.5"], ["--seeds"]]
)
def test_bad_options_end_with_code_two(uflp: Call, tmp_path: Path, words: list[str]) -> None:
    ended = uflp("train", "deep-sea", *words)
    assert ended.code == 2
    assert ended.out == ""
    assert words[0] in ended.err
    assert tree(tmp_path) == {"here": None}


def test_a_preset_is_needed(uflp: Call) -> None:
    ended = uflp("train")
    assert ended.code == 2
    assert "preset" in ended.err.lower()


@pytest.fixture
def no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spares the making of a run that will not be trained."""
    built = SimpleNamespace(
        settings=resolve("deep-sea"),
        simulator=SimpleNamespace(stamp="a simulator"),
        exploration_log=SimpleNamespace(records=[]),
    )
    monkeypatch.setattr("uflp.runs.train.Run", lambda settings: built)


@pytest.mark.usefixtures("no_run")
@pytest.mark.parametrize("where", ["file", "file/below", "/proc/run", "x" * 300])
@pytest.mark.parametrize("many", [[], ["--seeds", "2"]])
def test_an_out_that_cannot_be_written_is_refused(
    uflp: Call, tmp_path: Path, where: str, many: list[str]
) -> None:
    Path("file").write_text("mine")
    before = tree(tmp_path)
    refused(uflp("train", "deep-sea", *SMALL, "--queries", "8", *many, "--out", where), where)
    assert tree(tmp_path) == before


@pytest.mark.usefixtures("no_run")
@pytest.mark.parametrize("many", [[], ["--seeds", "2"]])
@pytest.mark.parametrize("held", ["summary.json", "seed-0", "notes.txt"])
def test_an_out_that_holds_something_is_left_alone(
    uflp: Call, tmp_path: Path, held: str, many: list[str]
) -> None:
    Path("run").mkdir()
    (Path("run") / held).write_text("mine")
    before = tree(tmp_path)
    ended = uflp("train", "deep-sea", *SMALL, "--queries", "8", *many, "--out", "run")
    refused(ended, "run already holds", "another --out")
    assert tree(tmp_path) == before


def test_an_uncertainty_that_does_not_suit_the_simulator_is_refused(
    uflp: Call, tmp_path: Path
) -> None:
    ended = uflp("train", "swingup", "--set", "feature_kind=one-hot", "--out", "run")
    refused(ended, "one-hot features need discrete observations")
    assert tree(tmp_path) == {"here": None}


def test_seeds_that_are_refused_leave_no_folder(
    uflp: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(jobs: object) -> Any:
        raise UsageError("no")
        yield

    monkeypatch.setattr(seeds_module, "run_jobs", refuse)
    refused(uflp("train", "deep-sea", "--seeds", "2", "--out", "run"), "no")
    assert tree(tmp_path) == {"here": None}


@pytest.mark.parametrize(
    "words",
    [
        ["check", ":"],
        ["check", "a b:make"],
        ["train", ".:make"],
        ["report", "x" * 300],
        ["evaluate", "x" * 300],
        ["export", "x" * 300, "agent.state"],
        ["replay", "x" * 300],
        ["train", "--resume", "x" * 300],
        ["train", "deep-sea", "--history-from", "x" * 300],
        ["train", "deep-sea", "--init-from", "x" * 300],
    ],
)
def test_names_that_nothing_can_have_are_refused(
    uflp: Call, tmp_path: Path, words: list[str]
) -> None:
    ended = uflp(*words)
    assert ended.code == 2
    assert "Traceback" not in ended.err
    assert tree(tmp_path) == {"here": None}


def test_an_unknown_list_is_refused(uflp: Call) -> None:
    refused(uflp("list", "agent"), "did you mean 'agents'", "presets", "uncertainties")


# What is written


def read_metrics(folder: Path) -> list[dict[str, str]]:
    with (folder / "metrics.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_a_run_folder_and_the_last_line_of_output(uflp: Call) -> None:
    words = ["--queries", "50", "--seed", "7", "--agent", "ddqn-bonus", "--out", "a/run", "--json"]
    ended = uflp("train", "deep-sea", *SMALL, *words, "--set", "eval_period=20")
    assert ended.code == 0, ended
    outcome = json.loads(ended.out.splitlines()[-1])
    assert set(OUTCOME) <= set(outcome)
    named = {key: outcome[key] for key in OUTCOME[:6]}
    assert named == {
        "preset": "deep-sea",
        "agent": "ddqn-bonus",
        "uncertainty": "covariance",
        "access": "local",
        "seed": 7,
        "queries": 50,
    }
    assert outcome["run_dir"] == "a/run"
    folder = Path("a/run")
    rows = read_metrics(folder)
    assert list(rows[0])[: len(COLUMNS)] == COLUMNS
    assert [row["queries"] for row in rows] == ["20", "40", "50"]
    assert float(rows[-1]["eval_return_mean"]) == outcome["final_return"]
    assert max(float(row["eval_return_mean"]) for row in rows) == outcome["best_return"]
    assert json.loads((folder / "summary.json").read_text()) == outcome

    config = json.loads((folder / "config.json").read_text())
    assert {key: config[key] for key in ("preset", "agent", "uncertainty", "access", "seed")} == {
        key: outcome[key] for key in ("preset", "agent", "uncertainty", "access", "seed")
    }
    settings = resolve(
        "deep-sea",
        agent="ddqn-bonus",
        seed=7,
        overrides={
            "size": 4,
            "hidden": (8,),
            "feature_size": 8,
            "learning_batch": 8,
            "queries": 50,
            "eval_period": 20,
        },
    )
    assert config["settings"] == json.loads(json.dumps(settings.values()))
    for key, value in {"size": 4, "hidden": [8], "p_init": 0.1, "epsilon": 0.1}.items():
        assert config["settings"][key] == value
    assert {"python", "uflp", "jax", "numpy"} <= set(config["versions"])
    assert "git_revision" in config


@pytest.mark.parametrize(
    "words",
    [
        ["--set", "size=4", "hidden=8", "feature_size=9"],
        ["--set", "size=4", "--set", "hidden=8", "--set", "feature_size=9"],
        ["size=4", "--set", "hidden=(8,)", "feature_size=9.0"],
    ],
)
def test_settings_may_be_given_together_or_apart(
    uflp: Call, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    asked = []

    def trained(settings: Any, **options: Any) -> Any:
        asked.append(settings)
        raise RunError("enough")

    monkeypatch.setattr("uflp.distributed.train.trainer", lambda *rest: trained)
    ended = uflp("train", "deep-sea", *words, "--queries", "5")
    assert ended.code == 1, ended
    values = {"size": 4, "hidden": (8,), "feature_size": 9, "queries": 5}
    assert asked == [resolve("deep-sea", overrides=values)]
    assert asked[0].values().items() >= values.items()


def test_a_rule_is_recorded_with_the_settings_it_has(uflp: Call) -> None:
    words = ["--rule", "td-error", "--queries", "60", "--out", "run", "priority_exponent=1"]
    assert uflp("train", "deep-sea", "size=4", "hidden=8", *words).code == 0
    config = json.loads(Path("run/config.json").read_text())
    assert config["uncertainty"] is None
    assert config["settings"]["rule"] == "td-error"
    assert config["settings"]["priority_exponent"] == 1.0
    assert json.loads(Path("run/summary.json").read_text())["stopped"] == "budget"


def test_a_run_begins_with_what_another_has_left(uflp: Call) -> None:
    words = ("--uncertainty", "counts", "--queries", "60")
    small = ("size=4", "hidden=8", "learning_batch=8")
    assert uflp("train", "deep-sea", *small, *words, "--keep-history", "--out", "2026").code == 0
    assert uflp("evaluate", "2026", "--episodes", "2", "--demonstrations", "demo.npz").code == 0
    words = (*words, "--history-from", "2026", "--demonstrations", "demo.npz")
    assert uflp("train", "deep-sea", *small, *words, "--out", "run").code == 0
    config = json.loads(Path("run/config.json").read_text())["settings"]
    assert (config["history_from"], config["demonstrations"]) == (
        str(Path("2026").absolute()),
        str(Path("demo.npz").absolute()),
    )
    ended = uflp("train", "deep-sea", "size=5", *words, "--out", "other")
    assert ended.code == 2 and "has a history of 'deep-sea/1 size=4" in ended.err
    assert not Path("other").exists()


def test_online_access_needs_no_uncertainty_and_stops_at_a_return(uflp: Call) -> None:
    words = ["--access", "online", "--queries", "40", "--stop-at-return", "-1", "--json"]
    small = [word for word in SMALL if not word.startswith("feature_size")]
    ended = uflp("train", "deep-sea", *small, "eval_period=10", *words)
    assert ended.code == 0, ended
    outcome = json.loads(ended.out.splitlines()[-1])
    assert outcome["uncertainty"] is None
    assert outcome["access"] == "online"
    assert outcome["queries"] == 10
    # Without --out, a new folder below runs/.
    assert Path(outcome["run_dir"]).parent == Path("runs")
    assert (Path(outcome["run_dir"]) / "summary.json").exists()


def test_several_seeds_have_a_folder_each_and_one_summary(uflp: Call) -> None:
    words = ["--seeds", "2", "--queries", "20", "--out", "runs", "--json"]
    ended = uflp("train", "deep-sea", *SMALL, *words)
    assert ended.code == 0, ended
    outcome = json.loads(ended.out.splitlines()[-1])
    assert {path.name for path in Path("runs").iterdir()} == {"seed-0", "seed-1", "summary.json"}
    assert json.loads(Path("runs/summary.json").read_text()) == outcome
    assert [run["seed"] for run in outcome["runs"]] == [0, 1]
    for seed, run in enumerate(outcome["runs"]):
        assert set(OUTCOME) <= set(run)
        folder = Path("runs") / f"seed-{seed}"
        assert run["run_dir"] == str(folder)
        assert json.loads((folder / "summary.json").read_text()) == run
        assert json.loads((folder / "config.json").read_text())["seed"] == seed
        assert read_metrics(folder)[-1]["queries"] == "20"


def test_progress_of_a_run_that_was_resumed_tells_the_rate_of_all_of_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("uflp.progress._LINE_EVERY", 0.0)
    row = {"queries": 600_000, "wall_seconds": 300.0, "eval_return_mean": 0.5, "restarts": 7}
    row["positive_rewards"] = 3
    with Progress(1_000_000) as progress:
        progress.row(row)
    outcome = "return 0.500, 3 rewarded queries, 7 restarts, 2,000 queries/s"
    expected = f"600,000 of 1,000,000 queries, {outcome}"
    assert capsys.readouterr().err.strip() == expected


def interrupted(number: int) -> Any:
    """Returns what shows progress, and sends a signal with the second row."""

    def row(self: Progress, row: dict[str, Any]) -> None:
        if row["queries"] == 20:
            signal.raise_signal(number)

    return row


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_saves_and_the_command_that_is_shown_goes_on(
    uflp: Call, monkeypatch: pytest.MonkeyPatch, number: int, code: int
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Progress, "row", interrupted(number))
        words = ["eval_period=10", "--queries", "40", "--out", "my run"]
        ended = uflp("train", "deep-sea", *SMALL, *words)
    assert ended.code == code, ended
    _, _, command = ended.err.rpartition("go on with: ")
    name, *rest = shlex.split(command)
    assert name == "uflp"
    ended = uflp(*rest, "--json")
    assert ended.code == 0, ended
    outcome = json.loads(ended.out.splitlines()[-1])
    assert (outcome["queries"], outcome["stopped"]) == (40, "budget")
    assert [row["queries"] for row in read_metrics(Path("my run"))] == ["10", "20", "30", "40"]
    refused(uflp(*rest), "my run", "finished")


def test_a_signal_that_a_callback_swallowed_before_the_run_ends_it(
    uflp: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As JAX's at garbage collection does; compiling what a run starts with collects a lot."""

    class Swallowing:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(jobs_module, "require_faithful", lambda settings: Swallowing())
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)
    before = tree(tmp_path)
    ended = uflp("train", "deep-sea", *SMALL, "--queries", "20", "--out", "run")
    assert (ended.code, ended.err) == (130, f"uflp: {Interrupted().advice}\n")
    assert tree(tmp_path) == before


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--resume", "run", "--access", "local"], ["leave out --access"]),
        (["--resume", "run", "--queries", "7"], ["run is not a run folder"]),
        (["deep-sea", "--seeds", "2", "--keep-checkpoint"], ["leave out --seeds"]),
        (["deep-sea", "--resume", "run"], ["leave out preset"]),
        (["--resume", "run"], ["run is not a run folder"]),
        (["--resume", "run", "--checkpoint-seconds", "-1"], ["--checkpoint-seconds must not be"]),
        ([], ["name a preset", "--resume"]),
    ],
)
def test_what_resume_does_not_take_is_refused(
    uflp: Call, tmp_path: Path, words: list[str], says: list[str]
) -> None:
    before = tree(tmp_path)
    refused(uflp("train", *words), *says)
    assert tree(tmp_path) == before


def test_seeds_that_were_interrupted_go_on(uflp: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["--seeds", "2", "--queries", "20", "--out", "runs", "--json"]

    def one_then_a_signal(jobs: Any) -> Any:
        yield jobs_module.run_job(jobs[0])
        raise Interrupted

    with monkeypatch.context() as patch:
        patch.setattr(seeds_module, "run_jobs", one_then_a_signal)
        ended = uflp("train", "deep-sea", *SMALL, *words)
    assert ended.code == 130, ended
    assert ended.err.endswith("uflp train --resume runs\n")
    first = Path("runs/seed-0/summary.json").read_bytes()
    ended = uflp("train", "--resume", "runs", "--json")
    assert ended.code == 0, ended
    assert [run["seed"] for run in json.loads(ended.out.splitlines()[-1])["runs"]] == [0, 1]
    assert Path("runs/seed-0/summary.json").read_bytes() == first
    assert {path.name for path in Path("runs").iterdir()} == {"seed-0", "seed-1", "summary.json"}
    refused(uflp("train", "--resume", "runs"), "runs holds seeds that are finished")


def test_seeds_take_the_interval_of_their_checkpoints_and_no_cluster(
    uflp: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    intervals = []

    def killed(jobs: Any) -> Any:
        intervals.extend(job.checkpoint_seconds for job in jobs)
        raise jobs_module.KilledError
        yield

    monkeypatch.setattr(seeds_module, "run_jobs", killed)
    words = ["--seeds", "2", "--out", "my runs", "--checkpoint-seconds"]
    refused(uflp("train", "deep-sea", *SMALL, *words, "-1"), "--checkpoint-seconds must not be")
    ended = uflp("train", "deep-sea", *SMALL, *words, "7")
    assert ended.code == 1, ended
    assert ended.err.count("\n") == 1
    assert "perhaps for want of memory" in ended.err
    assert "go on with: uflp train --resume 'my runs'" in ended.err
    assert uflp("train", "--resume", "my runs", "--checkpoint-seconds", "8").code == 1
    assert intervals == [7.0, 7.0, 8.0, 8.0]
    refused(uflp("train", "--resume", "my runs", "--ray", "local"), "leave out --ray")


def test_a_number_that_goes_bad_ends_with_code_one_and_keeps_the_metrics(uflp: Call) -> None:
    words = ["--set", "learning_rate=1e30", "eval_period=10", "--queries", "400", "--out", "run"]
    ended = uflp("train", "deep-sea", *SMALL, *words)
    assert ended.code == 1, ended
    assert ended.err.count("\n") == 1
    assert "the loss was" in ended.err and "at query" in ended.err
    assert Path("run/config.json").exists()
    assert not Path("run/summary.json").exists()


FORGETFUL = """
import gymnasium

steps = []

class Forgetful(gymnasium.Env):
    observation_space = gymnasium.spaces.Discrete(1000)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 0, {}

    def step(self, action):
        steps.append(action)  # of the module: no snapshot holds it
        return len(steps) % 1000, 0.0, len(steps) % 9 == 0, False, {}
"""


def test_a_simulator_that_does_not_go_back_needs_force(uflp: Call) -> None:
    Path("forgetful.py").write_text(FORGETFUL)
    words = ["train", "forgetful:Forgetful", "--agent", "random", "--queries", "30", "--out", "run"]
    ended = uflp(*words)
    assert ended.code == 2, ended
    assert ended.err.count("\n") == 1
    assert "12 steps after a reset: observation 0 is" in ended.err and "--force" in ended.err
    assert not Path("run").exists()
    assert uflp(*words, "--force").code == 0
    assert json.loads(Path("run/summary.json").read_text())["queries"] == 30
    online = [*words[:-1], "online", "--access", "online"]
    assert uflp(*online).code == 0


@pytest.mark.parametrize("command", [["compare"], ["sweep", "--vary", "p_init=0.1,0.2"]])
def test_many_runs_of_such_a_simulator_need_force_too(
    uflp: Call, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    def started(jobs: Any) -> Any:
        raise RunError(f"{len(jobs)} runs were started")
        yield

    monkeypatch.setattr(jobs_module, "run_jobs", started)
    Path("forgetful.py").write_text(FORGETFUL)
    name, *more = command
    words = [name, "forgetful:Forgetful", "--agent", "random", "--seeds", "1", *more]
    refused(uflp(*words, "--out", "runs"), "does not go back", "--force")
    assert not Path("runs").exists()
    ended = uflp(*words, "--out", "runs", "--force")
    assert (ended.code, ended.err) == (1, "uflp: stopped: 2 runs were started.\n")


@pytest.mark.parametrize(
    "words", [["--set", "size=4", "hidden=8"], ["--set", "size=4", "--set", "hidden=8"]]
)
def test_a_sweep_takes_settings_together_or_apart_and_its_folder_says_them(
    uflp: Call, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    asked = []

    def started(jobs: Any) -> Any:
        asked.extend(jobs)
        raise RunError("enough")
        yield

    monkeypatch.setattr(jobs_module, "run_jobs", started)
    more = ["--vary", "p_init=0.1,0.2", "--seeds", "1", "--queries", "9"]
    assert uflp("sweep", "deep-sea", *words, *more, "--uncertainty", "counts").code == 1
    settings = [job.settings for job in asked]
    assert [one.planning.p_init for one in settings] == [0.1, 0.2]
    assert {(one.simulator.size, one.agent_config.hidden) for one in settings} == {(4, (8,))}
    folder = Path("runs/sweeps/deep-sea-default-local-counts-size=4-hidden=8-queries=9")
    assert [job.folder.parent for job in asked] == [folder / "p_init=0.1", folder / "p_init=0.2"]


def test_a_name_of_very_many_settings_is_short_enough_for_a_folder() -> None:
    names = [
        folder_name("gym:A/b c", "ddqn", None, overrides={f"key_{n}": n for n in range(count)})
        for count in (1, 100, 101)
    ]
    assert names[0] == "gym-A-b-c-ddqn-key_0=0"
    assert max(map(len, names)) < 255 and len(set(names)) == 3


def test_compare_says_first_that_local_access_finds_what_nobody_learns(uflp: Call) -> None:
    """Random actions never learn, and local access alone finds the corner in 1,500 queries."""
    words = ["size=12", "--agent", "random", "--uncertainty", "counts", "--queries", "1500"]
    ended = uflp("compare", "deep-sea", *words, "--seeds", "1", "--json")
    assert ended.code == 0, ended
    *lines, last = ended.out.splitlines()
    outcome = json.loads(last)
    assert outcome["step"] == "found"
    assert outcome["online"]["positive_rewards"] == 0 < outcome["local"]["positive_rewards"]
    told = [line for line in lines if not line.startswith("[")]
    assert told[0] == outcome["verdict"]
    assert told[0].startswith("Local access found rewards (")
    assert told[0].endswith("online access found none, and nobody learned from them.")
    assert "The agent random never learns: choose another one." in told
    runs = [line for line in lines if line.startswith("[")]
    assert any(" rewarded queries, the first by query " in line for line in runs)
    assert any(" 0 rewarded queries;" in line for line in runs)


def test_the_film_of_an_episode_is_where_it_is_said_to_be(uflp: Call) -> None:
    small = ("--queries", "20", "--agent", "random", "--access", "online")
    assert uflp("train", "deep-sea", "size=4", *small, "--out", "run").code == 0
    ended = uflp("evaluate", "run", "--episodes", "1", "--video", "a/film.gif", "--json")
    assert ended.code == 0, ended
    assert "film in a/film.gif" in ended.out.splitlines()
    assert ended.out.splitlines()[0].endswith("over 1 episode")
    assert json.loads(ended.out.splitlines()[-1])["video"] == "a/film.gif"
    assert Path("a/film.gif").stat().st_size > 0


@pytest.mark.parametrize("terminal", [True, False])
def test_a_table_has_lines_on_a_terminal_alone(
    terminal: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    print_table(("key", "value"), [["p_init", "[0, 1]"], ["b", "x"]], title="names")
    out = capsys.readouterr().out
    assert "[0, 1]" in out and ("│" in out) == terminal
    if not terminal:
        assert out == "names\n  key     value\n  p_init  [0, 1]\n  b       x\n"


def test_the_version_is_printed(uflp: Call) -> None:
    assert uflp("--version") == Ended(0, f"uflp {__version__}\n", "")


def test_a_shell_can_complete_names(monkeypatch: pytest.MonkeyPatch, uflp: Call) -> None:
    for name, value in {
        "_UFLP_COMPLETE": "complete_bash",
        "COMP_WORDS": "uflp train deep-sea --agent ddqn-",
        "COMP_CWORD": "4",
    }.items():
        monkeypatch.setenv(name, value)
    assert uflp().out.split() == ["ddqn-bonus", "ddqn-intrinsic"]


def test_every_setting_is_listed_with_its_type_default_and_meaning(uflp: Call) -> None:
    head, *lines = uflp("list", "settings").out.splitlines()[1:]
    columns = [head.index(name) for name in ("key", "type", "default", "of", "meaning")]
    rows = []
    for line in lines:
        ends = [*columns[1:], len(line)]
        rows.append([line[start:end].strip() for start, end in zip(columns, ends, strict=True)])
    assert all(all(row) for row in rows)
    listed = {row[0] for row in rows}
    for agent in AGENTS:
        for uncertainty in UNCERTAINTIES:
            if uncertainty != "ensemble-std" or agent == "boot-ddqn":
                assert (
                    resolve("deep-sea", agent=agent, uncertainty=uncertainty).values().keys()
                    <= listed
                )
    by_key = {row[0]: row for row in reversed(rows)}  # the first of those of one name
    assert by_key["batch"][1:4] == ["a whole number or none", "none", "every run"]
    assert by_key["hidden"][1:3] == ["whole numbers separated by commas", "64,64"]
    assert by_key["restart"][1:3] == ["pair or state", "pair"]
    assert by_key["n_step"][4] == "queries whose rewards a target sums before it bootstraps."


def test_the_command_is_installed_and_lists_every_name(tmp_path: Path) -> None:
    command = Path(sys.executable).with_name("uflp")
    ended = subprocess.run(
        [command, "list"], capture_output=True, text=True, cwd=tmp_path, env=os.environ
    )
    assert ended.returncode == 0, ended.stderr
    for name in (*PRESETS, *AGENTS, *UNCERTAINTIES, *RULES, *SIMULATORS):
        assert f"\n  {name} " in ended.stdout
    ended = subprocess.run([command, "train", "deep-see"], capture_output=True, text=True)
    assert ended.returncode == 2
    assert "deep-sea" in ended.stderr
    assert "Traceback" not in ended.stderr


# What resolves to what


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("access", ["local", "online"])
def test_every_preset_resolves_with_every_agent_and_uses_all_of_its_values(
    preset: str, agent: str, access: str
) -> None:
    settings = resolve(preset, agent=agent, access=access)
    assert settings.planning.p_init == 1.0 or access == "local"
    assert not any(callable(value) for value in settings.values().values())
    if AGENTS[agent].exploration == "greedy" and access == "online":
        assert settings.uncertainty is None
    else:
        assert settings.uncertainty is not None


def test_the_papers_values_for_deep_sea() -> None:
    settings = resolve("deep-sea")
    assert (settings.agent, settings.uncertainty_name) == ("ddqn", "covariance")
    values = settings.values()
    assert (
        values["queries"],
        values["p_init"],
        values["batch"],
        values["restart"],
    ) == (300_000, 0.1, None, "pair")
    assert (values["eval_period"], values["eval_episodes"]) == (
        10 * settings.simulator.size,
        1,
    )
    assert resolve("deep-sea", overrides={"size": 20}).evaluation.eval_period == 200
    assert resolve("deep-sea", overrides={"size": 20, "eval_period": 7}).evaluation.eval_period == 7
    assert (values["epsilon"], resolve("deep-sea", agent="ddqn-bonus").acting.epsilon) == (
        0.0,
        0.1,
    )


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("batch", "none", None),
        ("batch", "all", None),
        ("batch", "25", 25),
        ("queries", "1e4", 10_000),
        ("learning_rate", "1", 1.0),
        ("stochastic", "true", True),
        ("hidden", "64,32", (64, 32)),
        ("hidden", "64", (64,)),
        ("hidden", "[64, 32]", (64, 32)),
        ("restart", "state", "state"),
    ],
)
def test_values_are_read_as_the_types_of_their_keys(key: str, text: str, value: object) -> None:
    read = resolve("deep-sea", overrides={key: text}).values()[key]
    assert read == value
    assert type(read) is type(value)
