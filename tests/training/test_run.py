"""Algorithm 2: what a run does, query by query."""

from __future__ import annotations

import csv
import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from probes import Corridor, Dice, FixedValues, corridor_run

import uflp
from uflp.agents.base import unpack
from uflp.experiments.resolve import resolve
from uflp.planning import SimulatorFailedError
from uflp.runs.checkpoints import Checkpoints, Saver
from uflp.runs.folder import RunFolder, summarize
from uflp.runs.interruption import Interruption
from uflp.runs.train import train
from uflp.training.evaluation import evaluate, greedy
from uflp.training.run import BadNumberError, Run
from uflp.training.settings import ReplaySettings, RunSettings
from uflp.types import Batch, RunError, UsageError
from uflp.uncertainty.covariance import Covariance

COLUMNS = [
    *("queries", "wall_seconds", "rollouts", "restarts", "sgd_steps", "eval_return_mean"),
    *("eval_return_std", "eval_episodes", "train_return_mean", "loss", "history_size"),
    *("replay_size", "positive_rewards"),
]


def finished(settings: RunSettings) -> tuple[Run, list[dict[str, Any]]]:
    run = Run(settings)
    return run, list(run.train())


def read_metrics(folder: Path) -> list[dict[str, str]]:
    with (folder / "metrics.csv").open(newline="") as file:
        return list(csv.DictReader(file))


# Where rollouts begin


def test_p_init_of_one_never_restarts_and_of_zero_always_does_but_for_the_first() -> None:
    run, _ = finished(corridor_run(p_init=1.0))
    assert run.rollout.restarts == 0
    assert len(run.simulator.called("reset")) == run.rollout.rollouts
    run, _ = finished(corridor_run(p_init=0.0))
    assert run.rollout.restarts == run.rollout.rollouts - 1
    assert run.simulator.calls[0] == ("reset",)
    assert len(run.simulator.called("reset")) == 1


@pytest.mark.parametrize("p_init", [0.2, 0.7])
def test_p_init_is_the_probability_of_beginning_at_the_start(p_init: float) -> None:
    run, _ = finished(corridor_run(p_init=p_init, queries=4000, rollout_limit=2))
    rollouts = run.rollout.rollouts
    assert rollouts >= 2000
    deviation = math.sqrt(p_init * (1 - p_init) / rollouts)
    assert 1 - run.rollout.restarts / rollouts == pytest.approx(p_init, abs=5 * deviation)
    assert len(run.simulator.called("restore")) == run.rollout.restarts


def test_restarts_go_where_the_uncertainty_is() -> None:
    """From the end of the corridor, which rollouts seldom reach, more often than from its start."""
    run, _ = finished(corridor_run(queries=1000, p_init=0.5, rollout_limit=3))
    visits = run.uncertainty.visits[:5]
    assert visits.min() > 0, "restarts at pairs try actions that the agent never would"
    run, _ = finished(corridor_run(queries=1000, access="online", rollout_limit=3))
    assert run.uncertainty.visits[3:].sum() == run.uncertainty.visits[:, 0].sum() == 0


def test_a_restart_samples_the_future_anew() -> None:
    """Noise that replayed would throw again what was thrown when the snapshot was taken."""
    Dice.thrown.clear()
    result = uflp.train(
        "probes:Dice",
        agent="random",
        uncertainty="counts",
        queries=60,
        eval_period=60,
        eval_episodes=1,
        p_init=0.0,
        checkpoint_period=1,
        force=True,  # Nothing is thrown beforehand.
    )
    assert result.metrics["restarts"][-1] == result.metrics["rollouts"][-1] - 1 >= 19
    # Three of them are those of the evaluation.
    assert len(Dice.thrown) == len(set(Dice.thrown)) == 63


def test_online_access_has_no_history() -> None:
    run, rows = finished(corridor_run(access="online"))
    assert run.history is None
    assert run.simulator.called("save") == run.simulator.called("restore") == []
    assert {(row["restarts"], row["history_size"]) for row in rows} == {(0, 0)}


def test_the_history_keeps_to_its_budget() -> None:
    for budget in ({"history_size": 7}, {"history_bytes": 7 * 12}):
        _, rows = finished(corridor_run(**budget))
        assert rows[-1]["history_size"] == 7


# What counts


