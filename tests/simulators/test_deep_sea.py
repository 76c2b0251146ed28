"""Deep Sea agrees with bsuite's own environment, step by step."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from bsuite.environments import deep_sea

from uflp.simulators import SnapshotError
from uflp.simulators.bsuite import small_rng
from uflp.simulators.deep_sea import DeepSea
from uflp.types import UsageError


def original(size: int, mapping_seed: int, **options: bool) -> deep_sea.DeepSea:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return deep_sea.DeepSea(size, mapping_seed=mapping_seed, **options)


@pytest.mark.parametrize("size", [2, 7, 20])
@pytest.mark.parametrize("stochastic", [False, True])
@pytest.mark.parametrize("randomize_actions", [False, True])
def test_every_step_equals_bsuite(size: int, stochastic: bool, randomize_actions: bool) -> None:
    settings = DeepSea(
        size=size, stochastic=stochastic, randomize_actions=randomize_actions, mapping_seed=42
    )
    simulator = settings.make(seed=3)
    env = original(size, 42, deterministic=not stochastic, randomize_actions=randomize_actions)
    env._rng = small_rng(11)
    rng = np.random.default_rng(size)
    for episode in range(30):
        observation, _ = simulator.reset(seed=11 if episode == 0 else None)
        timestep = env.reset()
        # Episodes that keep to the right as well as random ones, so that both ends are reached.
        p_right = rng.choice([0.5, 0.95])
        while not timestep.last():
            assert observation == timestep.observation.argmax()
            right = env._action_mapping[env._row, env._column]
            action = int(right if rng.random() < p_right else 1 - right)
            timestep = env.step(action)
            observation, reward, terminated, truncated, _ = simulator.step(action)
            assert (reward, terminated, truncated) == (timestep.reward, timestep.last(), False)
        assert observation == 0
        assert not timestep.observation.any()
    if stochastic:
        assert simulator._env.bsuite_info() == env.bsuite_info()
    else:
        # Far fewer than the steps taken: each answer was asked for once.
        assert len(simulator._answers) <= 2 * size * (size + 1)


def test_the_best_return_is_one_minus_the_move_cost() -> None:
    simulator = DeepSea(size=30).make(seed=5)
    simulator.reset(seed=0)
    done = False
    while not done:
        env = simulator._env
        done = simulator.step(env._action_mapping[env._row, env._column])[2]
    assert simulator.screen_score == pytest.approx(0.99)


@pytest.mark.parametrize("randomize_actions", [False, True])
def test_outcomes_are_what_steps_lead_to(randomize_actions: bool) -> None:
    simulator = DeepSea(size=7, randomize_actions=randomize_actions).make(seed=3)
    outcomes = simulator.outcomes()
    assert outcomes is not None
    rng = np.random.default_rng(0)
    tried = set()
    for _ in range(600):
        here, _ = simulator.reset()
        terminated = False
        p_right = rng.choice([0.1, 0.5, 0.9])
        while not terminated:
            right = simulator._env._action_mapping[divmod(here, 7)]
            action = int(right if rng.random() < p_right else 1 - right)
            tried.add((here, action))
            expected = [table[here, action] for table in outcomes]
            here, reward, terminated, *_ = simulator.step(action)
            assert [here, reward, terminated] == expected
    everywhere = [7 * row + column for row in range(7) for column in range(row + 1)]
    assert tried == {(place, action) for place in everywhere for action in range(2)}


def test_listing_outcomes_leaves_the_simulator_where_it_is() -> None:
    simulator = DeepSea(size=5).make(seed=3)
    simulator.reset()
    simulator.step(1)
    before = simulator.save()
    simulator.outcomes()
    assert simulator.save() == before


def test_the_stochastic_version_has_no_outcomes_to_list() -> None:
    assert DeepSea(stochastic=True).make(seed=0).outcomes() is None


def test_the_mapping_follows_from_the_seed_of_the_run() -> None:
    mappings = [DeepSea().make(seed)._env._action_mapping for seed in (0, 0, 1)]
    assert np.array_equal(mappings[0], mappings[1])
    assert not np.array_equal(mappings[0], mappings[2])


def test_the_stochastic_version_packs_a_cached_normal() -> None:
    """`randn` keeps every second normal it makes, and that one lies ahead too."""
    simulator = DeepSea(size=4, stochastic=True).make(seed=0)
    simulator.reset(seed=0)
    env = simulator._env
    env._rng.randn()
    snapshot = simulator.save()
    ahead = [env._rng.randn() for _ in range(3)]
    simulator.restore(snapshot, randomness="exact")
    assert [env._rng.randn() for _ in range(3)] == ahead


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
