"""What a new run may begin with: the history of another, and demonstrations."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from probes import Corridor, FixedValues, corridor_run
from resuming import rows_of, signalled, small, stopped_rows

import uflp
from uflp.experiments.recorded import recorded
from uflp.planning import RULES, DemonstrationRecorder, Demonstrations
from uflp.runs.checkpoints import Checkpoints, prepare
from uflp.runs.interruption import Interrupted
from uflp.runs.train import train
from uflp.simulators.deep_sea import DeepSea
from uflp.training.run import Run
from uflp.training.settings import RunSettings
from uflp.types import UsageError

SEA = {"size": 6, "hidden": (8,), "learning_batch": 16, "eval_period": 60, "queries": 120}


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """Returns the folder of a finished run that has kept its history."""
    uflp.train("deep-sea", uncertainty="counts", out=tmp_path / "kept", keep_history=True, **SEA)
    return tmp_path / "kept"


def begun(settings: RunSettings) -> Run:
    run = Run(settings)
    prepare(run)
    return run


def contents(run: Run) -> list[Any]:
    entries = [run.history.fetch(entry) for entry in run.history.live()]
    return [(entry.data, entry.screen_score) for entry in entries]


def test_a_run_begins_with_the_history_that_another_has_kept(kept: Path) -> None:
    settings, _ = recorded(kept)
    whole = Run(settings)
    list(whole.train())
    more = {"history_from": str(kept), "checkpoint_period": 2}
    run = begun(small("deep-sea", "ddqn", "covariance", **{**SEA, **more}))
    assert contents(run) == contents(whole) and len(run.history) > 100
    # The keys are those of the new run's own uncertainty, which has seen nothing yet.
    states = whole.history.keys(whole.history.live())
    assert run.history.keys(run.history.live()).tolist() == states.tolist()
    assert run.queries == run.spent == 0
    list(run.train())
    assert run.rollout.restarts > 0


def test_a_history_may_be_that_of_an_interrupted_run_and_of_a_larger_budget(tmp_path: Path) -> None:
    settings = small("deep-sea", "ddqn", "counts")
    with pytest.raises(Interrupted):
        train(settings, out=tmp_path / "cut", callback=signalled(signal.SIGINT, 120))
    more = {"history_from": str(tmp_path / "cut"), "history_size": 40}
    run = begun(small("deep-sea", "ddqn", "counts", **more))
    assert len(run.history) == 40
    assert (tmp_path / "cut" / "checkpoint").exists(), "the other run can still go on"
    assert uflp.resume(tmp_path / "cut").summary["queries"] == 300


@pytest.mark.parametrize("rule", list(RULES))
def test_a_run_that_began_with_a_history_is_resumed_without_it(
    rule: str, kept: Path, tmp_path: Path
) -> None:
    settings = small("deep-sea", "ddqn", "counts", rule=rule, history_from=str(kept))
    result = train(settings, out=tmp_path / "whole")
    assert result.metrics["history_size"][0] > 100
    with pytest.raises(Interrupted):
        train(settings, out=tmp_path / "cut", callback=signalled(signal.SIGINT, 120))
    kept.rename(tmp_path / "elsewhere")
    again = uflp.resume(tmp_path / "cut")
    for column in ("queries", "restarts", "history_size", "eval_return_mean"):
        assert again.metrics[column].tolist() == result.metrics[column].tolist()
    config = json.loads((tmp_path / "cut" / "config.json").read_text())
    assert config["settings"]["history_from"] == str(kept)


def test_what_led_to_a_game_of_another_run_is_known(tmp_path: Path) -> None:
    pytest.importorskip("ale_py")
    more = {"queries": 60, "rollout_limit": 20, "p_init": 0.2}
    first = small("atari/montezuma-revenge", "random", "counts", keep_history=True, **more)
    train(first, out=tmp_path / "first")
    run = begun(
        small("atari/montezuma-revenge", "random", "counts", history_from=str(tmp_path / "first"))
    )
    assert len(run.lineage) == len(run.history) > 3
    source = Run(first)
    list(source.train())
    last = run.history.newest
    assert run.lineage.segment(last) == source.lineage.segment(source.history.newest)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"size": 7}, "has a history of 'deep-sea/1 size=6 .*', and this is 'deep-sea/1 size=7"),
        ({"history_from": "nowhere"}, "nowhere holds no history"),
        ({"access": "online"}, "online access has no history"),
    ],
)
def test_a_history_that_does_not_fit_is_refused_and_nothing_written(
    change: dict[str, Any], message: str, kept: Path, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=message):
        uflp.train("deep-sea", out=tmp_path / "new", **{**SEA, "history_from": kept, **change})
    assert not (tmp_path / "new").exists()


def test_runs_that_have_no_history_are_refused(tmp_path: Path) -> None:
    uflp.train("deep-sea", uncertainty="counts", out=tmp_path / "finished", **SEA)
    with pytest.raises(UsageError, match="finished without keep_history"):
        uflp.train("deep-sea", history_from=tmp_path / "finished", **SEA)
    with pytest.raises(UsageError, match="needs a run folder"):
        uflp.train("deep-sea", keep_history=True, **SEA)


def test_a_damaged_history_is_refused(kept: Path) -> None:
    state = kept / "history" / "a" / "state"
    state.write_bytes(state.read_bytes()[:-1])
    with pytest.raises(UsageError, match=r"the history of .* cannot be read: .*checksum"):
        uflp.train("deep-sea", history_from=kept, **SEA)
    assert state.exists(), "what another run has left is not touched"


def test_a_history_that_its_run_changes_meanwhile_is_refused(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    newest = Checkpoints.newest

    def overtaken(checkpoints: Checkpoints, aside: bool = True) -> Any:
        state = newest(checkpoints, aside)
        for file in kept.rglob("*.rows"):
            file.unlink()
        return state

    monkeypatch.setattr(Checkpoints, "newest", overtaken)
    with pytest.raises(UsageError, match=r"history of .* cannot be read: .*\.rows is missing"):
        uflp.train("deep-sea", history_from=kept, **SEA)


def test_a_history_that_costs_all_queries_is_refused(tmp_path: Path) -> None:
    def taxi(**more: Any) -> RunSettings:
        return small("gym:Taxi-v4", "random", "counts", strategy="replay", **more)

    train(taxi(keep_history=True, queries=120), out=tmp_path / "first")
    more = {"history_from": str(tmp_path / "first")}
    cost = begun(taxi(queries=10**6, **more)).spent
    assert cost > 40
    again = taxi(queries=cost, **more)
    with pytest.raises(UsageError, match=rf"budget of {cost} queries .* replay has cost {cost}"):
        train(again, out=tmp_path / "again")
    assert not (tmp_path / "again").exists()
    assert begun(taxi(queries=cost + 1, **more)).spent == cost


# Demonstrations


def demonstrated_run(demonstrations: Path, **loop: Any) -> RunSettings:
    """Returns a run whose agent never moves, in a corridor of six states."""
    return corridor_run(
        rule="return",
        corridor=Corridor(length=6, cap=9),
        learner=FixedValues(members=((1.0, 0.0),)),
        demonstrations=str(demonstrations),
        **{"queries": 12, "eval_period": 12, **loop},
    )


def written(path: Path, *episodes: list[int], stamp: str = "corridor/1") -> Path:
    demonstrations = Demonstrations()
    for seed, actions in enumerate(episodes):
        demonstrations.add(seed, actions)
    demonstrations.write(path, stamp)
    return path


def test_the_first_rollouts_play_the_demonstrations(tmp_path: Path) -> None:
    file = written(tmp_path / "demo.npz", [1, 1, 0], [1, 1, 1, 1, 1])
    run = begun(
        demonstrated_run(file, rollout_limit=4, checkpoint_period=2, p_init=0.0, batch=None)
    )
    list(run.train())
    steps = run.simulator.called("step")
    # The first ends as it was left, the second at the end, and no limit cuts them short.
    assert steps[:8] == [(0, 1), (1, 1), (2, 0), (0, 1), (1, 1), (2, 1), (3, 1), (4, 1)]
    assert run.queries == run.spent == 12, "each step is a query"
    # Restarts begin afterwards, in the episode that paid.
    assert len(run.simulator.called("reset")) == 2
    (first,), *_ = run.simulator.called("restore")
    assert first in (0, 2, 4)
    assert len(run.replay) == 12, "what was played is learned from"


def test_a_run_is_resumed_amid_demonstrations_without_their_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    simulator = DeepSea(size=6).make(0)
    file = written(tmp_path / "demo.npz", [1] * 6, [0, 1] * 3, stamp=simulator.stamp)
    settings = small("deep-sea", "ddqn", "counts", demonstrations=str(file))
    whole = begun(settings)
    rows = rows_of(whole)
    made = Run.__init__

    def begins(run: Run, settings: RunSettings) -> None:
        made(run, settings)
        if file.exists():
            prepare(run)
            file.unlink()

    monkeypatch.setattr(Run, "__init__", begins)
    assert stopped_rows(settings, tmp_path / "saved", (3, 8, 97)) == rows
    assert not file.exists()


def test_what_a_trained_agent_plays_is_a_demonstration(kept: Path, tmp_path: Path) -> None:
    policy = uflp.load(kept)
    recorder = DemonstrationRecorder(policy.simulator())
    result = policy.evaluate(3, simulator=recorder)
    assert result == policy.evaluate(3)
    recorder.write(tmp_path / "demo.npz")
    run = begun(small("deep-sea", "ddqn", "counts", demonstrations=str(tmp_path / "demo.npz")))
    assert len(run.demonstrations) == 3
    run.rollout.begin(run.starts.start(np.random.default_rng(0)))
    transitions = []
    while not run.rollout.over:
        transitions.append(run.rollout.step())
    assert sum(step.reward for step in transitions) == pytest.approx(result.mean)


def test_a_recorder_draws_seeds_and_leaves_out_what_has_no_step() -> None:
    recorder = DemonstrationRecorder(Corridor(length=4).make(0))
    recorder.reset()
    recorder.reset(seed=7)
    recorder.step(1)
    recorder.step(0)
    recorder.reset()
    recorder.step(np.int64(1))
    state = recorder.demonstrations.state()
    assert state["seeds"][0] == 7 and 0 <= state["seeds"][1] < 2**32
    assert (state["lengths"].tolist(), state["actions"].tolist()) == ([2, 1], [1, 0, 1])


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"simulator": np.array("other/1")}, "holds demonstrations in 'other/1', and this is"),
        ({"actions": np.array([1, 2])}, "there is no action 2"),
        ({"actions": np.array([1])}, "at least one action for each episode"),
        ({"lengths": np.array([2, 0]), "seeds": np.array([0, 0])}, "at least one action"),
        ({"actions": np.array([1, -1])}, "rows of whole numbers"),
        ({"actions": np.array([0.5, 1.0])}, "rows of whole numbers"),
        ({"actions": np.array([1, None])}, "does not hold demonstrations"),
    ],
)
def test_bad_demonstrations_are_refused(
    columns: dict[str, np.ndarray], message: str, tmp_path: Path
) -> None:
    good = {
        "simulator": np.array("corridor/1"),
        "seeds": np.array([0]),
        "lengths": np.array([2]),
        "actions": np.array([1, 0]),
    }
    np.savez(tmp_path / "good.npz", **good)
    begun(demonstrated_run(tmp_path / "good.npz"))
    np.savez(tmp_path / "bad.npz", allow_pickle=True, **{**good, **columns})
    with pytest.raises(UsageError, match=message):
        begun(demonstrated_run(tmp_path / "bad.npz"))


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 nothing", b"episodes"])
def test_other_files_are_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(UsageError, match="file does not hold demonstrations"):
        begun(demonstrated_run(tmp_path / "file"))
    with pytest.raises(UsageError, match="missing cannot be read"):
        begun(demonstrated_run(tmp_path / "missing"))


def test_a_run_begins_with_the_agent_of_another(tmp_path: Path) -> None:
    first = uflp.train("deep-sea", out=tmp_path / "first", **SEA)
    # No SGD step is due: what the second run ends with is what it began with.
    idle = {**SEA, "queries": 20, "eval_period": 20, "min_replay": 21, "replay_size": 40}
    second = uflp.train("deep-sea", init_from=tmp_path / "first", seed=5, **idle)
    other = uflp.train("deep-sea", seed=5, **idle)
    for place in range(16):
        values = second.policy.values(place)
        np.testing.assert_array_equal(values, first.policy.values(place))
        assert not np.array_equal(values, other.policy.values(place))
    assert second.settings.learning.init_from == str(tmp_path / "first")


def test_an_agent_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    uflp.train("deep-sea", out=tmp_path / "first", **SEA)
    wider = {**SEA, "hidden": (5, 5)}
    with pytest.raises(
        UsageError, match=r"the agent of .*first does not fit this run: the network has"
    ):
        uflp.train("deep-sea", init_from=tmp_path / "first", out=tmp_path / "new", **wider)
    with pytest.raises(UsageError, match="nowhere holds no trained agent"):
        uflp.train("deep-sea", init_from=tmp_path / "nowhere", out=tmp_path / "new", **SEA)
    assert not (tmp_path / "new").exists()
