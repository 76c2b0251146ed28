"""A replay of images against one that keeps everything, and n-step rows by hand."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

from uflp.agents.base import unpack
from uflp.replay import FrameReplay, NStep, Replay
from uflp.replay.frames import naming_row, replay_of
from uflp.spaces import Frames
from uflp.state import StateError
from uflp.types import Batch, Transition, UsageError

IMAGES = Frames((4, 16, 20))
IDS = gymnasium.spaces.Discrete(1000)


def drawn(replay: Any, size: int) -> Batch:
    batch = unpack(replay.sample(np.random.default_rng(0).random(size)), replay.row)
    return Batch(*map(np.asarray, batch))


def stored(replay: FrameReplay) -> list[int]:
    """Returns the compressed sizes of the frames that a replay holds, as a checkpoint has them."""
    frames = replay.state()["frames"]
    blocks = frames.blocks(frames.first)
    return [size for _, _, columns in blocks for size in columns["sizes"].tolist()]


def rollouts(count: int, length: int, seed: int = 0) -> list[Transition]:
    """Rollouts from random stacks, as restarts give them; some frames repeat the one before."""
    rng = np.random.default_rng(seed)
    transitions = []
    for _ in range(count):
        observation = rng.integers(0, 256, IMAGES.shape).astype(np.uint8)
        for step in range(length):
            last = rng.random() < 0.3
            frame = rng.integers(0, 256, IMAGES.shape[1:]).astype(np.uint8)
            new = observation[-1] if last else frame
            following = np.concatenate([observation[1:], new[None]])
            ends = (step == length - 1) * (1 + rng.integers(2))
            transitions.append(
                Transition(
                    observation,
                    int(rng.integers(18)),
                    float(rng.normal()),
                    following,
                    bool(ends == 1),
                    bool(ends == 2),
                    float(rng.random()),
                )
            )
            observation = following
    return transitions


@pytest.mark.parametrize("steps", [1, 3, 5])
@pytest.mark.parametrize("capacity", [7, 1000])
@pytest.mark.parametrize("recent", [0, 5])
def test_samples_are_those_of_a_replay_that_keeps_everything(
    steps: int, capacity: int, recent: int
) -> None:
    frames, everything = (kind(IMAGES, capacity, recent=recent) for kind in (FrameReplay, Replay))
    targets = [NStep(replay, 0.9, steps, 1.0) for replay in (frames, everything)]
    for number, transition in enumerate(rollouts(10, 12)):
        for target in targets:
            target.add(transition)
        assert len(frames) == len(everything)
        if number % 10 == 9:
            for one, two in zip(drawn(frames, 64), drawn(everything, 64), strict=True):
                np.testing.assert_array_equal(one, two)


def test_images_that_are_no_stack_are_stored_once_too() -> None:
    space = gymnasium.spaces.Box(0, 255, (6, 5, 3), np.uint8)
    frames, everything = FrameReplay(space, 8), Replay(space, 8)
    rng = np.random.default_rng(0)
    seen = [rng.integers(0, 256, space.shape).astype(np.uint8) for _ in range(13)]
    for replay in (frames, everything):
        targets = NStep(replay, 0.9, 1, None)
        for number in range(12):
            ends = number == 11
            targets.add(Transition(seen[number], 0, 1.0, seen[number + 1], ends, False))
    for one, two in zip(drawn(frames, 64), drawn(everything, 64), strict=True):
        np.testing.assert_array_equal(one, two)
    assert len(stored(frames)) == 9, "eight rows in a row have nine images"


def test_each_frame_is_stored_once_and_leaves_with_its_rows() -> None:
    replay = FrameReplay(IMAGES, 20)
    targets = NStep(replay, 0.9, 3, None)
    transitions = rollouts(1, 15)
    for transition in transitions:
        targets.add(transition)
    different = {frame.tobytes() for each in transitions for frame in each.observation}
    different |= {transitions[-1].next_observation[-1].tobytes()}
    assert len(stored(replay)) == len(different)
    for transition in rollouts(30, 15, seed=1):
        targets.add(transition)
    # At most: 20 rows, what lies before and after them, and four for each beginning.
    sizes = stored(replay)
    assert len(sizes) < 20 + 4 + 3 + 3 * 4
    # Their bytes, once, and a little for each frame and each of the 20 rows.
    assert sum(sizes) < replay.nbytes < sum(sizes) + 150 * (len(sizes) + 20)


def test_n_step_rows_by_hand() -> None:
    replay = Replay(IDS, 100)
    targets = NStep(replay, 0.5, 3, clip=2.0)

    def add(place: int, reward: float, intrinsic: float = 0.0, **end: bool) -> None:
        ends = end.get("terminated", False), end.get("truncated", False)
        targets.add(Transition(place, 1, reward, place + 1, *ends, intrinsic))

    add(0, 1.0)
    add(1, 1.0)
    assert len(replay) == 0
    add(2, 2.0, intrinsic=8.0)
    add(3, 4.0, terminated=True)
    # Another rollout, from elsewhere: nothing of the first reaches into it.
    add(100, -9.0)
    add(101, 1.0, truncated=True)
    add(200, 1.0)
    in_order = unpack(replay.sample((np.arange(6) + 0.5) / 6), replay.row)[:5]
    rows = list(zip(*(np.asarray(column).ravel().tolist() for column in in_order), strict=True))
    assert len(replay) == 6
    assert rows == [
        (0, 1, 1 + 0.5 + 0.5 + 2.0, 0.125, 3),
        (1, 1, 2.0 + 4.0, 0.0, 4),  # 1 + 1 + 1, clipped to 2; the intrinsic 8 halved
        (2, 1, 2.0 + 8.0, 0.0, 4),
        (3, 1, 2.0, 0.0, 4),
        (100, 1, -2.0, 0.25, 102),
        (101, 1, 1.0, 0.5, 102),
    ]


def test_a_replay_without_room_is_refused() -> None:
    with pytest.raises(UsageError, match="at least 1 row"):
        FrameReplay(IMAGES, 0)


@pytest.mark.parametrize("kind", [FrameReplay, Replay])
@pytest.mark.parametrize("stop", [7, 12])
def test_rows_that_are_not_complete_go_on_from_a_state(kind: Any, stop: int) -> None:
    one, two = kind(IMAGES, 9), kind(IMAGES, 9)
    steps = rollouts(2, 12)
    before, after = NStep(one, 0.9, 3, None), NStep(two, 0.9, 3, None)
    for transition in steps[:stop]:
        before.add(transition)
    two.load(one.state())
    after.load(before.state())
    for transition in steps[stop:]:
        before.add(transition)
        after.add(transition)
    assert len(one) == len(two) == 9
    for here, there in zip(drawn(one, 64), drawn(two, 64), strict=True):
        np.testing.assert_array_equal(here, there)


def test_frames_that_resemble_the_dictionary_take_less_room() -> None:
    """Frames of noise cannot be compressed, unless the dictionary has them."""
    steps = rollouts(1, 3)
    dictionary = b"".join(frame.tobytes() for step in steps for frame in step.observation)
    sizes = []
    for known in (b"", dictionary[-32_000:]):
        replay = replay_of(IMAGES, 9, dictionary=known)
        assert isinstance(replay, FrameReplay)
        target = NStep(replay, 0.9, 1, None)
        for step in steps:
            target.add(step)
        sizes.append(sum(stored(replay)))
        np.testing.assert_array_equal(
            drawn(replay, 64).observation, drawn(replay_like(steps), 64).observation
        )
    assert sizes[1] < 0.7 * sizes[0]


def replay_like(steps: list[Transition]) -> Replay:
    replay = Replay(IMAGES, 9)
    target = NStep(replay, 0.9, 1, None)
    for step in steps:
        target.add(step)
    return replay


@pytest.mark.parametrize("column", ["observation", "next_observation"])
@pytest.mark.parametrize("frame", [-1, 10**6])
def test_a_row_that_names_a_frame_that_is_not_there_is_refused(column: str, frame: int) -> None:
    replay = FrameReplay(IMAGES, 9)
    target = NStep(replay, 0.9, 1, None)
    for step in rollouts(1, 5):
        target.add(step)
    state = replay.state()
    # The files of a checkpoint are named by these.
    assert [state[part].name for part in ("rows", "frames")] == ["replay", "frames"]
    FrameReplay(IMAGES, 9).load(state)
    blocks = [
        (first, stop, {name: np.array(values) for name, values in columns.items()})
        for first, stop, columns in state["rows"].blocks(state["rows"].first)
    ]
    blocks[0][2]["rows"].view(naming_row(IMAGES.shape[0], 0))[column][2] = frame
    forged = {**state, "rows": state["rows"]._replace(blocks=lambda first: iter(blocks))}
    with pytest.raises(StateError, match="names a frame that is not there"):
        FrameReplay(IMAGES, 9).load(forged)
