"""The choice inside Algorithm 2."""

from __future__ import annotations

import numpy as np
import pytest
from test_search import ACTIONS, LIMIT, World, chi_square, table_counts


def decided_world(kind: str, batch: int | None) -> World:
    """Returns three states of which (1, action 0) is the least visited pair.

    State 2 is the least visited as a whole: its visits lie 2 and 4, those of state 1 lie 1 and 9.
    """
    world = World(table_counts, kind=kind, batch=batch)
    for state, visits in enumerate([(5, 5), (1, 9), (2, 4)]):
        world.add(state)
        for action, count in enumerate(visits):
            for _ in range(count):
                world.observe(state, action)
    return world


@pytest.mark.parametrize("batch", [None, 50])
def test_pairs_are_chosen_with_their_action(batch: int | None) -> None:
    world = decided_world("pair", batch)
    rng = np.random.default_rng(0)
    assert {world.rule.choose(rng)[:2] for _ in range(100)} == {(1, 0)}


@pytest.mark.parametrize("batch", [None, 50])
def test_states_are_chosen_as_a_whole_and_paired_with_any_action(batch: int | None) -> None:
    world = decided_world("state", batch)
    rng = np.random.default_rng(0)
    starts = [world.rule.choose(rng) for _ in range(1000)]
    assert {start.entry for start in starts} == {2}
    counts = np.bincount([start.action for start in starts], minlength=ACTIONS)
    assert chi_square(counts) < LIMIT[1]


def test_equal_actions_of_a_pair_are_chosen_alike() -> None:
    world = World(table_counts)
    world.add(4)
    rng = np.random.default_rng(0)
    counts = np.bincount([world.rule.choose(rng).action for _ in range(1000)], minlength=ACTIONS)
    assert chi_square(counts) < LIMIT[1]


@pytest.mark.parametrize("batch", [1, 2, 3])
def test_a_batch_is_drawn_with_replacement(batch: int) -> None:
    """The less uncertain of two entries is chosen when it is drawn every time: (1/2)^B."""
    world = World(table_counts, batch=batch)
    for state in (0, 1):
        world.add(state)
    for action in range(ACTIONS):
        world.observe(0, action)
    rng = np.random.default_rng(0)
    chosen = [world.rule.choose(rng).entry for _ in range(4000)]
    share = chosen.count(0) / len(chosen)
    assert share == pytest.approx(0.5**batch, abs=5 * np.sqrt(0.25 / 4000))


def test_a_batch_larger_than_the_history_is_no_matter() -> None:
    world = World(table_counts, batch=500)
    assert world.add(3) == 0
    assert world.rule.choose(np.random.default_rng(0)).entry == 0


def test_only_entries_that_are_live_are_drawn() -> None:
    world = World(table_counts, batch=3, entries=4)
    for state in range(10):
        world.add(state)
    rng = np.random.default_rng(0)
    assert {world.rule.choose(rng).entry for _ in range(300)} == {6, 7, 8, 9}
