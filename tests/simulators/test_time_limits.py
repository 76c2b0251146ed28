"""A limit that truncates starts anew at a restart; one that is part of the state goes on."""

from __future__ import annotations

import json
import random
import warnings
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces, wrappers

import uflp
from uflp.experiments.recorded import recorded
from uflp.simulators import Simulator
from uflp.simulators.contract import check
from uflp.simulators.gymnasium import Gymnasium, GymnasiumSimulator
from uflp.types import UsageError

LIMIT = 20


class Walk(gymnasium.Env[Any, Any]):
    """A noisy walk that counts its own steps, and cuts episodes short after `LIMIT`."""

    observation_space = spaces.Box(-np.inf, np.inf, (1,), np.float64)
    action_space = spaces.Discrete(2)

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.place = 0.0
        self.moves = 0
        self.count = 0
        return self.seen(), {}

    def step(self, action: int) -> Any:
        self.count += 1
        self.moves += int(action)
        self.place += action + self.np_random.normal()
        return self.seen(), self.reward(), *self.end(), {}

    def seen(self) -> np.ndarray:
        return np.array([self.place])

    def reward(self) -> float:
        return -1.0

    def end(self) -> tuple[bool, bool]:
        return False, self.count >= LIMIT


class Equals(Walk):
    def end(self) -> tuple[bool, bool]:
        return False, self.count == LIMIT


class CountsDown(Walk):
    """`count` begins at `LIMIT` and falls."""

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        result = super().reset(seed=seed)
        self.count = LIMIT
        return result

    def step(self, action: int) -> Any:
        self.count -= 2
        return super().step(action)

    def end(self) -> tuple[bool, bool]:
        return False, self.count == 0


class Clock:
    def __init__(self) -> None:
        self.ticks = np.int64(0)


class InAnObject(Walk):
    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        self.clock = Clock()
        return super().reset(seed=seed)

    def step(self, action: int) -> Any:
        self.clock.ticks += 1
        return super().step(action)

    def end(self) -> tuple[bool, bool]:
        return False, bool(self.clock.ticks >= LIMIT)


class Terminates(Walk):
    def end(self) -> tuple[bool, bool]:
        return self.count >= LIMIT, False


class Shown(Walk):
    def seen(self) -> np.ndarray:
        return np.array([self.count / LIMIT])


class ShowsWhatIsLeft(CountsDown):
    def seen(self) -> np.ndarray:
        return np.array([float(self.count)])


class Rewarded(Walk):
    """Pays for something that depends on the time, which is thus part of the state."""

    def reward(self) -> float:
        return float(np.cos(self.count))


class Wind(Walk):
    """Time drives the dynamics; the limit is Gymnasium's."""

    def step(self, action: int) -> Any:
        self.place += np.sin(self.count)
        return super().step(action)

    def end(self) -> tuple[bool, bool]:
        return False, False


class ShowsLimit(gymnasium.ObservationWrapper[Any, Any, Any]):
    """Shows the counter of the limit that it wraps."""

    def __init__(self, env: Any):
        super().__init__(env)
        self.observation_space = spaces.Box(-np.inf, np.inf, (2,), np.float64)

    def observation(self, observation: Any) -> Any:
        return np.array([observation[0], self.env._elapsed_steps])


class ShowsParity(ShowsLimit):
    def observation(self, observation: Any) -> Any:
        return np.array([observation[0], self.env._elapsed_steps % 2])


class ShowsOwnCount(ShowsLimit):
    """Shows a counter of its own, which Gymnasium's limit knows nothing of."""

    def reset(self, **options: Any) -> Any:
        self.number = 0
        return super().reset(**options)

    def step(self, action: Any) -> Any:
        self.number += 1
        return super().step(action)

    def observation(self, observation: Any) -> Any:
        return np.array([observation[0], -self.number / LIMIT])


class Trapdoor(Walk):
    """Some actions end the episode at once, so most scripts of random actions are short."""

    action_space = spaces.Discrete(4)

    def step(self, action: int) -> Any:
        observation, reward, terminated, truncated, info = super().step(action)
        return observation, reward, terminated or action >= 2, truncated, info


class GlobalNoise(Walk):
    """Draws from the generators that all share."""

    def step(self, action: int) -> Any:
        np.random.normal()
        random.random()
        return super().step(action)


class Hidden(Walk):
    """Keeps its time where nobody finds it."""

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        self.times: list[int] = []
        return super().reset(seed=seed)

    def step(self, action: int) -> Any:
        self.times.append(1)
        return super().step(action)

    def end(self) -> tuple[bool, bool]:
        return False, len(self.times) >= LIMIT


def limited(env: Any) -> Any:
    return wrappers.TimeLimit(env, LIMIT)


