"""Observations of every kind are learned from as they are."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from probes import no_predict

from uflp import spaces
from uflp.agents.base import unpack
from uflp.replay import Replay
from uflp.types import UsageError
from uflp.uncertainty.counts import Counts
from uflp.uncertainty.rnd import RND


@pytest.mark.parametrize("kind", [np.int64, np.uint64, np.int16, np.float64, np.float16, np.bool_])
def test_numbers_of_every_type_come_out_of_replay_as_they_went_in(kind: type) -> None:
    replay = Replay(Box(0, 1 if kind is np.bool_ else 9, (3,), kind), 4)
    before, after = np.array([1, 0, 1]).astype(kind), np.array([0, 1, 1]).astype(kind)
    replay.add(before, 1, 0.5, 0.9, after)
    batch = unpack(replay.sample(np.zeros(2)), replay.row)
    np.testing.assert_array_equal(batch.observation, np.array([before, before], np.float32))
    np.testing.assert_array_equal(batch.next_observation, np.array([after, after], np.float32))


@pytest.mark.parametrize("refuse", [spaces.layout, lambda space: Counts().make(space, 2, seed=0)])
def test_numbers_that_do_not_begin_at_0_are_refused(refuse) -> None:
    with pytest.raises(UsageError, match=r"begin at 1: let them begin at 0"):
        refuse(Discrete(3, start=1))


def test_rnd_takes_a_box_of_one_bare_number() -> None:
    rnd = RND(rnd_width=4, rnd_batch=2, rnd_period=1).make(Box(0, 9, (), np.float32), 2, seed=0)
    for number in (1.0, 2.0):
        rnd.observe(rnd.key_of(np.float32(number)), 0)
    scores = rnd.score(np.array([1.0, 9.0], np.float32), no_predict)
    assert scores.shape == (2,) and np.isfinite(scores).all() and scores[0] != scores[1] > 0


def test_what_is_no_number_is_refused() -> None:
    with pytest.raises(UsageError, match="use a Box or a Discrete"):
        spaces.layout(gymnasium.spaces.Text(3))
