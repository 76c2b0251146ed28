"""Where saving and restoring bsuite's environments, and ours like them, goes wrong: a test each."""

from __future__ import annotations

import copy
import pickle
import struct
import zlib
from typing import Any

import numpy as np
import pytest
from bsuite import sweep

from uflp.simulators import Simulator, SnapshotError
from uflp.simulators.bsuite import Bsuite
from uflp.simulators.deep_sea import DeepSea
from uflp.simulators.swingup import Swingup
from uflp.types import Snapshot

DEEP_SEA = [DeepSea(size=6), DeepSea(size=6, stochastic=True), Bsuite("deep_sea/0")]
SWINGUP = [Swingup(), Bsuite("cartpole_swingup/3")]


def play(simulator: Simulator, actions: list[int]) -> list[tuple[Any, float]]:
    return [(np.asarray(o).tolist(), r) for o, r, *_ in map(simulator.step, actions)]


def step_to_the_end(simulator: Simulator) -> Any:
    while True:
        observation, _, terminated, truncated, _ = simulator.step(1)
        if terminated or truncated:
            return observation


@pytest.mark.parametrize(
    "settings", [*DEEP_SEA, *SWINGUP, Bsuite("catch/0"), Bsuite("cartpole_noise/0")], ids=str
)
def test_the_first_step_of_a_new_simulator_after_a_restore_is_no_reset(settings: Any) -> None:
    simulator = settings.make(0)
    simulator.reset(seed=0)
    simulator.step(1)
    snapshot = simulator.save()
    expected = play(simulator, [0, 1, 1])
    other = settings.make(0)
    other.restore(snapshot, randomness="exact")
    assert play(other, [0, 1, 1]) == expected


@pytest.mark.parametrize("settings", DEEP_SEA, ids=str)
def test_the_end_of_deep_sea_is_an_observation_but_no_snapshot(settings: Any) -> None:
    simulator = settings.make(0)
    simulator.reset(seed=0)
    last = step_to_the_end(simulator)
    assert simulator.observation_space.contains(last)
    with pytest.raises(SnapshotError, match="finished episode"):
        simulator.save()


def test_deep_sea_refuses_a_row_below_the_last_one() -> None:
    simulator = DeepSea(size=6).make(0)
    data = struct.pack("<II?", 6, 0, False)
    seal = zlib.crc32(data, 1).to_bytes(4, "little")
    snapshot = Snapshot(simulator.stamp, data + seal, 0.0)
    with pytest.raises(SnapshotError, match="no state at row 6"):
        simulator.restore(snapshot)


def test_actors_of_one_run_share_the_action_mapping_and_other_runs_are_refused() -> None:
    actor, learner, stranger = (DeepSea(size=6).make(seed) for seed in (7, 7, 8))
    actor.reset(seed=0)
    snapshot = actor.save()
    expected = play(actor, [0, 1, 1, 0])
    learner.restore(snapshot)
    assert play(learner, [0, 1, 1, 0]) == expected
    with pytest.raises(SnapshotError, match="mapping="):
        stranger.restore(snapshot)


def test_bsuite_ids_with_a_mapping_fix_its_seed() -> None:
    """A snapshot leaves the mapping out, which the id alone must then decide."""
    names = ("bandit", "deep_sea", "discounting_chain")
    for bsuite_id, values in sweep.SETTINGS.items():
        if bsuite_id.startswith(names):
            assert isinstance(values["mapping_seed"], int)
    mappings = [Bsuite("deep_sea/2").make(s)._course.env._action_mapping for s in (0, 1)]
    assert np.array_equal(*mappings)


def test_the_way_to_a_state_of_deep_sea_is_not_in_its_snapshot() -> None:
    """bsuite draws a number on every move to the right, also where none is needed."""
    simulator = DeepSea(size=6, randomize_actions=False).make(0)
    snapshots = []
    for actions in ([1, 0, 1, 0], [1, 1, 0, 0]):
        simulator.reset()
        play(simulator, actions)
        snapshots.append(simulator.save())
    assert snapshots[0].data == snapshots[1].data


BSUITE_IDS = ("deep_sea/0", "cartpole_swingup/3", "catch_scale/0")


@pytest.mark.parametrize("bsuite_id", BSUITE_IDS)
def test_a_restore_does_not_roll_back_the_logs_of_bsuite(bsuite_id: str) -> None:
    simulator = Bsuite(bsuite_id).make(0)
    env = simulator._course.env
    simulator.reset(seed=0)
    snapshot = simulator.save()
    before = env.bsuite_info()
    if "_height_threshold" in vars(env):
        env._height_threshold = -2  # so that something counts as upright
    for _ in range(3):
        step_to_the_end(simulator)
        simulator.reset()
    logged = env.bsuite_info()
    assert logged != before
    simulator.restore(snapshot, randomness="exact")
    assert env.bsuite_info() == logged


@pytest.mark.parametrize("settings", [*DEEP_SEA[:2], SWINGUP[0]], ids=str)
def test_ours_keep_no_logs_that_a_snapshot_could_hold(settings: Any) -> None:
    simulator = settings.make(0)
    simulator.reset(seed=0)
    simulator.step(1)
    snapshot = simulator.save()
    step_to_the_end(simulator)
    simulator.reset(seed=0)
    simulator.step(1)
    assert simulator.save() == snapshot
    assert simulator.metrics() == {}


@pytest.mark.parametrize("settings", [*SWINGUP, Bsuite("cartpole/0")], ids=str)
def test_after_a_restore_resets_draw_from_their_own_generator(settings: Any) -> None:
    """The environment draws initial states through a lambda over itself."""
    first, second = settings.make(0), settings.make(1)
    first.reset(seed=0)
    second.restore(first.save(), randomness="exact")
    episodes = [[simulator.reset()[0] for _ in range(3)] for simulator in (first, second)]
    assert np.array_equal(*episodes)


def test_copies_of_swingup_reset_from_a_generator_of_their_own() -> None:
    simulator = Swingup().make(0)
    simulator.reset(seed=0)
    copies = [copy.deepcopy(simulator), pickle.loads(pickle.dumps(simulator))]
    expected = [simulator.reset()[0].tolist() for _ in range(3)]
    for other in copies:
        assert [other.reset()[0].tolist() for _ in range(3)] == expected


@pytest.mark.parametrize("settings", SWINGUP, ids=str)
def test_the_time_of_swingup_goes_back_in_state_and_observation(settings: Any) -> None:
    simulator = settings.make(0)
    simulator.reset(seed=0)
    play(simulator, [1] * 400)
    snapshot = simulator.save()
    played = [0, 0]
    for attempt in range(2):
        observation, _ = simulator.restore(snapshot)
        assert observation.ravel()[5] == np.float32(0.4)
        theta_dot = observation.ravel()[4]
        assert observation.ravel()[7] == (1 if abs(theta_dot) < 1 else -1)
        while not simulator.step(1)[2]:
            played[attempt] += 1
    assert played == [600, 600]
