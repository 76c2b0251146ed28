"""What a failing simulator, a spent budget or a late signal must leave right."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from crashing import without_clock
from probes import Corridor, corridor_run
from resuming import StoppedError, rows_of, small

from uflp.cli.common import summary_sentence
from uflp.planning import SimulatorFailedError
from uflp.runs.folder import summarize
from uflp.runs.interruption import Interrupted
from uflp.runs.train import train
from uflp.training.run import Run
from uflp.training.settings import RunSettings

# Two in a row, in the first query of a rollout and in later ones.
FAILURES = {40, 81, 82, 120, 163, 199, 241, 278}


def failing(run: Run, fails: Callable[[int], bool]) -> Run:
    """Lets the simulator fail in steps that are chosen by their number, failures counted too."""
    step, steps = run.simulator.step, iter(range(10**6))

    def stepped(action: int) -> Any:
        if fails(next(steps)):
            raise OSError("the engine stalled")
        return step(action)

    run.simulator.step = stepped  # type: ignore[method-assign]
    return run


def costly(run: Run, steps: int) -> Run:
    """Lets every restore cost steps, as one by replay does."""
    restore = run.simulator.restore

    def restored(*arguments: Any, **options: Any) -> Any:
        run.simulator.replayed += steps
        return restore(*arguments, **options)

    run.simulator.restore = restored  # type: ignore[method-assign]
    return run


def diver(**more: Any) -> RunSettings:
    return small("deep-sea", "ddqn", "counts", epsilon=0.1, **more)


# Simulators that fail


def test_after_a_failure_the_values_are_those_of_what_is_seen() -> None:
    run = failing(Run(diver()), FAILURES.__contains__)
    compared = []

    def pause() -> None:
        if run.rollout.over:
            return
        seen = run.rollout.observation
        expected = run.predict(np.asarray(seen)[None])[:, 0]
        found = run.agent_runner.values(seen, run.queries)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)
        compared.append(run.queries)

    list(run.train(pause))
    assert run.counters.dropped_rollouts == len(FAILURES)
    assert len(compared) > 150


def test_a_simulator_that_keeps_failing_ends_the_run_which_goes_on_later(tmp_path: Path) -> None:
    settings, out = diver(), tmp_path / "run"
    with pytest.raises(SimulatorFailedError, match=r"at query 205 with.*saved; go on with"):
        train(settings, out=out, make_run=lambda chosen: failing(Run(chosen), lambda n: n > 204))
    result = train(settings, out=out, resume=True)
    # Sixteen rows first, then one step a query.
    assert result.metrics["sgd_steps"].tolist() == [45, 105, 165, 225, 285]


def test_an_episode_of_an_evaluation_that_fails_is_played_again(tmp_path: Path) -> None:
    run = Run(diver(eval_episodes=3))
    step, steps = run.evaluator.simulator.step, iter(range(10**6))

    def stepped(action: int) -> Any:
        if next(steps) % 9 == 7:  # An episode has six steps.
            raise OSError("the engine stalled")
        return step(action)

    run.evaluator.simulator.step = stepped
    assert [row["eval_episodes"] for row in run.train()] == [3] * 5


@pytest.mark.parametrize("first", [120, 300])  # within the budget, and at its end
def test_a_run_whose_evaluation_keeps_failing_is_saved_and_evaluates_first_when_it_goes_on(
    tmp_path: Path, first: int
) -> None:
    settings, out = diver(), tmp_path / "run"

    def broken(chosen: RunSettings) -> Run:
        run = Run(chosen)
        step = run.evaluator.simulator.step

        def stepped(action: int) -> Any:
            if run.queries >= first:
                raise OSError("the engine stalled")
            return step(action)

        run.evaluator.simulator.step = stepped
        return run

    message = r"failed in 11 episodes of an evaluation in a row.*stalled.*saved; go on with"
    with pytest.raises(SimulatorFailedError, match=message):
        train(settings, out=out, make_run=broken)
    train(settings, out=out, resume=True)
    whole = train(settings, out=tmp_path / "whole")
    assert whole.metrics["queries"].tolist() == [60, 120, 180, 240, 300]
    assert without_clock(out) == without_clock(tmp_path / "whole")


def test_a_simulator_that_exits_has_failed(tmp_path: Path) -> None:
    run = Run(diver())
    for simulator in (run.simulator, run.evaluator.simulator):
        step, steps = simulator.step, iter(range(10**6))

        def stepped(action: int, step: Any = step, steps: Any = steps) -> Any:
            if next(steps) == 25:
                raise SystemExit(0)
            return step(action)

        simulator.step = stepped
    assert len(list(run.train())) == 5
    assert run.counters.dropped_rollouts == 1


# Budgets that restores use up


def test_a_run_saved_past_its_budget_has_its_last_row_when_it_goes_on() -> None:
    settings = small("gym:CartPole-v1", "ddqn", "counts", strategy="replay", queries=230)
    expected = rows_of(Run(settings))
    run, rows, saved = Run(settings), [], []

    def pause() -> None:
        if run.spent >= 230:
            saved.append(run.state())
            raise StoppedError

    with pytest.raises(StoppedError):
        rows_of(run, rows, pause=pause)
    again = Run(settings)
    again.load(saved[0])
    assert again.spent >= 230
    assert rows_of(again, rows) == expected


def test_a_query_that_fails_past_the_budget_is_followed_by_the_last_row() -> None:
    run = costly(Run(corridor_run(p_init=0.0)), 7)
    failing(run, lambda number: run.spent >= 200)
    rows = list(run.train())
    assert run.counters.dropped_rollouts == 1
    assert [row["queries"] >= 200 for row in rows] == [False] * (len(rows) - 1) + [True]


def test_the_learner_of_each_row_has_its_sgd_steps_where_restores_cost_queries() -> None:
    for cost in (3, 5, 7):
        run = costly(Run(diver()), cost)
        for row in run.train():
            assert run.learner.clock[0] == row["sgd_steps"]
        assert row["queries"] >= 300


def test_a_run_without_rows_is_put_in_words() -> None:
    settings = corridor_run()
    words = summary_sentence(summarize(settings, [], 1.0, Path("run")))
    assert words == "corridor, fixed, local, seed 0: never evaluated; 0 queries at 0/s, in run"


# Signals that come late


def signalled(number: int, at: int, times: int = 1) -> Callable[[dict[str, Any]], None]:
    def callback(row: dict[str, Any]) -> None:
        for _ in range(times if row["queries"] == at else 0):
            signal.raise_signal(number)

    return callback


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_after_the_last_query_ends_what_follows_the_run(
    tmp_path: Path, number: int, code: int
) -> None:
    before = signal.getsignal(number)
    with pytest.raises(Interrupted) as raised:
        for seed in range(2):
            settings = corridor_run(seed=seed)
            train(settings, out=tmp_path / str(seed), callback=signalled(number, 200))
    assert raised.value.exit_code == code
    assert raised.value.advice == f"the run was finished first: it is in {tmp_path / '0'}"
    assert signal.getsignal(number) is before
    assert (tmp_path / "0" / "summary.json").exists()
    assert not (tmp_path / "0" / "checkpoint").exists()
    assert not (tmp_path / "1").exists()


def test_a_second_signal_says_that_what_was_saved_is_there(tmp_path: Path) -> None:
    settings = corridor_run(corridor=Corridor(length=6))
    callback = signalled(signal.SIGINT, 100, times=2)
    with pytest.raises(Interrupted) as raised:
        train(settings, out=tmp_path / "run", checkpoint_seconds=0.0, callback=callback)
    assert raised.value.advice == "ended at once; what was saved before is intact"
    assert not (tmp_path / "run" / "summary.json").exists()
    result = train(settings, out=tmp_path / "run", resume=True)
    assert result.summary["checkpoints"] >= 100
    assert result.metrics["queries"].tolist() == [50, 100, 150, 200]
