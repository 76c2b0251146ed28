"""Algorithm 1, in a corridor that writes down what is asked of it."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from probes import Corridor, CorridorSimulator, no_predict

from uflp.planning import Actor, EveryKth, LocalPlanner, PolicyActor, Rollout, Rule, Start
from uflp.planning.history import History
from uflp.planning.rules.uncertainty import UncertaintyFirst
from uflp.randomness import Randomness
from uflp.spaces import RealActions
from uflp.types import Transition
from uflp.uncertainty.counts import Counts

REAL = RealActions((1,), (-2.0,), (2.0,))


def no_values(observation: Any, query: int) -> np.ndarray:
    raise AssertionError("the policy was not to be asked")


class Collection:
    """A corridor with all that collects from it; the agent goes right unless told otherwise."""

    def __init__(
        self,
        corridor: Corridor,
        *,
        members: tuple[tuple[float, ...], ...] = ((0.0, 1.0),),
        local: bool = True,
        acting: dict[str, Any] | None = None,
        rule: Rule | None = None,
        **options: Any,
    ):
        self.simulator: CorridorSimulator = corridor.make(0)
        self.uncertainty = Counts(regularization=0.25).make(
            self.simulator.observation_space, corridor.actions, seed=0
        )
        self.history = History("corridor/1", width=12)
        table = np.array(members)
        actor = Actor(
            lambda observation, query: table,
            no_predict,
            self.uncertainty,
            Randomness(0),
            actions=corridor.actions,
            members=len(members),
            **(acting or {}),
        )
        paper = UncertaintyFirst(
            self.history,
            self.uncertainty,
            no_predict,
            actions=corridor.actions,
            batch=None,
            kind="pair",
        )
        self.planner = LocalPlanner(
            history=self.history if local else None,
            uncertainty=self.uncertainty,
            rule=(rule or paper) if local else None,
            p_init=0.0,
            predict=no_predict,
            **options,
        )
        self.rollout = Rollout(self.simulator, actor, self.planner, Randomness(0))

    def collect(self, entry: int | None = None, action: int | None = None) -> list[Transition]:
        """Returns the transitions of a rollout that begins at an entry with a0."""
        snapshot = None if entry is None else self.history.fetch(entry)
        self.rollout.begin(Start(entry, action, snapshot))
        transitions = []
        while not self.rollout.over:
            transition = self.rollout.step()
            assert transition is not None
            transitions.append(transition)
        return transitions

    def states(self) -> list[int]:
        return list(self.history.keys(self.history.live()))


def test_a_rollout_from_the_beginning_saves_every_state_but_the_terminal_one() -> None:
    collection = Collection(Corridor(length=5))
    transitions = collection.collect()
    assert [tuple(transition) for transition in transitions] == [
        (0, 1, 0.0, 1, False, False, 0.0, None),
        (1, 1, 0.0, 2, False, False, 0.0, None),
        (2, 1, 0.0, 3, False, False, 0.0, None),
        (3, 1, 1.0, 4, True, False, 0.0, None),
    ]
    assert collection.states() == [0, 1, 2, 3]
    assert collection.simulator.called("restore") == []
    assert (collection.rollout.rollouts, collection.rollout.restarts) == (1, 0)


def test_a_restart_adds_s0_and_takes_a0_before_the_agent_acts() -> None:
    collection = Collection(Corridor(length=5, actions=3))
    collection.collect()
    collection.simulator.calls.clear()
    transitions = collection.collect(entry=2, action=0)
    assert collection.simulator.calls[:3] == [("restore", 2), ("save", 2), ("step", 2, 0)]
    assert [(step.observation, step.action) for step in transitions] == [(2, 0), (2, 1), (3, 1)]
    assert collection.states() == [0, 1, 2, 3, 2, 2, 3]
    assert collection.rollout.restarts == 1
    # a0's transition is data like any other.
    assert collection.uncertainty.visits[2].tolist() == [1, 2, 0]


def test_every_snapshot_restores_to_the_state_it_stands_for() -> None:
    collection = Collection(Corridor(length=6))
    collection.collect()
    for entry, state in enumerate(collection.states()):
        assert collection.simulator.restore(collection.history.fetch(entry))[0] == state


@pytest.mark.parametrize(
    ("period", "first", "second"),
    [(1, [0, 1, 2, 3, 4, 5], [3, 4, 5]), (2, [0, 2, 4], [2, 4]), (3, [0, 3], [3]), (9, [0], [0])],
)
def test_the_checkpoint_period_is_counted_anew_in_each_rollout(
    period: int, first: list[int], second: list[int]
) -> None:
    collection = Collection(Corridor(length=7), schedule=EveryKth(period))
    collection.collect()
    assert collection.states() == first
    collection.collect(first.index(second[0]), 1)
    assert collection.states() == first + second


def test_a_rollout_limit_truncates_and_does_not_terminate() -> None:
    collection = Collection(Corridor(length=9), rollout_limit=3)
    transitions = collection.collect()
    assert [(step.terminated, step.truncated) for step in transitions] == [
        (False, False),
        (False, False),
        (False, True),
    ]
    assert transitions[-1].next_observation == 3
    # Counted anew in the next one, which begins where it is told to. The last state is saved: it is
    # not the end of the task, and one can go on from there.
    assert len(collection.collect(2, 1)) == 3
    assert collection.states() == [0, 1, 2, 3, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("corridor", "limit", "period", "saved"),
    [
        (Corridor(length=9), 3, 1, [0, 1, 2, 3]),
        (Corridor(length=9), 3, 2, [0, 2]),
        (Corridor(length=9), 4, 2, [0, 2, 4]),
        (Corridor(length=4), 3, 1, [0, 1, 2]),
        (Corridor(length=9, cap=3), 3, 1, [0, 1, 2]),
    ],
)
def test_the_rule_is_told_which_entries_a_rollout_added(
    corridor: Corridor, limit: int, period: int, saved: list[int]
) -> None:
    told: list[Any] = []

    class Told(Rule):
        def ended(self, entries: np.ndarray, screen_score: float) -> None:
            told.append(entries)

    collection = Collection(corridor, rule=Told(), rollout_limit=limit, schedule=EveryKth(period))
    for _ in range(2):
        collection.collect()
    assert collection.states() == 2 * saved
    both = np.arange(2 * len(saved)).reshape(2, -1)
    assert [entries.tolist() for entries in told] == both.tolist()


def test_a_restart_limit_truncates_restarts_alone() -> None:
    collection = Collection(Corridor(length=9), restart_limit=3)
    assert len(collection.collect()) == 8
    restarted = collection.collect(2, 1)
    assert [(step.terminated, step.truncated) for step in restarted] == [
        (False, False),
        (False, False),
        (False, True),
    ]
    assert restarted[-1].next_observation == 5
    assert len(collection.collect()) == 8


@pytest.mark.parametrize(("limit", "restart_limit"), [(3, 5), (5, 3)])
def test_of_two_limits_a_restart_ends_at_the_sooner(limit: int, restart_limit: int) -> None:
    collection = Collection(Corridor(length=9), rollout_limit=limit, restart_limit=restart_limit)
    assert len(collection.collect()) == limit
    assert len(collection.collect(0, 1)) == 3


def test_the_end_of_the_task_at_the_limit_terminates() -> None:
    transitions = Collection(Corridor(length=4), rollout_limit=3).collect()
    assert [(step.terminated, step.truncated) for step in transitions][-1] == (True, False)


def test_a_simulator_that_truncates_is_believed() -> None:
    transitions = Collection(Corridor(length=9, cap=2)).collect()
    assert [(step.terminated, step.truncated) for step in transitions] == [
        (False, False),
        (False, True),
    ]


def test_intrinsic_rewards_are_computed_before_the_visit_is_counted() -> None:
    collection = Collection(Corridor(length=3), intrinsic_scale=2.0)
    first, second = collection.collect(), collection.collect()
    # Eq. 5 and 10: 2 (n + 1/4)^(-1/2), with n = 0 and then n = 1.
    assert [step.intrinsic for step in first] == [4.0, 4.0]
    np.testing.assert_allclose([step.intrinsic for step in second], 2 / np.sqrt(1.25))
    assert [step.reward for step in first] == [0.0, 1.0]


def test_a_bonus_leads_away_from_what_was_done_before() -> None:
    """Eq. 4: Q = (0, 1) and c = 1; a bonus of 2 for action 0 against (n + 1/4)^(-1/2)."""
    collection = Collection(Corridor(length=3), acting={"bonus_scale": 1.0})
    transitions = collection.collect()
    # State 0: 0 + 2 < 1 + 2 goes right; state 1 the same. Next time 2 > 1 + 0.89 stays first.
    assert [(step.observation, step.action) for step in transitions] == [(0, 1), (1, 1)]
    again = collection.collect()
    assert [(step.observation, step.action) for step in again] == [(0, 0), (0, 1), (1, 0), (1, 1)]


def test_one_ensemble_member_acts_throughout_a_rollout() -> None:
    collection = Collection(Corridor(length=40), members=((1.0, 0.0), (0.0, 1.0)), rollout_limit=10)
    actions = [{step.action for step in collection.collect()} for _ in range(60)]
    assert all(len(chosen) == 1 for chosen in actions)
    members = [chosen.pop() for chosen in actions]
    # Both members, each about half of the time and not in turns.
    assert 15 < sum(members) < 45
    assert 15 < sum(a != b for a, b in itertools.pairwise(members)) < 45


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0])
def test_epsilon_is_the_probability_of_a_random_action(epsilon: float) -> None:
    collection = Collection(
        Corridor(length=9, actions=4), acting={"epsilon": epsilon}, rollout_limit=5
    )
    actions: list[int] = []
    while len(actions) < 4000:
        actions += [step.action for step in collection.collect()]
    shares = np.bincount(actions, minlength=4) / len(actions)
    expected = np.full(4, epsilon / 4)
    expected[1] += 1 - epsilon
    np.testing.assert_allclose(shares, expected, atol=0.035)


def test_without_a_history_nothing_is_saved() -> None:
    collection = Collection(Corridor(length=5), local=False)
    assert len(collection.collect()) == 4
    assert collection.simulator.called("save") == []
    assert len(collection.history) == 0
    assert collection.uncertainty.visits.sum() == 4


@pytest.mark.parametrize("kept", [{"given": [0]}, {"action": 0}])
def test_a_rollout_that_was_saved_before_a0_takes_it(kept: dict[str, Any]) -> None:
    # Version 0.1.0 kept a0 as "action", later ones every action that is not left to the agent.
    before, after = Collection(Corridor(length=6)), Collection(Corridor(length=6))
    before.rollout.begin(Start(None, 0, None))
    state = before.rollout.state()
    del state["given"]
    after.planner.load(before.planner.state())
    after.rollout.load({**state, **kept})
    actions = [after.rollout.step() for _ in range(2)]
    assert [step.action for step in actions if step is not None] == [0, 1]


def test_a_random_action_that_repeats_is_the_first_of_its_rollout() -> None:
    acting = {"epsilon": 1.0, "repeat_probability": 1.0}
    collection = Collection(Corridor(length=9, actions=4), acting=acting, rollout_limit=20)
    rollouts = [{step.action for step in collection.collect()} for _ in range(30)]
    assert all(len(actions) == 1 for actions in rollouts)
    assert set.union(*rollouts) == {0, 1, 2, 3}


def test_a_uniform_action_that_repeats_is_the_first_of_its_rollout() -> None:
    def drawn(repeat_probability: float) -> list[np.ndarray]:
        actor = PolicyActor(
            no_values,
            no_predict,
            None,
            Randomness(0),
            actions=REAL,
            has_learned=lambda: False,
            repeat_probability=repeat_probability,
        )
        actor.begin_rollout(np.random.default_rng(0))
        return [actor.act(0, 0, query) for query in range(20)]

    assert len({action.tobytes() for action in drawn(1.0)}) == 1
    assert len({action.tobytes() for action in drawn(0.0)}) == 20
    assert 1 < len({action.tobytes() for action in drawn(0.7)}) < 15


def test_a_policy_acts_without_chance_or_bonus_unless_asked() -> None:
    """A deviation of e⁻²⁰ leaves the mean, and tanh(0.5) = 0.4621 of the way to the bound."""
    distribution = np.array([[0.5], [-20.0]], np.float32)
    actor = PolicyActor(
        lambda observation, query: distribution,
        no_predict,
        None,
        Randomness(0),
        actions=REAL,
        has_learned=lambda: True,
    )
    actions = [actor.act(0, 0, query) for query in range(50)]
    np.testing.assert_allclose(actions, np.full((50, 1), 2 * 0.46211717), rtol=1e-5)
