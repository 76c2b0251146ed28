"""Restart rules besides the paper's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from probes import Corridor, FixedValues, corridor_run, no_predict
from test_search import LIMIT, chi_square

import uflp
from uflp.experiments.resolve import resolve
from uflp.planning import RULES, Sources, Start
from uflp.planning.history import History
from uflp.planning.rules.base import weighted
from uflp.planning.rules.td_error import TDError
from uflp.planning.rules.uncertainty import UncertaintyFirst
from uflp.spaces import RealActions
from uflp.training.run import Run
from uflp.training.settings import RunSettings
from uflp.types import RunError, Snapshot, Transition, UsageError
from uflp.uncertainty.counts import Counts
from uflp.uncertainty.covariance import Covariance

ACTIONS = 2


class World:
    """A history of states that are their own keys, and a rule that is told of them."""

    def __init__(
        self,
        rule: Any,
        *,
        batch: int | None = None,
        entries: int | None = None,
        td_error: Callable[[Transition], float] | None = lambda step: step.reward,
    ):
        space = gymnasium.spaces.Discrete(5000)
        self.counts: Any = Counts().make(space, ACTIONS, seed=0)
        self.history = History("probe", width=4, entries=entries)
        self.sources = Sources(
            history=self.history,
            actions=ACTIONS,
            batch=batch,
            kind="state",
            uncertainty=self.counts,
            predict=no_predict,
            td_error=td_error,
        )
        self.settings = RULES[rule]() if isinstance(rule, str) else rule
        self.rule = self.settings.make(self.sources)

    def add(self, state: int, screen_score: float = 0.0) -> int:
        entry = self.history.add(Snapshot("probe", b"1234", screen_score), state)
        self.rule.added(entry, state)
        return entry

    def choices(self, times: int = 4000) -> list[Start]:
        rng = np.random.default_rng(0)
        return [self.rule.choose(rng) for _ in range(times)]


def shares(starts: list[Start], entries: int) -> np.ndarray:
    return np.bincount([start.entry for start in starts], minlength=entries) / len(starts)


def close_to(expected: Any, times: int = 4000) -> Any:
    return pytest.approx(np.asarray(expected), abs=5 * np.sqrt(0.25 / times))


@pytest.mark.parametrize("rule", ["uniform", "return", "td-error", "go-explore"])
@pytest.mark.parametrize("batch", [None, 3])
def test_a0_is_any_action_and_only_live_entries_are_chosen(rule: str, batch: int | None) -> None:
    world = World(rule, batch=batch, entries=4)
    for state in range(10):
        world.add(state)
    starts = world.choices()
    assert {start.entry for start in starts} == {6, 7, 8, 9}
    actions = [start.action for start in starts]
    assert chi_square(np.bincount(actions, minlength=ACTIONS)) < LIMIT[1]


@pytest.mark.parametrize("batch", [None, 50])
def test_uniform_draws_entries_alike_whatever_the_batch(batch: int | None) -> None:
    world = World("uniform", batch=batch)
    for state in (7, 7, 1):
        world.add(state, screen_score=float(state))
    assert shares(world.choices(), 3) == close_to([1 / 3] * 3)


def test_return_takes_any_state_of_the_best_episode() -> None:
    world = World("return")
    for episode, score in enumerate([1.0, 3.0, 2.0]):
        entries = [world.add(10 * episode + step) for step in range(4)]
        world.rule.ended(np.array(entries), score)
    assert shares(world.choices(), 12) == close_to([0] * 4 + [1 / 4] * 4 + [0] * 4)


def test_return_of_an_episode_under_way_is_the_score_so_far() -> None:
    world = World("return")
    world.rule.ended(np.array([world.add(0, screen_score=5.0)]), 1.0)
    world.add(1, screen_score=2.0)
    assert shares(world.choices(), 2).tolist() == [0, 1]


def test_return_takes_the_best_of_a_batch() -> None:
    """Of two candidates, the worse of two entries is taken when it is drawn twice."""
    world = World("return", batch=2)
    world.add(0, screen_score=-2.0)
    world.add(1, screen_score=-1.0)
    assert shares(world.choices(), 2) == close_to([1 / 4, 3 / 4])


def step(error: float) -> Transition:
    return Transition(0, 0, error, 0, False, False)


def test_td_error_draws_by_the_size_of_the_error() -> None:
    """Errors of 1 and -16 have weights 1 and 4 at an exponent of one half."""
    rule = RULES["td-error"](priority_exponent=0.5)
    chosen = []
    for seed in range(4000):
        world = World(rule)
        for error in (1.0, -16.0):
            world.rule.left(world.add(0), step(error))
        chosen.append(world.rule.choose(np.random.default_rng(seed)))
    assert shares(chosen, 2) == close_to([1 / 5, 4 / 5])


def test_td_error_expects_the_most_of_what_is_new() -> None:
    """A new entry counts as much as the highest error so far: half of all choices go there."""
    rule = RULES["td-error"](priority_exponent=1.0)
    chosen = []
    for seed in range(4000):
        world = World(rule)
        world.rule.left(world.add(0), step(8.0))
        world.add(1)
        chosen.append(world.rule.choose(np.random.default_rng(seed)))
    assert shares(chosen, 2) == close_to([1 / 2, 1 / 2])


def test_td_error_leaves_a_restarted_entry_to_its_copy() -> None:
    """However large its error was: it is not gone back to for ever."""
    world = World("td-error")
    world.rule.left(world.add(0), step(1e6))
    world.rule.left(world.add(1), step(1e-3))
    rng = np.random.default_rng(0)
    assert world.rule.choose(rng).entry == 0
    copy = world.add(0)
    world.rule.left(copy, step(1e-3))
    later = [world.rule.choose(rng).entry for _ in range(2)]
    assert 0 not in later


def test_go_explore_weighs_cells_by_their_visits() -> None:
    """Cells with 0, 3 and 8 visits have weights 1, 1/2 and 1/3, however many entries they have."""
    world = World("go-explore")
    for state, visits in [(0, 0), (1, 3), (2, 8)]:
        for _ in range(1 + visits):
            world.add(state)
        for visit in range(visits):
            world.counts.observe(state, visit % ACTIONS)
    states = world.history.keys(np.array([start.entry for start in world.choices()]))
    assert np.bincount(states) / len(states) == close_to(np.array([6, 3, 2]) / 11)


def test_go_explore_draws_cells_of_a_batch_uniformly_first() -> None:
    world = World("go-explore", batch=1)
    world.add(0)
    world.add(4000)
    for _ in range(8):
        world.counts.observe(0, 0)
    assert shares(world.choices(), 2) == close_to([1 / 2, 1 / 2])


def test_go_explore_restores_the_best_entry_of_a_cell_while_it_is_there() -> None:
    world = World("go-explore", entries=4)
    for score in (1.0, 3.0, 3.0, 2.0):
        world.add(0, score)
    assert {start.entry for start in world.choices(50)} == {2}
    for _ in range(2):  # evicts entries 0 and 1
        world.add(1)
    assert {start.entry for start in world.choices(50)} == {2, 5}
    world.add(1)
    assert {start.entry for start in world.choices(50)} == {3, 6}
    world.add(0, 1.0)
    assert {start.entry for start in world.choices(50)} == {6, 7}


@pytest.mark.parametrize("rule", list(RULES))
def test_what_a_rule_keeps_can_be_saved_also_when_the_history_has_grown(rule: str) -> None:
    worlds = [World(rule, batch=8, entries=3000) for _ in range(2)]
    rng = np.random.default_rng(1)
    for world in worlds:
        rng = np.random.default_rng(1)
        for number in range(4000):
            entry = world.add(int(rng.integers(5000)), float(rng.integers(5)))
            world.rule.left(entry, step(float(rng.normal())))
            world.rule.ended(np.array([entry]), float(number % 7))
    again = worlds[1].settings.make(worlds[1].sources)
    again.load(worlds[0].rule.state())
    draws = [np.random.default_rng(2), np.random.default_rng(2)]
    for _ in range(200):
        assert worlds[0].rule.choose(draws[0]) == again.choose(draws[1])


# In a run


def rewarded_run(rule: str, **more: Any) -> RunSettings:
    """Returns a run whose every step is rewarded, by two members of an ensemble."""
    return corridor_run(
        rule=rule,
        corridor=Corridor(length=6, step_reward=0.25),
        learner=FixedValues(members=((0.0, 1.0), (0.0, 2.0))),
        **{"queries": 300, "eval_period": 300, "p_init": 0.5, **more},
    )


@pytest.mark.parametrize("period", [1, 2])
def test_a_rollout_tells_which_entries_it_added_and_its_score(period: int) -> None:
    run = Run(rewarded_run("return", checkpoint_period=period, p_init=1.0))
    told: list[Any] = []
    run.rule.ended = lambda entries, score: told.append((entries.tolist(), score))
    list(run.train())
    each = {1: [0, 1, 2, 3, 4], 2: [0, 2, 4]}[period]
    assert run.history.keys(run.history.live()).tolist() == [0] * len(run.history)
    size = len(each)
    assert told[:3] == [(list(range(n * size, (n + 1) * size)), 2.0) for n in range(3)]


@pytest.mark.parametrize(("period", "left"), [(1, [0, 1, 2, 3, 4]), (2, [0, 2, 4])])
def test_a_rollout_tells_what_happened_in_each_entry(period: int, left: list[int]) -> None:
    run = Run(rewarded_run("return", checkpoint_period=period, p_init=1.0))
    told: list[Any] = []
    run.rule.left = lambda entry, transition: told.append((entry, transition.observation))
    list(run.train())
    assert told[: 2 * len(left)] == list(enumerate([*left, *left]))


def test_entries_that_a_rollout_has_outlived_are_not_told_of() -> None:
    run = Run(rewarded_run("return", history_size=3, p_init=1.0))
    told: list[Any] = []
    run.rule.ended = lambda entries, score: told.append(entries.tolist())
    list(run.train())
    assert told[:2] == [[2, 3, 4], [7, 8, 9]]


def test_the_td_error_of_a_run() -> None:
    """The members' mean is (0, 1.5) and γ is 0.9: errors of 0.25 + 1.35 − 1.5, and of 1 − 1.5."""
    run = Run(rewarded_run("td-error", discount=0.9, p_init=1.0))
    list(run.train())
    errors = run.rule.state()["numbers"]
    assert errors[:5] == pytest.approx([0.1, 0.1, 0.1, 0.1, 0.5], abs=1e-5)


