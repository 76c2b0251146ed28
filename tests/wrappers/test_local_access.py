"""LocalAccess: restarts at the most uncertain state, counts, queues, limits, copies."""

from __future__ import annotations

import csv
import itertools
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces, wrappers
from gymnasium.utils.env_checker import check_env
from probes import Dice

import uflp
from uflp import state_file
from uflp.planning import RULES
from uflp.simulators.base import UnsavableError
from uflp.simulators.deep_sea import DeepSea
from uflp.simulators.gymnasium import GymnasiumSimulator
from uflp.types import UsageError
from uflp.uncertainty.covariance import Covariance
from uflp.wrappers import LocalAccess
from uflp.wrappers.access_settings import flattening


class Corridor(gymnasium.Env[Any, Any]):
    """Right is 1, left is 0; the place is the observation; stepping off the left end is fatal."""

    observation_space = spaces.Discrete(20)
    action_space = spaces.Discrete(2)

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.place = 0
        return self.place, {}

    def step(self, action: int) -> Any:
        self.place = self.place + 1 if action else self.place - 1
        over = self.place < 0
        self.place = max(self.place, 0)
        return self.place, float(action), over, self.place == 19, {}


class Walled(Corridor):
    """There is a wall at the left end."""

    def step(self, action: int) -> Any:
        observation, reward, _, truncated, info = super().step(action)
        return observation, reward, False, truncated, info


class Painted(Corridor):
    """Its observation has parts, of which one is text or not."""

    def __init__(self, title: Any):
        self.observation_space = spaces.Dict({"place": spaces.Discrete(20), "title": title})

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        return {"place": super().reset(seed=seed)[0], "title": "abc"}, {}


def corridor() -> Any:
    return wrappers.TimeLimit(Corridor(), 15)


def walk(env: Any, actions: list[int]) -> list[Any]:
    return [env.step(action) for action in actions]


def chosen_entries(env: LocalAccess) -> set[int | None]:
    rng = np.random.default_rng(0)
    return {env.planner.rule.choose(rng).entry for _ in range(200)}


def test_online_it_is_the_environment_itself() -> None:
    plain, wrapped = (
        gymnasium.make("CartPole-v1"),
        LocalAccess(gymnasium.make("CartPole-v1"), p_init=1.0),
    )
    assert np.array_equal(plain.reset(seed=4)[0], wrapped.reset(seed=4)[0])
    for _ in range(100):
        one, two = plain.step(1), wrapped.step(1)
        assert np.array_equal(one[0], two[0]) and one[1:4] == two[1:4]
        if one[2]:
            assert np.array_equal(plain.reset()[0], wrapped.reset()[0])
    assert wrapped.restarts == 0 and wrapped.queries == 100


def test_the_most_uncertain_state_and_action_are_restored() -> None:
    env = LocalAccess(Walled(), p_init=0.0, batch=None, restart="pair", checkpoint_period=1, seed=0)
    _, info = env.reset(seed=0)
    assert info == {"uflp/restart": False}
    walk(env, [0, 1, 0, 1, 1, 0, 1, 1])  # both actions at places 0, 1 and 2, none at 3
    observation, info = env.reset()
    assert observation == 3 and info["uflp/restart"] and env.unwrapped.place == 3
    assert env.restarts == 1 and env.queries == 8
    walk(env, [0, 1])
    assert env.planner.uncertainty.visits[:4].tolist() == [[1, 2], [1, 2], [1, 2], [1, 0]]
    observation, info = env.reset()
    assert (observation, info["uflp/first_action"]) == (3, 1)


@pytest.mark.parametrize("first_action", ["free", "forced"])
def test_a_restart_samples_the_future_anew(first_action: Any) -> None:
    """Noise that replayed would throw again what was thrown when the snapshot was taken."""
    env = LocalAccess(
        Dice(), p_init=0.0, batch=None, checkpoint_period=1, first_action=first_action, seed=0
    )
    Dice.thrown.clear()  # what was thrown to find out if it goes back
    env.reset(seed=0)
    while env.restarts < 20:
        over = False
        while not over:
            _, _, over, _, _ = env.step(0)
        env.reset()
    assert len(Dice.thrown) == len(set(Dice.thrown)) == env.queries >= 20


def test_p_init_decides_how_often() -> None:
    env = LocalAccess(corridor(), p_init=0.3, seed=0)
    env.reset(seed=0)
    env.step(1)
    restarts = [env.reset()[1]["uflp/restart"] for _ in range(400)]
    assert 0.6 < np.mean(restarts) < 0.8
    assert env.restarts == sum(restarts)


def test_a_seeded_reset_begins_at_the_beginning() -> None:
    env = LocalAccess(corridor(), p_init=0.0)
    env.reset(seed=0)
    walk(env, [1, 1])
    assert env.reset(seed=1) == (0, {"uflp/restart": False})


