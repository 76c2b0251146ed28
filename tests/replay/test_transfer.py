"""Rows that travel to a replay arrive as if they had been added there."""

import numpy as np
import pytest
from gymnasium import spaces

from uflp.replay import FrameReplay, Replay
from uflp.replay.accumulators import NStep
from uflp.replay.transfer import make_outbox, unpack
from uflp.spaces import Frames, RealActions
from uflp.types import Transition

STACKS = Frames((3, 6, 5))
MASKED = 3


def transitions(space, count, masked):
    """Yields the queries of rollouts of a few steps; frames repeat now and then."""
    rng = np.random.default_rng(0)
    space.seed(0)
    observation = space.sample()
    for _ in range(count):
        following = space.sample()
        if isinstance(space, Frames):
            new = observation[-1:] if rng.random() < 0.3 else following[-1:]
            following = np.concatenate([observation[1:], new])
        over = rng.random() < 0.2
        action, reward = int(rng.integers(3)), float(rng.normal())
        mask = rng.random(masked) < 0.5 if masked else None
        yield Transition(observation, action, reward, following, over, False, next_mask=mask)
        observation = space.sample() if over else following


def replay_of(space, capacity, masked, dictionary):
    if isinstance(space, Frames):
        return FrameReplay(space, capacity, masked, dictionary=dictionary)
    return Replay(space, capacity, masked)


@pytest.mark.parametrize("capacity", [7, 30, 500])
@pytest.mark.parametrize("space", [spaces.Discrete(9), spaces.Box(-1, 1, (2,)), STACKS])
@pytest.mark.parametrize("masked", [0, MASKED])
def test_rows_that_travelled_are_sampled_like_rows_that_did_not(space, capacity, masked):
    dictionary = bytes(range(30))
    here, there = (replay_of(space, capacity, masked, dictionary) for _ in range(2))
    outbox = make_outbox(space, masked, dictionary)
    direct, sent = NStep(here, 0.9, 2, None), NStep(outbox, 0.9, 2, None)
    for number, transition in enumerate(transitions(space, 100, masked)):
        direct.add(transition)
        sent.add(transition)
        if number % 13 == 0:
            unpack(outbox.pack(), there)
    unpack(outbox.pack(), there)
    uniforms = np.random.default_rng(1).random(200)
    assert len(here) == len(there)
    assert here.added == there.added
    np.testing.assert_array_equal(here.sample(uniforms), there.sample(uniforms))


def test_a_parcel_holds_each_frame_once_and_the_replay_forgets_what_no_row_names():
    outbox, replay = make_outbox(STACKS, 0, b""), FrameReplay(STACKS, 5)
    targets = NStep(outbox, 0.9, 1, None)
    frames = np.arange(30, dtype=np.uint8)[:, None, None] + np.zeros((6, 5), np.uint8)
    for start in range(20):
        stacks = frames[start : start + 3], frames[start + 1 : start + 4]
        targets.add(Transition(stacks[0], 0, 0.0, stacks[1], False, False))
        if start == 9:
            first = outbox.pack()
    second = outbox.pack()
    # Ten rows name twelve frames and one more; the second ten begin with three of those again.
    assert (first.size, len(first.frames)) == (10, 13)
    assert (second.size, len(second.frames)) == (10, 13)
    unpack(first, replay)
    unpack(second, replay)
    assert len(replay._frames) == 8  # of the last five rows


@pytest.mark.parametrize("space", [spaces.Discrete(9), STACKS])
def test_an_outbox_keeps_what_a_checkpoint_held(space):
    outbox = make_outbox(space, 0, b"")
    kept = outbox.keep(space.sample(), None)
    name = outbox.name(kept)
    np.testing.assert_array_equal(outbox.name(outbox.named(name)), name)
    assert name.shape == (space.shape or ())


def test_real_valued_actions_travel_whole():
    space, actions = spaces.Box(-1, 1, (2,)), RealActions((3,), (-1.0,) * 3, (1.0,) * 3)
    here, there = (Replay(space, 5, actions=actions) for _ in range(2))
    outbox = make_outbox(space, 0, b"", actions)
    for replay in (here, outbox):
        target = NStep(replay, 0.9, 1, None)
        for number in range(4):
            seen = np.full(2, number / 8, np.float32)
            action = np.array([number, -number, 0.5], np.float32) / 4
            target.add(Transition(seen, action, 1.0, seen + 0.1, number == 3, False))
    unpack(outbox.pack(), there)
    uniforms = np.random.default_rng(1).random(20)
    np.testing.assert_array_equal(here.sample(uniforms), there.sample(uniforms))