def steps_to_the_end(simulator: Any) -> int:
    for number in range(1, 10 * LIMIT):
        *_, terminated, truncated, _ = simulator.step(number % 2)
        if terminated or truncated:
            return number
    raise AssertionError("the episode does not end")


def after_a_restart(env: Any, *, mode: Any = "fresh", at: int = 5, **settings: Any) -> int:
    """Return how long an episode is after it was restored some steps after its reset.

    One whole episode before shows what ends it.
    """
    simulator = env if isinstance(env, Simulator) else GymnasiumSimulator(env, **settings)
    simulator.reset(seed=0)
    steps_to_the_end(simulator)
    simulator.reset(seed=1)
    for number in range(at):
        simulator.step(number % 2)
    snapshot = simulator.save()
    simulator.restore(snapshot, randomness=mode)
    return steps_to_the_end(simulator)


RESTARTED = [
    lambda: gymnasium.make("MountainCar-v0", max_episode_steps=LIMIT),
    lambda: limited(Wind()),
    lambda: wrappers.RecordEpisodeStatistics(limited(Wind())),
    Walk,
    Trapdoor,
    Equals,
    CountsDown,
    InAnObject,
    lambda: wrappers.ClipReward(Walk(), -9, 9),
]
CONTINUED = [
    Terminates,
    Shown,
    Rewarded,
    lambda: wrappers.TimeAwareObservation(limited(Wind())),
    lambda: ShowsLimit(limited(Wind())),
    lambda: ShowsParity(limited(Wind())),
    lambda: ShowsOwnCount(limited(Wind())),
    ShowsWhatIsLeft,
]


@pytest.mark.parametrize("make", RESTARTED)
@pytest.mark.parametrize("strategy", ["attributes", "copy", "replay"])
def test_a_limit_that_truncates_starts_anew(make: Any, strategy: str) -> None:
    assert after_a_restart(make(), strategy=strategy) == LIMIT


@pytest.mark.parametrize("make", RESTARTED)
@pytest.mark.parametrize("at", [0, LIMIT - 1])
def test_it_does_so_at_the_beginning_and_just_before_the_end(make: Any, at: int) -> None:
    assert after_a_restart(make(), at=at) == LIMIT


