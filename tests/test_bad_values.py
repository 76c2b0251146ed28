"""Values that nobody means: one sentence, exit code 2, and nothing written."""

from __future__ import annotations

import json
import sys
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import uflp as package
from uflp import cli
from uflp.agents import LEARNERS
from uflp.distributed.settings import ClusterSettings
from uflp.experiments.agents import AGENTS
from uflp.experiments.resolve import resolve
from uflp.report.writing import write_report
from uflp.runs.train import train
from uflp.simulators import SIMULATORS
from uflp.training.settings import LOOP_PARTS
from uflp.types import UsageError
from uflp.uncertainty import UNCERTAINTIES

Call = Callable[..., str]
TINY = ["size=3", "hidden=4", "--agent", "random", "--queries", "20"]


@pytest.fixture
def refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Call:
    """Calls the command line; returns the one sentence by which it refuses."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)

    def call(*words: str) -> str:
        capsys.readouterr()
        before = sorted(tmp_path.rglob("*"))
        monkeypatch.setattr(sys, "argv", ["uflp", *words])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        (line,) = capsys.readouterr().err.splitlines()
        assert stop.value.code == 2 and line.startswith("uflp: "), line
        assert sorted(tmp_path.rglob("*")) == before
        return line

    return call


@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
@pytest.mark.parametrize(
    "command",
    [
        ("train", "deep-sea", *TINY),
        ("train", "deep-sea", *TINY, "--seeds", "2"),
        ("compare", "deep-sea", *TINY),
        ("sweep", "deep-sea", *TINY, "--vary", "p_init=0.1,0.2"),
    ],
    ids=["train", "seeds", "compare", "sweep"],
)
def test_a_return_to_stop_at_is_a_finite_number(
    command: tuple[str, ...], value: str, refused: Call
) -> None:
    assert "must be a finite number" in refused(*command, "--stop-at-return", value)


def test_a_return_to_stop_at_is_a_finite_number_from_python(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="stop_at_return must be a finite number, not nan"):
        package.train("deep-sea", size=3, out=tmp_path / "run", stop_at_return=float("nan"))
    assert not list(tmp_path.iterdir())


def whole_numbers() -> list[tuple[str, str, str | None, str]]:
    """Returns every setting that is a whole number, with names of a run that has it."""
    found = {}
    runs = [("deep-sea", agent, name) for agent in AGENTS for name in (None, *UNCERTAINTIES)]
    runs.append(("atari/pitfall", "ddqn", "counts"))
    for preset, agent, uncertainty in runs:
        parts = [*LOOP_PARTS.values(), LEARNERS[AGENTS[agent].learner]]
        parts.append(SIMULATORS[preset.partition("/")[0]])
        parts += [UNCERTAINTIES[uncertainty]] if uncertainty else []
        try:
            resolve(preset, agent=agent, uncertainty=uncertainty)
        except UsageError:
            continue
        for part in parts:
            for key, kind in typing.get_type_hints(part).items():
                if "int" in str(kind):
                    found.setdefault(key, (preset, agent, uncertainty, key))
    return list(found.values())


@pytest.mark.parametrize("names", whole_numbers(), ids=lambda names: names[-1])
def test_absurd_sizes_are_refused_before_anything_is_made(
    names: tuple[str, str, str | None, str],
) -> None:
    preset, agent, uncertainty, key = names
    for value in (2**53, 2**64, -(2**64)):
        overrides = {key: (value,) if key == "hidden" else value}
        with pytest.raises(UsageError, match=key):
            resolve(preset, agent=agent, uncertainty=uncertainty, overrides=overrides)


def test_every_size_of_the_presets_is_allowed() -> None:
    assert {"size", "replay_size", "hidden", "members", "feature_size", "rnd_width"} <= {
        key for *_, key in whole_numbers()
    }
    assert resolve("atari/montezuma-revenge").evaluation.queries == 10**9
    assert resolve("deep-sea", overrides={"queries": 10**12, "size": 1000}).simulator.size == 1000


@pytest.mark.parametrize(
    "words",
    [
        ("train", "deep-sea", *TINY, "--seeds", str(2**53)),
        ("compare", "deep-sea", *TINY, "--seeds", str(2**53)),
        ("sweep", "deep-sea", *TINY, "--vary", "p_init=0.1,0.2", "--seeds", str(2**53)),
        ("figure", "deep-sea-50", "--seeds", str(2**53)),
        ("check", "gym:CartPole-v1", "--steps", str(2**53)),
        ("train", "deep-sea", *TINY, "--ray", "local", "--actors", str(2**53)),
    ],
    ids=lambda words: words[0],
)
def test_absurd_options_are_refused(words: tuple[str, ...], refused: Call) -> None:
    assert "at most" in refused(*words)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    package.train(
        "deep-sea", agent="random", size=3, queries=20, eval_period=10, out=tmp_path / "run"
    )
    return tmp_path / "run"


def test_absurd_numbers_of_episodes_are_refused(run: Path, refused: Call) -> None:
    assert "at most" in refused("evaluate", str(run), "--episodes", str(2**53))


def test_absurd_clusters_are_refused() -> None:
    for key in ("actors", "replay_shards", "chunk", "parameter_period"):
        with pytest.raises(UsageError, match=f"{key} must be at most"):
            ClusterSettings(**{key: 2**53})


@pytest.mark.parametrize("out", [".", "..", "folder", "x" * 300])
def test_an_agent_is_exported_into_a_file(out: str, run: Path, refused: Call) -> None:
    Path("folder").mkdir()
    refused("export", str(run), out)


@pytest.mark.parametrize("suffix", [".html", ".md"])
def test_a_report_whose_name_is_too_long_is_refused(suffix: str, run: Path, refused: Call) -> None:
    for length in (252, 300):
        assert "too long" in refused("report", str(run), "--out", "x" * length + suffix)


def test_a_report_may_have_the_longest_name_that_there_is(run: Path, tmp_path: Path) -> None:
    out = tmp_path / ("x" * 250 + ".html")
    assert write_report([run], out).path == out and out.exists()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(("seed", 0.0), ("seed", True), ("seed", "0"), ("seed", None), ("seed", [])),
        *(("stop_at_return", "high"), ("stop_at_return", True), ("stop_at_return", [])),
        ("stop_at_return", float("nan")),
        *(("preset", 3), ("agent", []), ("access", {}), ("variant", 1), ("settings", [])),
    ],
)
def test_a_record_with_values_of_other_kinds_is_refused(
    key: str, value: Any, run: Path, refused: Call
) -> None:
    config = json.loads((run / "config.json").read_text())
    (run / "config.json").write_text(json.dumps(config | {key: value}))
    (run / "summary.json").unlink()
    assert "is not the configuration of a run" in refused("train", "--resume", str(run))


def test_a_seed_is_a_whole_number() -> None:
    for seed in (0.0, 1.5, "0", None):
        with pytest.raises(UsageError, match="seed must be a whole number"):
            package.train("deep-sea", size=3, seed=seed)  # type: ignore[arg-type]


def test_a_run_that_does_not_fit_into_memory_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*given: Any) -> Any:
        raise MemoryError

    with pytest.raises(UsageError, match="does not fit into memory"):
        train(resolve("deep-sea"), out=tmp_path / "run", make_run=full)
    assert not list(tmp_path.iterdir())
