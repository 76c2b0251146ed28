"""Names of simulators, and what checking them says."""

from __future__ import annotations

import itertools
import json
import re
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces, wrappers
from typer.testing import CliRunner

import uflp
from uflp.cli import app
from uflp.simulators.bsuite import Bsuite
from uflp.simulators.fidelity import glance, judge
from uflp.simulators.gymnasium import Gymnasium
from uflp.simulators.lookup import named
from uflp.types import UsageError

ELSEWHERE = [0]


class Counter(gymnasium.Env[Any, Any]):
    """Counts to ten."""

    observation_space = spaces.Box(-100, 100, (1,), np.float64)
    action_space = spaces.Discrete(2)

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.count = 0
        return self.seen(), {}

    def step(self, action: int) -> Any:
        self.count += 1
        return self.seen(), 0.0, self.count == 10, False, {}

    def seen(self) -> Any:
        return np.array([float(self.count)])


class Narrow(Counter):
    """Counts beyond the bounds that it names."""

    observation_space = spaces.Box(0, 3, (1,), np.float64)


class Outside(Counter):
    """Keeps its state in a module."""

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        ELSEWHERE[0] = 0
        return super().reset(seed=seed)

    def seen(self) -> Any:
        ELSEWHERE[0] += 1
        return np.array([float(ELSEWHERE[0])])


class Forgets(Counter):
    """Saves itself, but not all of itself."""

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        self.bonus = 0
        return super().reset(seed=seed)

    def step(self, action: int) -> Any:
        self.bonus += action
        return super().step(action)

    def seen(self) -> Any:
        return np.array([float(self.count + self.bonus)])

    def get_state(self) -> int:
        return self.count

    def set_state(self, state: int) -> None:
        self.count = state


class ForgetsMuch(Forgets):
    """Forgets thirty more attributes, of which the last by name comes first."""

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        vars(self).update({f"part_{number}": 0 for number in range(29, -1, -1)})
        return super().reset(seed=seed)

    def step(self, action: int) -> Any:
        result = super().step(action)
        vars(self).update({f"part_{number}": self.bonus for number in range(30)})
        return result


class Grows(Counter):
    """Comes back with an error of 1e-9, which grows tenfold with each step."""

    growth = 10.0

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        self.error = 0.0
        return super().reset(seed=seed)

    def step(self, action: int) -> Any:
        self.error *= self.growth
        return super().step(action)

    def seen(self) -> Any:
        return np.array([self.count + self.error])

    def get_state(self) -> int:
        return self.count

    def set_state(self, state: int) -> None:
        self.count, self.error = state, 1e-9


class Stays(Grows):
    """Comes back with an error of 1e-9, which stays."""

    growth = 1.0


class EndsLater(Counter):
    """Comes back with one step more to go."""

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        self.more = 0
        return super().reset(seed=seed)

    def step(self, action: int) -> Any:
        self.count += 1
        return np.zeros(1), 0.0, self.count == 10 + self.more, False, {}

    def get_state(self) -> int:
        return self.count

    def set_state(self, state: int) -> None:
        self.count, self.more = state, 1


NUMBERS = itertools.count()


class Seedless(Counter):
    """Its episodes do not follow from seeds."""

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        observation, info = super().reset(seed=seed)
        self.start = next(NUMBERS) % 7
        return observation + self.start, info


class Failing(Counter):
    """Cannot be stepped."""

    def step(self, action: int) -> Any:
        raise OSError("the robot does not answer")


class Unseeded(Counter):
    """Its reset takes no seed."""

    def reset(self) -> Any:
        return super().reset()


class Unsaved(Counter):
    """Can be saved after the first reset, which has no seed, and not after one with seed 0."""

    def get_state(self) -> int:
        if self.np_random_seed == 0:
            raise OSError("the disk is full")
        return self.count

    def set_state(self, state: int) -> None:
        self.count = state


def raises() -> Any:
    raise RuntimeError("the license server is down")