def test_equal_seeds_give_equal_courses() -> None:
    def course(seed: int) -> list[Any]:
        env = LocalAccess(lambda: gymnasium.make("MountainCar-v0"), p_init=0.3)
        seen = [env.reset(seed=seed)[0]]
        for number in range(700):
            result = env.step(number * number % 3)
            seen.append(env.reset()[0] if result[2] or result[3] else result[0])
        assert env.restarts
        return seen

    assert all(map(np.array_equal, course(1), course(1)))
    assert not all(map(np.array_equal, course(1), course(2)))


@pytest.mark.parametrize(("time_limit", "left"), [("restart", 15), ("continue", 1)])
def test_time_limits_start_anew_unless_they_shall_go_on(time_limit: str, left: int) -> None:
    simulator = GymnasiumSimulator(corridor(), time_limit=time_limit)
    env = LocalAccess(simulator, p_init=0.0, batch=None, checkpoint_period=14)
    env.reset(seed=0)
    walk(env, [1] * 14)
    for _ in range(4):
        observation, _ = env.reset()
        if observation == 14:
            break
    assert observation == 14
    assert [env.step(0)[3] for _ in range(left)] == [False] * (left - 1) + [True]


@pytest.mark.parametrize(("first_action", "left"), [("free", 3), ("forced", 2)])
def test_a_restart_limit_truncates_restarts_alone(first_action: Any, left: int) -> None:
    env = LocalAccess(Walled(), p_init=0.0, restart_limit=3, first_action=first_action)
    env.reset(seed=0)
    assert not any(step[2] or step[3] for step in walk(env, [1] * 10))
    for _ in range(3):
        _, info = env.reset()
        assert info["uflp/restart"]
        assert [step[2:4] for step in walk(env, [0] * left)] == [(False, False)] * (left - 1) + [
            (False, True)
        ]
    assert len(env.pop_transitions()) == (3 if first_action == "forced" else 0)
    env.reset(seed=1)
    assert not any(step[2] or step[3] for step in walk(env, [1] * 10))


def test_where_a_restart_ends_the_next_may_go_on() -> None:
    env = LocalAccess(Walled(), p_init=0.0, batch=None, checkpoint_period=1, restart_limit=1)
    env.reset(seed=0)
    for _ in range(60):
        _, info = env.reset()
        assert env.step(info["uflp/first_action"])[3]
    assert len(set(env.planner.history.keys(env.planner.history.live()).tolist())) == 19


def test_an_episode_that_ends_at_the_limit_is_over() -> None:
    env = LocalAccess(Corridor(), p_init=0.0, restart_limit=1)
    env.reset(seed=0)
    env.reset()
    assert env.step(0)[2:4] == (True, False)


def test_where_saving_is_dear_states_are_saved_by_novelty() -> None:
    env = LocalAccess(Walled(), p_init=0.0)
    env.reset(seed=0)
    walk(env, [1, 1, 0, 0, 1, 1, 0, 0, 1, 1])
    history = env.planner.history
    # Places 0 1 2 1 0 1 2 1 0 1 2: the 1st, 2nd and 4th time at 1, the 1st and 2nd at 0 and 2.
    assert history.keys(history.live()).tolist() == [0, 1, 2, 1, 0, 2, 1]
    cheap = LocalAccess(lambda: DeepSea(size=5).make(0), p_init=0.0)
    cheap.reset(seed=0)
    walk(cheap, [0] * 4)
    assert len(cheap.planner.history) == 5


@pytest.mark.parametrize("options", [{"uncertainty": "covariance"}, {"rule": "uniform"}])
def test_without_counts_novelty_has_cells_of_its_own(options: Any) -> None:
    env = LocalAccess(Walled(), p_init=0.0, **options)
    env.reset(seed=0)
    walk(env, [1, 0] * 8)
    # Eight times at 1, of which the 1st, 2nd, 4th and 8th; nine times at 0, the first included.
    assert len(env.planner.history) == 8


def test_the_batch_is_the_whole_history_where_the_search_is_cheap() -> None:
    """Of 400 visited states one is new; 32 of 400 would miss it in about nine of ten tries."""
    chosen = []
    for number in range(10):
        env = LocalAccess(Walled(), p_init=0.0, checkpoint_period=1, seed=number)
        env.reset(seed=number)
        walk(env, [1, 0] * 200)
        walk(env, [1, 1])
        chosen.append(env.reset()[0])
    assert chosen == [2] * 10


@pytest.mark.parametrize(("first_action", "expected"), [("free", 1), ("forced", 0)])
def test_states_are_compared_where_the_agent_chooses_and_pairs_where_it_does_not(
    first_action: Any, expected: int
) -> None:
    """Place 0 was left three times, always to the right; place 1 once each way."""
    env = LocalAccess(
        wrappers.TimeLimit(Walled(), 4), checkpoint_period=1, first_action=first_action
    )
    env.reset(seed=0)
    walk(env, [1, 0, 1, 1])
    env.reset(seed=0)
    walk(env, [1])
    places = env.planner.history.keys(np.array(sorted(chosen_entries(env))))
    assert set(places.tolist()) == {expected}


