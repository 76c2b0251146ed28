"""The planner by hand: when rollouts restart, what is saved, and what the rule is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from probes import no_predict

from uflp.planning import (
    ByNovelty,
    EveryKth,
    History,
    LocalPlanner,
    Observer,
    Observers,
    Rule,
    SaveSchedule,
    Start,
)
from uflp.state import StateError
from uflp.training.old_checkpoints import with_planner
from uflp.training.settings import PlanningSettings
from uflp.types import RunError, Snapshot, Transition
from uflp.uncertainty.counts import Counts


class Diary(Rule):
    """Writes down what it is told, and chooses what it is given."""

    def __init__(self, choice: Start | None = None):
        self.choice = choice or Start(0, 1)
        self.told: list[Any] = []

    def added(self, entry: int, key: Any) -> None:
        self.told.append(("added", entry))

    def left(self, entry: int, transition: Transition) -> None:
        self.told.append(("left", entry, transition.observation))

    def ended(self, entries: np.ndarray, screen_score: float) -> None:
        self.told.append(("ended", entries.tolist(), screen_score))

    def choose(self, rng: np.random.Generator) -> Start:
        return self.choice


class Elsewhere:
    """A history of which only another process knows the numbers of what is added."""

    oldest = 0

    def __init__(self) -> None:
        self.added = 0

    def is_empty(self) -> bool:
        return False

    def add(self, snapshot: Snapshot, key: Any, mask: Any) -> None:
        self.added += 1

    def fetch(self, entry: int) -> Snapshot | None:
        return snapshot()

    def state(self) -> dict[str, Any]:
        return {}

    def load(self, state: dict[str, Any]) -> None:
        pass


def snapshot() -> Snapshot:
    return Snapshot("line", b"1234", 0.0)


def planner(rule: Rule | None = None, **options: Any) -> LocalPlanner:
    parts = {"history": History("line", width=4), "uncertainty": None, "rule": rule or Diary()}
    return LocalPlanner(**{**parts, "p_init": 0.0, **options})


def walk(planner: LocalPlanner, steps: int, start: Start | None = None, ends: bool = True) -> int:
    """Walks along a line from 0, until a limit or the last step; returns how far it came."""
    planner.began(start or Start(), 0, None, snapshot)
    for place in range(steps):
        planner.visited(0)
        final = ends and place == steps - 1
        over = final or planner.at_limit
        step = Transition(place, 0, 0.0, place + 1, final, over and not final)
        planner.reached(step, snapshot, final=final)
        if over:
            planner.ended(7.0)
            return place + 1
    return steps


def saved_after(planner: LocalPlanner, steps: int) -> list[int]:
    """Returns after how many queries of a rollout that goes on a state is saved."""
    after = []
    planner.began(Start(), 0, None, lambda: after.append(0) or snapshot())
    for place in range(steps):
        planner.visited(0)
        step = Transition(place, 0, 0.0, place + 1, False, False)
        save = lambda: after.append(planner.length) or snapshot()  # noqa: E731
        planner.reached(step, save, final=False)
    return after


def test_an_empty_history_means_the_initial_states_and_draws_nothing() -> None:
    rng = np.random.default_rng(0)
    assert planner().start(rng) == Start()
    assert rng.random() == np.random.default_rng(0).random()


@pytest.mark.parametrize("p_init", [0.0, 0.3, 1.0])
def test_a_rollout_restarts_when_a_uniform_number_exceeds_p_init(p_init: float) -> None:
    one = planner(p_init=p_init)
    walk(one, 2)
    draws = np.random.default_rng(5).random(200)
    rng = np.random.default_rng(5)
    starts = [one.start(rng) for _ in range(200)]
    assert [start.entry is not None for start in starts] == (draws > p_init).tolist()
    restarts = {start for start in starts if start.entry is not None}
    assert restarts <= {Start(0, 1, Snapshot("line", b"1234", 0.0))}


def test_without_a_history_nothing_restarts_and_nothing_is_saved() -> None:
    online = planner(history=None)
    online.rule = None
    assert saved_after(online, 3) == []
    online.ended(0.0)
    assert online.start(np.random.default_rng(0)) == Start()


def test_a_history_without_a_rule_is_filled_and_nothing_restarts() -> None:
    history = History("line", width=4)
    one = LocalPlanner(history=history, uncertainty=None, rule=None, p_init=0.0)
    assert walk(one, 3) == 3
    assert list(history.live()) == [0, 1, 2]
    assert one.start(np.random.default_rng(0)) == Start()


def test_after_a_failure_the_initial_states_until_a_rollout_ends() -> None:
    one = planner()
    walk(one, 2)
    rng = np.random.default_rng(0)
    one.failed()
    assert one.start(rng) == Start()
    one.began(Start(), 0, None, snapshot)
    one.failed()
    assert (one.failures, one.start(rng)) == (2, Start())
    walk(one, 1)
    assert one.failures == 0 and one.start(rng).entry == 0


def test_a_rule_may_answer_the_initial_states() -> None:
    one = planner(Diary(Start(None, 1)))
    walk(one, 2)
    assert one.start(np.random.default_rng(0)) == Start(None, 1)


def test_a_rule_that_chooses_what_is_not_there_is_an_error() -> None:
    one = planner(Diary(Start(9, 1)))
    walk(one, 2)
    with pytest.raises(RunError, match="chose entry 9, which is not in the history"):
        one.start(np.random.default_rng(0))


@pytest.mark.parametrize(
    ("period", "saved"),
    [(1, [0, 1, 2, 3, 4, 5]), (2, [0, 2, 4]), (5, [0, 5])],
)
def test_states_are_saved_on_schedule_anew_in_each_rollout(period: int, saved: list[int]) -> None:
    one = planner(schedule=EveryKth(period))
    assert saved_after(one, 5) == saved_after(one, 5) == saved


def test_without_a_schedule_every_state_is_saved() -> None:
    assert saved_after(planner(), 3) == [0, 1, 2, 3]


class Parity:
    """Two cells: even places and odd ones."""

    def key_of(self, place: int) -> int:
        return place % 2

    def state(self) -> dict[str, Any]:
        return {}

    def load(self, state: dict[str, Any]) -> None:
        pass


def test_by_novelty_the_1st_2nd_4th_and_8th_arrival_in_a_cell_are_saved() -> None:
    """s0 counts as the first even one, and is always saved; odd cells are met at 1, 3, 5, …"""
    schedule = ByNovelty(Parity())
    one = planner(schedule=schedule)
    assert saved_after(one, 16) == [0, 1, 2, 3, 6, 7, 14, 15]
    assert schedule.reached == 2
    # Nine even and eight odd arrivals were before: s0 is the tenth even one, 12 the sixteenth.
    assert saved_after(one, 16) == [0, 12, 15]


def test_by_novelty_a_state_is_saved_now_and_then_in_any_case() -> None:
    same = ByNovelty(at_least_every=5)  # by the planner's keys, which are all 0 here
    assert saved_after(planner(schedule=same), 11) == [0, 1, 3, 5, 7, 10]


class Everything:
    """Every observation is a cell of its own."""

    def key_of(self, place: int) -> int:
        return place

    def state(self) -> dict[str, Any]:
        return {}

    def load(self, state: dict[str, Any]) -> None:
        pass


def test_where_every_state_is_new_a_budget_bounds_the_saves() -> None:
    """Two in reserve, and one earned in three queries; the 10th state is saved in any case."""

    def made() -> ByNovelty:
        return ByNovelty(Everything(), at_least_every=10, one_in=3, reserve=2)

    one = made()
    assert [n for n in range(1, 21) if one.due(n, n, None)] == [1, 2, 4, 7, 10, 13, 16, 19, 20]
    half, rest = made(), made()
    due = [half.due(n, n, None) for n in range(1, 12)]
    rest.load(half.state())
    due += [rest.due(n, n, None) for n in range(12, 21)]
    assert [n for n, saved in enumerate(due, 1) if saved] == [1, 2, 4, 7, 10, 13, 16, 19, 20]
    with pytest.raises(StateError, match="credit"):
        made().load({**half.state(), "credit": 7})
    # Those of version 0.2.0 have no budget, and begin with a full reserve.
    old = {name: part for name, part in half.state().items() if name != "credit"}
    rest.load(old)
    assert [n for n in range(21, 26) if rest.due(n, n, None)] == [21, 22, 24]


def test_what_is_new_is_new_once_for_planners_that_share_a_schedule() -> None:
    shared = ByNovelty(Parity())
    first, second = planner(schedule=shared), planner(schedule=shared)
    assert saved_after(first, 3) == [0, 1, 2, 3]
    assert saved_after(second, 1) == [0]  # the third arrival in the odd cell


def test_observations_with_parts_are_flattened_for_the_cells() -> None:
    schedule = ByNovelty(Parity(), flatten=lambda pair: pair[0] // 2)
    schedule.began((0, "a"), None)
    assert [schedule.due(n, (n, "b"), None) for n in range(1, 7)] == [
        *(True, True, True, False, True, False)
    ]


def test_a_schedule_goes_on_from_its_state() -> None:
    space = gymnasium.spaces.Box(0.0, 1.0, (1,), np.float64)
    places = np.random.default_rng(0).random((200, 1))

    def made() -> ByNovelty:
        return ByNovelty(Counts(bins=7).make(space, 1, 0), at_least_every=1000)

    one = made()
    due = [one.due(1, place, None) for place in places]
    before, after = made(), made()
    for place in places[:50]:
        before.due(1, place, None)
    after.load(before.state())
    assert [after.due(1, place, None) for place in places[50:]] == due[50:]
    assert after.reached == 7
    with pytest.raises(StateError, match="cells of the save schedule"):
        ByNovelty().load(one.state())


def test_limits_of_rollouts_of_restarts_and_of_scripts() -> None:
    restart = Start(0, 1, snapshot())
    one = planner(rollout_limit=6, restart_limit=3)
    assert walk(one, 9) == 6
    assert walk(one, 9, restart) == 3
    assert walk(one, 9, Start(script=[0] * 8)) == 8
    assert walk(planner(rollout_limit=2, restart_limit=5), 9, restart) == 2
    assert walk(planner(restart_limit=5), 9) == 9


def test_what_the_rule_is_told() -> None:
    rule = Diary()
    walk(planner(rule, schedule=EveryKth(2)), 5)
    assert rule.told == [
        ("added", 0),
        ("left", 0, 0),
        ("added", 1),
        ("left", 1, 2),
        ("added", 2),
        ("left", 2, 4),
        ("ended", [0, 1, 2], 7.0),
    ]


def test_the_rule_is_told_of_entries_that_are_still_there() -> None:
    rule = Diary()
    walk(planner(rule, history=History("line", width=4, entries=2)), 4)
    assert rule.told[-1] == ("ended", [2, 3], 7.0)


def test_two_planners_may_share_a_history_whose_entries_take_turns() -> None:
    rule = Diary()
    first = planner(rule)
    second = planner(rule, history=first.history)
    for one in (first, second):
        one.began(Start(), 0, None, snapshot)
    for place, one in ((0, first), (0, second), (1, first)):
        one.visited(0)
        final = (place, one) == (1, first)
        one.reached(Transition(place, 0, 0.0, place + 1, final, False), snapshot, final=final)
    first.ended(1.0)
    assert rule.told[-1] == ("ended", [0, 2], 1.0)


def test_of_a_history_elsewhere_the_rule_is_told_no_numbers() -> None:
    rule, history = Diary(Start(3, 0)), Elsewhere()
    one = planner(rule, history=history)
    walk(one, 4)
    assert (rule.told, history.added) == ([("ended", [], 7.0)], 4)
    assert one.start(np.random.default_rng(0)) == Start(3, 0, snapshot())


def test_observers_are_told_what_is_saved_and_only_what_they_override() -> None:
    entries: list[int | None] = []

    class Saved(Observer):
        def saved(self, entry: int | None) -> None:
            entries.append(entry)

    observers = Observers([Observer(), Saved()])
    assert [len(told) for told in (observers.began, observers.stepped, observers.saved)] == [
        *(0, 0, 1)
    ]
    walk(planner(observers=observers), 3)
    assert entries == [0, 1, 2]


class Sums:
    """An uncertainty of 1 / (1 + visits) for each of three actions, and of all states alike."""

    def __init__(self) -> None:
        self.visits = np.zeros(3)

    def key_of(self, observation: int) -> int:
        return 10 * observation

    def observe(self, key: int, action: int) -> None:
        self.visits[action] += 1

    def score(self, keys: np.ndarray, predict: Any) -> np.ndarray:
        return 1 / (1 + np.tile(self.visits, (len(keys), 1)))


def test_the_intrinsic_reward_is_that_of_before_the_visit() -> None:
    uncertainty: Any = Sums()
    one = planner(uncertainty=uncertainty, intrinsic_scale=3.0, predict=no_predict)
    one.began(Start(), 4, None, snapshot)
    assert one.key == 40
    assert [one.visited(action) for action in (1, 1, 2, 1)] == [3.0, 1.5, 3.0, 1.0]
    assert uncertainty.visits.tolist() == [0, 3, 1]


@pytest.mark.parametrize("schedule", [EveryKth, lambda: EveryKth(3), ByNovelty])
@pytest.mark.parametrize("steps", [0, 1, 3, 5])
def test_a_planner_goes_on_from_its_state_in_mid_rollout(
    schedule: Callable[[], SaveSchedule], steps: int
) -> None:
    told = []
    for resumed in (False, True):
        one = planner(schedule=schedule(), rollout_limit=8)
        walk(one, 2)
        one.began(Start(), 0, None, snapshot)
        for place in range(8):
            if place == steps and resumed:
                other = planner(Diary(), schedule=schedule(), rollout_limit=8)
                assert isinstance(one.rule, Diary) and isinstance(other.rule, Diary)
                other.rule.told = one.rule.told
                other.load(one.state())
                other.resume(place)
                one = other
            one.visited(0)
            step = Transition(place, 0, 0.0, place + 1, False, one.at_limit)
            one.reached(step, snapshot, final=False)
        assert one.at_limit
        one.ended(2.0)
        assert isinstance(one.rule, Diary)
        told.append(one.rule.told)
    assert told[0] == told[1]
    assert told[0][-1][0] == "ended"


@pytest.mark.parametrize("restarted", [None, False, True])
@pytest.mark.parametrize("steps", [0, 1, 2, 3])
@pytest.mark.parametrize("limit", [None, 8])
def test_a_rollout_that_version_0_1_0_saved_is_taken(
    restarted: bool | None, steps: int, limit: int | None
) -> None:
    """It kept no entries: they are the last of the history, one for each second query and s0."""
    options: dict[str, Any] = {"rollout_limit": limit, "restart_limit": 5}
    one = planner(schedule=EveryKth(2), **options)
    walk(one, 4)
    one.began(Start(0, 1, snapshot()) if restarted else Start(), 0, None, snapshot)
    for place in range(steps):
        one.visited(0)
        one.reached(Transition(place, 0, 0.0, place + 1, False, False), snapshot, final=False)
    state = one.state()
    expected = state.pop("planner")
    rollout = {"length": steps, "over": False}
    rollout |= {} if restarted is None else {"restarted": restarted}
    other = planner(schedule=EveryKth(2), **options)
    old = {**state, "rollout": rollout, "tally": {"failures": 1}}
    other.load(with_planner(old, PlanningSettings(checkpoint_period=2, **options)))
    taken = other.state()["planner"]
    assert taken["entries"].tolist() == expected["entries"].tolist()
    del taken["entries"], expected["entries"]
    assert taken == {**expected, "failures": 1}


def test_of_a_rollout_that_version_0_1_0_ended_nothing_is_taken() -> None:
    one, other = planner(), planner()
    walk(one, 3)
    state = one.state()
    del state["planner"]
    old = {"rollout": {"length": 3, "over": True}, "tally": {"failures": 0}}
    other.load(with_planner({**state, **old}, PlanningSettings()))
    assert other.state()["planner"]["entries"].tolist() == []
    assert other.state()["planner"]["unvisited"] is None


def test_online_access_goes_on_from_version_0_1_0() -> None:
    online = planner(history=None, rollout_limit=4)
    online.rule = None
    old = {"rollout": {"length": 3, "over": False}, "tally": {"failures": 0}}
    online.load(with_planner(old, PlanningSettings(rollout_limit=4)))
    assert online.length == 3
    assert online.state()["planner"]["limit"] == 4


def test_a_schedule_that_keeps_nothing_is_not_saved() -> None:
    assert "schedule" not in planner(schedule=EveryKth(3)).state()
    assert "schedule" in planner(schedule=ByNovelty()).state()


def test_the_intrinsic_reward_of_a_real_valued_action_is_of_that_action() -> None:
    class Distance(Sums):
        """u(s, a) = |a|."""

        knows_actions = True

        def score(self, keys: Any, predict: Any, actions: Any = None) -> np.ndarray:
            return np.abs(actions).sum(axis=-1)

        def observe(self, key: Any, action: Any) -> None:
            pass

    uncertainty: Any = Distance()
    one = planner(uncertainty=uncertainty, intrinsic_scale=2.0, predict=no_predict)
    one.began(Start(), 4, None, snapshot)
    assert one.visited(np.array([0.5, -1.0], np.float32)) == 3.0
