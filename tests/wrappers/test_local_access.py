"""LocalAccess: restarts at the most uncertain state, counts, queues, limits, copies."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces, wrappers
from gymnasium.utils.env_checker import check_env
from probes import Dice

import uflp
from uflp.collection import RULES
from uflp.simulators.deep_sea import DeepSea
from uflp.types import UsageError
from uflp.uncertainty.covariance import Covariance
from uflp.wrappers import LocalAccess


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
    return {env.memory.rule.choose(rng).entry for _ in range(200)}


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
    env = LocalAccess(Walled(), p_init=0.0, batch=None, checkpoint_period=1, seed=0)
    _, info = env.reset(seed=0)
    assert info == {"uflp/restart": False}
    walk(env, [0, 1, 0, 1, 1, 0, 1, 1])  # both actions at places 0, 1 and 2, none at 3
    observation, info = env.reset()
    assert observation == 3 and info["uflp/restart"] and env.unwrapped.place == 3
    assert env.restarts == 1 and env.queries == 8
    walk(env, [0, 1])
    assert env.memory.uncertainty.visits[:4].tolist() == [[1, 2], [1, 2], [1, 2], [1, 0]]
    observation, info = env.reset()
    assert (observation, info["uflp/first_action"]) == (3, 1)


@pytest.mark.parametrize("first_action", ["free", "forced"])
def test_a_restart_samples_the_future_anew(first_action: Any) -> None:
    """Noise that replayed would throw again what was thrown when the snapshot was taken."""
    Dice.thrown.clear()
    env = LocalAccess(
        Dice(), p_init=0.0, batch=None, checkpoint_period=1, first_action=first_action, seed=0
    )
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


def test_time_limits_go_on_from_the_restored_step() -> None:
    env = LocalAccess(corridor(), p_init=0.0, batch=None, checkpoint_period=14)
    env.reset(seed=0)
    walk(env, [1] * 14)
    for _ in range(4):
        observation, _ = env.reset()
        if observation == 14:
            break
    assert observation == 14
    assert env.step(1)[3], "the fifteenth step is the last"


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
    assert len(set(env.memory.history.keys(env.memory.history.live()).tolist())) == 19


def test_an_episode_that_ends_at_the_limit_is_over() -> None:
    env = LocalAccess(Corridor(), p_init=0.0, restart_limit=1)
    env.reset(seed=0)
    env.reset()
    assert env.step(0)[2:4] == (True, False)


def test_expensive_snapshots_are_taken_ever_more_rarely() -> None:
    env = LocalAccess(corridor(), p_init=0.0)
    env.reset(seed=0)
    walk(env, [1] * 14)
    keys = env.memory.history.keys(env.memory.history.live())
    assert keys.tolist() == [0, 1, 4]
    assert LocalAccess(lambda: DeepSea(size=5).make(0))._period == 1


def test_a_forced_first_action_is_taken_inside_and_queued() -> None:
    env = LocalAccess(Walled(), p_init=0.0, batch=None, checkpoint_period=1, first_action="forced")
    env.reset(seed=0)
    walk(env, [0, 1, 0, 1, 1, 0, 1])  # all but the right action at place 2, which leads to 3
    observation, info = env.reset()
    assert (observation, info["uflp/first_action"]) == (3, 1)
    assert env.pop_transitions() == [(2, 1, 1.0, 3, False, False, 0.0, None)]
    assert env.pop_transitions() == []
    assert env.queries == 8
    assert env.memory.uncertainty.visits[2, 1] == 1


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
    assert env.memory.uncertainty.cells == 2


def test_works_in_vectors_of_environments() -> None:
    functions = [lambda: LocalAccess(gymnasium.make("MountainCar-v0"), p_init=0.2)] * 2
    envs = gymnasium.vector.SyncVectorEnv(functions)
    envs.reset(seed=0)
    for _ in range(450):
        envs.step(envs.action_space.sample())
    assert sum(env.restarts for env in envs.envs) > 0
    assert envs.envs[0].memory is not envs.envs[1].memory
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
    assert env.memory.uncertainty is None


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
        ({"batch": 0}, "batch must be at least 1"),
        ({"restart_limit": 0}, "restart_limit must be at least 1"),
        ({"first_action": "maybe"}, "first_action is 'free' or 'forced'"),
        ({"restart": "pairs"}, "restart is 'pair', 'state' or None, not 'pairs'"),
        ({"seed": -1}, "seed must not be negative, not -1"),
        ({"uncertainty": "count"}, "did you mean 'counts'"),
        ({"uncertainty": "ensemble-std"}, "choose counts, covariance"),
        ({"bin": 3}, "counts has no such setting"),
        ({"rule": "unifrom"}, "did you mean 'uniform'"),
        ({"rule": "td-error"}, "td-error goes by the action values of an agent"),
        ({"rule": "go-explore", "uncertainty": "covariance"}, "go-explore .* use counts"),
    ],
)
def test_bad_input_is_refused(options: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        LocalAccess(corridor(), **options)


def test_a_vector_of_environments_is_refused_with_what_works() -> None:
    with pytest.raises(UsageError, match="wrap each one by itself"):
        LocalAccess(gymnasium.make_vec("CartPole-v1", 2))  # type: ignore[arg-type]


def test_a_reset_refuses_a_negative_seed() -> None:
    with pytest.raises(UsageError, match="seed must not be negative"):
        LocalAccess(corridor()).reset(seed=-1)


def test_pairs_of_actions_without_numbers_are_refused_with_what_works() -> None:
    with pytest.raises(UsageError, match="counts, covariance and rnd score states alone"):
        LocalAccess(gymnasium.make("Pendulum-v1"), restart="pair")


def test_observations_that_cannot_be_flattened_are_refused_by_name() -> None:
    LocalAccess(Painted(spaces.Text(4, min_length=3)))
    with pytest.raises(UsageError, match=r"Sequence.*cannot be flattened"):
        LocalAccess(Painted(spaces.Sequence(spaces.Discrete(2))))


def test_the_name_is_at_the_top_of_the_package() -> None:
    assert uflp.LocalAccess is LocalAccess
    with pytest.raises(AttributeError, match="no attribute 'LocalAcces'"):
        _ = uflp.LocalAcces
