"""Whether a simulator can be trusted to go back, in words that a person can act on."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import gymnasium

from uflp.arguments import argument
from uflp.simulators import contract
from uflp.simulators.action_script import ActionScript, Deviation, deviation, ended, step
from uflp.simulators.attribute_reader import NO_CODECS, Reader, UnreadableError
from uflp.simulators.base import Simulator, SnapshotError, UnsavableError
from uflp.simulators.contract import Finding
from uflp.simulators.env_layers import normalisers
from uflp.simulators.guard import guard
from uflp.simulators.gymnasium import GymnasiumSimulator
from uflp.simulators.lookup import named
from uflp.types import UsageError, name_and_text

TOLERANCE = 1e-6
"""The difference up to which numbers count as equal, relative to numbers larger than 1."""

_FAILS = "the environment fails by itself, before anything is restored"

Grade = Literal["bit", "tolerance", "diverges", "refused"]


@dataclass(frozen=True)
class Verdict:
    """Outcome of checking a simulator.

    Attributes:
        outcome: `faithful`, `unfaithful`, or `refused`, where it cannot be saved at all.
        strategy: how it is saved, empty where it is refused.
        nbytes: size of a snapshot, 0 where that is not known.
        findings: the promises that it breaks, the tolerance granted.
        reason: why it is refused, or where the first difference comes from.
        grade: how what follows an exact restore compares with what followed the save: equal to the
            `bit`, equal within the `tolerance`, or `diverges`; `refused` where there is nothing to
            compare.
        tolerance: what was granted.
        largest_difference: largest difference of two numbers, up to where they diverge.
        differs_after: steps from a restore to the first difference, None if there is none.
        diverges_after: steps from a restore to the first difference beyond the tolerance.
    """

    outcome: Literal["faithful", "unfaithful", "refused"]
    strategy: str = ""
    nbytes: int = 0
    findings: tuple[Finding, ...] = ()
    reason: str = ""
    grade: Grade = "refused"
    tolerance: float = 0.0
    largest_difference: float = 0.0
    differs_after: int | None = None
    diverges_after: int | None = None

    def __str__(self) -> str:
        if self.outcome == "refused":
            return f"refused: {self.reason}"
        size = f"{self.nbytes:,} bytes a snapshot" if self.nbytes else "copies in this process"
        lines = [f"{self.outcome}, grade {self.grade}; saved by {self.strategy}, {size}"]
        lines += [f"broken: {promise}: {detail}" for promise, detail in self.findings]
        return "\n".join([*lines, *([f"why: {self.reason}"] if self.reason else [])])

    def lines(self, steps: int) -> list[str]:
        """Return the verdict in sentences, given how many steps the scripts had."""
        if self.outcome == "refused":
            return [self.reason]
        size = f"{self.nbytes:,} bytes a snapshot" if self.nbytes else "copies in this process"
        lines = [f"saved by strategy: {self.strategy}; {size}", self._grade_line(steps)]
        lines += [f"broken: {promise}: {detail}" for promise, detail in self.findings]
        if self.reason:
            lines.append(f"why: {self.reason}")
        if self.outcome == "faithful" or self.reason == _FAILS:
            return lines
        if {promise for promise, _ in self.findings} == {contract.SPACE}:
            wrong = "it goes back, but cells and networks are scaled by bounds that are wrong"
            return [*lines, wrong]
        another = argument("strategy")
        return [*lines, f"do not restart from its snapshots; another {another} may be faithful"]

    def _grade_line(self, steps: int) -> str:
        if self.grade == "bit":
            return f"a restore replays to the bit, over scripts of {steps} steps"
        first = "" if self.differs_after is None else f", first after {self.differs_after} steps"
        apart = f"the largest difference is {self.largest_difference:.2g}{first}"
        if self.grade == "tolerance":
            return f"a restore replays within {self.tolerance:g}, over {steps} steps: {apart}"
        if self.diverges_after is None:
            return "a restore does not replay"
        return f"a restore diverges after {self.diverges_after} steps; until then {apart}"


def check(
    simulator: Any, *, steps: int = 200, seed: int = 0, tolerance: float = TOLERANCE
) -> Verdict:
    """Play an environment, go back at several points, replay, compare, and return a verdict.

    Args:
        simulator: a class or a function that makes an environment or a simulator, the name of a
            simulator (`gym:CartPole-v1`), its settings, or an environment of `gymnasium.make`.
        steps: how many steps a script has.
        seed: of the resets and the actions.
        tolerance: how far numbers may lie apart and count as equal, relative to numbers larger
            than 1; 0 asks for every bit.
    """
    return judge(_settings(simulator), steps=steps, seed=seed, tolerance=tolerance)


def assert_faithful(
    simulator: Any, *, steps: int = 200, seed: int = 0, tolerance: float = TOLERANCE
) -> Verdict:
    """Raise `AssertionError` with all that was found, unless an environment goes back faithfully.

    One line of pytest: `def test_my_env(): uflp.assert_faithful(MyEnv)`.

    Args:
        simulator: see `check`.
        steps: see `check`.
        seed: see `check`.
        tolerance: see `check`.
    """
    verdict = check(simulator, steps=steps, seed=seed, tolerance=tolerance)
    if verdict.outcome != "faithful":
        raise AssertionError("\n  ".join([f"{verdict.outcome}:", *verdict.lines(steps)]))
    return verdict


def judge(
    settings: Any, *, steps: int = 200, seed: int = 0, tolerance: float = TOLERANCE
) -> Verdict:
    """Return the verdict on the simulator of some settings.

    Args:
        settings: those of a simulator; `make(seed)` gives one.
        steps: how many steps a script has.
        seed: of the simulator, the resets and the actions.
        tolerance: see `check`.
    """
    if not 0 <= tolerance < 1:
        raise UsageError(f"tolerance must lie in [0, 1), not {tolerance}")

    def make() -> Simulator:
        return _at_rest(settings.make(seed))

    try:
        simulator = make()
        data = _first_data(simulator, seed)
    except UnsavableError as error:
        return Verdict("refused", reason=str(error), tolerance=tolerance)
    strategy = getattr(simulator, "strategy", None)
    strategy = "its own" if strategy is None else strategy.name
    nbytes = len(data) if simulator.portable else 0
    findings = tuple(contract.check(make, steps=steps, seed=seed))
    if not findings:
        return Verdict("faithful", strategy, nbytes, grade="bit", tolerance=tolerance)
    apart, reason = Deviation(), ""
    if contract.EXACT in dict(findings):
        apart = _deviation(ActionScript(make, steps, seed), tolerance)
    if tolerance:
        findings = tuple(contract.check(make, steps=steps, seed=seed, tolerance=tolerance))
    if findings:
        reason = _origin(ActionScript(make, steps, seed), findings)
    grade: Grade = "bit" if apart.first is None else "tolerance"
    if apart.diverged is not None or contract.EXACT in dict(findings):
        grade = "diverges"
    if reason == _FAILS:  # Whatever else is promised fails in the same way.
        findings = tuple(found for found in findings if found.promise == contract.SEEDS)
    return Verdict(
        "unfaithful" if findings else "faithful",
        strategy,
        nbytes,
        findings,
        reason,
        grade,
        tolerance,
        apart.largest,
        apart.first,
        apart.diverged,
    )


def _deviation(script: ActionScript, tolerance: float) -> Deviation:
    """Return how far replays lie apart, at worst."""
    worst = Deviation()
    try:
        for warm_up in script.warm_ups:
            for _, expected, found in contract.replays(script, warm_up):
                worst = worst.joined(deviation(expected, found, tolerance))
    except (Exception, SystemExit):  # a broken simulator may fail in any way
        return worst
    return worst


@dataclass(frozen=True)
class _Made:
    """Settings that call a function."""

    factory: Any

    def make(self, seed: int) -> Simulator:
        """Return a simulator of what the function returns."""
        env = self.factory()
        return env if isinstance(env, Simulator) else GymnasiumSimulator(env)


def _settings(simulator: Any) -> Any:
    """Return settings of whatever stands for a simulator."""
    if isinstance(simulator, str):
        return named(simulator)
    if isinstance(simulator, gymnasium.Env):
        if simulator.spec is None:
            raise UsageError(
                f"checking {simulator} takes several of it: give its class, or a function that "
                "makes one"
            )
        spec = simulator.spec
        return _Made(lambda: gymnasium.make(spec))
    if dataclasses.is_dataclass(simulator) and not isinstance(simulator, type):
        return simulator
    if not callable(simulator):
        raise UsageError(f"{simulator!r} is no simulator: give its name, or a function")
    return _Made(simulator)


def glance(settings: Any, *, steps: int = 24, seed: int = 0) -> str:
    """Return how an exact restore goes wrong on a short script, or nothing if it does not.

    Much quicker than `judge`, and no proof. Errors that the simulator raises while it is played
    are no matter here: a run has ways of its own to deal with those.

    Args:
        settings: those of a simulator; `make(seed)` gives one.
        steps: how many steps the script has.
        seed: of the simulator, the reset and the actions.
    """
    script = ActionScript(lambda: guard(_at_rest(settings.make(seed))), steps, seed, TOLERANCE)
    try:
        return next(contract.replayed(script, steps // 2), "")
    except SnapshotError as error:
        return str(error)
    except UsageError:
        raise
    except (Exception, SystemExit):
        return ""


def _at_rest(simulator: Simulator) -> Simulator:
    """Return a simulator whose normalisers learn nothing: what they know does not go back."""
    for layer in normalisers(simulator):
        layer.update_running_mean = False
    return simulator


def _first_data(simulator: Simulator, seed: int) -> Any:
    """Return the data of a snapshot a few steps after a seeded reset, or say why there is none."""
    attempt = "reset with seed and options, as Gymnasium has it,"
    try:
        simulator.reset(seed=seed)
        attempt = "saving"
        data = simulator.save().data
    except UsageError:
        raise
    except (Exception, SystemExit) as error:  # an environment is anybody's code
        raise UnsavableError(f"{attempt} raised {name_and_text(error)}") from error
    # Gymnasium's checkers hold more until the second step.
    with contextlib.suppress(Exception, SystemExit):
        simulator.action_space.seed(seed)
        for _ in range(3):
            if ended(step(simulator, simulator.action_space.sample())):
                return data
        return simulator.save().data
    return data


def _origin(script: ActionScript, findings: tuple[Finding, ...]) -> str:
    """Say what a restore leaves different, as far as attributes show it."""
    broken = dict(findings)
    if broken.get(contract.SEEDS, "").startswith(contract.RAISED):
        return _FAILS
    if contract.SEEDS in broken:
        return (
            "reset(seed=…) does not decide the episode: draw from self.np_random, which "
            "super().reset(seed=seed) renews, and from no other generator"
        )
    if contract.EXACT not in broken:
        return ""
    try:
        simulator = script.started(len(script.actions) // 3)
        snapshot = simulator.save()
        before = _Lenient().read(simulator, "")
        for action in script.actions:
            if ended(step(simulator, action)):
                simulator.reset()
        simulator.restore(snapshot, randomness="exact")
        after = _Lenient().read(simulator, "")
    except (Exception, SystemExit) as error:  # the simulator is broken: it may fail in any way
        return f"going back raised {name_and_text(error)}"
    for path in _differences(before, after, ""):
        return f"the first attribute that a restore leaves different is {path.removeprefix('.')}"
    return (
        "after a restore all attributes are as they were: what differs is kept elsewhere, in a "
        "closure, a module, or a compiled object"
    )


class _Lenient(Reader):
    """A reader that passes over what it cannot read."""

    def __init__(self) -> None:
        # What is known of time limits, and the cells seen, are no state, and do not go back.
        super().__init__(frozenset({"_time_limits", "_cells"}), NO_CODECS)

    def _shared(self, value: Any, number: int, path: str) -> list[Any]:
        try:
            return super()._shared(value, number, path)
        except UnreadableError:
            return ["unreadable"]


def _differences(one: Any, two: Any, path: str) -> Iterator[str]:
    """Yield the paths at which two encoded values differ."""
    if isinstance(one, dict) and isinstance(two, dict):
        for name in {**one, **two}:  # a union of sets would have another order in each process
            yield from _differences(one.get(name), two.get(name), f"{path}.{name}")
    elif isinstance(one, list) and isinstance(two, list) and one[:1] == two[:1] == ["object"]:
        yield from _differences(one[3], two[3], path)
    elif repr(one) != repr(two):
        yield path
