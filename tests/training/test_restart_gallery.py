"""The contact sheet holds the images that were restarted from most, and goes on when resumed."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from uflp.training import exploration_log as module
from uflp.training.exploration_log import RestartGallery, read_sheet


def stack(level: int) -> np.ndarray:
    """Returns a stack of frames whose cell is that of its last one; levels are cells apart."""
    frames = np.zeros((4, 24, 24), np.uint8)
    frames[-1, 0, :2] = [level % 256, level // 256]  # Tells images apart, not cells.
    for bit in range(12):
        frames[-1, :2, 2 * bit : 2 * bit + 2] |= np.uint8(200 * (level >> bit & 1))
    return frames


def restart(record: RestartGallery, levels: list[int]) -> None:
    for level in levels:
        record.restart(stack(level), float(10 * level))


def test_the_most_restarted_come_first_with_their_first_image() -> None:
    record = RestartGallery()
    restart(record, [1, 2, 2, 3, 2, 3])
    other = stack(2)
    other[-1, 20, 20] += 1  # Another image of the same cell.
    record.restart(other, 99.0)
    sheet = record.sheet()
    assert sheet.restarts.tolist() == [4, 2, 1]
    assert sheet.screen_scores.tolist() == [20, 30, 10]
    np.testing.assert_array_equal(sheet.frames[0], stack(2)[-1])


def test_a_cell_that_comes_up_late_takes_the_place_of_the_least(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "KEPT", 3)
    record = RestartGallery()
    restart(record, [1, 1, 2, 2, 3, 4, 5, 5, 5])
    assert record.sheet().screen_scores.tolist() == [50, 10, 20]
    # Counted all the while: the third restart from 4 outdoes the two from 1, not the second.
    restart(record, [4])
    assert 40.0 not in record.sheet().screen_scores
    restart(record, [4])
    assert sorted(record.sheet().screen_scores) == [20, 40, 50]


def test_counts_stay_within_bounds_and_the_best_survive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_CELLS", 100)
    record = RestartGallery()
    restart(record, [7] * 5)
    restart(record, list(range(10, 2000)))
    assert len(record.state()["counts"]) <= 100
    sheet = record.sheet()
    assert sheet.restarts[0] == 5 and sheet.screen_scores[0] == 70
    assert len(sheet.frames) == module.KEPT


def test_what_is_loaded_goes_on_as_if_nothing_had_been() -> None:
    rng = np.random.default_rng(0)
    before, after = (rng.geometric(0.05, 300).tolist() for _ in range(2))
    whole, first, second = RestartGallery(), RestartGallery(), RestartGallery()
    restart(whole, before + after)
    restart(first, before)
    second.load(first.state())
    restart(second, after)
    for ours, theirs in zip(second.sheet(), whole.sheet(), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    empty = RestartGallery()
    empty.load(RestartGallery().state())
    assert len(empty.sheet().restarts) == 0


def archive(**arrays: Any) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def test_a_sheet_is_read_back_and_foreign_ones_are_refused(tmp_path: Path) -> None:
    record = RestartGallery()
    path = tmp_path / record.file
    record.write(path)
    assert not path.exists()  # Nothing to show, nothing written.
    restart(record, [1, 2, 2])
    record.write(path)
    for read, kept in zip(read_sheet(path), record.sheet(), strict=True):
        np.testing.assert_array_equal(read, kept)
    parts = record.sheet()._asdict()
    for data in (
        b"",
        path.read_bytes()[:80],
        archive(restarts=parts["restarts"]),
        archive(**{**parts, "frames": parts["frames"][:1]}),
        archive(**{**parts, "frames": parts["frames"].astype(float)}),
    ):
        path.write_bytes(data)
        with pytest.raises(ValueError):
            read_sheet(path)
