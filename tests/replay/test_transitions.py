"""The replay is a ring, and its rows are the targets worked out by hand."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

from uflp.agents.base import unpack
from uflp.replay import MonteCarlo, NStep, Replay
from uflp.replay.frames import replay_of
from uflp.replay.transitions import drawn as places
from uflp.state import StateError
from uflp.types import Batch, Transition, UsageError

IDS = gymnasium.spaces.Discrete(100)


def rows(replay: Replay) -> list[tuple[Any, ...]]:
    """Return all rows, oldest first."""
    saved = replay.state()["rows"]
    blocks = [columns["words"].view(replay.row) for *_, columns in saved.blocks(saved.first)]
    return [tuple(map(float, row)) for block in blocks for row in block.ravel().tolist()]


def drawn(replay: Replay, size: int) -> Batch:
    batch = unpack(replay.sample(np.random.default_rng(0).random(size)), replay.row)
    return Batch(*map(np.asarray, batch))


def transition(place: int, reward: float = 0.0, **end: Any) -> Transition:
    return Transition(
        place,
        place % 2,
        reward,
        place + 1,
        end.get("terminated", False),
        end.get("truncated", False),
        end.get("intrinsic", 0.0),
    )


def test_the_oldest_row_is_overwritten() -> None:
    replay = Replay(IDS, 3)
    for number in range(5):
        assert len(replay) == min(number, 3)
        replay.add(number, number % 2, number / 2, 0.9, number + 1)
    assert sorted(row[0] for row in rows(replay)) == [2, 3, 4]
    for observation, action, reward, _, following in rows(replay):
        assert action == observation % 2
        assert reward == observation / 2
        assert following == observation + 1


def test_a_batch_is_drawn_uniformly_with_replacement_from_what_is_there() -> None:
    replay = Replay(IDS, 1000)
    for number in range(10):
        replay.add(number, number % 2, number / 2, 0.9, number + 1)
    batch = drawn(replay, 10_000)
    counts = np.bincount(batch.observation, minlength=10)
    assert len(counts) == 10
    # Chi-square with 9 degrees of freedom: its 1 - 1e-6 quantile is 45.
    assert np.sum((counts - 1000) ** 2 / 1000) < 45
    np.testing.assert_array_equal(batch.action, batch.observation % 2)
    np.testing.assert_array_equal(batch.reward, batch.observation / 2)
    np.testing.assert_array_equal(batch.next_observation, batch.observation + 1)


@pytest.mark.parametrize(
    ("added", "newest", "expected"),
    [
        (3, 0, [0, 1, 2, 0]),
        (3, 1, [2, 1, 2, 0]),
        (3, 9, [2, 1, 0, 0]),
        # Five rows in a ring of four: the first was overwritten.
        (5, 2, [0, 3, 3, 1]),
    ],
)
def test_a_sample_begins_with_the_newest_rows(added: int, newest: int, expected: list[int]) -> None:
    uniforms = np.array([0.0, 0.4, 0.99, 0.33])
    np.testing.assert_array_equal(places(uniforms, added, 4, newest), expected)


def test_a_replay_hands_out_its_newest_rows() -> None:
    replay = Replay(IDS, 3, recent=2)
    for number in range(5):
        replay.add(number, 0, 0.0, 0.9, number + 1)
        batch = drawn(replay, 4)
        assert (
            batch.observation[: min(number + 1, 2)].tolist() == [number, number - 1][: number + 1]
        )


@pytest.mark.parametrize(
    ("space", "shape", "dtype"),
    [
        (IDS, (), np.int32),
        (gymnasium.spaces.Box(0, 1, (3,), np.float64), (3,), np.float32),
        (gymnasium.spaces.Box(0, 255, (2, 2), np.uint8), (2, 2), np.uint8),
    ],
)
def test_observations_take_no_more_room_than_they_need(
    space: gymnasium.Space, shape: tuple[int, ...], dtype: Any
) -> None:
    replay = Replay(space, 4)
    replay.add(space.sample(), 1, 0.5, 0.9, space.sample())
    batch = drawn(replay, 5)
    assert batch.observation.shape == (5, *shape)
    assert batch.observation.dtype == batch.next_observation.dtype == dtype
    assert (batch.action.dtype, batch.reward.dtype) == (np.int32, np.float32)


def test_bad_spaces_and_capacities_are_refused() -> None:
    with pytest.raises(UsageError, match="at least 1"):
        Replay(IDS, 0)
    with pytest.raises(UsageError, match="use a Box or a Discrete"):
        Replay(gymnasium.spaces.Text(3), 1)


def test_one_step_targets_stop_at_termination_and_go_on_through_truncation() -> None:
    replay = Replay(IDS, 10)
    targets = NStep(replay, 0.9, 1, None)
    targets.add(transition(0, 1.0))
    targets.add(transition(1, 2.0, intrinsic=0.5))
    targets.add(transition(2, 3.0, truncated=True))
    targets.add(transition(3, 4.0, terminated=True))
    expected = [(0, 0, 1, 0.9, 1), (1, 1, 2.5, 0.9, 2), (2, 0, 3, 0.9, 3), (3, 1, 4, 0, 4)]
    np.testing.assert_allclose(rows(replay), expected, rtol=1e-7)


def returns(replay: Replay) -> dict[int, float]:
    return {int(row[0]): row[2] for row in rows(replay)}


def test_monte_carlo_returns_of_a_terminated_rollout_by_hand() -> None:
    replay = Replay(IDS, 10)
    targets = MonteCarlo(replay, 0.5, lambda observation, mask: 1e9)
    targets.add(transition(0, 1.0))
    targets.add(transition(1, 2.0, intrinsic=2.0))
    assert len(replay) == 0, "a return is not known before its rollout has ended"
    targets.add(transition(2, 8.0, terminated=True))
    # 8; 2 + 2 + 8/2; 1 + 8/2.
    assert returns(replay) == {2: 8.0, 1: 8.0, 0: 5.0}
    assert [row[1] for row in rows(replay)] == [0, 1, 0]
    assert {row[3] for row in rows(replay)} == {0.0}, "nothing is added to a return"


def test_monte_carlo_bootstraps_where_a_rollout_was_truncated() -> None:
    replay = Replay(IDS, 10)
    targets = MonteCarlo(replay, 0.5, lambda observation, mask: 100.0 * observation)
    targets.add(transition(0, 1.0))
    targets.add(transition(1, 2.0))
    targets.add(transition(2, 4.0, truncated=True))
    # The value of state 3 is 300: 4 + 150; 2 + 2 + 75; 1 + 1 + 1 + 37.5.
    assert returns(replay) == {2: 154.0, 1: 79.0, 0: 40.5}


@pytest.mark.parametrize("end", ["terminated", "truncated"])
def test_returns_never_cross_a_restart(end: str) -> None:
    replay = Replay(IDS, 10)
    targets = MonteCarlo(replay, 1.0, lambda observation, mask: 0.0)
    targets.add(transition(0, 1.0))
    targets.add(transition(1, 1.0, **{end: True}))
    targets.add(transition(10, 5.0))
    targets.add(transition(11, 5.0, terminated=True))
    assert returns(replay) == {1: 1.0, 0: 2.0, 11: 5.0, 10: 10.0}


@pytest.mark.parametrize("before", [0, 3, 10, 27])
def test_a_loaded_replay_samples_like_the_saved_one(before: int) -> None:
    space = gymnasium.spaces.Box(-1, 1, (3,), np.float32)
    saved, loaded = Replay(space, 10), Replay(space, 10)
    rng = np.random.default_rng(before)
    for number in range(before):
        saved.add(rng.random(3), number, 0.5, 0.9, rng.random(3))
    loaded.load(saved.state())
    for number in range(15):
        for replay in (saved, loaded):
            replay.add(np.full(3, number), number, 1.0, 0.9, np.zeros(3))
        assert len(loaded) == len(saved)
        uniforms = rng.random(8)
        np.testing.assert_array_equal(loaded.sample(uniforms), saved.sample(uniforms))


def test_rows_of_another_space_are_refused() -> None:
    saved = Replay(gymnasium.spaces.Discrete(4), 10)
    saved.add(1, 0, 0.0, 0.9, 2)
    with pytest.raises(StateError, match="layout"):
        Replay(gymnasium.spaces.Box(-1, 1, (3,), np.float32), 10).load(saved.state())


def test_a_replay_that_suits_a_space_begins_samples_with_its_newest_rows() -> None:
    for space in (gymnasium.spaces.Discrete(9), gymnasium.spaces.Box(-1, 1, (2,), np.float32)):
        made, plain = replay_of(space, 8, recent=2), Replay(space, 8, recent=2)
        for replay in (made, plain):
            for number in range(6):
                seen = number if space.shape == () else np.full(2, number / 9, np.float32)
                replay.add(seen, 0, float(number), 0.9, seen)
        uniforms = np.zeros(4)
        np.testing.assert_array_equal(made.sample(uniforms), plain.sample(uniforms))
        rewards = unpack(made.sample(uniforms), made.row).reward
        assert np.asarray(rewards).tolist() == [5.0, 4.0, 0.0, 0.0]