@pytest.mark.parametrize("make", CONTINUED)
def test_a_limit_that_is_part_of_the_state_goes_on(make: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert after_a_restart(make()) == LIMIT - 5
        simulator = GymnasiumSimulator(make())
        assert after_a_restart(simulator, at=0) == LIMIT
        assert after_a_restart(simulator, at=5) == LIMIT - 5


def test_a_counter_is_found_where_only_restored_episodes_are_long_enough() -> None:
    simulator = GymnasiumSimulator(Walk())
    simulator.reset(seed=0)
    for _ in range(5):
        simulator.step(1)
    snapshot = simulator.save()
    lengths = []
    for _ in range(3):
        simulator.restore(snapshot)
        lengths.append(steps_to_the_end(simulator))
    simulator.restore(snapshot)
    assert [*lengths, steps_to_the_end(simulator)] == [LIMIT - 5, LIMIT - 5, LIMIT, LIMIT]


def test_where_trials_are_dear_an_observation_of_the_time_is_known() -> None:
    env = wrappers.TimeAwareObservation(limited(Wind()))
    assert after_a_restart(env, strategy="replay") == LIMIT - 5


@pytest.mark.parametrize("make", [*RESTARTED, *CONTINUED])
def test_continue_and_exact_restores_keep_the_saved_step(make: Any) -> None:
    assert after_a_restart(make(), time_limit="continue") == LIMIT - 5
    assert after_a_restart(make(), mode="exact") == LIMIT - 5


def test_a_named_counter_starts_anew_without_having_truncated() -> None:
    simulator = GymnasiumSimulator(limited(Rewarded()), time_limit="count")
    simulator.reset(seed=0)
    for _ in range(5):
        simulator.step(1)
    simulator.restore(simulator.save())
    assert simulator.unwrapped.count == 0
    assert steps_to_the_end(simulator) == LIMIT


@pytest.mark.parametrize("strategy", ["attributes", "copy", "replay"])
def test_snapshots_after_a_restart_keep_the_new_count(strategy: str) -> None:
    simulator = GymnasiumSimulator(limited(Wind()), strategy=strategy)
    simulator.reset(seed=0)
    for _ in range(5):
        simulator.step(1)
    simulator.restore(simulator.save())
    for _ in range(3):
        simulator.step(1)
    simulator.restore(simulator.save(), randomness="exact")
    assert steps_to_the_end(simulator) == LIMIT - 3


def test_where_no_counter_is_found_one_warning_says_what_that_costs() -> None:
    with pytest.warns(UserWarning, match=r"no counter of steps.*further than one") as told:
        simulator = GymnasiumSimulator(Hidden())
        for _ in range(3):
            assert after_a_restart(simulator) == LIMIT - 5
    assert len(told) == 1


def test_looking_for_the_counter_disturbs_nothing() -> None:
    """Noise goes on after the restart as if nobody had looked, in the global generators too."""

    def noise(time_limit: str) -> list[float]:
        simulator = GymnasiumSimulator(GlobalNoise(), time_limit=time_limit)
        np.random.seed(0)
        random.seed(0)
        simulator.action_space.seed(0)
        simulator.reset(seed=0)
        steps_to_the_end(simulator)
        simulator.reset()
        snapshot = simulator.save()
        simulator.step(0)
        simulator.restore(snapshot)
        drawn = [simulator.step(0)[0][0] for _ in range(5)]
        return [*drawn, np.random.normal(), random.random(), simulator.action_space.sample()]

    assert noise("restart") == noise("continue")


def test_what_was_found_goes_with_the_logs() -> None:
    """A resumed run need not see a truncation again."""
    one, two = GymnasiumSimulator(Walk()), GymnasiumSimulator(Walk())
    one.reset(seed=0)
    steps_to_the_end(one)
    one.reset(seed=1)
    for _ in range(5):
        one.step(1)
    snapshot = one.save()
    one.restore(snapshot)
    two.load_logs(one.logs())
    two.restore(snapshot)
    assert steps_to_the_end(two) == LIMIT
    two.load_logs({"replayed": 3})  # of a version that knew nothing of this
    assert two.replayed == 3


def test_minigrid_starts_anew() -> None:
    pytest.importorskip("minigrid")
    from uflp.simulators.minigrid import Minigrid

    simulator = Minigrid("MiniGrid-Empty-5x5-v0").make(0)
    simulator.reset(seed=0)
    left = 0
    while not simulator.step(left)[3]:
        pass
    simulator.reset(seed=0)
    for _ in range(5):
        simulator.step(left)
    simulator.restore(simulator.save())
    assert simulator.unwrapped.step_count == 0


@pytest.mark.parametrize("make", [Walk, lambda: limited(Wind())])
def test_simulators_with_such_limits_keep_every_promise(make: Any) -> None:
    assert check(lambda: GymnasiumSimulator(make()), steps=40) == []


def test_evaluation_keeps_the_limit_of_the_environment() -> None:
    """MountainCar ends after 200 steps in evaluation, however far restarts go in training."""
    result = uflp.train(
        "gym:MountainCar-v0",
        agent="random",
        uncertainty="counts",
        queries=900,
        eval_period=300,
        eval_episodes=2,
        p_init=0.1,
    )
    assert list(result.metrics["eval_return_mean"]) == [-200.0] * 3
    assert result.metrics["restarts"][-1] > 0


def goals(time_limit: str) -> int:
    """Return how often 7,000 random actions reach the goal of MountainCar with local access."""
    simulator = GymnasiumSimulator(gymnasium.make("MountainCar-v0"), time_limit=time_limit)
    env = uflp.LocalAccess(simulator, p_init=0.2, batch=None, checkpoint_period=1, seed=2)
    rng = np.random.default_rng(2)
    env.reset(seed=2)
    reached = 0
    for _ in range(7_000):
        *_, terminated, truncated, _ = env.step(int(rng.integers(3)))
        reached += terminated
        if terminated or truncated:
            env.reset()
    return reached


def test_random_actions_reach_the_goal_of_mountain_car() -> None:
    assert goals("restart") > 0
    assert goals("continue") == 0


def test_runs_of_before_go_on_as_they_began(tmp_path: Path) -> None:
    settings = {"queries": 20, "eval_period": 20, "eval_episodes": 1}
    uflp.train("gym:CartPole-v1", agent="random", uncertainty="counts", out=tmp_path, **settings)
    assert recorded(tmp_path)[0].simulator.time_limit == "restart"
    config = json.loads((tmp_path / "config.json").read_text())
    del config["settings"]["time_limit"]
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert recorded(tmp_path)[0].simulator.time_limit == "continue"


@pytest.mark.parametrize(
    ("attempt", "message"),
    [
        (lambda: GymnasiumSimulator(Walk(), time_limit="cuont"), "did you mean 'count'"),
        (lambda: Gymnasium(time_limit="5 steps"), "name of an attribute"),
        (lambda: Gymnasium(time_limit=None), "name of an attribute"),  # type: ignore[arg-type]
    ],
)
def test_bad_input_is_refused(attempt: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        attempt()