def test_queries_are_the_steps_of_the_training_simulator_alone() -> None:
    run, rows = finished(corridor_run(queries=230, eval_period=50, eval_episodes=3))
    assert len(run.simulator.called("step")) == run.queries == 230
    assert [row["queries"] for row in rows] == [50, 100, 150, 200, 230]
    # Five steps an episode, three episodes an evaluation, five evaluations.
    assert len(run.evaluator.simulator.called("step")) == 5 * 3 * 5
    assert run.uncertainty.visits.sum() == 230
    assert list(rows[0]) == COLUMNS


@pytest.mark.parametrize(("period", "expected"), [(1, 197), (5, 40), (60, 3)])
def test_sgd_runs_every_so_many_queries_once_replay_holds_a_batch(
    period: int, expected: int
) -> None:
    run, rows = finished(corridor_run(sgd_period=period))
    # The learner counts its own updates.
    assert run.learner == run.sgd_steps == rows[-1]["sgd_steps"] == expected


def test_learning_starts_when_min_replay_is_reached() -> None:
    assert finished(corridor_run(min_replay=150))[0].sgd_steps == 51


def test_a_replay_in_which_learning_could_never_start_is_refused() -> None:
    with pytest.raises(UsageError, match="replay_size"):
        ReplaySettings(replay_size=50, learning_batch=128)
    with pytest.raises(UsageError, match="replay_size"):
        ReplaySettings(replay_size=500, min_replay=501)


def test_each_step_learns_from_as_many_of_the_newest_as_asked_for() -> None:
    run = Run(corridor_run(recent_fraction=0.75))
    sample, firsts = run.replay.sample, []

    def watched(uniforms: np.ndarray) -> np.ndarray:
        drawn = sample(uniforms)
        rows = run.replay.state()["rows"]
        newest = np.concatenate([block.columns["words"] for block in rows.blocks(0)])[:-4:-1]
        firsts.append(np.array_equal(drawn[:3], newest))
        return drawn

    run.replay.sample = watched
    list(run.train())
    assert firsts == [True] * 197


def test_training_returns_and_positive_rewards_are_those_of_rollouts() -> None:
    corridor = Corridor(length=6, step_reward=-0.5)
    _, rows = finished(corridor_run(corridor=corridor, access="online", queries=50, eval_period=10))
    # Four steps at -0.5 and a last one at 1, two rollouts a row.
    assert [row["train_return_mean"] for row in rows] == [-1.0] * 5
    assert [row["positive_rewards"] for row in rows] == [2, 4, 6, 8, 10]
    assert [row["rollouts"] for row in rows] == [2, 4, 6, 8, 10]
    _, rows = finished(corridor_run(queries=3, access="online"))
    assert math.isnan(rows[0]["train_return_mean"])


def drawn(run: Run, size: int) -> Batch:
    batch = unpack(run.replay.sample(np.random.default_rng(0).random(size)), run.replay.row)
    return Batch(*map(np.asarray, batch))


def test_replay_prepares_what_the_agent_learns_from() -> None:
    run, _ = finished(corridor_run(access="online", queries=10, discount=0.5))
    batch = drawn(run, 200)
    assert set(zip(batch.observation, batch.reward, batch.discount, strict=True)) == {
        *((state, 0.0, 0.5) for state in range(4)),
        (4, 1.0, 0.0),
    }
    learner = FixedValues(target="return")
    run, _ = finished(corridor_run(learner=learner, access="online", queries=10, discount=0.5))
    batch = drawn(run, 200)
    assert set(zip(batch.observation, batch.reward, batch.discount, strict=True)) == {
        (state, 0.5 ** (4 - state), 0.0) for state in range(5)
    }
    # Cut after two steps: two discounts, and the highest of the mean values (2, 8).
    learner = FixedValues(((0.0, 10.0), (4.0, 6.0)), target="return")
    settings = corridor_run(
        learner=learner, access="online", queries=2, discount=0.5, rollout_limit=2
    )
    run, _ = finished(settings)
    batch = drawn(run, 200)
    assert set(zip(batch.observation, batch.reward, strict=True)) == {(0, 2.0), (1, 4.0)}