def test_a_forced_first_action_is_taken_inside_and_queued() -> None:
    env = LocalAccess(Walled(), p_init=0.0, batch=None, checkpoint_period=1, first_action="forced")
    env.reset(seed=0)
    walk(env, [0, 1, 0, 1, 1, 0, 1])  # all but the right action at place 2, which leads to 3
    observation, info = env.reset()
    assert (observation, info["uflp/first_action"]) == (3, 1)
    assert env.pop_transitions() == [(2, 1, 1.0, 3, False, False, 0.0, None)]
    assert env.pop_transitions() == []
    assert env.queries == 8
    assert env.planner.uncertainty.visits[2, 1] == 1


class FromFive(Walled):
    """Right is 6, left is 5."""

    action_space = spaces.Discrete(2, start=5)

    def step(self, action: int) -> Any:
        assert self.action_space.contains(action)
        return super().step(action - 5)


def test_actions_that_begin_at_another_number_are_counted_from_0() -> None:
    env = LocalAccess(
        FromFive(), p_init=0.0, batch=None, checkpoint_period=1, first_action="forced"
    )
    env.reset(seed=0)
    walk(env, [5, 6, 5, 6, 6, 5, 6])  # all but the right action at place 2
    assert env.planner.uncertainty.visits[:3].tolist() == [[1, 2], [1, 2], [1, 0]]
    observation, info = env.reset()
    assert (observation, info["uflp/first_action"]) == (3, 6)
    assert env.planner.uncertainty.visits[2].tolist() == [1, 1]


def test_a_forced_first_action_that_ends_the_episode_is_queued_and_another_drawn() -> None:
    env = LocalAccess(
        corridor(), p_init=0.0, batch=None, checkpoint_period=1, first_action="forced", seed=0
    )
    env.reset(seed=0)
    env.step(1)
    queued: list[Any] = []
    while not any(step.terminated for step in queued):
        _, info = env.reset()
        queued += env.pop_transitions()
        assert info["uflp/restart"]
    assert (0, 0, 0.0, 0, True, False, 0.0, None) in queued
    assert env.queries == 1 + len(queued)
    assert not queued[-1].terminated, "the start that counts was drawn after it"


class Hopeless(Corridor):
    """Ends at once, whatever is done."""

    def step(self, action: int) -> Any:
        return 0, 0.0, True, False, {}


def test_where_every_first_action_ends_the_episode_the_initial_states_must_do() -> None:
    env = LocalAccess(Hopeless(), p_init=0.0, first_action="forced")
    env.reset(seed=0)
    assert env.reset() == (0, {"uflp/restart": False})
    assert env.queries == len(env.pop_transitions()) > 0


def test_replays_count_as_queries() -> None:
    env = LocalAccess(corridor(), p_init=0.0, batch=None, checkpoint_period=1, strategy="replay")
    env.reset(seed=0)
    walk(env, [1, 1, 1])
    observation, _ = env.reset()
    assert env.queries == 3 + observation


def test_the_same_environment_without_restarts() -> None:
    made = LocalAccess(lambda: corridor(), p_init=0.0)
    registered = LocalAccess(gymnasium.make("CartPole-v1"))
    for env in (made, registered):
        online = env.online()
        assert online is not env.env and online.unwrapped is not env.unwrapped
        assert online.observation_space == env.observation_space
        online.reset(seed=0)
        online.step(1)
        assert "uflp/restart" not in online.reset()[1]
    with pytest.raises(UsageError, match="LocalAccess\\(lambda: MyEnv"):
        LocalAccess(corridor()).online()


def test_actions_without_numbers_are_scored_by_states_alone() -> None:
    for uncertainty in ("counts", Covariance(feature_size=16)):
        env = LocalAccess(
            gymnasium.make("Pendulum-v1"), uncertainty, p_init=0.0, first_action="forced", seed=0
        )
        env.reset(seed=0)
        for _ in range(20):
            env.step(env.action_space.sample())
        observation, info = env.reset()
        (queued,) = env.pop_transitions()
        assert np.array_equal(queued.action, info["uflp/first_action"])
        assert np.array_equal(queued.next_observation, observation)


def test_observations_with_parts_are_flattened_for_the_uncertainty_alone() -> None:
    env = LocalAccess(
        wrappers.TimeAwareObservation(corridor(), flatten=False, normalize_time=True), p_init=0.0
    )
    observation, _ = env.reset(seed=0)
    assert set(observation) == {"obs", "time"}
    env.step(1)
    assert env.planner.uncertainty.cells == 2


def test_works_in_vectors_of_environments() -> None:
    functions = [lambda: LocalAccess(gymnasium.make("MountainCar-v0"), p_init=0.2)] * 2
    envs = gymnasium.vector.SyncVectorEnv(functions)
    envs.reset(seed=0)
    for _ in range(450):
        envs.step(envs.action_space.sample())
    assert sum(env.restarts for env in envs.envs) > 0
    assert envs.envs[0].planner.history is not envs.envs[1].planner.history
    envs.close()


def make_mountain_car() -> Any:
    return LocalAccess(gymnasium.make("MountainCar-v0"), p_init=0.0)


