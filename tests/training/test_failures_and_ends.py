"""What a failing simulator, a spent budget or a late signal must leave right."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from probes import Corridor, corridor_run
from resuming import StoppedError, rows_of, small

from uflp.cli.words import sentence
from uflp.training.ahead import LearningAhead
from uflp.training.collecting import SimulatorFailedError
from uflp.training.interruption import Interrupted
from uflp.training.records import summarize
from uflp.training.run import Run
from uflp.training.settings import RunSettings
from uflp.training.train import train

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


def diver(at_once: int, **more: Any) -> RunSettings:
    return small("deep-sea", "ddqn", "counts", queries_at_once=at_once, epsilon=0.1, **more)


def actions_of(run: Run) -> list[tuple[Any, int]]:
    """Trains, and returns what the actions were chosen in, and which they were."""
    step, made = run.rollout.step, []

    def stepped(query: int) -> Any:
        transition = step(query)
        made.append((transition.observation, transition.action))
        return transition

    run.rollout.step = stepped  # type: ignore[method-assign]
    list(run.train())
    return made


# Simulators that fail


def test_after_a_failure_the_values_are_those_of_what_is_seen() -> None:
    run = failing(Run(diver(1)), FAILURES.__contains__)
    values, compared = run.learning.values, []

    def watched(observation: Any, query: int) -> np.ndarray:
        found = values(observation, query)
        expected = run.predict(np.asarray(observation)[None])[:, 0]
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)
        compared.append(query)
        return found

    run.learning.values = watched  # type: ignore[method-assign]
    list(run.train())
    assert run.collecting.tally.dropped_rollouts == len(FAILURES)
    assert len(compared) > 150


def test_queries_worked_out_ahead_are_the_same_after_failures() -> None:
    one, ahead = (failing(Run(diver(number)), FAILURES.__contains__) for number in (1, 16))
    assert isinstance(ahead.learning, LearningAhead)
    made = actions_of(one)
    assert len(made) == 300
    assert made == actions_of(ahead)
    assert ahead.learner.clock[0] == ahead.sgd_steps == one.sgd_steps > 200
    for first, second in zip(*(jax.tree.leaves(run.learner) for run in (one, ahead)), strict=True):
        np.testing.assert_allclose(first, second, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("made", [0, 1, 3])
def test_steps_that_are_taken_again_give_the_very_same_learner(
    made: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bit for bit, at any query of those that were worked out at once, and in any call."""
    monkeypatch.setattr("uflp.training.ahead._KEPT", 5)
    run = Run(diver(16, size=12))
    learning = run.learning
    assert isinstance(learning, LearningAhead)
    work_out, forget, calls = learning._work_out, learning.forget, []

    def watched(learner: Any, *arguments: Any) -> Any:
        calls.append((jax.tree.map(np.copy, learner), *arguments))
        return work_out(learner, *arguments)

    def compared(query: int) -> None:
        *before, (observation, _) = calls[-1]
        expected, *_ = work_out(*before, np.array([observation, made], np.int32))
        numbers.append(len(learning._calls))
        forget(query)
        for first, second in zip(*map(jax.tree.leaves, (expected, learning.learner)), strict=True):
            np.testing.assert_array_equal(first, second)

    numbers: list[int] = []
    chances = iter(range(10**6))
    learning._work_out, learning.forget = watched, compared  # type: ignore[method-assign]
    failing(
        run,
        lambda number: (
            run.queries == learning._first + made < learning._end and next(chances) % 4 == 3
        ),
    )
    list(run.train())
    assert len(numbers) > 3
    assert max(numbers) > 2


def test_what_is_saved_of_a_simulator_that_keeps_failing_is_not_ahead(tmp_path: Path) -> None:
    rows = []
    for number in (1, 16):
        settings, out = diver(number), tmp_path / str(number)
        with pytest.raises(SimulatorFailedError, match=r"at query 205 with.*saved; go on with"):
            train(
                settings, out=out, make_run=lambda chosen: failing(Run(chosen), lambda n: n > 204)
            )
        result = train(settings, out=out, resume=True)
        rows.append(result.metrics)
        # Sixteen rows first, then one step a query.
        assert result.metrics["sgd_steps"].tolist() == [45, 105, 165, 225, 285]
    for name in rows[0].keys() - {"wall_seconds"}:
        np.testing.assert_allclose(rows[0][name], rows[1][name], rtol=1e-4, err_msg=name)


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
    assert run.collecting.tally.dropped_rollouts == 1
    assert [row["queries"] >= 200 for row in rows] == [False] * (len(rows) - 1) + [True]


def test_the_learner_of_the_last_row_is_not_ahead_where_restores_cost_queries() -> None:
    for cost in (3, 5, 7):
        run = costly(Run(diver(16)), cost)
        for row in run.train():
            assert run.learner.clock[0] == row["sgd_steps"]
        assert row["queries"] >= 300


def test_a_run_without_rows_is_put_in_words() -> None:
    settings = corridor_run()
    words = sentence(summarize(settings, [], 1.0, Path("run")))
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
