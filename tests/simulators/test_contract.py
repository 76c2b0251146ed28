"""Every simulator passes the contract, and the contract catches simulators that are broken."""

from __future__ import annotations

import struct
from typing import Any, ClassVar

import numpy as np
import pytest
from bsuite import sweep
from gymnasium import spaces

from uflp.simulators import SIMULATORS, Simulator, contract
from uflp.simulators.base import SEAL_WIDTH, SnapshotError
from uflp.simulators.bsuite import Bsuite
from uflp.simulators.contract import check
from uflp.simulators.deep_sea import DeepSea
from uflp.simulators.small_rng import RNG_WIDTH, pack_rng, small_rng, unpack_rng
from uflp.simulators.swingup import Swingup
from uflp.types import Snapshot

EXPERIMENTS = dict.fromkeys(name.partition("/")[0] for name in sweep.SWEEP)


@pytest.mark.parametrize(
    "settings",
    [
        DeepSea(size=2),
        DeepSea(size=50),
        DeepSea(size=8, stochastic=True),
        DeepSea(size=5, randomize_actions=False),
        Swingup(),
        Swingup(max_time=0.3, init_range=0.0),
        *(Bsuite(f"{name}/1") for name in EXPERIMENTS if not name.startswith("mnist")),
    ],
    ids=str,
)
def test_simulators_keep_every_promise(settings: Any) -> None:
    assert check(lambda: settings.make(0), steps=60) == []


@pytest.mark.parametrize("name", SIMULATORS)
def test_registered_simulators_keep_every_promise_by_default(name: str) -> None:
    if name == "dmc":
        pytest.importorskip("dm_control")
    assert check(lambda: SIMULATORS[name]().make(3), steps=60, seed=7) == []


class Walk(Simulator):
    """A faithful random walk, whose log counts steps; the broken ones derive from it."""

    stamp = "walk/1"
    snapshot_width = 16 + RNG_WIDTH + SEAL_WIDTH

    def __init__(self) -> None:
        self.observation_space = spaces.Box(-50, 50, (1,), np.float64)
        self.action_space = spaces.Discrete(2)
        self.rng = small_rng(0)
        self.place = np.zeros(1)
        self.time = 0
        self.visits = 0

    def metrics(self) -> dict[str, float]:
        return {"visits": self.visits}

    def _reset(self, seed: int | None) -> tuple[Any, dict[str, Any]]:
        if seed is not None:
            self.rng = small_rng(seed)
        self.place, self.time = np.zeros(1), 0
        return self.place.copy(), {}

    def _step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.place += 2 * action - 1 + self.rng.uniform(-0.5, 0.5)
        self.time += 1
        self.visits += 1
        return self.place.copy(), float(self.place[0]), self.time == 20, False, {}

    def _save(self) -> bytes:
        return struct.pack("<dq", self.place[0], self.time) + pack_rng(self.rng)

    def _restore(self, data: bytes, *, exact: bool) -> tuple[Any, dict[str, Any]]:
        place, self.time = struct.unpack_from("<dq", data)
        self.place = np.array([place])
        if exact:
            unpack_rng(self.rng, data[16:])
        return self.place.copy(), {}


class ForgetsRng(Walk):
    def _restore(self, data: bytes, *, exact: bool) -> Any:
        return super()._restore(data, exact=False)


class ReplaysNoise(Walk):
    def _restore(self, data: bytes, *, exact: bool) -> Any:
        return super()._restore(data, exact=True)


class ReseedsOnRestore(Walk):
    def _restore(self, data: bytes, *, exact: bool) -> Any:
        if not exact:
            self.rng = small_rng(5)
        return super()._restore(data, exact=exact)


class IgnoresSeeds(Walk):
    def _reset(self, seed: int | None) -> Any:
        self.rng = small_rng(None)
        return super()._reset(None)


class DrawsWhileSaving(Walk):
    def _save(self) -> bytes:
        self.rng.rand()
        return super()._save()


class StaysWhereItLooked(Walk):
    def observation_of(self, snapshot: Snapshot) -> Any:
        return self.restore(snapshot)[0]


class ResetsOnFirstStep(Walk):
    fresh = True

    def _reset(self, seed: int | None) -> Any:
        self.fresh = False
        return super()._reset(seed)

    def _step(self, action: int) -> Any:
        if self.fresh:
            return self._reset(None)[0], 0.0, False, False, {}
        return super()._step(action)


class SharesArray(Walk):
    """Its snapshot is a name for the live array."""

    snapshot_width = None
    shared: ClassVar[list[np.ndarray]] = []

    def _save(self) -> bytes:
        self.shared.append(self.place)
        return super()._save() + struct.pack("<q", len(self.shared) - 1)

    def _restore(self, data: bytes, *, exact: bool) -> Any:
        _, info = super()._restore(data[:-8], exact=exact)
        self.place = self.shared[struct.unpack("<q", data[-8:])[0]]
        return self.place.copy(), info


class HandsOutItsArray(Walk):
    def _step(self, action: int) -> Any:
        _, *rest = super()._step(action)
        return self.place, *rest


class RoundsTheObservation(Walk):
    def _restore(self, data: bytes, *, exact: bool) -> Any:
        observation, info = super()._restore(data, exact=exact)
        return observation.round(3), info


class LeavesItsSpace(Walk):
    def _step(self, action: int) -> Any:
        observation, *rest = super()._step(action)
        return observation + 100, *rest


