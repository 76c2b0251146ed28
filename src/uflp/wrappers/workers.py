"""Copies of a simulator, in this process or spread over workers, that follow orders.

A worker has several copies. All that its copies are to do at a time is one message, and all that
came of it is another: with few workers, messages cost little beside the steps.
"""

from __future__ import annotations

import contextlib
import itertools
import multiprocessing
import pickle
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection
from typing import Any, Literal, NamedTuple, Protocol

import gymnasium
import numpy as np
from gymnasium.vector.utils import CloudpickleWrapper

from uflp.simulators.base import Simulator
from uflp.types import RunError, Snapshot


class Command(NamedTuple):
    """Order to one copy.

    Attributes:
        kind: `step`, `reset`, `restore`, `save` (nothing else), or `call` of a method or attribute.
        save: whether to save the present state first.
        value: the action, (seed, options), a snapshot, or (name, arguments, keyword arguments).
        first_action: (a0,) to take after a restore, None to take none.
    """

    kind: Literal["step", "reset", "restore", "save", "call"]
    save: bool
    value: Any = None
    first_action: tuple[Any] | None = None


class Stepped(NamedTuple):
    """Outcome of a step."""

    observation: Any
    reward: float
    terminated: bool
    truncated: bool
    info: dict[str, Any]
    mask: np.ndarray | None
    screen_score: float


class Begun(NamedTuple):
    """Outcome of a reset or a restore.

    Attributes:
        replayed: steps that restores of this copy have cost so far.
        stepped: what came of a0, where it was taken.
    """

    observation: Any
    info: dict[str, Any]
    mask: np.ndarray | None
    replayed: int
    stepped: Stepped | None = None


class Done(NamedTuple):
    """Answer of one copy: a snapshot of before, if one was asked for, and the outcome."""

    snapshot: Snapshot | None
    outcome: Any


class Workers(Protocol):
    """Copies that are numbered from 0."""

    def do(self, commands: dict[int, Command]) -> Iterator[tuple[int, Done]]:
        """Give some copies an order each; yield the answers in the same order."""

    def close(self) -> None:
        """Close all copies."""


class InProcess:
    """Copies in this process."""

    def __init__(self, simulators: Sequence[Simulator]):
        self._simulators = simulators

    def do(self, commands: dict[int, Command]) -> Iterator[tuple[int, Done]]:
        """Carry out the orders of some copies, one after the other."""
        for number, command in sorted(commands.items()):
            yield number, _done(self._simulators[number], command)

    def close(self) -> None:
        """Close all copies."""
        for simulator in self._simulators:
            simulator.close()


