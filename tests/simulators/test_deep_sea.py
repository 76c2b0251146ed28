"""Deep Sea agrees with bsuite's own environment, step by step."""

from __future__ import annotations

import math
import warnings
from typing import Any

import dm_env
import numpy as np
import pytest
from bsuite.environments import deep_sea
from hypothesis import given, settings
from hypothesis import strategies as st

from uflp.simulators import SnapshotError
from uflp.simulators.deep_sea import DeepSea
from uflp.types import Snapshot, UsageError


def original(size: int, mapping_seed: int | None, **options: bool) -> deep_sea.DeepSea:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return deep_sea.DeepSea(size, mapping_seed=mapping_seed, **options)


def assert_equal(result: tuple[Any, ...], timestep: dm_env.TimeStep) -> None:
    observation, reward, terminated, truncated, _ = result
    assert type(observation) is int and type(reward) is float
    assert (reward, terminated, truncated) == (timestep.reward, timestep.last(), False)
    assert timestep.discount == (0.0 if terminated else 1.0)
    if terminated:
        assert observation == 0 and not timestep.observation.any()
    else:
        assert timestep.observation.ravel().nonzero()[0].tolist() == [observation]


@pytest.mark.parametrize("size", [2, 7, 20])
@pytest.mark.parametrize("stochastic", [False, True])
@pytest.mark.parametrize("mapping_seed", [0, 42, 2**32 - 1, "identity"])
def test_every_step_equals_bsuite(size: int, stochastic: bool, mapping_seed: Any) -> None:
    mapped = mapping_seed != "identity"
    seed = mapping_seed if mapped else None
    simulator = DeepSea(
        size=size, stochastic=stochastic, randomize_actions=mapped, mapping_seed=seed
    ).make(seed=3)
    env = original(size, seed, deterministic=not stochastic, randomize_actions=mapped)
    env._rng = np.random.RandomState(np.random.PCG64(11))
    assert np.array_equal(simulator.action_mapping, env._action_mapping)
    rng = np.random.default_rng(size)
    for episode in range(100):
        observation, _ = simulator.reset(seed=11 if episode == 0 else None)
        timestep = env.reset()
        assert observation == timestep.observation.argmax() == 0
        # Episodes that keep to the right as well as random ones, so that both ends are reached.
        p_right = rng.choice([0.5, 0.95, 1.0])
        while not timestep.last():
            right = env._action_mapping[env._row, env._column]
            action = int(right if rng.random() < p_right else 1 - right)
            timestep = env.step(action)
            assert_equal(simulator.step(action), timestep)


class Script:
    """Stands for a `RandomState`: returns what it was given, and notes what it was asked."""

    def __init__(self, draws: list[float]):
        self._draws = iter(draws)
        self.asked: list[str] = []

    def rand(self) -> float:
        self.asked.append("rand")
        return next(self._draws)

    def randn(self) -> float:
        self.asked.append("randn")
        return next(self._draws)


N = 4
EDGES = [0.0, math.nextafter(1 / N, 0), 1 / N, math.nextafter(1 / N, 1), 1 - 2**-53]


@settings(max_examples=300, deadline=None)
@given(
    actions=st.lists(st.integers(0, 1), min_size=3 * N, max_size=3 * N),
    draws=st.lists(st.sampled_from(EDGES), min_size=6 * N, max_size=6 * N),
)
def test_noise_is_asked_for_and_used_as_in_bsuite(actions: list[int], draws: list[float]) -> None:
    """The probabilities at which a move just fails, or just succeeds, included."""
    simulator = DeepSea(size=N, stochastic=True, randomize_actions=False).make(seed=0)
    env = original(N, None, deterministic=False, randomize_actions=False)
    ours, theirs = Script(draws), Script(draws)
    simulator._rng, env._rng = ours, theirs
    for episode in range(3):
        simulator.reset()
        env.reset()
        for action in actions[episode * N : (episode + 1) * N]:
            assert_equal(simulator.step(action), env.step(action))
            assert ours.asked == theirs.asked


