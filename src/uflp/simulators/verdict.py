"""Whether a simulator can be trusted to go back, in words that a person can act on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from uflp.simulators import contract
from uflp.simulators.attribute_reader import NO_CODECS, Reader, UnreadableError
from uflp.simulators.base import Simulator, SnapshotError, UnsavableError
from uflp.simulators.contract import Finding
from uflp.simulators.course import Course, ended, step
from uflp.types import UsageError


@dataclass(frozen=True)
class Verdict:
    """What checking a simulator came to.

    Attributes:
        outcome: `faithful`, `unfaithful`, or `refused`, where it cannot be saved at all.
        strategy: how it is saved, empty where it is refused.
        nbytes: size of a snapshot, 0 where that is not known.
        findings: the promises that it breaks.
        reason: why it is refused, or where the first difference comes from.
    """

    outcome: Literal["faithful", "unfaithful", "refused"]
    strategy: str = ""
    nbytes: int = 0
    findings: tuple[Finding, ...] = ()
    reason: str = ""


def judge(settings: Any, *, steps: int = 200, seed: int = 0) -> Verdict:
    """Plays simulators, goes back at several points, replays, and compares.

    Args:
        settings: those of a simulator; `make(seed)` gives one.
        steps: how many steps a course has.
        seed: of the simulator, the resets and the actions.
    """

    def make() -> Simulator:
        return settings.make(seed)

    try:
        simulator = make()
        data = _first_data(simulator, seed)
    except UnsavableError as error:
        return Verdict("refused", reason=str(error))
    strategy = getattr(simulator, "strategy", None)
    strategy = "its own" if strategy is None else strategy.name
    nbytes = len(data) if simulator.portable else 0
    findings = tuple(contract.check(make, steps=steps, seed=seed))
    if not findings:
        return Verdict("faithful", strategy, nbytes)
    course = Course(make, steps, seed)
    return Verdict("unfaithful", strategy, nbytes, findings, _origin(course, findings))


def glance(settings: Any, *, steps: int = 24, seed: int = 0) -> str:
    """Returns how an exact restore goes wrong on a short course, or nothing if it does not.

    Much quicker than `judge`, and no proof. Errors that the simulator raises while it is played
    are no matter here: a run has ways of its own to deal with those.

    Args:
        settings: those of a simulator; `make(seed)` gives one.
        steps: how many steps the course has.
        seed: of the simulator, the reset and the actions.
    """
    course = Course(lambda: settings.make(seed), steps, seed)
    try:
        return next(contract.replayed(course, steps // 2), "")
    except SnapshotError as error:
        return str(error)
    except UsageError:
        raise
    except Exception:
        return ""


def _first_data(simulator: Simulator, seed: int) -> Any:
    """Returns the data of a snapshot right after a seeded reset, or says why there is none."""
    attempt = "reset with seed and options, as Gymnasium has it,"
    try:
        simulator.reset(seed=seed)
        attempt = "saving"
        return simulator.save().data
    except UsageError:
        raise
    except Exception as error:  # an environment is anybody's code
        raise UnsavableError(f"{attempt} raised {type(error).__name__}: {error}") from error


def _origin(course: Course, findings: tuple[Finding, ...]) -> str:
    """Says what a restore leaves different, as far as attributes show it."""
    broken = dict(findings)
    if broken.get(contract.SEEDS, "").startswith(contract.RAISED):
        return "the environment fails by itself, before anything is restored"
    if contract.SEEDS in broken:
        return (
            "reset(seed=…) does not decide the episode: draw from self.np_random, which "
            "super().reset(seed=seed) renews, and from no other generator"
        )
    if contract.EXACT not in broken:
        return ""
    try:
        simulator = course.started(len(course.actions) // 3)
        snapshot = simulator.save()
        before = _Lenient().read(simulator, "")
        for action in course.actions:
            if ended(step(simulator, action)):
                simulator.reset()
        simulator.restore(snapshot, randomness="exact")
        after = _Lenient().read(simulator, "")
    except Exception as error:  # the simulator is broken: it may fail in any way
        return f"going back raised {type(error).__name__}: {error}"
    for path in _differences(before, after, ""):
        return f"the first attribute that a restore leaves different is {path.removeprefix('.')}"
    return (
        "after a restore all attributes are as they were: what differs is kept elsewhere, in a "
        "closure, a module, or a compiled object"
    )


class _Lenient(Reader):
    """A reader that passes over what it cannot read."""

    def __init__(self) -> None:
        super().__init__(frozenset(), NO_CODECS)

    def _shared(self, value: Any, number: int, path: str) -> list[Any]:
        try:
            return super()._shared(value, number, path)
        except UnreadableError:
            return ["unreadable"]


def _differences(one: Any, two: Any, path: str) -> Iterator[str]:
    """Yields the paths at which two encoded values differ."""
    if isinstance(one, dict) and isinstance(two, dict):
        for name in {**one, **two}:  # a union of sets would have another order in each process
            yield from _differences(one.get(name), two.get(name), f"{path}.{name}")
    elif isinstance(one, list) and isinstance(two, list) and one[:1] == two[:1] == ["object"]:
        yield from _differences(one[3], two[3], path)
    elif repr(one) != repr(two):
        yield path
