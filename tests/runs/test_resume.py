"""A run that was stopped and resumed is the run that was never stopped."""

from __future__ import annotations

import json
import shutil
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from resuming import rows_of, signalled, small, stopped_rows

import uflp
from uflp.experiments.recorded import recorded
from uflp.runs.checkpoints import Checkpoints
from uflp.runs.interruption import Interrupted
from uflp.runs.train import train
from uflp.training.run import Run
from uflp.training.settings import RunSettings
from uflp.types import RunError, UsageError

# Between evaluations, within episodes, before learning starts, and twice without a query between.
STOPS = (7, 97, 97, 151, 233)


@pytest.mark.parametrize(
    ("preset", "agent", "uncertainty", "more"),
    [
        ("deep-sea", "ddqn", "counts", {"stochastic": True, "samples_per_insert": 22.5}),
        ("deep-sea", "ddqn-bonus", "covariance", {}),
        ("deep-sea", "ddqn-intrinsic", "covariance", {"stochastic": True, "batch": 3}),
        ("deep-sea", "boot-ddqn", "ensemble-std", {"stochastic": True}),
        ("deep-sea", "pi-bonus", "counts", {"stochastic": True}),
        ("swingup", "ddqn-bonus", "covariance", {"batch": None}),
        ("swingup", "pi", "covariance", {}),
        ("swingup", "ddqn-intrinsic", "rnd", {}),
        ("gym:CartPole-v1", "ddqn", "counts", {}),
        ("gym:Taxi-v4", "ddqn-bonus", "counts", {"strategy": "replay"}),
        ("deep-sea", "ddqn-bonus", "counts", {"size": 20, "restart_limit": 5, "p_init": 0.0}),
        ("deep-sea", "ddqn", None, {"rule": "uniform"}),
        ("deep-sea", "ddqn", None, {"rule": "return", "stochastic": True, "batch": 3}),
        ("deep-sea", "boot-ddqn", None, {"rule": "td-error", "checkpoint_period": 2}),
        ("swingup", "ddqn-bonus", "counts", {"rule": "go-explore", "history_size": 60}),
    ],
)
def test_a_stopped_run_gives_the_rows_of_one_that_was_not(
    tmp_path: Path, preset: str, agent: str, uncertainty: str | None, more: dict[str, Any]
) -> None:
    settings = small(preset, agent, uncertainty, **more)
    assert stopped_rows(settings, tmp_path, STOPS) == rows_of(Run(settings))


@pytest.mark.parametrize(
    ("agent", "uncertainty", "more"),
    [
        ("random", "counts", {"repeat_probability": 0.5}),
        ("random", "rnd", {}),
        ("ddqn-intrinsic", "counts", {"sgd_period": 20}),
    ],
)
def test_a_game_goes_on_as_well(
    tmp_path: Path, agent: str, uncertainty: str, more: dict[str, Any]
) -> None:
    pytest.importorskip("ale_py")
    settings = small("atari/montezuma-revenge", agent, uncertainty, queries=120, **more)
    assert stopped_rows(settings, tmp_path, (7, 50, 97)) == rows_of(Run(settings))


def without_clock(folder: Path) -> list[list[str]]:
    rows = [line.split(",") for line in (folder / "metrics.csv").read_text().splitlines()]
    clock = rows[0].index("wall_seconds")
    return [row[:clock] + row[clock + 1 :] for row in rows]


@pytest.fixture
def settings() -> RunSettings:
    return small("deep-sea", "ddqn", "counts", stochastic=True)


@pytest.fixture
def cut(settings: RunSettings, tmp_path: Path) -> Path:
    """Returns the folder of a run that was interrupted at query 120."""
    with pytest.raises(Interrupted):
        train(settings, out=tmp_path / "cut", callback=signalled(signal.SIGINT, 120))
    return tmp_path / "cut"


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_signal_saves_the_run_and_says_how_to_go_on(
    settings: RunSettings, tmp_path: Path, number: int, code: int
) -> None:
    before = signal.getsignal(number)
    with pytest.raises(Interrupted) as raised:
        train(settings, out=tmp_path / "a run", callback=signalled(number, 120))
    assert raised.value.exit_code == code
    assert raised.value.advice.endswith(f"uflp train --resume '{tmp_path / 'a run'}'")
    assert signal.getsignal(number) is before
    result = uflp.resume(tmp_path / "a run")
    assert result.summary["stopped"] == "budget"
    train(settings, out=tmp_path / "whole")
    assert without_clock(tmp_path / "a run") == without_clock(tmp_path / "whole")
    assert result.metrics["queries"].tolist() == [60, 120, 180, 240, 300]


