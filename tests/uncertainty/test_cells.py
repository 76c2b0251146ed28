"""Counting continuous observations by cells."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium import spaces

from uflp.types import UsageError
from uflp.uncertainty.counts import CellCounts, Counts


def test_few_numbers_are_cut_into_intervals_within_their_bounds() -> None:
    counts = Counts(bins=4).make(spaces.Box(np.array([-1.0, 0.0]), np.array([1.0, 8.0])), 2, 0)
    same = [[-1.0, 0.0], [-0.51, 1.99]]
    others = [[-0.49, 0.0], [-1.0, 2.01], [0.9, 7.9], [1.0, 8.0]]
    assert len({counts.key_of(np.array(place)) for place in same}) == 1
    assert len({counts.key_of(np.array(place)) for place in same + others}) == 4
    assert counts.cells == 4


def test_numbers_without_bounds_are_squashed() -> None:
    counts = Counts(bins=10).make(spaces.Box(-np.inf, np.inf, (1,)), 2, 0)
    far = {counts.key_of(np.array([x], np.float32)) for x in (10.0, 1e3, 1e30, np.inf)}
    near = {counts.key_of(np.array([x], np.float32)) for x in (-1.0, -0.4, 0.1, 0.4, 1.0)}
    assert len(far) == 1 and len(near) == 5


def test_many_numbers_are_hashed_and_near_ones_share_a_cell_more_often() -> None:
    counts = Counts(hash_bits=16).make(spaces.Box(0, 255, (7, 7, 3), np.uint8), 2, 0)
    rng = np.random.default_rng(0)
    shared_near, shared_far = 0, 0
    for _ in range(200):
        image = rng.integers(0, 256, (7, 7, 3)).astype(np.uint8)
        near = image.copy()
        near[0, 0, 0] ^= 1
        shared_near += counts.key_of(image) == counts.key_of(near)
        other = rng.integers(0, 256, (7, 7, 3)).astype(np.uint8)
        shared_far += counts.key_of(image) == counts.key_of(other)
    assert shared_near > 180 and shared_far < 100


@pytest.mark.parametrize("length", [3, 150])
def test_whole_numbers_are_told_apart_exactly_whatever_their_bounds(length: int) -> None:
    # The bounds are far wider than the values, and one entry's are not.
    high = np.full(length, 255)
    high[-1] = 1
    counts = Counts().make(spaces.Box(np.zeros(length, np.int64), high, dtype=np.int64), 2, 0)
    rng = np.random.default_rng(0)
    seen = [rng.integers(0, 2, length) for _ in range(200)]
    assert counts.cells == 0
    numbers = [counts.key_of(one) for one in seen]
    assert counts.cells == len({one.tobytes() for one in seen}) == len(set(numbers))
    assert [counts.key_of(one.astype(np.uint8)) for one in seen] == numbers


def test_flattened_images_are_hashed() -> None:
    counts = Counts().make(spaces.Box(0, 255, (84 * 84,), np.uint8), 2, 0)
    image = np.full(84 * 84, 128, np.uint8)
    assert counts.key_of(image) == counts.key_of(image + np.eye(1, 84 * 84, dtype=np.uint8)[0])


@pytest.mark.parametrize(("length", "coarse"), [(3, {"bins": 4}), (150, {"hash_bits": 8})])
def test_whole_numbers_are_made_coarse_when_asked(length: int, coarse: dict[str, int]) -> None:
    counts = Counts(**coarse).make(spaces.Box(0, 255, (length,), np.uint8), 2, 0)
    zeros, one_more = np.zeros(length, np.uint8), np.eye(1, length, dtype=np.uint8)[0]
    assert counts.key_of(zeros + 8) == counts.key_of(zeros + 8 + one_more)


def test_counts_of_cells_are_those_of_a_dictionary() -> None:
    counts = Counts(bins=30, regularization=0.5).make(spaces.Box(0, 1, (2,)), 3, 0)
    rng = np.random.default_rng(1)
    expected: dict[tuple[int, int], list[int]] = {}
    places = rng.random((4000, 2)).astype(np.float32)
    for place in places:
        action = int(rng.integers(3))
        counts.observe(counts.key_of(place), action)
        cell = tuple((place * 30).astype(int).tolist())
        expected.setdefault(cell, [0, 0, 0])[action] += 1
    assert counts.cells == len(expected)
    keys = np.array([counts.key_of(place) for place in places[:50]])
    wanted = [expected[tuple((place * 30).astype(int).tolist())] for place in places[:50]]
    assert np.allclose(
        counts.score(keys, lambda observations: observations), (np.array(wanted) + 0.5) ** -0.5
    )


@pytest.mark.parametrize("option", ["bins", "hash_bits"])
def test_bad_settings_are_refused(option: str) -> None:
    with pytest.raises(UsageError, match=f"{option} must be at least 1"):
        Counts(**{option: 0})


def test_counts_have_no_bound_and_come_back_from_their_state() -> None:
    settings, space = Counts(bins=5000), spaces.Box(0, 1, (1,))
    counts, again = (settings.make(space, 2, 0) for _ in range(2))
    keys = [counts.key_of(np.array([(n + 0.5) / 5000], np.float32)) for n in range(3000)]
    for key in keys:
        counts.observe(key, 1)
    counts.observe(keys[-1], 0)
    ends = np.array([keys[0], keys[-1]])
    expected = np.array([1.01, 2.01]) ** -0.5
    assert np.allclose(counts.score_states(ends, lambda observations: observations), expected)
    again.load(counts.state())
    assert again.cells == counts.cells == len(set(keys))
    for place in (0.5, 0.99):
        assert again.key_of(np.array([place])) == counts.key_of(np.array([place]))
    assert np.array_equal(again.visits, counts.visits)


def test_cells_are_known_elsewhere_by_their_names() -> None:
    space = spaces.Box(-1, 1, (2,), np.float32)
    here, there = (Counts(bins=4).make(space, 1, seed=0) for _ in range(2))
    assert isinstance(here, CellCounts) and isinstance(there, CellCounts)
    corners = np.array([[-0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]], np.float32)
    keys = [here.key_of(corner) for corner in corners]
    assert there.key_of(corners[2]) == 0
    numbers = there.numbers(here.names(keys))
    assert numbers.tolist() == [there.key_of(corner) for corner in corners] == [1, 2, 0]
    assert here.names([keys[1]]).tolist() == there.names([1 + 1]).tolist()
    assert there.numbers(here.names([])).tolist() == []


def test_the_first_number_of_an_observation_may_be_counted_by() -> None:
    space = spaces.Box(-1, 1, (2,), np.float32)
    counts = Counts(cells=(0,), bins=4).make(space, 1, seed=0)
    keys = [counts.key_of(np.array(seen, np.float32)) for seen in ([-0.9, 0.9], [-0.9, -0.9])]
    assert keys[0] == keys[1] != counts.key_of(np.array([0.9, 0.9], np.float32))
