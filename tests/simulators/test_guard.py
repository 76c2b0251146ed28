"""Simulators that return what they must not, or nothing at all, are found and survived."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from probes import Corridor, corridor_run

import uflp
from uflp.planning import SimulatorFailedError
from uflp.runs.train import train
from uflp.simulators.base import Simulator
from uflp.simulators.contract import check
from uflp.simulators.guard import guard, unsound
from uflp.training.run import Run
from uflp.types import UsageError, error_text


class Walk(Simulator):
    """A walk along a line, which is observed as one number in a vector."""

    stamp = "walk/1"

    def __init__(self) -> None:
        self.action_space = gymnasium.spaces.Discrete(2)
        self.observation_space: Any = gymnasium.spaces.Box(0, 10, (1,), np.float32)
        self.place = 0

    def seen(self) -> Any:
        return np.array([self.place], np.float32)

    def _reset(self, seed: int | None) -> Any:
        self.place = 0
        return self.seen(), {}

    def _step(self, action: Any) -> Any:
        self.place += 1
        return self.seen(), 0.0, self.place == 10, False, {}

    def _save(self) -> bytes:
        return bytes([self.place])

    def _restore(self, data: bytes, *, exact: bool) -> Any:
        self.place = data[0]
        return self.seen(), {}


class WordlessError(Exception):
    """An error whose own text fails."""

    def __str__(self) -> str:
        raise ValueError("no text")

    __repr__ = __str__


class Wordless(Walk):
    def _step(self, action: Any) -> Any:
        raise WordlessError


class WithoutStamp(Walk):
    stamp = ""


class WrongWidth(Walk):
    snapshot_width = 4


class TextSnapshots(Walk):
    def save(self) -> Any:
        return super().save()._replace(data="here")


class WithoutInfo(Walk):
    def _reset(self, seed: int | None) -> Any:
        return super()._reset(seed)[0]


class InfoIsNone(Walk):
    def _reset(self, seed: int | None) -> Any:
        return super()._reset(seed)[0], None


class FourValues(Walk):
    def _step(self, action: Any) -> Any:
        return super()._step(action)[:4]


class WrongShape(Walk):
    def seen(self) -> Any:
        return np.zeros((1, 1), np.float32)


class WrongType(Walk):
    def seen(self) -> Any:
        return np.array(["here"])


class Outside(Walk):
    def __init__(self) -> None:
        super().__init__()
        self.observation_space = gymnasium.spaces.Discrete(5)

    def seen(self) -> Any:
        return self.place + 3


class Aliased(Walk):
    def __init__(self) -> None:
        super().__init__()
        self.array = np.zeros(1, np.float32)

    def seen(self) -> Any:
        self.array[0] = self.place
        return self.array


class RewardIsText(Walk):
    def step(self, action: Any) -> Any:
        observation, _, *rest = super().step(action)
        return observation, "much", *rest


class EndIsNone(Walk):
    def step(self, action: Any) -> Any:
        return *super().step(action)[:3], None, {}


class ExitsAtOnce(Walk):
    def _reset(self, seed: int | None) -> Any:
        raise SystemExit(3)


class EmptyObservations(Walk):
    def __init__(self) -> None:
        super().__init__()
        self.observation_space = gymnasium.spaces.Box(0, 10, (0,), np.float32)

    def seen(self) -> Any:
        return np.zeros(0, np.float32)


class WithoutActions(Walk):
    def __init__(self) -> None:
        super().__init__()
        self.action_space = None  # type: ignore[assignment]


class WithoutSpaces(gymnasium.Env[Any, Any]):
    """An environment of Gymnasium's whose spaces were forgotten."""

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        return 0, {}