def test_the_mapping_seed_of_a_run_gives_the_mapping_of_bsuite() -> None:
    simulator = DeepSea(size=9).make(seed=5)
    assert np.array_equal(
        simulator.action_mapping, original(9, simulator.mapping_seed)._action_mapping
    )


def test_the_best_return_is_one_minus_the_move_cost() -> None:
    simulator = DeepSea(size=30).make(seed=5)
    here, _ = simulator.reset(seed=0)
    done = False
    while not done:
        here, _, done, *_ = simulator.step(simulator.action_mapping[divmod(here, 30)])
    assert simulator.screen_score == pytest.approx(0.99)


def test_the_mapping_follows_from_the_seed_of_the_run() -> None:
    mappings = [DeepSea().make(seed).action_mapping for seed in (0, 0, 1)]
    assert np.array_equal(mappings[0], mappings[1])
    assert not np.array_equal(mappings[0], mappings[2])


def test_the_stochastic_version_packs_a_cached_normal() -> None:
    """`randn` keeps every second normal it makes, and that one lies ahead too."""
    simulator = DeepSea(size=2, stochastic=True, randomize_actions=False).make(seed=0)

    def rewards() -> list[float]:
        """Play four episodes to the left, each of which ends in one normal."""
        found = []
        for _ in range(4):
            found += [simulator.step(0)[1], simulator.step(0)[1]]
            simulator.reset()
        return found

    simulator.reset(seed=0)
    simulator.step(0)
    simulator.step(0)
    simulator.reset()
    snapshot = simulator.save()
    ahead = rewards()
    simulator.restore(snapshot, randomness="exact")
    assert rewards() == ahead


# Snapshots that version 0.1.0 wrote when it stepped bsuite 0.3.6 itself, and what it did next.
EARLIER = "deep-sea/1 size={} stochastic={} unscaled_move_cost=0.01 mapping={} bsuite=0.3.6"


def test_a_deterministic_snapshot_of_an_earlier_version_is_read() -> None:
    simulator = DeepSea(size=5).make(7)
    data = bytes.fromhex("020000000000000001fd1883a8")
    snapshot = Snapshot(EARLIER.format(5, False, 3713775541), data, -0.002)
    assert simulator.restore(snapshot, randomness="exact") == (10, {})
    assert simulator.screen_score == -0.002
    assert [simulator.step(action)[:3] for action in (1, 1, 0)] == [
        (15, 0.0, False),
        (21, -0.002, False),
        (0, -0.002, True),
    ]


def test_a_stochastic_snapshot_of_an_earlier_version_is_read() -> None:
    simulator = DeepSea(size=3, stochastic=True, randomize_actions=False).make(7)
    data = bytes.fromhex(
        "010000000100000000c9c5fc005ae4a86934454d0f5853b2894d23102d7b0b024fa4b46a938c7b6faf"
        "000000000001c312302c6106e13fbbf2398f"
    )
    snapshot = Snapshot(EARLIER.format(3, True, "identity"), data, -0.0033333333333333335)
    assert simulator.restore(snapshot, randomness="exact") == (4, {})
    assert simulator.save() == snapshot
    rewards = []
    for length in (2, 3, 3, 3):
        rewards.append([simulator.step(0)[1] for _ in range(length)][-1])
        simulator.reset()
    assert rewards == [
        0.5320287573855115,
        -0.18376845418762333,
        -0.08824402280204317,
        -1.3613555580219594,
    ]


def test_a_snapshot_of_another_size_is_refused() -> None:
    small = DeepSea(size=4).make(seed=0)
    small.reset()
    snapshot = small.save()
    with pytest.raises(SnapshotError, match="size=4"):
        DeepSea(size=5).make(seed=0).restore(snapshot)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"size": 1}, "size of at least 2, not 1"),
        ({"unscaled_move_cost": -1.0}, "unscaled_move_cost of at least 0"),
        ({"unscaled_move_cost": float("nan")}, "unscaled_move_cost of at least 0"),
        ({"mapping_seed": -1}, "mapping_seed from 0"),
    ],
)
def test_bad_settings_are_refused(values: dict, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        DeepSea(**values)