class RollsBackItsLog(Walk):
    snapshot_width = None

    def _save(self) -> bytes:
        return super()._save() + struct.pack("<q", self.visits)

    def _restore(self, data: bytes, *, exact: bool) -> Any:
        (self.visits,) = struct.unpack("<q", data[-8:])
        return super()._restore(data[:-8], exact=exact)


class KeepsItsScore(Walk):
    def restore(self, snapshot: Snapshot, **options: Any) -> Any:
        score = self.screen_score
        result = super().restore(snapshot, **options)
        self.screen_score = score
        return result


class SavesTheEnd(Walk):
    def save(self) -> Snapshot:
        self._running = True
        return super().save()


class BelievesAnything(Walk):
    """Goes past the stamp and the checksum of the base class."""

    def restore(self, snapshot: Snapshot, *, randomness: Any = "fresh") -> Any:
        self.screen_score, self._running = snapshot.screen_score, True
        return self._restore(snapshot.data[:-SEAL_WIDTH], exact=randomness == "exact")


class StampsEachInstance(Walk):
    def __init__(self) -> None:
        super().__init__()
        self.stamp = f"walk/{id(self)}"


class MisstatesItsWidth(Walk):
    snapshot_width = 8


class Hunt(Walk):
    """Draws where its reward lies at each reset, and shows nothing of it before it is there."""

    snapshot_width = Walk.snapshot_width + 8

    def _reset(self, seed: int | None) -> Any:
        result = super()._reset(seed)
        self.goal = self.rng.randint(5, 40)
        return result

    def _step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.time += 1
        return self.place.copy(), float(self.time == self.goal), False, False, {}

    def _save(self) -> bytes:
        return super()._save() + struct.pack("<q", self.goal)

    def _restore(self, data: bytes, *, exact: bool) -> Any:
        (self.goal,) = struct.unpack("<q", data[-8:])
        return super()._restore(data[:-8], exact=exact)


def test_a_faithful_toy_keeps_every_promise() -> None:
    assert check(Walk) == []


def test_noise_may_show_long_after_the_reset_that_drew_it() -> None:
    assert check(Hunt, steps=40) == []


@pytest.mark.parametrize(
    ("broken", "promise"),
    [
        (ForgetsRng, "an exact restore replays to the bit"),
        (SharesArray, "an exact restore replays to the bit"),
        (ResetsOnFirstStep, "an exact restore replays to the bit"),
        (ReplaysNoise, "a fresh restore gives new noise"),
        (ReseedsOnRestore, "a fresh restore gives new noise"),
        (IgnoresSeeds, "equal seeds give equal episodes"),
        (DrawsWhileSaving, "saving disturbs nothing"),
        (StaysWhereItLooked, "reading a snapshot's observation disturbs nothing"),
        (HandsOutItsArray, "observations stay as they were handed out"),
        (RoundsTheObservation, "a restore gives the saved observation"),
        (LeavesItsSpace, "observations lie in the observation space"),
        (RollsBackItsLog, "logs are not rolled back"),
        (KeepsItsScore, "the screen score goes back"),
        (SavesTheEnd, "a finished episode is neither saved nor stepped"),
        (BelievesAnything, "damaged and foreign snapshots are refused"),
        (StampsEachInstance, "snapshots have bytes and stamps as promised"),
        (MisstatesItsWidth, "snapshots have bytes and stamps as promised"),
    ],
)
def test_a_broken_toy_is_caught(broken: type[Walk], promise: str) -> None:
    assert promise in {finding.promise for finding in check(broken)}


class Shows(Walk):
    """Always shows the same two numbers, which are to lie between 0 and 2."""

    def __init__(self, seen: np.ndarray):
        super().__init__()
        self.observation_space = spaces.Box(0, 2, (2,), np.float32)
        self.seen = seen

    def _reset(self, seed: int | None) -> Any:
        return self.seen.copy(), super()._reset(seed)[1]

    def _step(self, action: int) -> Any:
        return self.seen.copy(), *super()._step(action)[1:]

    def _restore(self, data: bytes, *, exact: bool) -> Any:
        return self.seen.copy(), super()._restore(data, exact=exact)[1]


@pytest.mark.parametrize(
    ("seen", "dtype", "leaves"),
    [
        ([-1.5e-8, 2.000001], np.float32, False),  # a rounding error
        ([-1e-3, 1], np.float32, True),
        ([np.nan, 1], np.float32, True),
        ([1, 1], np.float64, True),
    ],
)
def test_a_rounding_error_does_not_leave_the_space(seen: Any, dtype: Any, leaves: bool) -> None:
    findings = check(lambda: Shows(np.array(seen, dtype)), steps=5)
    assert (contract.SPACE in {finding.promise for finding in findings}) == leaves


def test_a_finding_names_what_differs_first() -> None:
    findings = {finding.promise: finding.detail for finding in check(ForgetsRng)}
    detail = findings["an exact restore replays to the bit"]
    assert detail.startswith("in the same simulator, 0 steps after a reset: observation 0 is ")


def test_looking_at_a_snapshot_begins_no_episode() -> None:
    simulator = Walk()
    simulator.reset(seed=0)
    simulator.step(1)
    snapshot = simulator.save()
    seen = simulator.observation_of(snapshot)
    while not simulator.step(1)[2]:
        pass
    score = simulator.screen_score
    np.testing.assert_array_equal(simulator.observation_of(snapshot), seen)
    assert simulator.screen_score == score
    with pytest.raises(SnapshotError, match="finished"):
        simulator.save()
    with pytest.raises(SnapshotError, match="cannot be restored"):
        simulator.observation_of(snapshot._replace(simulator="walk/2"))