def test_a_signal_that_is_ignored_stays_so(settings: RunSettings, tmp_path: Path) -> None:
    """As with `nohup`."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        result = train(settings, out=tmp_path / "run", callback=signalled(signal.SIGHUP, 120))
    finally:
        signal.signal(signal.SIGHUP, before)
    assert result.summary["queries"] == 300


@pytest.mark.parametrize(
    "numbers",
    [
        (signal.SIGINT, signal.SIGTERM),  # Ctrl-C, which the process above passes on.
        (signal.SIGHUP, signal.SIGHUP),  # The kernel's and the shell's.
        (signal.SIGHUP, signal.SIGTERM),
    ],
)
def test_signals_for_the_same_end_let_the_run_be_saved(
    settings: RunSettings, tmp_path: Path, numbers: tuple[int, int], capfd: Any
) -> None:
    def both(row: dict[str, Any]) -> None:
        for number in numbers:
            signal.raise_signal(number)

    with pytest.raises(Interrupted) as raised:
        train(settings, out=tmp_path / "run", callback=both)
    assert raised.value.exit_code == 128 + numbers[0]
    assert "saved; go on with" in raised.value.advice
    assert capfd.readouterr().err.count("the same signal again ends it now") == 1
    assert uflp.resume(tmp_path / "run").summary["queries"] == 300


def test_the_same_signal_again_ends_at_once(settings: RunSettings, tmp_path: Path) -> None:
    def twice(row: dict[str, Any]) -> None:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(Interrupted, match="ended at once"):
        train(settings, out=tmp_path / "run", callback=twice)
    assert not (tmp_path / "run" / "checkpoint").exists()


@pytest.mark.parametrize("where", ["training", "evaluation"])
def test_a_call_that_hangs_is_given_up_at_the_second_signal_and_the_rest_is_saved(
    settings: RunSettings, tmp_path: Path, where: str, capfd: Any
) -> None:
    def hanging(chosen: RunSettings) -> Run:
        run = Run(chosen)
        simulator = run.simulator if where == "training" else run.evaluator.simulator
        step = simulator.step

        def stepped(action: int) -> Any:
            if run.queries == 180:
                signal.raise_signal(signal.SIGINT)
                assert "again" in capfd.readouterr().err, "the first only says what a second does"
                signal.raise_signal(signal.SIGINT)
            return step(action)

        simulator.step = stepped
        return run

    with pytest.raises(Interrupted) as raised:
        train(settings, out=tmp_path / "run", make_run=hanging)
    assert raised.value.advice.startswith("saved; go on with")
    result = uflp.resume(tmp_path / "run")
    assert result.metrics["queries"].tolist() == [60, 120, 180, 240, 300]
    if where == "evaluation":
        train(settings, out=tmp_path / "whole")
        assert without_clock(tmp_path / "run") == without_clock(tmp_path / "whole")


def test_rows_written_after_the_checkpoint_are_made_again(
    settings: RunSettings, cut: Path, tmp_path: Path
) -> None:
    """As after a sudden end: half a row more than the checkpoint knows of."""
    with (cut / "metrics.csv").open("a") as file:
        file.write("180,1.0,2")
    uflp.resume(cut)
    train(settings, out=tmp_path / "whole")
    assert without_clock(cut) == without_clock(tmp_path / "whole")


def test_metrics_are_never_seen_to_be_missing(cut: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As for those who plot them while the run is resumed."""
    before = (cut / "metrics.csv").read_bytes()
    seen = []
    replace = Path.replace

    def watched(path: Path, target: Path) -> Path:
        if target.name == "metrics.csv":
            seen.append(target.read_bytes())
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", watched)
    uflp.resume(cut)
    assert seen == [before]


def test_a_run_without_a_checkpoint_begins_at_the_start(
    settings: RunSettings, tmp_path: Path
) -> None:
    def dies(row: dict[str, Any]) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        train(settings, out=tmp_path / "run", callback=dies)
    before = (tmp_path / "run" / "metrics.csv").read_bytes()
    with pytest.warns(UserWarning, match=r"begins at the start; .* moved to .*metrics\.csv\.old-1"):
        assert uflp.resume(tmp_path / "run").summary["queries"] == 300
    assert (tmp_path / "run" / "metrics.csv.old-1").read_bytes() == before
    train(settings, out=tmp_path / "whole")
    assert without_clock(tmp_path / "run") == without_clock(tmp_path / "whole")


def test_a_run_that_has_lost_its_checkpoints_does_not_begin_again(cut: Path) -> None:
    (cut / "checkpoint" / "a" / "state").unlink()
    before = (cut / "metrics.csv").read_bytes()
    for _ in range(2):
        with pytest.raises(RunError, match="no checkpoint is good"):
            uflp.resume(cut)
    assert (cut / "metrics.csv").read_bytes() == before


@pytest.mark.parametrize(("key", "value"), [("p_init", 0.5), ("queries", 400)])
def test_changed_settings_are_refused_without_a_checkpoint_too(
    cut: Path, key: str, value: Any
) -> None:
    shutil.rmtree(cut / "checkpoint")
    config = json.loads((cut / "config.json").read_text())
    config["settings"][key] = value
    (cut / "config.json").write_text(json.dumps(config))
    with pytest.raises(UsageError, match=r"config\.json was changed since the run began"):
        uflp.resume(cut)
    assert (cut / "metrics.csv").exists()