def test_an_intrinsic_reward_is_learned_from_and_not_counted_as_return() -> None:
    settings = corridor_run(exploration="intrinsic", access="online", queries=5, bonus_scale=3.0)
    run, rows = finished(settings)
    batch = drawn(run, 100)
    rewards = dict.fromkeys(range(4), 30.0) | {4: 31.0}
    for state, reward in zip(batch.observation, batch.reward, strict=True):
        assert reward == pytest.approx(rewards[state])
    assert rows[-1]["train_return_mean"] == 1.0


@pytest.mark.parametrize(
    ("exploration", "actions"), [("greedy", {1}), ("bonus", {0, 1}), ("intrinsic", {1})]
)
def test_only_a_bonus_changes_how_the_agent_acts(exploration: str, actions: set[int]) -> None:
    settings = corridor_run(exploration=exploration, access="online", bonus_scale=100.0)
    run, _ = finished(settings)
    assert {action for _, action in run.simulator.called("step")} == actions


# Evaluation


def test_evaluation_is_greedy_on_the_mean_of_members_in_a_simulator_of_its_own() -> None:
    """The mean (3, 3.5) goes right, though one member stays and has the highest value of all."""
    learner = FixedValues(((0.0, 5.0), (6.0, 2.0)))
    settings = corridor_run(
        corridor=Corridor(length=6, cap=30),
        learner=learner,
        exploration="bonus",
        bonus_scale=100.0,
        epsilon=0.5,
    )
    run, rows = finished(settings)
    assert {row["eval_return_mean"] for row in rows} == {1.0}
    assert {action for _, action in run.evaluator.simulator.called("step")} == {1}
    assert run.evaluator.simulator.called("restore") == []
    assert run.evaluator.simulator.called("save") == []
    assert {action for _, action in run.simulator.called("step")} == {0, 1}


def test_an_evaluation_touches_neither_the_training_simulator_nor_the_uncertainty() -> None:
    run = Run(corridor_run())
    rows = run.train()
    next(rows)
    calls, visits = list(run.simulator.calls), run.uncertainty.visits.copy()
    learner, held, queries = run.learner, len(run.replay), run.queries
    run.evaluate()
    assert run.simulator.calls == calls
    np.testing.assert_array_equal(run.uncertainty.visits, visits)
    assert (run.learner, len(run.replay), run.queries) == (learner, held, queries)


def test_how_often_is_evaluated_changes_nothing_else() -> None:
    def last(eval_period: int) -> dict[str, Any]:
        settings = corridor_run(eval_period=eval_period, epsilon=0.3, rollout_limit=7)
        run, rows = finished(settings)
        return {"calls": run.simulator.calls, "restarts": rows[-1]["restarts"]}

    assert last(10) == last(200)


def test_the_mean_and_the_deviation_of_returns() -> None:
    simulator = Corridor(length=3).make(0)
    returns = iter([1.0, 4.0, 7.0])

    def step(action: int) -> tuple[Any, ...]:
        return 0, next(returns), True, False, {}

    simulator.step = step  # type: ignore[method-assign]
    result = evaluate(
        simulator, greedy(lambda keys: np.zeros((1, len(keys), 2))), 3, np.random.default_rng(0)
    )
    assert (result.mean, result.episodes) == (4.0, 3)
    assert result.std == pytest.approx(math.sqrt(6))


# Equal seeds


def comparable(settings: RunSettings) -> list[dict[str, Any]]:
    _, rows = finished(settings)
    rows = [{key: row[key] for key in row if key != "wall_seconds"} for row in rows]
    return [
        {key: repr(value) if isinstance(value, float) else value for key, value in row.items()}
        for row in rows
    ]


@pytest.mark.usefixtures("compiled_once")
@pytest.mark.parametrize(
    ("agent", "uncertainty", "batch"),
    [("ddqn-bonus", "covariance", None), ("ddqn-intrinsic", "counts", 5)],
)
def test_equal_seeds_give_equal_numbers_and_others_do_not(
    agent: str, uncertainty: str, batch: int | None
) -> None:
    def settings(seed: int) -> RunSettings:
        values = {"size": 6, "queries": 240, "eval_period": 40, "hidden": (8,), "batch": batch}
        values |= {"epsilon": 0.1}
        if uncertainty == "covariance":
            values["feature_size"] = 20
        return resolve(
            "deep-sea", agent=agent, uncertainty=uncertainty, seed=seed, overrides=values
        )

    first = comparable(settings(3))
    assert first == comparable(settings(3))
    assert first != comparable(settings(4))


