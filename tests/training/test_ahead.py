"""Queries that are worked out beforehand are the queries that would have been made."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

from uflp.experiments.resolve import resolve
from uflp.simulators.deep_sea import DeepSeaSimulator
from uflp.training.ahead import LearningAhead, OutcomeError
from uflp.training.run import Run
from uflp.types import Outcomes, Transition


def run_of(at_once: int, **values: Any) -> Run:
    values = {"size": 12, "queries": 2500, "queries_at_once": at_once, **values}
    agent, access = values.pop("agent", "ddqn"), values.pop("access", "local")
    return Run(resolve("deep-sea", agent=agent, access=access, overrides=values))


def followed(run: Run) -> tuple[list[Transition], list[int | None], list[dict[str, Any]]]:
    """Returns the transitions of a run, the entries that it restarted from, and its rows."""
    transitions: list[Transition] = []
    starts: list[int | None] = []
    step, begin = run.rollout.step, run.rollout.begin

    def stepped(query: int) -> Transition:
        transitions.append(step(query))
        return transitions[-1]

    def begun(start: Any) -> None:
        starts.append(start.entry)
        begin(start)

    run.rollout.step, run.rollout.begin = stepped, begun  # type: ignore[method-assign]
    return transitions, starts, list(run.train())


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"epsilon": 0.2},
        {"agent": "dist-ddqn", "size": 8, "queries": 1500},
        # An evaluation in mid-rollout, and a replay that is overwritten and hands out its newest.
        {"eval_period": 130, "recent_fraction": 0.1, "replay_size": 300},
        {"rollout_limit": 9, "restart_limit": 3, "p_init": 0.3},
        {"access": "online", "epsilon": 0.5, "reward_clip": 0.0005, "discount": 0.0},
    ],
)
def test_both_make_the_same_choices_and_learn_the_same(values: dict[str, Any]) -> None:
    one, ahead = run_of(1, **values), run_of(16, **values)
    assert type(one.learning) is not type(ahead.learning) is LearningAhead
    *expected, rows = followed(one)
    *found, rows_found = followed(ahead)
    for first, second in zip(expected, found, strict=True):
        assert len(first) > 100
        assert first == second
    for row, found_row in zip(rows, rows_found, strict=True):
        for name in row.keys() - {"wall_seconds"}:
            np.testing.assert_allclose(row[name], found_row[name], rtol=1e-4, err_msg=name)
    for first, second in zip(
        jax.tree.leaves(one.learner), jax.tree.leaves(ahead.learner), strict=True
    ):
        np.testing.assert_allclose(first, second, rtol=1e-5, atol=1e-7)


def test_few_calls_work_many_queries_out() -> None:
    run = run_of(16)
    assert isinstance(run.learning, LearningAhead)
    calls = []
    work_out = run.learning._work_out

    def counted(*arguments: Any) -> Any:
        calls.append(run.queries)
        return work_out(*arguments)

    run.learning._work_out = counted
    list(run.train())
    # A call ends with a rollout or after 16 queries, and a rollout has 12 at most.
    assert len(calls) <= run.rollout.rollouts < 700 < run.sgd_steps


@pytest.mark.parametrize(
    ("agent", "values"),
    [
        ("ddqn", {"queries_at_once": 1}),
        ("ddqn", {"stochastic": True}),
        ("ddqn", {"n_step": 2}),
        ("ddqn", {"sgd_period": 2}),
        ("ddqn", {"samples_per_insert": 64.0}),
        ("ddqn", {"repeat_probability": 0.5}),
        ("ddqn", {"rule": "td-error"}),
        ("ddqn-bonus", {}),
        ("ddqn-intrinsic", {}),
        ("boot-ddqn", {}),
        ("pi", {}),
    ],
)
def test_what_other_things_decide_is_not_worked_out_beforehand(
    agent: str, values: dict[str, Any]
) -> None:
    values = {"size": 4, "hidden": (8,), **values}
    run = Run(resolve("deep-sea", agent=agent, overrides=values))
    assert not isinstance(run.learning, LearningAhead)


def test_a_simulator_that_does_not_do_what_it_said_stops_the_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    listed = DeepSeaSimulator.outcomes

    def wrong(self: DeepSeaSimulator) -> Outcomes:
        outcomes = listed(self)
        assert outcomes is not None
        return outcomes._replace(next_observation=outcomes.next_observation[:, ::-1])

    monkeypatch.setattr(DeepSeaSimulator, "outcomes", wrong)
    with pytest.raises(OutcomeError, match="at query 128 than its outcomes"):
        list(run_of(16).train())


def test_a_pause_finds_the_learner_where_the_queries_are() -> None:
    """A checkpoint of a learner that is ahead would be one of no run at all."""
    run = run_of(16, queries=600)
    steps = []
    for _ in run.train(lambda: steps.append((run.queries, run.sgd_steps, run.learner.clock[0]))):
        pass
    for queries, counted, taken in steps:
        assert counted == taken == max(0, queries - 127)
    assert 128 < len(steps) < 300