def test_the_td_error_clips_rewards_as_learning_does() -> None:
    run = Run(rewarded_run("td-error", discount=0.9, p_init=1.0, reward_clip=0.2))
    list(run.train())
    assert run.rule.state()["numbers"][:5] == pytest.approx([0.05] * 4 + [1.3], abs=1e-5)


def test_a_rule_that_needs_no_uncertainty_has_none() -> None:
    for rule in ("uniform", "return", "td-error"):
        settings = resolve("deep-sea", overrides={"rule": rule})
        assert settings.uncertainty is settings.uncertainty_name is None
        assert settings.values()["rule"] == rule
    kept = resolve("deep-sea", uncertainty="counts", overrides={"rule": "uniform"})
    assert kept.uncertainty_name == "counts"
    bonus = resolve("deep-sea", agent="ddqn-bonus", overrides={"rule": "uniform"})
    assert bonus.uncertainty_name == "covariance"


def test_go_explore_goes_by_counts() -> None:
    assert resolve("deep-sea", overrides={"rule": "go-explore"}).uncertainty_name == "counts"
    with pytest.raises(UsageError, match="go-explore needs counts as uncertainty, not covariance"):
        resolve("deep-sea", uncertainty="covariance", overrides={"rule": "go-explore"})


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(UsageError, match="unknown rule 'unifrom': did you mean 'uniform'"):
        resolve("deep-sea", overrides={"rule": "unifrom"})
    with pytest.raises(UsageError, match="online access never restarts"):
        resolve("deep-sea", access="online", overrides={"rule": "uniform"})
    with pytest.raises(UsageError, match="unknown key 'priority_exponent'"):
        resolve("deep-sea", overrides={"rule": "uniform", "priority_exponent": 1})
    with pytest.raises(UsageError, match="priority_exponent must not be negative"):
        resolve("deep-sea", overrides={"rule": "td-error", "priority_exponent": -1})
    with pytest.raises(UsageError, match="td-error goes by the action values"):
        uflp.train("deep-sea", agent="random", rule="td-error", size=4, queries=10)