class Processes:
    """Copies in processes of their own, several in each."""

    def __init__(
        self,
        make: Callable[[], Simulator],
        copies: int,
        processes: int,
        context: str | None,
        stamp: str,
    ):
        """Start the processes.

        Args:
            make: makes a copy, in its process.
            copies: how many.
            processes: to spread them over.
            context: how processes are started, see `multiprocessing.get_context`.
            stamp: what all copies must have.
        """
        start = multiprocessing.get_context(context)
        self._workers: list[tuple[Any, Connection, range]] = []
        bounds = [copies * number // processes for number in range(processes + 1)]
        try:
            for first, stop in itertools.pairwise(bounds):
                here, there = start.Pipe()
                process = start.Process(  # type: ignore[attr-defined]
                    target=_work,
                    args=(CloudpickleWrapper(make), range(first, stop), here, there),
                    daemon=True,
                )
                process.start()
                there.close()
                self._workers.append((process, here, range(first, stop)))
            for process, pipe, _ in self._workers:
                made = _received(process, pipe)
                if made != stamp:
                    raise RunError(f"a copy in another process is {made!r} instead of {stamp!r}")
        except BaseException:
            self.close()
            raise

    def do(self, commands: dict[int, Command]) -> Iterator[tuple[int, Done]]:
        """Carry out the orders of some copies, all at the same time.

        What the first ones did can be worked on while the others are still at it.
        """
        asked: deque[tuple[Any, Connection]] = deque()
        for process, pipe, numbers in self._workers:
            theirs = {number: commands[number] for number in numbers if number in commands}
            if theirs:
                try:
                    pipe.send(theirs)
                except OSError as error:
                    raise _died(process) from error
                asked.append((process, pipe))
        try:
            while asked:
                yield from _received(*asked.popleft()).items()
        finally:
            # After an error, answers that nobody waits for must not be taken for later ones.
            while asked:
                with contextlib.suppress(Exception):
                    _received(*asked.popleft())

    def close(self) -> None:
        """Ask the processes to close their copies, and end those that do not."""
        for _, pipe, _ in self._workers:
            with contextlib.suppress(OSError):
                pipe.send(None)
        for process, pipe, _ in self._workers:
            process.join(timeout=5)
            if process.is_alive():
                process.kill()
                process.join()
            pipe.close()
        self._workers = []


class _Failed(NamedTuple):
    """An error in another process."""

    error: Exception | None
    told: str


class _ElsewhereError(Exception):
    """The traceback of another process."""


def _received(process: Any, pipe: Connection) -> Any:
    try:
        answer = pipe.recv()
    except (EOFError, OSError) as error:
        raise _died(process) from error
    if isinstance(answer, _Failed):
        failure = answer.error or RunError(f"a copy failed: {answer.told.splitlines()[-1]}")
        raise failure from _ElsewhereError(answer.told)
    return answer


def _died(process: Any) -> RunError:
    process.join(timeout=1)
    return RunError(
        f"a process with copies of the environment has died (exit code {process.exitcode}), "
        "perhaps for want of memory"
    )


def _work(
    make: Callable[[], Simulator], numbers: range, parent: Connection, pipe: Connection
) -> None:
    """Serve as a worker until told to stop, or until there is nobody left to tell."""
    parent.close()
    with contextlib.suppress(EOFError, OSError, KeyboardInterrupt), contextlib.ExitStack() as stack:
        try:
            simulators: dict[int, Simulator] = {}
            for number in numbers:
                simulators[number] = make()
                stack.callback(simulators[number].close)
            answer: Any = simulators[numbers[0]].stamp
        except Exception as error:
            answer = _failure(error)
        pipe.send(answer)
        while (commands := pipe.recv()) is not None:
            try:
                answer = {
                    number: _done(simulators[number], command)
                    for number, command in commands.items()
                }
            except Exception as error:
                answer = _failure(error)
            pipe.send(answer)


def _failure(error: Exception) -> _Failed:
    told = "".join(traceback.format_exception(error))
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return _Failed(None, told)
    return _Failed(error, told)


def _done(simulator: Simulator, command: Command) -> Done:
    snapshot = simulator.save() if command.save else None
    if command.kind == "step":
        return Done(snapshot, _stepped(simulator, command.value))
    if command.kind == "reset":
        seed, options = command.value
        observation, info = simulator.reset(seed=seed, options=options)
        return Done(snapshot, Begun(observation, info, simulator.mask, simulator.replayed))
    if command.kind == "restore":
        observation, info = simulator.restore(command.value)
        mask, replayed = simulator.mask, simulator.replayed
        stepped = None
        if command.first_action is not None:
            stepped = _stepped(simulator, command.first_action[0])
        return Done(snapshot, Begun(observation, info, mask, replayed, stepped))
    if command.kind == "call":
        name, arguments, keywords = command.value
        env: gymnasium.Env[Any, Any] = getattr(simulator, "env", simulator)
        found = env.get_wrapper_attr(name)
        return Done(snapshot, found(*arguments, **keywords) if callable(found) else found)
    return Done(snapshot, None)


def _stepped(simulator: Simulator, action: Any) -> Stepped:
    observation, reward, terminated, truncated, info = simulator.step(action)
    return Stepped(
        observation,
        reward,
        terminated,
        truncated,
        info,
        simulator.mask,
        simulator.screen_score,
    )
