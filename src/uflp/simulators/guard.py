"""Guards around the calls of a simulator, which may be anybody's code.

`guard` lets a call fail that takes too long, or whose outcome is not what the spaces promise. A run
drops the rollout then, as after any error of the simulator. `unsound` finds the same, and more,
before a run begins.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import numpy as np

from uflp import spaces
from uflp.simulators.base import Simulator
from uflp.types import UsageError, error_text

_FAILURES = frozenset({"CancelledError", "GeneratorExit", "PanicException"})
"""Names of errors that are no `Exception`, and yet failures of a simulator: a call of `asyncio` was
given up, a generator was closed, code in Rust panicked."""

_TRIES = 3
_STEPS = 8


class UnsoundError(RuntimeError):
    """A simulator returned what it must not; the message says what."""


def guard(simulator: Simulator, timeout: float | None = None) -> Simulator:
    """Let the calls of a simulator fail in place of returning what is wrong; return it.

    Args:
        simulator: whose methods are wrapped.
        timeout: seconds that a call may take; None waits for ever.
    """
    problem = _observation_check(simulator)
    if timeout is not None:
        clock = _Clock(timeout)
        for name in ("reset", "restore", "step", "save"):
            setattr(simulator, name, clock.limited(getattr(simulator, name)))

    def guarded(call: Callable[..., Any], length: int) -> Callable[..., Any]:
        def called(*arguments: Any, **options: Any) -> Any:
            try:
                result = call(*arguments, **options)
            except Exception:
                raise
            except BaseException as error:
                if type(error).__name__ in _FAILURES:
                    raise UnsoundError(f"a call raised {error_text(error)}") from error
                raise
            if type(result) is not tuple or len(result) != length:
                raise UnsoundError(_tuple_problem(result, length))
            wrong = problem(result[0])
            if wrong:
                raise UnsoundError(f"the observation {wrong}")
            return result

        return called

    for name, length in (("reset", 2), ("restore", 2), ("step", 5)):
        setattr(simulator, name, guarded(getattr(simulator, name), length))
    return simulator


class _Clock:
    """Raises `TimeoutError` in calls that take too long; a call within a call has its time.

    Only in the main thread of a process, where Python lets signals be caught, and only in calls
    that come back to Python now and then.
    """

    def __init__(self, seconds: float):
        self._seconds = seconds
        self._running = False

    def limited(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function whose time is limited."""

        def called(*arguments: Any, **options: Any) -> Any:
            with self._limit():
                return call(*arguments, **options)

        return called

    @contextlib.contextmanager
    def _limit(self) -> Iterator[None]:
        in_main = threading.current_thread() is threading.main_thread()
        if self._running or not in_main or not hasattr(signal, "setitimer"):
            yield
            return
        before = signal.signal(signal.SIGALRM, self._end)
        self._running = True
        signal.setitimer(signal.ITIMER_REAL, self._seconds)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            self._running = False
            signal.signal(signal.SIGALRM, before)

    def _end(self, number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"a call of the simulator took more than {self._seconds:g} seconds")


def _observation_check(simulator: Simulator) -> Callable[[Any], str]:
    """Return what says how an observation is wrong; quick where it is as it mostly is."""
    space = simulator.observation_space
    shape, kind, many = space.shape, space.dtype, spaces.count(space)

    def number(observation: Any) -> str:
        if type(observation) is int and 0 <= observation < (many or 0):
            return ""
        return spaces.outside(space, observation)

    def array(observation: Any) -> str:
        if (
            type(observation) is np.ndarray
            and observation.dtype == kind
            and observation.shape == shape
        ):
            return ""
        return spaces.outside(space, observation)

    return array if many is None else number


def _tuple_problem(result: Any, length: int) -> str:
    names = "observation and info" if length == 2 else "five values, as Gymnasium has it"
    return f"a call must return {names}, not {what_came(result)}"


def what_came(result: Any) -> str:
    """Return what a call gave in the place of some values: how many, or the class of the one."""
    return f"{len(result)} values" if isinstance(result, tuple) else f"a {type(result).__name__}"


def unsound(settings: Any, *, seed: int = 0, restores: bool = True) -> str:
    """Return what is wrong with what a simulator returns on its first steps, or nothing.

    Errors that it raises now and then are no matter: a run has ways of its own to deal with those.

    Args:
        settings: those of a simulator; `make(seed)` gives one.
        seed: of the simulator, the reset and the actions.
        restores: whether it will be saved and restored.
    """
    wrong = ""
    for attempt in range(_TRIES):
        simulator: Simulator = settings.make(seed)
        stamp = getattr(simulator, "stamp", None)
        if restores and (not isinstance(stamp, str) or not stamp):
            return (
                "it has no stamp: set self.stamp to a text that names kind, settings and version, "
                "so that no other simulator takes its snapshots"
            )
        if 0 in (simulator.observation_space.shape or ()):
            return "its observations hold no number: one that is always 0 will do"
        try:
            return _first_steps(guard(simulator), seed + attempt, restores)
        except UnsoundError as error:
            return str(error)
        except UsageError:
            raise
        except _FirstCallError as error:
            wrong = f"{error}, raised {error_text(error.__cause__)}"
        except (Exception, SystemExit):
            return ""
    return wrong


class _FirstCallError(Exception):
    """The first call of a kind raised an error, which is the cause of this one."""


@contextlib.contextmanager
def _first(call: str) -> Iterator[None]:
    try:
        yield
    except (UnsoundError, UsageError):
        raise
    except (Exception, SystemExit) as error:
        raise _FirstCallError(call) from error


def _first_steps(simulator: Simulator, seed: int, restores: bool) -> str:
    with _first("reset(seed=…), which must return the observation and an info"):
        observation, info = simulator.reset(seed=seed)
    if not isinstance(info, dict):
        return f"reset returns a {type(info).__name__} where the info, a dict, should be"
    if restores and (wrong := _snapshot_problem(simulator)):
        return wrong
    space = simulator.action_space
    space.seed(seed)
    for number in range(_STEPS):
        seen = np.array(observation)
        mask = None if simulator.mask is None else simulator.mask.astype(np.int8)
        action = space.sample(mask) if mask is not None else space.sample()
        first = "step(action), which must return five values as Gymnasium has it"
        with _first(first) if number == 0 else contextlib.nullcontext():
            following, reward, terminated, truncated, _ = simulator.step(action)
        if isinstance(observation, np.ndarray) and not np.array_equal(
            observation, seen, equal_nan=seen.dtype.kind == "f"
        ):
            return (
                "step writes into the observation that it returned before, so that every state "
                "becomes the last one: return a copy"
            )
        if np.shape(reward) != () or np.asarray(reward).dtype.kind not in "biuf":
            return f"step returns the reward {reward!r}, which is not a number"
        for end in (terminated, truncated):
            if not isinstance(end, bool | int | np.bool_):
                return f"step returns {end!r} where whether the episode is over should be"
        observation = following
        if terminated or truncated:
            observation, _ = simulator.reset()
    return ""


def _snapshot_problem(simulator: Simulator) -> str:
    if not simulator.portable:
        return ""
    with _first("save()"):
        data = simulator.save().data
    if not isinstance(data, bytes):
        return f"its snapshots are a {type(data).__name__}, not bytes: set portable = False"
    width = simulator.snapshot_width
    if width is not None and len(data) != width:
        return (
            f"a snapshot has {len(data)} bytes, checksum included, and snapshot_width promises "
            f"{width}: set it to that, or to None"
        )
    return ""
