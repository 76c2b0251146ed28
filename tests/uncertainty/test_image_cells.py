"""Cells and their counts, by hand."""

from __future__ import annotations

import gymnasium
import numpy as np
from probes import no_predict

from uflp.cells import cell, cell_id
from uflp.uncertainty.counts import Counts

IMAGES = gymnasium.spaces.Box(0, 255, (4, 84, 84), np.uint8)


def test_a_cell_is_the_mean_of_each_block_in_eight_levels() -> None:
    frame = np.zeros((84, 84), np.uint8)
    frame[:7, :7] = 255  # level 7
    frame[7:14, :7] = 32  # exactly at the beginning of level 1
    frame[14:21, :7] = 32
    frame[14, 0] = 31  # the mean is just below it
    frame[21:28, 7:14].flat[:25] = 255  # 25 of 49 pixels: 130 of 256, level 4
    expected = np.zeros((12, 12), int)
    expected[0, 0], expected[1, 0], expected[3, 1] = 7, 1, 4
    assert np.array_equal(cell(frame), expected)


def test_blocks_of_images_that_do_not_divide_evenly_cover_every_pixel_once() -> None:
    frame = np.full((100, 64), 200, np.uint8)
    assert (cell(frame) == 200 * 8 // 256).all()


def test_equal_cells_have_equal_numbers_and_others_do_not() -> None:
    rng = np.random.default_rng(0)
    coarse = rng.integers(0, 2, (50, 12, 12)).astype(np.uint8) * 200
    frames = np.concatenate([coarse, coarse + 10]).repeat(7, axis=1).repeat(7, axis=2)
    by_number: dict[int, bytes] = {}
    for frame in frames:
        assert by_number.setdefault(cell_id(frame), cell(frame).tobytes()) == cell(frame).tobytes()
    assert len(set(by_number.values())) == len(by_number) == 50
    assert cell_id(frames[0]) == cell_id(frames[0].copy())


def test_an_observation_that_changed_has_another_number() -> None:
    observation = np.zeros((4, 84, 84), np.uint8)
    dark = cell_id(observation)
    observation[-1] = 255
    light = cell_id(observation)
    assert light != dark
    fixed = observation.copy()
    fixed.flags.writeable = False
    assert [cell_id(fixed), cell_id(fixed), cell_id(observation * 0), cell_id(fixed)] == [
        *(light, light, dark, light),
    ]


def test_counts_of_cells_by_hand() -> None:
    counts = Counts(regularization=0.25).make(IMAGES, 3, seed=0)
    dark, light = np.zeros((2, 4, 84, 84), np.uint8)
    light[-1] = 255
    seen_before = light.copy()
    seen_before[:-1] = 9  # only the latest frame counts
    for observation, action in [(light, 1), (seen_before, 1), (dark, 2), (light, 0)]:
        counts.observe(counts.key_of(observation), action)
    never = np.full((4, 84, 84), 128, np.uint8)
    keys = np.array([counts.key_of(each) for each in (light, dark, never)], counts.key_dtype)
    np.testing.assert_allclose(
        counts.score(keys, no_predict),
        np.array([[1.25, 2.25, 0.25], [0.25, 0.25, 1.25], [0.25, 0.25, 0.25]]) ** -0.5,
    )
    np.testing.assert_allclose(
        counts.score_states(keys, no_predict), np.array([3.25, 1.25, 0.25]) ** -0.5
    )
    assert (counts.ids, counts.monotone, counts.knows_actions) == (None, True, True)