def test_names_become_settings() -> None:
    assert named("gym:CartPole-v1", strategy="copy") == Gymnasium("CartPole-v1", "copy")
    assert named("bsuite:catch/3") == named("bsuite/catch/3") == Bsuite("catch/3")
    assert named("deep-sea").size == 50
    assert named(f"{__name__}:Counter").make(0).unwrapped.count == 0


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("deep-see", "did you mean 'deep-sea'"),
        ("deep-sea/20", "deep-sea has no ids.* such as size=20"),
        ("deep-sea:20", "deep-sea has no ids.* such as size=20"),
        ("swingup:3", "swingup has no ids.* such as height_threshold=3"),
        ("no_such_module:make", "there is no module 'no_such_module'"),
        (f"{__name__}:nothing", "has no function or class 'nothing'"),
    ],
)
def test_names_that_mean_nothing_are_refused(name: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        named(name)


class Fails(Counter):
    """Raises an error now and then."""

    def step(self, action: int) -> Any:
        if self.count == 5:
            raise OSError("the engine stalled")
        return super().step(action)


def test_a_faithful_one_is_called_so() -> None:
    verdict = judge(named(f"{__name__}:Counter"), steps=20)
    assert (verdict.outcome, verdict.strategy) == ("faithful", "attributes")
    assert verdict.nbytes > 0 and not verdict.findings


@pytest.mark.parametrize(
    ("name", "broken", "reason"),
    [
        ("Outside", "an exact restore replays to the bit", "a closure, a module"),
        ("Forgets", "an exact restore replays to the bit", "leaves different is env.bonus"),
        ("Seedless", "equal seeds give equal episodes", "does not decide the episode"),
        ("Failing", "equal seeds give equal episodes", "the environment fails by itself"),
    ],
)
def test_what_is_broken_is_named_with_where_it_comes_from(
    name: str, broken: str, reason: str
) -> None:
    verdict = judge(named(f"{__name__}:{name}"), steps=20)
    assert verdict.outcome == "unfaithful"
    assert broken in {finding.promise for finding in verdict.findings}
    assert reason in verdict.reason


class OfFourValues(Counter):
    """Has the step of Gym before version 0.26."""

    def step(self, action: int) -> Any:
        observation, reward, terminated, truncated, info = super().step(action)
        return observation, reward, terminated or truncated, info


class OfOneValue(Counter):
    """Has the reset of Gym before version 0.26."""

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        return super().reset(seed=seed)[0]


def test_what_fails_by_itself_is_told_once_and_not_blamed_on_the_strategy() -> None:
    verdict = judge(named(f"{__name__}:OfFourValues"), steps=20)
    (finding,) = verdict.findings
    assert "step(action) must return five values" in finding.detail
    assert verdict.grade == "diverges"
    assert verdict.lines(20)[-1].startswith("why: the environment fails by itself")


@pytest.mark.parametrize(
    ("env", "message"),
    [(OfFourValues, "must return five.*4 values"), (OfOneValue, "must return two")],
)
def test_calls_of_old_gym_are_named(env: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        wrapped = uflp.LocalAccess(env)
        wrapped.reset(seed=0)
        wrapped.step(0)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("Unseeded", "reset with seed and options, as Gymnasium has it, raised TypeError"),
        ("Unsaved", "saving raised OSError: the disk is full"),
    ],
)
def test_what_cannot_be_reset_or_saved_is_refused_with_the_reason(name: str, reason: str) -> None:
    verdict = judge(named(f"{__name__}:{name}"), steps=20)
    assert verdict.outcome == "refused" and reason in verdict.reason


def test_the_grade_says_how_far_replays_lie_apart() -> None:
    exact = uflp.check(Counter, steps=20)
    assert re.fullmatch(
        r"faithful, grade bit; saved by attributes, \d+ bytes a snapshot", str(exact)
    )
    assert (exact.outcome, exact.grade, exact.differs_after) == ("faithful", "bit", None)
    near = uflp.check(Stays, steps=20)
    assert (near.outcome, near.grade, near.findings) == ("faithful", "tolerance", ())
    assert near.largest_difference == pytest.approx(1e-9, rel=1e-3)
    assert (near.differs_after, near.diverges_after) == (0, None)
    strict = uflp.check(Stays, steps=20, tolerance=0)
    assert (strict.outcome, strict.grade, strict.diverges_after) == ("unfaithful", "diverges", 0)
    # Errors after 1, 2, … steps are 1e-8, 1e-7, 1e-6, 1e-5. From a reset, the count is then
    # 1, 2, 3, 4, and 1e-5 / 4 is the first that is more than 1e-6.
    far = uflp.check(Grows, steps=20)
    assert str(far).startswith("unfaithful, grade diverges; ") and "\nbroken: " in str(far)
    assert (far.outcome, far.grade) == ("unfaithful", "diverges")
    assert (far.differs_after, far.diverges_after) == (0, 3)
    assert uflp.check(Grows, steps=20, tolerance=1e-5).diverges_after == 4
    # Of 20 steps, a third is 6: three steps later the fourth one ends the episode, or does not.
    ends = uflp.check(EndsLater, steps=20)
    assert (ends.grade, ends.diverges_after) == ("diverges", 3)