BAD = {
    EmptyObservations: "its observations hold no number",
    WithoutActions: "the action_space of WithoutActions must be a space of Gymnasium's, not None",
    WithoutSpaces: "the observation_space of WithoutSpaces must be a space",
    WithoutStamp: "it has no stamp",
    WrongWidth: "5 bytes, checksum included, and snapshot_width promises 4",
    TextSnapshots: "its snapshots are a str, not bytes",
    WithoutInfo: "reset.*must return the observation and an info",
    InfoIsNone: "reset returns a NoneType where the info, a dict, should be",
    FourValues: "step.*must return five values.*expected 5, got 4",
    WrongShape: r"the observation has shape \(1, 1\), not \(1,\)",
    WrongType: "the observation is of <U4, not of float32",
    Outside: "the observation is 5, not a number from 0 to 4",
    Aliased: "step writes into the observation that it returned before",
    RewardIsText: "the reward 'much', which is not a number",
    EndIsNone: "None where whether the episode is over should be",
    ExitsAtOnce: r"reset.*raised SystemExit\(3\)",
}


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_simulator_is_refused_before_the_first_query(kind: Any, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=BAD[kind]):
        uflp.train(kind, agent="random", queries=20, out=tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


def test_a_good_one_is_not() -> None:
    assert uflp.train(Walk, agent="random", queries=20).summary["queries"] == 20


@pytest.mark.parametrize("kind", [WithoutStamp, WrongWidth])
def test_what_is_never_saved_may_be_saved_wrongly(kind: Any) -> None:
    result = uflp.train(kind, agent="random", access="online", queries=20)
    assert result.summary["queries"] == 20


class Settings:
    """Settings that make one kind of simulator."""

    def __init__(self, kind: Any):
        self._kind = kind

    def make(self, seed: int) -> Any:
        return self._kind()


def test_one_that_fails_now_and_then_is_not_refused() -> None:
    class Flaky(Walk):
        failed = 0

        def _reset(self, seed: int | None) -> Any:
            if Flaky.failed < 2:
                Flaky.failed += 1
                raise OSError("the engine stalled")
            return super()._reset(seed)

        def _step(self, action: Any) -> Any:
            if self.place == 5:
                raise OSError("the engine stalled")
            return super()._step(action)

    assert unsound(Settings(Flaky)) == ""
    assert Flaky.failed == 2


def test_masks_decide_the_first_actions() -> None:
    class Masked(Walk):
        masked = True

        def _reset(self, seed: int | None) -> Any:
            return super()._reset(seed)[0], {"action_mask": np.array([0, 1], np.int8)}

        def _step(self, action: Any) -> Any:
            assert action == 1
            return *super()._step(action)[:4], {"action_mask": np.array([0, 1], np.int8)}

    assert unsound(Settings(Masked), restores=False) == ""


# In the midst of a run


def test_a_rollout_with_an_observation_that_cannot_be_is_dropped() -> None:
    run = Run(corridor_run())
    simulator = run.simulator
    observed, calls = simulator._observation, iter(range(10**6))
    simulator._observation = lambda: 99 if next(calls) in (30, 31, 77) else observed()
    assert len(list(run.train())) == 4
    assert run.counters.dropped_rollouts == 3


@pytest.mark.parametrize(
    "error", [asyncio.CancelledError, GeneratorExit, type("PanicException", (BaseException,), {})]
)
def test_errors_that_are_no_exceptions_are_failures_too(error: type[BaseException]) -> None:
    run = Run(corridor_run())
    step, calls = run.simulator._step, iter(range(10**6))

    def failing(action: Any) -> Any:
        if next(calls) in (30, 77):
            raise error
        return step(action)

    run.simulator._step = failing
    assert len(list(run.train())) == 4
    assert run.counters.dropped_rollouts == 2


def test_the_end_that_somebody_asks_for_is_no_failure() -> None:
    run = Run(corridor_run())

    def ended(action: Any) -> Any:
        raise KeyboardInterrupt

    run.simulator._step = ended
    with pytest.raises(KeyboardInterrupt):
        list(run.train())


def test_a_run_whose_observations_stay_wrong_is_saved(tmp_path: Path) -> None:
    def broken(settings: Any) -> Run:
        run = Run(settings)
        observed = run.simulator._observation
        run.simulator._observation = lambda: "x" if run.queries > 100 else observed()
        return run

    message = r"failed in 11 rollouts in a row.*'x', not one whole number.*saved; go on with"
    with pytest.raises(SimulatorFailedError, match=message):
        train(corridor_run(), out=tmp_path / "run", make_run=broken)
    assert train(corridor_run(), out=tmp_path / "run", resume=True).summary["queries"] == 200


@pytest.mark.parametrize("name", ["step", "restore", "reset", "save"])
def test_a_call_that_hangs_counts_as_failed(name: str) -> None:
    class Hanging(Corridor):
        def make(self, seed: int) -> Any:
            simulator = super().make(seed)
            call, calls = getattr(simulator, f"_{name}"), iter(range(10**6))

            def called(*words: Any, **options: Any) -> Any:
                if next(calls) == 3:
                    time.sleep(600)
                return call(*words, **options)

            setattr(simulator, f"_{name}", called)
            return simulator

    settings = corridor_run(corridor=Hanging(length=6), call_timeout=0.2, p_init=0.3)
    run = Run(settings)
    assert len(list(run.train())) == 4
    assert run.counters.dropped_rollouts == 1


def test_the_time_of_a_call_includes_the_calls_within_it() -> None:
    class Nested(Walk):
        def _restore(self, data: bytes, *, exact: bool) -> Any:
            self.reset()
            time.sleep(600)

    simulator = guard(Nested(), timeout=0.1)
    simulator.reset()
    snapshot = simulator.save()
    with pytest.raises(Exception, match=r"took more than 0\.1 seconds"):
        simulator.restore(snapshot)
    simulator.reset()
    time.sleep(0.3)  # No timer is left that would go off outside of a call.


def test_other_threads_have_no_timers() -> None:
    simulator = guard(Walk(), timeout=60.0)
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(simulator.reset()[0]))
    thread.start()
    thread.join()
    assert found[0].tolist() == [0.0]


@pytest.mark.parametrize("seconds", [0.0, -1.0, math.nan, math.inf])
def test_a_timeout_is_a_time(seconds: float) -> None:
    with pytest.raises(UsageError, match="call_timeout must be a number"):
        uflp.train("deep-sea", size=3, queries=20, call_timeout=seconds)


def test_an_error_whose_own_text_fails_is_told_by_its_name() -> None:
    assert error_text(ValueError("text")) == "ValueError('text')"
    assert error_text(ValueError("text"), str) == "text"
    with pytest.raises(UsageError, match=r"raised WordlessError \(without a text"):
        uflp.train(Wordless, queries=10)
    fails: list[Any] = []

    class Later(Walk):
        def _step(self, action: Any) -> Any:
            fails.append(action)
            if len(fails) > 100:
                raise WordlessError
            return super()._step(action)

    with pytest.raises(SimulatorFailedError, match=r"with WordlessError \(without a text"):
        uflp.train(Later, queries=500)
    findings = " ".join(str(finding) for finding in check(Wordless))
    assert "WordlessError (without a text" in findings