def test_checkpoints_change_no_number(settings: RunSettings, tmp_path: Path) -> None:
    often = train(settings, out=tmp_path / "often", checkpoint_seconds=0.0)
    train(settings, out=tmp_path / "never")
    assert without_clock(tmp_path / "often") == without_clock(tmp_path / "never")
    assert often.summary["checkpoints"] == 300
    assert often.summary["checkpoint_bytes"] > 0
    assert not (tmp_path / "often" / "checkpoint").exists(), "a finished run needs none"


def test_a_goal_is_still_the_goal_after_a_resume(tmp_path: Path) -> None:
    settings = small("deep-sea", "ddqn", "counts", size=4, queries=3000)
    with pytest.raises(Interrupted):
        train(settings, out=tmp_path, stop_at_return=0.9, callback=signalled(signal.SIGINT, 60))
    summary = uflp.resume(tmp_path).summary
    assert summary["stopped"] == "goal"
    assert summary["queries"] < 3000


def test_a_callback_that_stops_a_run_is_named(settings: RunSettings) -> None:
    assert train(settings, callback=lambda row: True).summary["stopped"] == "callback"


# What is refused


def test_a_finished_run_is_not_resumed(settings: RunSettings, tmp_path: Path) -> None:
    train(settings, out=tmp_path / "run")
    before = {path: path.read_bytes() for path in (tmp_path / "run").iterdir()}
    with pytest.raises(UsageError, match="finished"):
        uflp.resume(tmp_path / "run")
    assert {path: path.read_bytes() for path in (tmp_path / "run").iterdir()} == before


def test_a_foreign_folder_is_not_resumed(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("Chapter 1")
    for folder in (tmp_path, tmp_path / "missing"):
        with pytest.raises(UsageError, match="not a run folder"):
            uflp.resume(folder)
    (tmp_path / "config.json").write_text('{"name": "some other program"}')
    with pytest.raises(UsageError, match="not the configuration of a run"):
        uflp.resume(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"thesis.tex", "config.json"}


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("p_init", 0.5, "p_init was 0.1, not 0.5"),
        ("seed", 1, "seed was 0, not 1"),
        ("stop_at_return", 0.9, "stop_at_return was None, not 0.9"),
    ],
)
def test_changed_settings_are_refused(cut: Path, key: str, value: Any, message: str) -> None:
    config = json.loads((cut / "config.json").read_text())
    (config if key in config else config["settings"])[key] = value
    (cut / "config.json").write_text(json.dumps(config))
    rows = (cut / "metrics.csv").read_text()
    with pytest.raises(UsageError, match=message):
        uflp.resume(cut)
    assert (cut / "metrics.csv").read_text() == rows


def test_a_setting_that_is_missing_counts_as_its_default(cut: Path) -> None:
    config = json.loads((cut / "config.json").read_text())
    del config["settings"]["history_size"]
    (cut / "config.json").write_text(json.dumps(config))
    with pytest.raises(UsageError, match="history_size was 150, not 1000000"):
        uflp.resume(cut)


def test_a_run_of_before_there_were_rules_and_restart_limits_goes_on(
    settings: RunSettings, cut: Path, tmp_path: Path
) -> None:
    """Neither its `config.json` nor its checkpoint knows the settings, and what they keep."""
    config = json.loads((cut / "config.json").read_text())
    del config["settings"]["rule"], config["settings"]["restart_limit"]
    (cut / "config.json").write_text(json.dumps(config))
    checkpoints = Checkpoints(cut / "checkpoint")
    state = checkpoints.newest()
    assert state is not None
    identity = json.loads(state["identity"])
    del identity["settings"]["rule"], identity["settings"]["restart_limit"]
    run = state["run"]
    planner = run.pop("planner")
    run["tally"]["failures"] = planner["failures"]
    run["rollout"]["length"] = planner["length"]
    given = run["rollout"].pop("given")
    run["rollout"]["action"] = given[0] if given else None
    checkpoints.save({**state, "identity": json.dumps(identity)})
    uflp.resume(cut)
    train(settings, out=tmp_path / "whole")
    assert without_clock(cut) == without_clock(tmp_path / "whole")


def test_a_run_that_version_0_1_0_left_in_mid_rollout_goes_on(tmp_path: Path) -> None:
    """Its checkpoint and the keys of its settings are those of that version."""
    shutil.copytree(Path(__file__).parent / "run_of_0_1_0", tmp_path / "run")
    found = uflp.resume(tmp_path / "run").metrics
    settings, _ = recorded(tmp_path / "run")
    expected = train(settings).metrics
    for column in expected.keys() - {"wall_seconds"}:
        # Written on another machine, whose last digits may differ.
        np.testing.assert_allclose(found[column], expected[column], rtol=1e-3, err_msg=column)


def test_the_settings_come_back_as_they_were(settings: RunSettings, cut: Path) -> None:
    assert recorded(cut) == (settings, None)


def test_a_checkpoint_that_does_not_fit_is_an_error(
    cut: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whole and with its checksum, but what it holds is not what this code would have written."""
    state = Run.state
    monkeypatch.setattr(Run, "load", lambda self, given: state(self)["no such thing"])
    with pytest.raises(RunError, match="does not fit"):
        uflp.resume(cut)