def test_works_in_vectors_of_processes() -> None:
    envs = gymnasium.vector.AsyncVectorEnv([make_mountain_car] * 2)
    envs.reset(seed=0)
    for _ in range(205):
        envs.step(envs.action_space.sample())
    assert min(envs.get_attr("restarts")) >= 1
    envs.close()


def test_copies_in_one_process_may_share_what_they_know() -> None:
    one = LocalAccess(corridor(), p_init=0.0, batch=None, checkpoint_period=1, restart="state")
    two = LocalAccess(corridor(), p_init=0.0, share_with=one)
    one.reset(seed=0)
    walk(one, [1, 1, 1])
    observation, _ = two.reset()
    assert observation == 3 and two.queries == 0
    with pytest.raises(UsageError, match="cannot share the history"):
        LocalAccess(gymnasium.make("CartPole-v1"), share_with=one)


def test_a_rule_without_uncertainty_asks_nothing_of_observations() -> None:
    env = LocalAccess(
        Painted(spaces.Sequence(spaces.Discrete(2))), p_init=0.0, rule="uniform", seed=0
    )
    env.reset(seed=0)
    env.step(0)
    for _ in range(10):
        assert env.reset()[1]["uflp/restart"]
    assert env.planner.uncertainty is None


def test_the_rule_return_goes_back_to_the_best_episode() -> None:
    """Three steps to the right pay 3; stepping off the left end pays nothing more."""
    env = LocalAccess(Corridor(), p_init=1.0, batch=None, checkpoint_period=1, rule="return")
    for actions in ([1, 1, 1, 0, 0, 0, 0], [0], [1, 0, 0]):
        env.reset()
        walk(env, actions)
    assert chosen_entries(env) == {0, 1, 2, 3, 4, 5, 6}


def test_copies_tell_a_shared_rule_of_their_own_episodes() -> None:
    one = LocalAccess(Corridor(), p_init=0.0, batch=None, checkpoint_period=1, rule="return")
    two = LocalAccess(Corridor(), share_with=one, checkpoint_period=1)
    for env in (one, two):
        env.reset(seed=0)
    for env, action in ((one, 1), (two, 1), (one, 1), (two, 0), (two, 0), (one, 0), (one, 0)):
        env.step(action)
    assert one.step(0)[2], "the better one ends"
    assert chosen_entries(one) == chosen_entries(two) == {0, 2, 4, 6, 7}


def test_a_rule_of_ones_own_is_told_of_every_saved_state() -> None:
    told: list[Any] = []

    class Curious:
        needs = None

        def make(self, sources: Any) -> Any:
            rule = RULES["uniform"]().make(sources)
            rule.left = lambda entry, transition: told.append((entry, *transition[:4]))
            return rule

    env = LocalAccess(Walled(), rule=Curious(), checkpoint_period=2)
    env.reset(seed=0)
    walk(env, [1, 1, 1, 0])
    assert told == [(0, 0, 1, 1.0, 1), (1, 2, 1, 1.0, 3)]