def test_a_rule_changes_where_restarts_go() -> None:
    """In a corridor that pays for every step, the best episodes are those that went on longest."""
    starts = {}
    for rule in ("uniform", "return"):
        run = Run(rewarded_run(rule, batch=20, rollout_limit=3))
        list(run.train())
        starts[rule] = np.mean(run.simulator.called("restore"))
    assert starts["return"] > starts["uniform"]


def test_an_exponent_of_0_draws_all_states_alike() -> None:
    errors = iter([1.0, 9.0, 99.0])
    made = World(TDError(priority_exponent=0.0), td_error=lambda transition: next(errors))
    for state in range(3):
        entry = made.add(state)
        made.rule.left(entry, Transition(state, 0, 0.0, state, False, False))
    assert shares(made.choices(), 3) == close_to([1 / 3] * 3)


def test_weights_that_cannot_be_drawn_by_stop_the_run() -> None:
    for weights in ([0.0, 0.0], [1.0, np.inf], [1.0, np.nan]):
        with pytest.raises(RunError, match="weights of saved states add up to"):
            weighted(np.array(weights), np.random.default_rng(0))


@pytest.mark.parametrize("rule", ["uniform", "return"])
def test_a_wrapper_whose_rule_needs_no_uncertainty_has_none(rule: str) -> None:
    with uflp.LocalAccess("CartPole-v1", rule=rule, check=False) as env:
        assert env.planner.uncertainty is None
    with uflp.LocalAccess("CartPole-v1", rule="go-explore", check=False) as env:
        assert env.planner.uncertainty is not None


def test_pairs_of_real_valued_actions_need_an_uncertainty_of_pairs() -> None:
    space, actions = gymnasium.spaces.Box(-1, 1, (2,)), RealActions((1,), (-1.0,), (1.0,))

    def rule(uncertainty: Any, **changes: Any) -> UncertaintyFirst:
        options: dict[str, Any] = {"actions": actions, "batch": 8, "kind": "pair"}
        made = uncertainty.make(space, options["actions"], 0)
        return UncertaintyFirst(History("probe", width=4), made, no_predict, **options | changes)

    rule(Covariance(feature_size=4))
    rule(Counts(), kind="state")
    with pytest.raises(UsageError, match="scores states alone where actions are real-valued"):
        rule(Counts())
    with pytest.raises(UsageError, match="give batch a number"):
        rule(Covariance(feature_size=4), batch=None)


def test_go_explore_puts_the_first_entry_of_a_cell_into_the_archive_whatever_its_score() -> None:
    world = World("go-explore")
    for state, score in ((0, 0.0), (1, 9.0), (2, 0.0), (2, -1.0)):
        world.add(state, score)
    assert {start.entry for start in world.choices(200)} == {0, 1, 2}
