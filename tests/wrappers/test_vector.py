"""LocalAccessVector: as Gymnasium's own vectors without restarts, and one history with them."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces, wrappers
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import uflp
from uflp.planning import RULES
from uflp.types import RunError, UsageError
from uflp.wrappers import LocalAccess, LocalAccessVector


class Corridor(gymnasium.Env[Any, Any]):
    """Right is 1, left is 0; the place is the observation; stepping off the left end is fatal."""

    observation_space = spaces.Discrete(20)
    action_space = spaces.Discrete(2)

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.place = (options or {}).get("place", 0)
        return self.place, {"begun": True}

    def step(self, action: int) -> Any:
        self.place = self.place + 1 if action else self.place - 1
        over = self.place < 0
        self.place = max(self.place, 0)
        return self.place, float(action), over, self.place == 19, {"place": self.place}


class Failing(Corridor):
    """Raises an error at place 2, and ends its process at place 3."""

    def step(self, action: int) -> Any:
        result = super().step(action)
        if self.place == 2:
            raise ZeroDivisionError("at place 2")
        if self.place == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return result


def cart_pole() -> Any:
    return gymnasium.make("CartPole-v1", max_episode_steps=30)


def mountain_car() -> Any:
    return gymnasium.make("MountainCar-v0")


def equal(one: Any, two: Any) -> None:
    """Compare batches, without what local access adds."""
    assert type(one) is type(two)
    if isinstance(one, dict):
        names = [name for name in two if not name.lstrip("_").startswith("uflp/")]
        assert set(one) == set(names)
        for name in names:
            equal(one[name], two[name])
    elif isinstance(one, np.ndarray) and one.dtype == object:
        for a, b in zip(one, two, strict=True):
            np.testing.assert_equal(a, b)
    else:
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("processes", [False, 2])
@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_without_restarts_it_is_what_gymnasium_makes(mode: AutoresetMode, processes: Any) -> None:
    ours = LocalAccessVector(
        cart_pole, 3, p_init=1.0, processes=processes, autoreset_mode=mode.value
    )
    theirs = SyncVectorEnv([cart_pole] * 3, autoreset_mode=mode)
    assert ours.metadata["autoreset_mode"] == mode
    assert (ours.observation_space, ours.action_space) == (
        theirs.observation_space,
        theirs.action_space,
    )
    for one, two in zip(theirs.reset(seed=5), ours.reset(seed=5), strict=True):
        equal(one, two)
    rng = np.random.default_rng(0)
    ends = 0
    for _ in range(120):
        actions = rng.integers(2, size=3)
        results = theirs.step(actions), ours.step(actions)
        for one, two in zip(*results, strict=True):
            equal(one, two)
        over = results[0][2] | results[0][3]
        ends += over.sum()
        if mode == AutoresetMode.DISABLED and over.any():
            both = [env.reset(options={"reset_mask": over.copy()}) for env in (theirs, ours)]
            for one, two in zip(*both, strict=True):
                equal(one, two)
    assert ends > 5
    # With next-step autoreset, a step that only resets is no query.
    resets = ends if mode == AutoresetMode.NEXT_STEP else 0
    pending = (results[0][2] | results[0][3]).sum() if resets else 0
    assert ours.queries == 360 - resets + pending
    ours.close()
    theirs.close()


def test_one_copy_does_what_local_access_does() -> None:
    one = LocalAccess(mountain_car())
    many = LocalAccessVector(mountain_car, 1, processes=False, autoreset_mode="SameStep")
    np.testing.assert_array_equal(one.reset(seed=3)[0], many.reset(seed=3)[0][0])
    rng = np.random.default_rng(0)
    for _ in range(2000):
        action = int(rng.integers(3))
        observation, reward, terminated, truncated, _ = one.step(action)
        if terminated or truncated:
            observation, _ = one.reset()
        result = many.step(np.array([action]))
        np.testing.assert_array_equal(result[0][0], observation)
        assert (result[1][0], result[2][0], result[3][0]) == (reward, terminated, truncated)
    assert one.restarts > 5
    told, untold = one.metrics(), many.metrics()
    # Of the last state, one that is to be saved waits for the next step.
    assert told["history_size"] - untold.pop("history_size") in (0, 1)
    assert told | untold == told


def course(processes: Any, mode: str) -> tuple[list[Any], Any]:
    env = LocalAccessVector(
        mountain_car, 3, processes=processes, autoreset_mode=mode, seed=0, restart_limit=40
    )
    seen = [env.reset(seed=1)[0]]
    rng = np.random.default_rng(0)
    for _ in range(300):
        seen.append(env.step(rng.integers(3, size=3))[0])
    told = env.metrics()
    env.close()
    return seen, told


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_processes_change_nothing(mode: str) -> None:
    (here, told), (there, retold) = course(False, mode), course(2, mode)
    assert all(map(np.array_equal, here, there))
    assert told == retold and told["restarts"] > 3


@pytest.mark.parametrize("processes", [False, True])
def test_one_copy_restarts_where_another_one_was(processes: Any) -> None:
    env = LocalAccessVector(Corridor, 2, p_init=0.0, processes=processes, seed=0)
    env.reset(seed=0)
    for _ in range(4):  # the first goes right to 4; the second steps off the left end twice
        _, _, _, _, infos = env.step(np.array([1, 0]))
    # At step 4 the second begins at 1 or 2, which were left once each; 3 is not saved yet.
    assert infos["uflp/restart"][1] and infos["_uflp/restart"].tolist() == [False, True]
    assert env.call("place")[0] == 4 and env.call("place")[1] in (1, 2)
    told = env.metrics()
    assert (told["queries"], told["restarts"], told["terminated"]) == (6, 2, 2)
    env.close()


def test_the_history_is_that_of_a_walk_by_hand() -> None:
    """Two copies walk 0 1 2 3 and 0 1 0 1; the last states wait for the step after them."""
    env = LocalAccessVector(Corridor, 2, processes=False, checkpoint_period=1)
    env.reset(seed=0)
    for actions in ([1, 1], [1, 0], [1, 1]):
        env.step(np.array(actions))
    assert env.metrics()["history_size"] == 6
    env.step(np.array([1, 1]))
    told = env.metrics()
    assert (told["history_size"], told["rewarded_queries"], told["first_reward"]) == (8, 7, 1)
    assert told["cells"] == 4
    env.close()


def test_a_rule_is_told_of_the_score_after_the_last_state_was_saved() -> None:
    """With a limit of one step each restart ends in a state that is saved before the next."""
    told: list[tuple[list[int], float]] = []

    class Diary:
        needs = None

        def make(self, sources: Any) -> Any:
            rule = RULES["uniform"]().make(sources)
            rule.ended = lambda entries, score: told.append((entries.tolist(), score))
            return rule

    env = LocalAccessVector(
        Corridor,
        1,
        processes=False,
        p_init=0.0,
        rule=Diary(),
        checkpoint_period=1,
        restart_limit=1,
        autoreset_mode="Disabled",
        seed=0,
    )
    env.reset(seed=0)
    env.step(np.array([1]))
    for _ in range(3):
        env.reset()
        assert env.step(np.array([1]))[3][0]
    env.reset()
    # The first episode added 0 and 1; then each restart adds its s0 and the state one step on.
    assert [entries for entries, _ in told] == [[2, 3], [4, 5], [6, 7]]
    assert told[0][1] == 1.0
    env.close()


def test_forced_first_actions_are_kept_for_whoever_pops_them() -> None:
    env = LocalAccessVector(Corridor, 2, p_init=0.0, processes=False, first_action="forced", seed=0)
    env.reset(seed=0)
    env.step(np.array([1, 1]))
    env.reset()
    popped = env.pop_transitions()
    assert len(popped) == env.queries - 2 >= 2
    assert env.pop_transitions() == []
    for step in popped:
        expected = step.observation + (1 if step.action else -1)
        assert step.next_observation == max(expected, 0)
    env.close()


def test_reset_takes_options_seeds_and_masks() -> None:
    env = LocalAccessVector(Corridor, 3, processes=False, autoreset_mode="Disabled")
    assert env.reset(seed=[1, 2, 3], options={"place": 7})[0].tolist() == [7, 7, 7]
    mask = np.array([False, True, False])
    observations, infos = env.reset(seed=4, options={"place": 9, "reset_mask": mask})
    assert observations.tolist() == [7, 9, 7]
    assert infos["_begun"].tolist() == mask.tolist()
    env.step(np.array([1, 1, 1]))
    with pytest.raises(UsageError, match="as many seeds, not 2"):
        env.reset(seed=[1, 2])
    for wrong in (np.zeros(3, bool), np.ones(2, bool), np.ones(3)):
        with pytest.raises(UsageError, match="reset_mask is an array of 3 booleans"):
            env.reset(options={"reset_mask": wrong})
    with pytest.raises(UsageError, match="as many actions, not 2"):
        env.step(np.array([1, 1]))
    env.close()


def test_disabled_autoreset_asks_for_a_reset() -> None:
    env = LocalAccessVector(Corridor, 1, processes=False, autoreset_mode="Disabled")
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(np.array([1]))
    env.reset(seed=0)
    assert env.step(np.array([0]))[2][0]
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(np.array([1]))
    env.close()


@pytest.mark.parametrize("processes", [False, 2])
def test_attributes_and_methods_of_the_copies(processes: Any) -> None:
    env = LocalAccessVector(Corridor, 2, processes=processes)
    env.reset(seed=0)
    env.step(np.array([1, 1]))
    assert env.get_attr("place") == (1, 1)
    env.set_attr("place", [4, 6])
    assert env.get_attr("place") == (4, 6)
    assert env.step(np.array([1, 1]))[0].tolist() == [5, 7]
    assert env.online().reset(seed=0)[0] == 0
    env.close()


def test_errors_of_an_environment_come_through_and_a_dead_process_is_said() -> None:
    env = LocalAccessVector(Failing, 2, processes=2, check=False)
    env.reset(seed=0)
    env.step(np.array([1, 1]))
    with pytest.raises(ZeroDivisionError, match="at place 2"):
        env.step(np.array([1, 1]))
    with pytest.raises(RunError, match=r"has died \(exit code -9\)"):
        env.step(np.array([1, 1]))
    env.close()


def test_a_planner_goes_from_a_vector_to_another_and_to_a_single_one(tmp_path: Path) -> None:
    one = LocalAccessVector(mountain_car, 2, processes=False)
    one.reset(seed=0)
    for number in range(300):
        one.step(np.array([number % 3, number * number % 3]))
    one.save_planner(tmp_path / "planner")
    two = LocalAccessVector(mountain_car, 3, processes=False)
    single = LocalAccess(mountain_car())
    for env in (two, single):
        env.reset(seed=0)
        env.load_planner(tmp_path / "planner")
        for name in ("cells", "history_size"):
            assert env.metrics()[name] == one.metrics()[name] > 10
        with pytest.raises(gymnasium.error.ResetNeeded):
            env.step(np.zeros(3, int) if env is two else 0)
        env.reset()
    one.close()
    two.close()


def test_the_picture_of_all_copies() -> None:
    env = LocalAccessVector(mountain_car, 2, processes=False, axes=(0, 1))
    env.reset(seed=0)
    blank = env.render_exploration()
    env.step(np.array([0, 2]))
    assert (env.render_exploration() != blank).any()
    env.close()


class Counted(Corridor):
    """Counts those that are open."""

    opened = 0

    def __init__(self) -> None:
        Counted.opened += 1

    def close(self) -> None:
        Counted.opened -= 1


class Unsavable(Counted):
    """Holds what can neither be read nor copied."""

    def __init__(self) -> None:
        super().__init__()
        self.handle = (number for number in range(3))


@pytest.mark.parametrize(
    ("make", "count", "options", "message"),
    [
        (Corridor, 0, {}, "num_envs must be a whole number of at least 1, not 0"),
        (Corridor, 2.0, {}, "num_envs must be a whole number"),
        (Corridor(), 2, {}, "make_env is a function that makes one environment"),
        ([Corridor, Corridor], 2, {}, "make_env is a function .* not list"),
        ("CartPole-v12", 2, {}, "Gymnasium cannot make CartPole-v12"),
        (lambda: gymnasium.make_vec("CartPole-v1", 2), 2, {}, "is a vector of environments"),
        (Corridor, 2, {"processes": -1}, "processes is True, False or"),
        (Corridor, 2, {"autoreset_mode": "now"}, "'NextStep', 'SameStep', 'Disabled', not 'now'"),
        (Corridor, 2, {"batch": "none"}, "batch must be a whole number"),
        (Counted, 2, {"bin": 3}, "counts has no"),
        (Counted, 2, {"strategy": "copy", "processes": 2}, "use processes=False"),
        (Unsavable, 2, {}, "cannot be saved"),
    ],
)
def test_bad_input_is_refused(make: Any, count: Any, options: Any, message: str) -> None:
    Counted.opened = 0
    with pytest.raises(UsageError, match=message):
        LocalAccessVector(make, count, **options)
    assert Counted.opened == 0


def test_copies_in_memory_work_in_one_process() -> None:
    env = LocalAccessVector(Corridor, 2, p_init=0.0, strategy="copy", processes=False, seed=0)
    env.reset(seed=0)
    for _ in range(6):
        env.step(np.array([1, 0]))
    assert env.metrics()["restarts"] > 1
    env.close()


def test_a_name_and_wrappers_will_do() -> None:
    env = LocalAccessVector("CartPole-v1", 2, processes=False)
    assert env.reset(seed=0)[0].shape == (2, 4)
    env.close()
    limited = LocalAccessVector(
        lambda: wrappers.TimeLimit(Corridor(), 3), 1, processes=False, p_init=0.0
    )
    limited.reset(seed=0)
    limits = [bool(limited.step(np.array([1]))[3][0]) for _ in range(8)]
    assert limits == [False, False, True, False, False, False, True, False]
    limited.close()


def test_the_name_is_at_the_top_of_the_package() -> None:
    assert uflp.LocalAccessVector is LocalAccessVector and "LocalAccessVector" in dir(uflp)


def test_a_vector_that_was_refused_can_be_closed() -> None:
    # As Gymnasium 1.1 does when it is deleted.
    LocalAccessVector.__new__(LocalAccessVector).close_extras()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_actions_that_are_not_finite_are_refused_and_nothing_is_saved(bad: float) -> None:
    one = LocalAccess("Pendulum-v1", p_init=0.0, seed=0)
    one.reset(seed=0)
    with pytest.raises(UsageError, match="an action is made of finite numbers"):
        one.step(np.array([bad], np.float32))
    assert one.metrics()["queries"] == 0
    several = LocalAccessVector("Pendulum-v1", 2, seed=0)
    several.reset(seed=0)
    with pytest.raises(UsageError, match="an action is made of finite numbers"):
        several.step(np.array([[0.0], [bad]], np.float32))
    assert several.metrics()["queries"] == 0
    several.step(np.zeros((2, 1), np.float32))
    several.close()
