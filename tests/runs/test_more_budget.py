"""A run is given a larger budget, and is the run that had it from the beginning."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from resuming import small

import uflp
from uflp import cli
from uflp.runs.interruption import Interrupted
from uflp.runs.train import train

KINDS = [
    ("deep-sea", "ddqn-bonus", "counts", {"stochastic": True}),
    ("swingup", "boot-ddqn", "ensemble-std", {}),
    ("gym:Taxi-v4", "ddqn", "counts", {"strategy": "replay"}),
]


def lines_of(folder: Path) -> list[str]:
    """Return the metrics without the time that they took."""
    first, *rows = (line.split(",") for line in (folder / "metrics.csv").read_text().splitlines())
    place = first.index("wall_seconds")
    return [",".join(row[:place] + row[place + 1 :]) for row in rows]


@pytest.mark.parametrize(("preset", "agent", "uncertainty", "more"), KINDS)
@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.filterwarnings("ignore:.*has no checkpoint")
def test_a_finished_run_goes_on_to_a_larger_budget(
    tmp_path: Path, kept: bool, preset: str, agent: str, uncertainty: str, more: dict[str, Any]
) -> None:
    options = {"eval_period": 20, **more}
    whole = small(preset, agent, uncertainty, queries=100, **options)
    train(whole, out=tmp_path / "whole")
    short = small(preset, agent, uncertainty, queries=60, **options)
    train(short, out=tmp_path / "run", keep_checkpoint=kept)
    assert (tmp_path / "run" / "checkpoint").exists() == kept
    result = uflp.resume(tmp_path / "run", queries=100)
    assert result.summary["stopped"] == "budget"
    assert result.summary["queries"] >= 100
    if preset != "gym:Taxi-v4":  # There the budget may end between two evaluations.
        assert lines_of(tmp_path / "run") == lines_of(tmp_path / "whole")
    assert not (tmp_path / "run" / "checkpoint").exists()
    assert json.loads((tmp_path / "run" / "config.json").read_text())["settings"]["queries"] == 100


def test_what_was_spent_is_not_spent_again_where_a_checkpoint_was_kept(tmp_path: Path) -> None:
    seen: list[int] = []
    settings = small("deep-sea", "ddqn", "counts", queries=60, eval_period=20)
    train(settings, out=tmp_path / "run", keep_checkpoint=True)
    uflp.resume(
        tmp_path / "run",
        queries=80,
        keep_checkpoint=True,
        callback=lambda row: seen.append(row["queries"]),
    )
    uflp.resume(tmp_path / "run", queries=120, callback=lambda row: seen.append(row["queries"]))
    assert seen == [80, 100, 120]


def test_more_budget_outlives_an_interruption(tmp_path: Path) -> None:
    settings = small("deep-sea", "ddqn", "counts", queries=60, eval_period=20)
    train(settings, out=tmp_path / "run", keep_checkpoint=True)

    def stop(row: dict[str, Any]) -> None:
        raise KeyboardInterrupt

    with pytest.raises((Interrupted, KeyboardInterrupt)):
        uflp.resume(tmp_path / "run", queries=100, callback=stop)
    assert not (tmp_path / "run" / "summary.json").exists()
    assert uflp.resume(tmp_path / "run", queries=100).summary["queries"] == 100


def test_a_budget_that_is_not_larger_is_refused_and_nothing_changes(tmp_path: Path) -> None:
    settings = small("deep-sea", "ddqn", "counts", queries=60, eval_period=20)
    train(settings, out=tmp_path / "run", keep_checkpoint=True)
    before = (tmp_path / "run" / "config.json").read_text()
    for queries in (60, 7):
        with pytest.raises(uflp.UsageError, match=f"run of 60 queries: more .* not {queries}"):
            uflp.resume(tmp_path / "run", queries=queries)
    with pytest.raises(uflp.UsageError, match="queries must be a whole number"):
        uflp.resume(tmp_path / "run", queries="many")  # type: ignore[arg-type]
    assert (tmp_path / "run" / "config.json").read_text() == before
    assert (tmp_path / "run" / "summary.json").exists()
    with pytest.raises(uflp.UsageError, match=r"finished run: .* unless queries gives it more"):
        uflp.resume(tmp_path / "run")


def test_a_run_that_reached_its_goal_needs_no_more(tmp_path: Path) -> None:
    settings = small("deep-sea", "ddqn", "counts", queries=60, eval_period=20)
    train(settings, out=tmp_path / "run", stop_at_return=-100.0)
    with pytest.raises(uflp.UsageError, match="reached its goal"):
        uflp.resume(tmp_path / "run", queries=100)


def test_a_budget_that_somebody_wrote_into_the_record_is_refused(tmp_path: Path) -> None:
    settings = small("deep-sea", "ddqn", "counts", queries=60, eval_period=20)
    train(settings, out=tmp_path / "run", keep_checkpoint=True)
    path = tmp_path / "run" / "config.json"
    config = json.loads(path.read_text())
    config["settings"]["queries"] = 80
    path.write_text(json.dumps(config))
    (tmp_path / "run" / "summary.json").unlink()
    with pytest.raises(uflp.UsageError, match=r"was changed since it was saved: .*queries was 60"):
        uflp.resume(tmp_path / "run")


def test_keep_checkpoint_needs_a_folder() -> None:
    with pytest.raises(uflp.UsageError, match="keep_checkpoint needs a run folder"):
        uflp.train("deep-sea", size=4, queries=10, keep_checkpoint=True)


def test_the_command_line_gives_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def call(*words: str) -> int:
        monkeypatch.setattr(sys, "argv", ["uflp", "train", *words])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return int(ended.value.code or 0)

    run = str(tmp_path / "run")
    small_words = ["--agent", "random", "--set", "size=4", "--set", "eval_period=20"]
    assert call("deep-sea", *small_words, "--queries", "40", "--keep-checkpoint", "--out", run) == 0
    assert call("--resume", run) == 2
    assert "unless --queries gives it more" in capsys.readouterr().err
    assert call("--resume", run, "--queries", "80", "--json") == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["queries"] == 80
    several = str(tmp_path / "several")
    assert call("deep-sea", *small_words, "--queries", "20", "--seeds", "1", "--out", several) == 0
    assert call("--resume", several, "--queries", "40") == 2
    assert "such as" in capsys.readouterr().err