def test_one_line_of_pytest_tests_an_environment() -> None:
    uflp.assert_faithful(Counter, steps=20)
    uflp.assert_faithful("gym:CartPole-v1", steps=20)
    uflp.assert_faithful(gymnasium.make("CartPole-v1"), steps=20)
    uflp.assert_faithful(lambda: wrappers.TimeLimit(Stays(), 7), steps=20)
    with pytest.raises(
        AssertionError, match=r"unfaithful:\n(.*\n)*.*leaves different is env.bonus"
    ):
        uflp.assert_faithful(Forgets, steps=20)
    with pytest.raises(AssertionError, match="refused"):
        uflp.assert_faithful(Unseeded, steps=20)
    for wrong in (Counter(), 3):
        with pytest.raises(UsageError, match="a function"):
            uflp.assert_faithful(wrong)
    with pytest.raises(UsageError, match="tolerance must lie in"):
        uflp.assert_faithful(Counter, tolerance=-1)


def test_of_several_differences_the_first_attribute_is_named() -> None:
    # In the order in which they were set: that of a set would change from process to process.
    assert judge(named(f"{__name__}:ForgetsMuch"), steps=20).reason.endswith(" is env.part_29")


def test_a_glance_sees_what_does_not_go_back() -> None:
    assert glance(named(f"{__name__}:Counter")) == ""
    assert "12 steps after a reset: observation 0 " in glance(named(f"{__name__}:Outside"))
    assert "12 steps after a reset: observation 0 " in glance(named(f"{__name__}:Forgets"))
    assert "12 steps after a reset: observation" in glance(named(f"{__name__}:Seedless"))
    # What fails while it is played says nothing about restores.
    assert glance(named(f"{__name__}:Fails")) == ""


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["gym:CartPole-v1"], 0, "gym:CartPole-v1: faithful"),
        ([f"{__name__}:Stays"], 0, "within 1e-06, over 20 steps: the largest difference is 1e-09"),
        ([f"{__name__}:Stays", "--tolerance", "0"], 1, "diverges after 0 steps"),
        ([f"{__name__}:Grows"], 1, "a restore diverges after 3 steps"),
        ([f"{__name__}:Narrow"], 1, "it goes back, but cells and networks are scaled by bounds"),
        ([f"{__name__}:Forgets"], 1, "the first attribute that a restore leaves different"),
        ([f"{__name__}:Forgets", "--strategy", "attributes"], 0, "saved by strategy: attributes"),
        ([f"{__name__}:Counter", "--strategy", "native"], 1, "refused"),
        ([f"{__name__}:Unseeded"], 1, "unexpected keyword argument 'seed'"),
    ],
)
def test_the_command_says_it_and_ends_with_a_code(words: Any, code: int, said: str) -> None:
    ended = CliRunner().invoke(app, ["check", *words, "--steps", "20"])
    assert ended.exit_code == code
    assert said in ended.stdout


def test_the_command_ends_with_json_if_asked_for() -> None:
    words = ["check", f"{__name__}:Forgets", "--steps", "20", "--json"]
    ended = CliRunner().invoke(app, words)
    assert ended.exit_code == 1
    outcome = json.loads(ended.stdout.splitlines()[-1])
    verdict = judge(named(f"{__name__}:Forgets"), steps=20)
    assert outcome["simulator"] == f"{__name__}:Forgets"
    assert outcome["outcome"] == "unfaithful"
    assert [(f["promise"], f["detail"]) for f in outcome["findings"]] == [*verdict.findings]
    assert (outcome["strategy"], outcome["reason"]) == (verdict.strategy, verdict.reason)
    assert outcome["nbytes"] == verdict.nbytes
    assert (outcome["grade"], outcome["diverges_after"]) == ("diverges", verdict.diverges_after)


@pytest.mark.parametrize(
    "words", [["deep-sea", "--strategy", "copy"], ["atari/breakout", "--strategy", "native"]]
)
def test_a_strategy_is_refused_where_there_is_no_choice(words: list[str]) -> None:
    ended = CliRunner().invoke(app, ["check", *words])
    assert isinstance(ended.exception, UsageError)
    assert f"{words[0]} has no strategy: its settings are " in str(ended.exception)


def test_a_factory_that_raises_shows_its_own_traceback(capsys: Any) -> None:
    with pytest.raises(UsageError, match="raises raised what stands above"):
        judge(named(f"{__name__}:raises"))
    assert "the license server is down" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--steps", "0"], ["--seed", "-1"]])
def test_bad_numbers_are_refused(words: list[str]) -> None:
    ended = CliRunner().invoke(app, ["check", "gym:CartPole-v1", *words])
    assert isinstance(ended.exception, UsageError)
