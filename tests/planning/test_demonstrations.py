"""Files of demonstrations: whatever is in them, they are read whole or refused in a sentence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from probes import Corridor

from uflp.planning import Demonstrations, LocalPlanner, Start
from uflp.planning.demonstrations import DemonstratedStarts
from uflp.types import UsageError

EPISODES = [(3, [1, 1, 0]), (8, [0, 1, 1, 1, 1])]


def written(path: Path) -> bytes:
    demonstrations = Demonstrations()
    for seed, actions in EPISODES:
        demonstrations.add(seed, actions)
    demonstrations.write(path, "corridor/1")
    return path.read_bytes()


def read(path: Path) -> list[tuple[int, list[int]]]:
    demonstrations = Demonstrations()
    demonstrations.read(path, Corridor().make(0))
    numbers = range(len(demonstrations))
    return [(demonstrations.seed(number), demonstrations.actions(number)) for number in numbers]


def outcome(path: Path) -> str:
    """Reads a file; returns why it was refused, or nothing if it was read as it was written."""
    try:
        assert read(path) == EPISODES
    except UsageError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("flip", [0x01, 0x80, 0xFF])
def test_a_file_with_any_byte_flipped_is_refused_or_unharmed(flip: int, tmp_path: Path) -> None:
    path = tmp_path / "demo.npz"
    good = written(path)
    assert read(path) == EPISODES
    refused = 0
    for place in range(len(good)):
        path.write_bytes(good[:place] + bytes([good[place] ^ flip]) + good[place + 1 :])
        sentence = outcome(path)
        refused += bool(sentence)
        assert not sentence or sentence.startswith(f"{path} does not hold demonstrations: ")
    assert refused > len(good) // 2


def test_an_array_without_archive_is_refused_with_any_byte_flipped(tmp_path: Path) -> None:
    path = tmp_path / "demo.npy"
    np.save(path, np.arange(4))
    good = path.read_bytes()
    for place in range(len(good)):
        path.write_bytes(good[:place] + bytes([good[place] ^ 0xFF]) + good[place + 1 :])
        with pytest.raises(UsageError, match="does not hold demonstrations"):
            read(path)


def test_a_file_cut_short_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "demo.npz"
    good = written(path)
    for size in range(0, len(good), 7):
        path.write_bytes(good[:size])
        assert "does not hold demonstrations: demo.npz is damaged" in outcome(path)


def test_a_file_without_episodes_is_refused(tmp_path: Path) -> None:
    Demonstrations().write(tmp_path / "demo.npz", "corridor/1")
    with pytest.raises(UsageError, match=r"demo\.npz holds demonstrations of no episode"):
        read(tmp_path / "demo.npz")


def test_a_file_that_lacks_a_column_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "demo.npz", simulator=np.array("corridor/1"), seeds=np.array([0]))
    with pytest.raises(UsageError, match="does not hold demonstrations: no 'lengths'"):
        read(tmp_path / "demo.npz")


def test_no_episodes_go_through_a_checkpoint() -> None:
    again = Demonstrations()
    again.load(Demonstrations().state())
    assert len(again) == 0


def test_a_file_may_be_written_to_folders_that_are_not_there(tmp_path: Path) -> None:
    path = tmp_path / "of" / "ours" / "demo.npz"
    written(path)
    assert read(path) == EPISODES


def test_each_demonstration_is_played_from_its_seed_before_the_planner_is_asked() -> None:
    demonstrations = Demonstrations()
    for seed, actions in EPISODES:
        demonstrations.add(seed, actions)
    online = LocalPlanner(history=None, uncertainty=None, rule=None, p_init=1.0)
    starts = DemonstratedStarts(demonstrations, online)
    rng = np.random.default_rng(0)
    assert not starts.demonstrating
    for seed, actions in EPISODES:
        start = starts.start(rng)
        assert (start.seed, list(start.script or []), start.snapshot) == (seed, actions, None)
        assert starts.demonstrating
    assert starts.start(rng) == Start()
    assert not starts.demonstrating and starts.begun == 3
