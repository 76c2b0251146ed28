"""One suite that every simulator passes: the promises of `Simulator`, put to the test.

Simulators are checked from outside, by playing them along scripts.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import gymnasium
import numpy as np

from uflp.simulators.action_script import (
    ActionScript,
    Event,
    difference,
    distance,
    ended,
    same,
    step,
)
from uflp.simulators.base import RandomnessMode, Simulator, SnapshotError
from uflp.types import Snapshot, name_and_text

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


def check(
    make: Callable[[], Simulator], *, steps: int = 200, seed: int = 0, tolerance: float = 0.0
) -> list[Finding]:
    """Play simulators, and return the promises that they break: none, if they are faithful.

    Args:
        make: returns a new simulator, the same each time.
        steps: how many steps a script has.
        seed: of the resets and of the actions.
        tolerance: how far numbers may lie apart and count as equal, relative to numbers larger
            than 1; 0 means to the bit.
    """
    make()  # an environment that is refused is no finding
    findings: list[Finding] = []
    for promise, holds in _PROMISES.items():
        if promise in _NEED_SEEDS and any(found.promise == SEEDS for found in findings):
            continue
        try:
            findings += [
                Finding(promise, detail)
                for detail in holds(ActionScript(make, steps, seed, tolerance))
            ]
        except (Exception, SystemExit) as error:  # a broken simulator may fail in any way
            findings.append(Finding(promise, f"{RAISED} {name_and_text(error)}"))
    return findings


def _spaces(script: ActionScript) -> Iterator[str]:
    simulator = script.started()
    restored, _ = simulator.restore(simulator.save())
    for event in [Event(restored), *script.play(simulator)]:
        if not _lies_in(event.observation, simulator.observation_space):
            yield f"{event.observation!r} is not in {simulator.observation_space}"
            return


def _lies_in(observation: Any, space: gymnasium.Space[Any]) -> bool:
    """Return whether a space has an observation, rounding errors at its bounds aside."""
    if space.contains(observation):
        return True
    if not isinstance(space, gymnasium.spaces.Box) or not isinstance(observation, np.ndarray):
        return False
    near = np.clip(observation, space.low, space.high)
    return space.contains(near) and np.allclose(observation, near, rtol=1e-5, atol=1e-6)


def _handed_out(script: ActionScript) -> Iterator[str]:
    simulator = script.started()
    snapshot = simulator.save()
    kept = []
    for action in (None, *script.actions):
        result = simulator.restore(snapshot) if action is None else step(simulator, action)
        kept.append((result[0], copy.deepcopy(result[0])))
        if action is not None and ended(result):
            break
    simulator.restore(snapshot)
    for number, (now, then) in enumerate(kept):
        if not same(now, then):
            yield f"observation {number} changed after it was handed out"
            return


def _seeds(script: ActionScript) -> Iterator[str]:
    yield from _different(script, script.play(script.started()), script.play(script.started()))


def _saving(script: ActionScript) -> Iterator[str]:
    simulator = script.started()
    yield from _different(
        script, script.play(script.started()), script.play(simulator, simulator.save)
    )


def _exact(script: ActionScript) -> Iterator[str]:
    for warm_up in script.warm_ups:
        for what in replayed(script, warm_up):
            yield what
            return


def replayed(script: ActionScript, warm_up: int) -> Iterator[str]:
    """Save some steps after a reset; say where what follows first differs from an exact replay.

    Args:
        script: what is played after the save.
        warm_up: steps from the reset to the save.
    """
    for place, expected, found in replays(script, warm_up):
        for what in _different(script, expected, found):
            yield f"in {place}, {warm_up} steps after a reset: {what}"
            return


def replays(script: ActionScript, warm_up: int) -> Iterator[tuple[str, list[Event], list[Event]]]:
    """Yield what followed a save, and what followed a restore in several places."""
    simulator = script.started(warm_up)
    snapshot = simulator.save()
    travelled = snapshot
    if simulator.portable:
        travelled = Snapshot(*pickle.loads(pickle.dumps(snapshot)))
    expected = script.play(simulator)
    for place, target in (
        ("the same simulator", simulator),
        ("the same simulator once more", simulator),
        ("a new simulator", script.make()),
        ("a simulator elsewhere in an episode", script.started(warm_up + 3)),
    ):
        target.restore(travelled, randomness="exact")
        yield place, expected, script.play(target)


def _observation(script: ActionScript) -> Iterator[str]:
    simulator, other = script.started(), script.make()
    for number, action in enumerate(script.actions):
        result = step(simulator, action)
        if ended(result):
            return
        observation, mask = result[0], simulator.mask
        snapshot = simulator.save()
        for target in (simulator, other):
            for restored, _ in (target.restore(snapshot, randomness=mode) for mode in _MODES):
                if not _equal(script, restored, observation):
                    yield f"after step {number}: {restored!r} instead of {observation!r}"
                    return
                if not same(target.mask, mask):
                    yield f"after step {number}: mask {target.mask} instead of {mask}"
                    return


def _reading(script: ActionScript) -> Iterator[str]:
    simulator = script.started()
    snapshot = simulator.save()
    expected, _ = simulator.restore(snapshot, randomness="exact")
    read: list[Any] = []
    played = script.play(simulator, lambda: read.append(simulator.observation_of(snapshot)))
    for observation in read:
        if not _equal(script, observation, expected):
            yield f"{observation!r} instead of {expected!r}"
            return
    yield from _different(script, script.play(script.started()), played)


def _fresh_noise(script: ActionScript) -> Iterator[str]:
    other = script.make()
    other.reset(seed=script.seed + 1)
    if not any(difference(script.play(script.started()), script.play(other))):
        return  # a seed changes nothing, so there is no noise
    simulator = script.started()
    snapshot = simulator.save()

    def play(target: Simulator) -> list[Event]:
        # Noise may enter with a new episode, and show only later in it.
        return script.play(target) + script.play(target)

    played = [play(simulator)]
    for target in [simulator] * _TRIES + [other] * _TRIES:
        target.restore(snapshot)
        played.append(play(target))
    if not any(any(difference(played[0], later)) for later in played[1:]):
        yield "the noise that followed the save replays"
    elif not any(any(difference(played[1], later)) for later in played[2:]):
        yield "every restore is followed by the same noise"


def _snapshots(script: ActionScript) -> Iterator[str]:
    simulator, other = script.started(), script.make()
    snapshot = simulator.save()
    if simulator.portable and type(snapshot.data) is not bytes:
        yield f"the data is {type(snapshot.data).__name__}, not bytes"
    elif simulator.portable and simulator.snapshot_width not in (None, len(snapshot.data)):
        yield f"{len(snapshot.data)} bytes, where snapshot_width is {simulator.snapshot_width}"
    if other.stamp != simulator.stamp:
        yield f"two simulators have two stamps, {simulator.stamp!r} and {other.stamp!r}"


def _finished(script: ActionScript) -> Iterator[str]:
    simulator = script.finished()
    if simulator is not None:
        yield from _unless_refused("saving one", simulator.save)
        yield from _unless_refused("stepping one", lambda: simulator.step(script.actions[0]))


def _damage(script: ActionScript) -> Iterator[str]:
    simulator = script.started()
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
    expected = script.play(script.started())
    after = script.play(simulator)
    yield from (f"after refusals, {what}" for what in _different(script, expected, after))


def _different(script: ActionScript, expected: list[Event], found: list[Event]) -> Iterator[str]:
    return difference(expected, found, script.tolerance)


def _equal(script: ActionScript, a: Any, b: Any) -> bool:
    return same(a, b) or (script.tolerance > 0 and distance(a, b)[1] <= script.tolerance)


def _unless_refused(what: str, attempt: Callable[[], object]) -> Iterator[str]:
    try:
        attempt()
    except SnapshotError:
        return
    except Exception as error:  # refused, but not in the way that callers catch
        yield f"{what}: raised {type(error).__name__}, not SnapshotError"
    else:
        yield f"{what}: not refused"


def _screen_score(script: ActionScript) -> Iterator[str]:
    simulator = script.started()
    total, scores = 0.0, []
    for action in script.actions:
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


def _logs(script: ActionScript) -> Iterator[str]:
    simulator = script.started()
    snapshot = simulator.save()
    script.play(simulator)
    before = copy.deepcopy(simulator.metrics())
    simulator.restore(snapshot, randomness="exact")
    if simulator.metrics() != before:
        yield f"metrics were {before} before a restore and {simulator.metrics()} after it"


RAISED = "raised"
SEEDS = "equal seeds give equal episodes"
SPACE = "observations lie in the observation space"
EXACT = "an exact restore replays to the bit"
READING = "reading a snapshot's observation disturbs nothing"
_PROMISES: dict[str, Callable[[ActionScript], Iterator[str]]] = {
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