def test_gymnasium_finds_nothing_wrong_with_it() -> None:
    check_env(LocalAccess(Walled()), skip_render_check=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"p_init": 1.5}, "p_init must lie in"),
        ({"p_init": "0.5"}, r"p_init must lie in \[0, 1\], not '0.5'"),
        ({"batch": 0}, "batch must be a whole number of at least 1"),
        ({"batch": "none"}, "'auto' or None for the whole history, not 'none'"),
        ({"batch": 32.5}, "batch must be a whole number of at least 1, .* not 32.5"),
        ({"batch": True}, "batch must be a whole number"),
        ({"restart_limit": 0}, "restart_limit must be a whole number of at least 1, None for"),
        ({"checkpoint_period": 2.0}, "checkpoint_period must be a whole number"),
        ({"history_size": 0}, "history_size must be a whole number of at least 1, not 0"),
        ({"history_size": None}, "history_size must be a whole number of at least 1, not None"),
        ({"time_limit": "never ever"}, "time_limit is 'restart', 'continue' or"),
        ({"strategy": "coppy"}, "did you mean 'copy'"),
        ({"axes": (0,)}, r"axes names two numbers of an observation, not \(0,\)"),
        ({"axes": (0, 1)}, r"0 names no number in observations of Discrete"),
        ({"first_action": "maybe"}, "first_action is 'free' or 'forced'"),
        ({"restart": "pairs"}, "restart is 'pair', 'state' or None, not 'pairs'"),
        ({"seed": -1}, "seed must be None or a whole number of at least 0, not -1"),
        ({"uncertainty": "count"}, "did you mean 'counts'"),
        ({"uncertainty": "ensemble-std"}, "choose counts, covariance"),
        ({"bin": 3}, "counts has no"),
        ({"p_inti": 0.3}, "neither has LocalAccess: did you mean 'p_init'"),
        ({"share_with": 3}, "share_with is another LocalAccess, or None, not 3"),
        ({"check": "no"}, "check is True or False, not 'no'"),
        ({"rule": "unifrom"}, "did you mean 'uniform'"),
        ({"rule": "td-error"}, "td-error goes by the action values of an agent"),
        ({"rule": "go-explore", "uncertainty": "covariance"}, "go-explore .* use counts"),
    ],
)
def test_bad_input_is_refused(options: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        LocalAccess(corridor(), **options)


def test_statistics_that_go_on_learning_are_no_reason_to_refuse() -> None:
    scaled = gymnasium.wrappers.NormalizeReward(gymnasium.make("MountainCar-v0"))
    env = uflp.LocalAccess(scaled, seed=0)
    assert scaled.update_running_mean and scaled.return_rms.mean == 0
    env.reset(seed=0)
    for _ in range(50):
        env.step(0)
    learned = scaled.return_rms.mean
    assert learned < 0
    while not env.reset()[1]["uflp/restart"]:
        pass
    assert scaled.return_rms.mean == learned, "they do not go back"
    assert (
        uflp.check(
            lambda: gymnasium.wrappers.NormalizeReward(gymnasium.make("MountainCar-v0")), steps=30
        ).grade
        == "bit"
    )


def test_observations_whose_scale_moves_are_warned_of() -> None:
    with pytest.warns(UserWarning, match=r"put it outside, as NormalizeObservation\(LocalAccess"):
        uflp.LocalAccess(gymnasium.wrappers.NormalizeObservation(gymnasium.make("MountainCar-v0")))


def test_a_vector_of_environments_is_refused_with_what_works() -> None:
    with pytest.raises(UsageError, match="hand LocalAccessVector a function"):
        LocalAccess(gymnasium.make_vec("CartPole-v1", 2))  # type: ignore[arg-type]


def test_a_name_is_made_and_made_anew_for_evaluation() -> None:
    env = LocalAccess("CartPole-v1", p_init=0.0)
    env.reset(seed=0)
    assert env.unwrapped.spec.id == env.online().unwrapped.spec.id == "CartPole-v1"
    with pytest.raises(UsageError, match="Gymnasium cannot make CartPole-v12"):
        LocalAccess("CartPole-v12")


@pytest.mark.parametrize(
    ("what", "message"),
    [(None, "NoneType is not a gymnasium.Env"), (lambda: 3, "int is not a gymnasium.Env")],
)
def test_what_is_no_environment_is_refused(what: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        LocalAccess(what)


def test_local_access_twice_is_refused() -> None:
    inside = LocalAccess(Walled())
    for env in (inside, wrappers.TimeLimit(inside, 5)):
        with pytest.raises(UsageError, match="has local access already"):
            LocalAccess(env)


class Closing(Corridor):
    """Says whether it is open, and cannot be saved if it holds what nobody can read."""

    opened = 0

    def __init__(self, *, savable: bool = False):
        type(self).opened += 1
        if not savable:
            self.handle = (number for number in range(3))

    def close(self) -> None:
        type(self).opened -= 1


def test_what_cannot_be_wrapped_is_closed_if_it_was_made_here() -> None:
    Closing.opened = 0
    for make, options, kind in (
        (Closing, {}, UnsavableError),
        (lambda: Closing(savable=True), {"bin": 3}, UsageError),
    ):
        with pytest.raises(kind):
            LocalAccess(make, **options)
        assert Closing.opened == 0
    given = Closing()
    with pytest.raises(UnsavableError, match=r"cannot be saved: env\.handle cannot be saved: "):
        LocalAccess(given)
    assert Closing.opened == 1  # it is theirs who gave it


class Forgetful(Walled):
    """Its own two methods leave out where it is, or say it a little differently."""

    observation_space = spaces.Box(-np.inf, np.inf, (1,), np.float64)
    error = 5.0

    def get_state(self) -> Any:
        return {"place": self.place}

    def set_state(self, state: Any) -> None:
        self.place = state["place"] + self.error

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        return np.array([super().reset(seed=seed)[0]], np.float64), {}

    def step(self, action: int) -> Any:
        self.place = self.place + (1 if action else 0.5)
        return np.array([self.place], np.float64), 0.0, False, False, {}


def test_an_environment_that_does_not_go_back_is_refused_unless_one_insists() -> None:
    with pytest.raises(UnsavableError, match=r"does not go back .*observation 0 .*check=False"):
        LocalAccess(Forgetful())
    LocalAccess(Forgetful(), check=False)


@pytest.mark.parametrize("period", [2, 3, 4, 6])
def test_a_counter_outside_of_the_environment_that_goes_round_is_noticed(period: int) -> None:
    steps = itertools.count()

    class Outside(Forgetful):
        error = 0.0

        def step(self, action: int) -> Any:
            return super().step(action)[0] + next(steps) % period, 0.0, False, False, {}

    with pytest.raises(UnsavableError, match="does not go back"):
        LocalAccess(Outside())


def test_a_difference_of_rounding_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Forgetful, "error", 1e-12)
    with pytest.warns(UserWarning, match="only up to rounding"):
        LocalAccess(Forgetful())


def test_the_check_leaves_generators_and_counters_alone() -> None:
    np.random.seed(3)
    random.seed(3)
    expected = np.random.random(), random.random()
    np.random.seed(3)
    random.seed(3)
    env = LocalAccess(lambda: DeepSea(size=5).make(0))
    assert (np.random.random(), random.random()) == expected
    assert env.queries == env.restarts == 0 and len(env.planner.history) == 0
    by_replay = LocalAccess(gymnasium.make("CartPole-v1"), strategy="replay")
    assert by_replay.queries == 0


def test_the_check_does_not_change_what_follows() -> None:
    def course(check: bool) -> list[Any]:
        env = LocalAccess(gymnasium.make("MountainCar-v0"), check=check, seed=0)
        env.reset(seed=1)
        return [env.step(number % 3)[0] for number in range(150)] + [env.reset()[0]]

    assert all(map(np.array_equal, course(True), course(False)))


def test_a_step_needs_a_reset_first() -> None:
    env = LocalAccess(Walled())
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(1)


def test_metrics_of_a_walk_by_hand() -> None:
    env = LocalAccess(Corridor(), p_init=0.0, checkpoint_period=1, seed=0)
    env.reset(seed=0)
    # Places 0 1 2 3: three rewards. Place 3 was never left, so the restart begins there.
    walk(env, [1, 1, 1])
    assert env.metrics() == {
        "queries": 3,
        "episodes": 1,
        "restarts": 0,
        "rewarded_queries": 3,
        "first_reward": 1,
        "terminated": 0,
        "cells": 3,
        "deepest_start": 0,
        "history_size": 4,
    }
    assert env.reset()[0] == 3
    walk(env, [1])  # place 4, four steps from the start
    assert env.reset()[0] == 4
    walk(env, [0, 0, 0, 0, 0])  # back to 0 and off the end
    told = env.metrics()
    assert (told["episodes"], told["restarts"], told["deepest_start"]) == (3, 2, 4)
    assert (told["rewarded_queries"], told["terminated"], told["cells"]) == (4, 1, 5)
    assert told["history_size"] == 4 + 2 + 5


def test_cells_are_counted_by_the_schedule_where_no_counts_are() -> None:
    env = LocalAccess(Walled(), "covariance", p_init=0.0)
    env.reset(seed=0)
    walk(env, [1, 1, 0])
    assert env.metrics()["cells"] == 3
    assert LocalAccess(Walled(), "covariance", checkpoint_period=1).metrics()["cells"] is None


def test_a_start_is_as_deep_as_the_way_to_it_also_after_many_evictions() -> None:
    env = LocalAccess(Walled(), p_init=0.0, checkpoint_period=1, history_size=5)
    env.reset(seed=0)
    walk(env, [1, 0] * 2000)
    env.reset()
    assert 3990 < env.metrics()["deepest_start"] <= 4000


def test_forced_transitions_that_nobody_pops_are_bounded_and_one_warning_says_so() -> None:
    env = LocalAccess(Walled(), p_init=0.0, first_action="forced", restart_limit=2)
    env.reset(seed=0)
    for _ in range(400):
        env.reset()
    with pytest.warns(UserWarning, match=r"1,000 transitions .* pop_transitions") as told:
        for _ in range(1500):
            env.reset()
    assert len(told) == 1
    assert len(env.pop_transitions()) == 1000 and env.pop_transitions() == []


def test_the_picture_shows_visits_and_restarts(tmp_path: Path) -> None:
    env = LocalAccess(gymnasium.make("MountainCar-v0"), p_init=0.0, axes=(0, 1), seed=0)
    env.reset(seed=0)
    blank = env.render_exploration()
    assert blank.dtype == np.uint8 and blank.shape[2] == 3
    walk(env, [0, 1, 2] * 20)
    visited = env.render_exploration()
    for _ in range(5):
        env.reset()
        walk(env, [2])
    restarted = env.render_exploration(tmp_path / "picture.png")
    red = [np.sum((image[..., 0] > 200) & (image[..., 1] < 60)) for image in (visited, restarted)]
    assert (visited != blank).any() and red[0] == 0 < red[1]
    assert (tmp_path / "picture.png").read_bytes()[1:4] == b"PNG"


def test_the_picture_takes_parts_by_name_and_asks_for_names() -> None:
    title = spaces.Box(0, 1, (2,), np.float64)

    class Titled(Painted):
        def seen(self) -> Any:
            return {"place": self.place, "title": np.zeros(2)}

        def reset(self, *, seed: Any = None, options: Any = None) -> Any:
            Corridor.reset(self, seed=seed)
            return self.seen(), {}

        def step(self, action: int) -> Any:
            return self.seen(), *Corridor.step(self, action)[1:]

    env = LocalAccess(Titled(title), axes=("place", ("title", 1)))
    env.reset(seed=0)
    env.step(1)
    assert env.render_exploration().size
    with pytest.raises(UsageError, match=r"'plaice' names no number .* such as 'place'"):
        LocalAccess(Titled(title), axes=("plaice", "place"))
    with pytest.raises(UsageError, match=r"LocalAccess\(env, axes=\(0, 1\)\)"):
        LocalAccess(Walled()).render_exploration()


def wandered(env: LocalAccess, steps: int = 600) -> LocalAccess:
    env.reset(seed=0)
    for number in range(steps):
        result = env.step(number * number % 3)
        if result[2] or result[3]:
            env.reset()
    return env


@pytest.mark.parametrize(
    "options", [{}, {"rule": "go-explore"}, {"uncertainty": "covariance"}, {"rule": "return"}]
)
def test_a_planner_that_was_saved_chooses_alike_elsewhere(tmp_path: Path, options: Any) -> None:
    one = wandered(LocalAccess(gymnasium.make("MountainCar-v0"), **options))
    one.save_planner(tmp_path / "planner")
    two = LocalAccess(gymnasium.make("MountainCar-v0"), **options)
    two.reset(seed=5)
    two.load_planner(tmp_path / "planner")
    with pytest.raises(gymnasium.error.ResetNeeded):
        two.step(1)
    assert chosen_entries(one) == chosen_entries(two)
    seen = []
    for env in (one, two):
        env.reset(seed=7)
        seen.append([env.step(2)[0] for _ in range(90)] + [env.reset()[0] for _ in range(5)])
    assert all(map(np.array_equal, *seen))
    for name in ("cells", "history_size"):
        assert one.metrics()[name] == two.metrics()[name]


def test_a_planner_that_hashed_whole_numbers_does_not_fit(tmp_path: Path) -> None:
    """Version 0.2.0 did: its cells have other names, and would pass for unseen ones."""

    class Grid(gymnasium.Env[np.ndarray, int]):
        observation_space = gymnasium.spaces.Box(0, 255, (2,), np.int64)
        action_space = gymnasium.spaces.Discrete(2)

        def reset(self, **_: Any) -> tuple[np.ndarray, dict[str, Any]]:
            self.place = np.zeros(2, np.int64)
            return self.place.copy(), {}

        def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
            self.place[action] += 1
            return self.place.copy(), 0.0, bool(self.place.sum() > 5), False, {}

    path = tmp_path / "planner"
    env = wandered(LocalAccess(Grid()))
    env.save_planner(path)
    LocalAccess(Grid()).load_planner(path)
    saved = state_file.read(path)
    del saved["identity"]["cells"]
    state_file.write(path, saved)
    with pytest.raises(UsageError, match="was saved with cells None, and here it is 'exact'"):
        LocalAccess(Grid()).load_planner(path)


def test_a_planner_that_does_not_fit_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "planner"
    wandered(LocalAccess(gymnasium.make("MountainCar-v0"))).save_planner(path)
    other = wandered(LocalAccess(gymnasium.make("MountainCar-v0"), bins=10), 100)
    before = other.metrics()
    with pytest.raises(UsageError, match=r"was saved with uncertainty 'counts \{\}'"):
        other.load_planner(path)
    with pytest.raises(UsageError, match="was saved with environment"):
        LocalAccess(gymnasium.make("CartPole-v1")).load_planner(path)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(UsageError, match="checksum"):
        other.load_planner(path)
    with pytest.raises(UsageError, match="is missing"):
        other.load_planner(tmp_path / "nowhere")
    state_file.write(path, {"kind": "something else"})
    with pytest.raises(UsageError, match=r"no planner that LocalAccess.save_planner wrote"):
        other.load_planner(path)
    assert other.metrics() == before


def forge_keys(saved: Any, key: int) -> None:
    columns = saved["planner"]["history"]["rows"]["blocks"][0][2]
    columns["keys"] = np.append(columns["keys"][:-1], key)


@pytest.mark.parametrize(
    "change",
    [
        lambda saved: saved.update(depths=[[0, float("inf")]]),
        lambda saved: saved["identity"].update(environment=np.zeros(2)),
        lambda saved: forge_keys(saved, 2**62),
        lambda saved: forge_keys(saved, -1),
    ],
    ids=["depths", "identity", "large key", "negative key"],
)
def test_a_forged_planner_is_refused(tmp_path: Path, change: Callable[[Any], None]) -> None:
    path = tmp_path / "planner"
    env = wandered(LocalAccess(gymnasium.make("MountainCar-v0")))
    env.save_planner(path)
    saved = state_file.read(path)
    change(saved)
    state_file.write(path, saved)
    with pytest.raises(UsageError, match="planner"):
        env.load_planner(path)


def test_a_planner_with_nonsense_inside_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "planner"
    env = wandered(LocalAccess(gymnasium.make("MountainCar-v0")))
    env.save_planner(path)
    wandered(env)  # what is in the file would be noticed
    before, chosen = env.metrics(), chosen_entries(env)
    saved = state_file.read(path)
    for part in saved["planner"]:
        state_file.write(path, {**saved, "planner": {**saved["planner"], part: {"a": 1}}})
        with pytest.raises(UsageError, match="is not a planner of this environment"):
            env.load_planner(path)
    for change in ({"depths": 3}, {"identity": "me"}, {"planner": None}):
        state_file.write(path, {**saved, **change})
        with pytest.raises(UsageError, match=r"planner"):
            env.load_planner(path)
    assert (env.metrics(), chosen_entries(env)) == (before, chosen)


def test_copies_in_memory_cannot_be_written(tmp_path: Path) -> None:
    env = LocalAccess(Walled(), strategy="copy")
    env.reset(seed=0)
    with pytest.raises(UsageError, match="copies in memory"):
        env.save_planner(tmp_path / "planner")
    assert not (tmp_path / "planner").exists()


def test_one_line_reaches_the_goal_of_mountain_car() -> None:
    """Online, 20,000 random actions never do."""
    env = LocalAccess(gymnasium.make("MountainCar-v0"), seed=0)
    env.reset(seed=0)
    for action in np.random.default_rng(0).integers(3, size=20_000).tolist():
        _, _, terminated, truncated, _ = env.step(action)
        if terminated:
            break
        if truncated:
            env.reset()
    assert terminated and env.metrics()["deepest_start"] > 200


def test_a_reset_refuses_a_negative_seed() -> None:
    with pytest.raises(UsageError, match="whole number of at least 0"):
        LocalAccess(corridor()).reset(seed=-1)


def test_pairs_of_actions_without_numbers_are_refused_with_what_works() -> None:
    with pytest.raises(UsageError, match="counts, covariance and rnd score states alone"):
        LocalAccess(gymnasium.make("Pendulum-v1"), restart="pair")


@pytest.mark.parametrize("kinds", [(np.float64, np.float64), (np.float32, np.float64)])
@pytest.mark.parametrize("given", [np.float64, np.float32, list])
def test_observations_with_parts_are_flattened_as_gymnasium_does(kinds: Any, given: Any) -> None:
    """A dictionary of vectors has a quick way; other kinds of numbers go the general one."""
    first, second = (
        spaces.Box(-1, 1, (size,), kind) for size, kind in zip((2, 3), kinds, strict=True)
    )
    space = spaces.Dict({"z": first, "a": second})
    seen = {"a": [0.25, 0.1, -1.0], "z": [0.1, 0.5]}
    if given is not list:
        seen = {name: np.array(part, given) for name, part in seen.items()}
    flatten = flattening(space)
    assert flatten is not None
    flat, expected = flatten(seen), spaces.flatten(space, seen)
    assert flat.dtype == expected.dtype and flat.tolist() == expected.tolist()


@pytest.mark.parametrize("wrong", [3, None, [], lambda: 3])
def test_what_is_no_environment_is_refused_with_what_to_give(wrong: Any) -> None:
    with pytest.raises(UsageError, match=r"is not a gymnasium\.Env: give an environment.*its id"):
        LocalAccess(wrong)


def test_observations_that_cannot_be_flattened_are_refused_by_name() -> None:
    LocalAccess(Painted(spaces.Text(4, min_length=3)))
    with pytest.raises(UsageError, match=r"Sequence.*cannot be flattened"):
        LocalAccess(Painted(spaces.Sequence(spaces.Discrete(2))))


def test_the_name_is_at_the_top_of_the_package() -> None:
    assert uflp.LocalAccess is LocalAccess
    assert "LocalAccess" in dir(uflp) and "train" in dir(uflp)
    with pytest.raises(AttributeError, match="no attribute 'LocalAcces'"):
        _ = uflp.LocalAcces


def test_the_page_says_what_was_measured() -> None:
    root = Path(__file__).parent.parent.parent
    page = (root / "docs" / "local-access.md").read_text()
    with (root / "results" / "local-access-finds.csv").open() as file:
        rows = list(csv.DictReader(file))
    for saved, label in (
        ("nothing", "nothing (online)"),
        ("novelty", "by novelty (the default)"),
        ("every state", "every state (`checkpoint_period=1`)"),
    ):
        mine = [row for row in rows if row["saved"] == saved]
        goals = sorted(int(row["goals"]) for row in mine)
        seeds = f"{sum(goal > 0 for goal in goals)} of {len(mine)}"
        span = f"{goals[0]} to {goals[-1]}" if goals[-1] else "0"
        snapshots = np.median([int(row["snapshots"]) for row in mine])
        spent = np.median([float(row["time"]) for row in mine])
        assert f"| {label} | {seeds} | {span} | {snapshots:,.0f} | {spent:.1f}× |" in page


def test_a_name_with_its_prefix_will_do() -> None:
    assert uflp.LocalAccess("gym:MountainCar-v0").unwrapped.spec.id == "MountainCar-v0"


@pytest.mark.parametrize("name", ["uncertainty", "rule"])
@pytest.mark.parametrize("value", [3, int, object()])
def test_an_object_that_makes_nothing_is_refused_in_one_sentence(name: str, value: Any) -> None:
    with pytest.raises(UsageError, match=f"{name} is a name, or an object of settings"):
        uflp.LocalAccess(gymnasium.make("MountainCar-v0"), **{name: value})


def test_a_setting_that_is_not_there_is_answered_with_those_that_are() -> None:
    with pytest.raises(UsageError, match=r"counts has no binz.*regularization, bins, hash_bits"):
        uflp.LocalAccess(gymnasium.make("MountainCar-v0"), binz=3)