def test_the_seed_decides_all_draws_of_a_run() -> None:
    """In a simulator that makes nothing of its seed."""
    calls = [
        finished(corridor_run(seed=seed, epsilon=0.5, batch=3))[0].simulator.calls
        for seed in (0, 0, 1)
    ]
    assert calls[0] == calls[1] != calls[2]


# Bad numbers


@pytest.mark.parametrize("access", ["local", "online"])
def test_a_reward_that_is_not_a_number_stops_the_run_and_keeps_its_metrics(
    tmp_path: Path, access: str
) -> None:
    settings = corridor_run(corridor=Corridor(length=6, bad_reward_at=137), access=access)
    with pytest.raises(BadNumberError, match=r"reward was nan at query 137"):
        train(settings, out=tmp_path / "run")
    rows = read_metrics(tmp_path / "run")
    assert [row["queries"] for row in rows] == ["50", "100"]
    assert (tmp_path / "run" / "config.json").exists()
    assert not (tmp_path / "run" / "summary.json").exists(), "the run is not complete"


def test_a_loss_that_is_not_a_number_stops_the_run_and_keeps_its_metrics(tmp_path: Path) -> None:
    settings = corridor_run(learner=FixedValues(bad_loss_at=100))
    # Learning starts at query 4, with a batch of 4.
    with pytest.raises(BadNumberError, match=r"loss was nan at query 103"):
        train(settings, out=tmp_path / "run")
    assert [row["queries"] for row in read_metrics(tmp_path / "run")] == ["50", "100"]


def test_an_evaluation_that_is_not_a_number_stops_the_run(tmp_path: Path) -> None:
    """The evaluation's simulator makes five steps by query 50, and more by query 100."""
    run = Run(corridor_run(corridor=Corridor(length=6), rollout_limit=1))
    run.evaluator.simulator = Corridor(length=6, bad_reward_at=8).make(0)
    rows = run.train()
    assert next(rows)["eval_return_mean"] == 1.0
    with pytest.raises(BadNumberError, match=r"evaluation.* nan at query 100"):
        next(rows)


def test_an_observation_that_is_not_a_number_stops_the_run() -> None:
    corridor = Corridor(length=6, boxed=True, bad_observation_at=33)
    settings = corridor_run(corridor=corridor, access="online")
    run = Run(dataclasses.replace(settings, uncertainty=None))
    with pytest.raises(BadNumberError, match=r"the observation was \[nan\] at query 33"):
        list(run.train())


def test_a_parameter_that_is_not_a_number_stops_the_run_before_it_is_saved(tmp_path: Path) -> None:
    """The loss is fine, and so is the checkpoint of query 60."""
    settings = resolve("deep-sea", uncertainty="counts", overrides={"size": 4, "queries": 100})
    run = Run(settings)
    with RunFolder(tmp_path / "run", settings) as folder, Interruption() as interruption:
        saver = Saver(run, [], folder, interruption, math.inf)

        def pause() -> None:
            if run.queries == 60:
                saver.save()
                leaves, tree = jax.tree.flatten(run.learner)
                leaves[0] = jax.numpy.full_like(leaves[0], math.nan)
                run.agent_runner.learner = jax.tree.unflatten(tree, leaves)
            if run.queries == 61:
                saver.save()

        with pytest.raises(BadNumberError, match="parameter was not finite at query 61"):
            list(run.train(pause))
    assert Checkpoints(tmp_path / "run" / "checkpoint").newest()["run"]["queries"] == 60


# Simulators that raise


@pytest.mark.parametrize("target", ["td", "return"])
def test_a_rollout_that_the_simulator_fails_in_is_dropped_and_the_next_begins_at_the_start(
    target: str,
) -> None:
    corridor = Corridor(length=6, raises=(42, 45))
    settings = corridor_run(corridor=corridor, learner=FixedValues(target=target), p_init=0.0)
    run, rows = finished(settings)
    assert run.counters.dropped_rollouts == 3
    assert run.queries == 200 == len(run.simulator.called("step")) - 3
    # The first rollout, and those after the three failures.
    assert len(run.simulator.called("reset")) == 4
    assert rows[-1]["rollouts"] == run.rollout.rollouts
    if target == "return":
        # A rollout that was dropped has no return: what it had collected is not in the replay.
        assert len(run.replay) < 200


