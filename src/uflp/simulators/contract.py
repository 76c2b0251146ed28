"""One suite that every simulator passes: the promises of `Simulator`, put to the test.

Simulators are checked from outside, by playing them along courses.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import gymnasium
import numpy as np

from uflp.simulators.base import RandomnessMode, Simulator, SnapshotError
from uflp.simulators.course import Course, Event, difference, ended, same, step
from uflp.types import Snapshot

# Fresh restores that must not all be followed by the same noise.
_TRIES = 5
_MODES: tuple[RandomnessMode, ...] = ("fresh", "exact")


class Finding(NamedTuple):
    """A promise that a simulator breaks.

    Attributes:
        promise: which one.
        detail: what differs first.
    """

    promise: str
    detail: str


def check(make: Callable[[], Simulator], *, steps: int = 200, seed: int = 0) -> list[Finding]:
    """Plays simulators, and returns the promises that they break: none, if they are faithful.

    Args:
        make: returns a new simulator, the same each time.
        steps: how many steps a course has.
        seed: of the resets and of the actions.
    """
    make()  # an environment that is refused is no finding
    findings: list[Finding] = []
    for promise, holds in _PROMISES.items():
        if promise in _NEED_SEEDS and any(found.promise == SEEDS for found in findings):
            continue
        try:
            findings += [Finding(promise, detail) for detail in holds(Course(make, steps, seed))]
        except Exception as error:  # a broken simulator may fail in any way
            findings.append(Finding(promise, f"{RAISED} {type(error).__name__}: {error}"))
    return findings


def _spaces(course: Course) -> Iterator[str]:
    simulator = course.started()
    restored, _ = simulator.restore(simulator.save())
    for event in [Event(restored), *course.play(simulator)]:
        if not _lies_in(event.observation, simulator.observation_space):
            yield f"{event.observation!r} is not in {simulator.observation_space}"
            return


def _lies_in(observation: Any, space: gymnasium.Space[Any]) -> bool:
    """Returns whether a space has an observation, rounding errors at its bounds aside."""
    if space.contains(observation):
        return True
    if not isinstance(space, gymnasium.spaces.Box) or not isinstance(observation, np.ndarray):
        return False
    near = np.clip(observation, space.low, space.high)
    return space.contains(near) and np.allclose(observation, near, rtol=1e-5, atol=1e-6)


def _handed_out(course: Course) -> Iterator[str]:
    simulator = course.started()
    snapshot = simulator.save()
    kept = []
    for action in (None, *course.actions):
        result = simulator.restore(snapshot) if action is None else step(simulator, action)
        kept.append((result[0], copy.deepcopy(result[0])))
        if action is not None and ended(result):
            break
    simulator.restore(snapshot)
    for number, (now, then) in enumerate(kept):
        if not same(now, then):
            yield f"observation {number} changed after it was handed out"
            return


def _seeds(course: Course) -> Iterator[str]:
    yield from difference(course.play(course.started()), course.play(course.started()))


def _saving(course: Course) -> Iterator[str]:
    simulator = course.started()
    yield from difference(course.play(course.started()), course.play(simulator, simulator.save))


def _exact(course: Course) -> Iterator[str]:
    for warm_up in course.warm_ups:
        for what in replayed(course, warm_up):
            yield what
            return


def replayed(course: Course, warm_up: int) -> Iterator[str]:
    """Saves some steps after a reset; says where what follows first differs from an exact replay.

    Args:
        course: what is played after the save.
        warm_up: steps from the reset to the save.
    """
    simulator = course.started(warm_up)
    snapshot = simulator.save()
    travelled = snapshot
    if simulator.portable:
        travelled = Snapshot(*pickle.loads(pickle.dumps(snapshot)))
    expected = course.play(simulator)
    for place, target in (
        ("the same simulator", simulator),
        ("the same simulator once more", simulator),
        ("a new simulator", course.make()),
        ("a simulator elsewhere in an episode", course.started(warm_up + 3)),
    ):
        target.restore(travelled, randomness="exact")
        for what in difference(expected, course.play(target)):
            yield f"in {place}, {warm_up} steps after a reset: {what}"
            return


def _observation(course: Course) -> Iterator[str]:
    simulator = course.started()
    for number, action in enumerate(course.actions):
        result = step(simulator, action)
        if ended(result):
            return
        observation, mask = result[0], simulator.mask
        snapshot = simulator.save()
        for target in (simulator, course.make()):
            for restored, _ in (target.restore(snapshot, randomness=mode) for mode in _MODES):
                if not same(restored, observation):
                    yield f"after step {number}: {restored!r} instead of {observation!r}"
                    return
                if not same(target.mask, mask):
                    yield f"after step {number}: mask {target.mask} instead of {mask}"
                    return


def _reading(course: Course) -> Iterator[str]:
    simulator = course.started()
    snapshot = simulator.save()
    expected, _ = simulator.restore(snapshot, randomness="exact")
    read: list[Any] = []
    played = course.play(simulator, lambda: read.append(simulator.observation_of(snapshot)))
    for observation in read:
        if not same(observation, expected):
            yield f"{observation!r} instead of {expected!r}"
            return
    yield from difference(course.play(course.started()), played)


def _fresh_noise(course: Course) -> Iterator[str]:
    other = course.make()
    other.reset(seed=course.seed + 1)
    if not any(difference(course.play(course.started()), course.play(other))):
        return  # a seed changes nothing, so there is no noise
    simulator = course.started()
    snapshot = simulator.save()

    def play(target: Simulator) -> list[Event]:
        # Noise may enter with a new episode, and show only later in it.
        return course.play(target) + course.play(target)

    played = [play(simulator)]
    for target in [simulator] * _TRIES + [other] * _TRIES:
        target.restore(snapshot)
        played.append(play(target))
    if not any(any(difference(played[0], later)) for later in played[1:]):
        yield "the noise that followed the save replays"
    elif not any(any(difference(played[1], later)) for later in played[2:]):
        yield "every restore is followed by the same noise"


def _snapshots(course: Course) -> Iterator[str]:
    simulator, other = course.started(), course.make()
    snapshot = simulator.save()
    if simulator.portable and type(snapshot.data) is not bytes:
        yield f"the data is {type(snapshot.data).__name__}, not bytes"
    elif simulator.portable and simulator.snapshot_width not in (None, len(snapshot.data)):
        yield f"{len(snapshot.data)} bytes, where snapshot_width is {simulator.snapshot_width}"
    if other.stamp != simulator.stamp:
        yield f"two simulators have two stamps, {simulator.stamp!r} and {other.stamp!r}"


def _finished(course: Course) -> Iterator[str]:
    simulator = course.finished()
    if simulator is not None:
        yield from _unless_refused("saving one", simulator.save)
        yield from _unless_refused("stepping one", lambda: simulator.step(course.actions[0]))


def _damage(course: Course) -> Iterator[str]:
    simulator = course.started()
    snapshot = simulator.save()
    data = snapshot.data
    broken = {"a foreign stamp": snapshot._replace(simulator="another simulator")}
    if simulator.portable:
        broken["one byte too many"] = snapshot._replace(data=data + b"\0")
    size = len(data) if simulator.portable else 0
    for i in np.linspace(0, size - 1, min(64, size)).astype(int):
        changed = data[:i] + bytes([data[i] ^ 1]) + data[i + 1 :]
        broken[f"byte {i} changed"] = snapshot._replace(data=changed)
        broken[f"cut to {i} bytes"] = snapshot._replace(data=data[:i])
    for what, bad in broken.items():
        for mode in _MODES:
            attempt = partial(simulator.restore, bad, randomness=mode)
            yield from _unless_refused(f"{what}, {mode}", attempt)
    expected = course.play(course.started())
    yield from (f"after refusals, {what}" for what in difference(expected, course.play(simulator)))


def _unless_refused(what: str, attempt: Callable[[], object]) -> Iterator[str]:
    try:
        attempt()
    except SnapshotError:
        return
    except Exception as error:  # refused, but not in the way that callers catch
        yield f"{what}: raised {type(error).__name__}, not SnapshotError"
    else:
        yield f"{what}: not refused"


def _screen_score(course: Course) -> Iterator[str]:
    simulator = course.started()
    total, scores = 0.0, []
    for action in course.actions:
        scores.append((total, simulator.save()))
        result = step(simulator, action)
        total += float(result[1])
        if simulator.screen_score != total:
            yield f"{simulator.screen_score} where the rewards add up to {total}"
            return
        if ended(result):
            break
    for score, snapshot in scores:
        simulator.restore(snapshot)
        if simulator.screen_score != score:
            yield f"{simulator.screen_score} after a restore to {score}"
            return


def _logs(course: Course) -> Iterator[str]:
    simulator = course.started()
    snapshot = simulator.save()
    course.play(simulator)
    before = copy.deepcopy(simulator.metrics())
    simulator.restore(snapshot, randomness="exact")
    if simulator.metrics() != before:
        yield f"metrics were {before} before a restore and {simulator.metrics()} after it"


RAISED = "raised"
SEEDS = "equal seeds give equal episodes"
SPACE = "observations lie in the observation space"
EXACT = "an exact restore replays to the bit"
READING = "reading a snapshot's observation disturbs nothing"
_PROMISES: dict[str, Callable[[Course], Iterator[str]]] = {
    SPACE: _spaces,
    "observations stay as they were handed out": _handed_out,
    SEEDS: _seeds,
    "saving disturbs nothing": _saving,
    EXACT: _exact,
    "a restore gives the saved observation": _observation,
    READING: _reading,
    "a fresh restore gives new noise": _fresh_noise,
    "snapshots have bytes and stamps as promised": _snapshots,
    "a finished episode is neither saved nor stepped": _finished,
    "damaged and foreign snapshots are refused": _damage,
    "the screen score goes back": _screen_score,
    "logs are not rolled back": _logs,
}
# Promises that are put to the test by playing the same episodes twice.
_NEED_SEEDS = {
    "saving disturbs nothing",
    READING,
    "a fresh restore gives new noise",
    "damaged and foreign snapshots are refused",
}