def test_a_simulator_that_keeps_failing_ends_the_run_which_is_saved(tmp_path: Path) -> None:
    settings = corridor_run(corridor=Corridor(length=6, raises=(123, 10**6)))
    with pytest.raises(SimulatorFailedError, match=r"11 rollouts in a row.*query 123.*stalled"):
        train(settings, out=tmp_path / "run")
    saved = Checkpoints(tmp_path / "run" / "checkpoint").newest()
    assert saved["run"]["queries"] == 123
    # The engine is repaired: a new one makes 123 steps before it fails.
    again = train(settings, out=tmp_path / "run", resume=True)
    assert again.summary["queries"] == 200
    assert again.summary["dropped_rollouts"] == 11
    assert [row["queries"] for row in read_metrics(tmp_path / "run")] == ["50", "100", "150", "200"]


def test_a_simulator_that_fails_in_an_evaluation_ends_the_run_with_its_own_words() -> None:
    run = Run(corridor_run(corridor=Corridor(length=6)))
    run.evaluator.simulator = Corridor(length=6, raises=(3, 10**6)).make(0)
    with pytest.raises(RunError, match=r"failed in 11 episodes of an evaluation.*stalled"):
        next(run.train())


# Records


def test_a_run_stops_at_the_return_asked_for_or_when_the_callback_says_so() -> None:
    result = train(corridor_run(), stop_at_return=0.5)
    assert result.summary["queries"] == 50
    assert result.summary["queries_to_target"] == 50
    assert train(corridor_run(), stop_at_return=1.5).summary["queries"] == 200
    seen: list[int] = []

    def callback(row: dict[str, Any]) -> bool:
        seen.append(row["queries"])
        return row["queries"] >= 100

    assert train(corridor_run(), callback=callback).summary["queries"] == 100
    assert seen == [50, 100]


def test_the_summary_says_when_the_target_was_first_reached() -> None:
    returns = iter([0.0, 0.95, 0.2, 0.97])
    settings = corridor_run()
    run = Run(settings)
    rows = [{**row, "eval_return_mean": next(returns)} for row in run.train()]
    summary = summarize(settings, rows, 2.0, None)
    assert summary["queries_to_target"] == 100
    assert (summary["final_return"], summary["best_return"]) == (0.97, 0.97)
    assert (summary["queries"], summary["queries_per_second"]) == (200, 100.0)
    unreached = settings.changed(target_return=2)
    assert summarize(unreached, rows, 2.0, None)["queries_to_target"] is None


def test_a_result_holds_what_the_folder_does(tmp_path: Path) -> None:
    result = train(corridor_run(), out=tmp_path / "run")
    rows = read_metrics(tmp_path / "run")
    assert list(rows[0]) == COLUMNS == list(result.metrics)
    for column in COLUMNS:
        expected = [float(row[column]) for row in rows]
        np.testing.assert_array_equal(result.metrics[column], expected)
    assert json.loads((tmp_path / "run" / "summary.json").read_text()) == result.summary
    # A corridor offers no picture of where it has been, so there is no record of that.
    events, *others = sorted(
        (tmp_path / "run").iterdir(), key=lambda path: "tfevents" not in path.name
    )
    assert "tfevents" in events.name
    assert {path.name for path in others} == {
        "agent.state",
        "config.json",
        "metrics.csv",
        "summary.json",
    }
    assert list(result.to_dataframe().columns) == COLUMNS


def test_parts_that_do_not_fit_leave_no_folder(tmp_path: Path) -> None:
    """Only once the simulator is there does it show that one-hot features have nothing to mark."""
    settings = dataclasses.replace(
        corridor_run(corridor=Corridor(boxed=True)), uncertainty=Covariance(feature_kind="one-hot")
    )
    with pytest.raises(UsageError, match="discrete"):
        train(settings, out=tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


def test_training_from_python_writes_nothing_unless_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = uflp.train("deep-sea", size=3, queries=20, hidden=(4,), feature_size=5)
    assert result.run_dir is None
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(UsageError, match="did you mean 'size'"):
        uflp.train("deep-sea", sise=3)
