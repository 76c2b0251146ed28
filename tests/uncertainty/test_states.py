"""An uncertainty that takes the state of another goes on as that one; bad states are refused."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from probes import no_predict

from uflp.spaces import Actions, RealActions
from uflp.state import StateError
from uflp.uncertainty.counts import Counts
from uflp.uncertainty.covariance import PENDING, Covariance

IDS = spaces.Discrete(7)
VECTORS = spaces.Box(-1, 1, (2,), np.float32)
REAL = RealActions((1,), (-2.0,), (2.0,))
KINDS: dict[str, tuple[Any, spaces.Space[Any], Actions]] = {
    "counts of ids": (Counts(), IDS, 3),
    "counts of cells": (Counts(bins=4), VECTORS, 3),
    "counts of states": (Counts(bins=4), VECTORS, REAL),
    "covariance of ids": (Covariance(feature_size=5), IDS, 3),
    "covariance of vectors": (Covariance(feature_size=5), VECTORS, 3),
    "covariance of pairs": (Covariance(feature_size=5), VECTORS, REAL),
}


def made(kind: str) -> Any:
    settings, space, actions = KINDS[kind]
    return settings.make(space, actions, seed=1)


def observe(uncertainty: Any, kind: str, queries: int, seed: int) -> np.ndarray:
    """Lets it observe random queries; returns the keys of their states."""
    _, space, actions = KINDS[kind]
    rng = np.random.default_rng(seed)
    keys = []
    for _ in range(queries):
        seen: Any = rng.uniform(-1, 1, 2).astype(np.float32)
        if space is IDS:
            seen = int(rng.integers(IDS.n))
        action = int(rng.integers(3)) if actions == 3 else rng.uniform(-2, 2, 1)
        keys.append(uncertainty.key_of(seen))
        uncertainty.observe(keys[-1], action)
    return np.array(keys)


@pytest.mark.parametrize("kind", KINDS)
def test_a_loaded_one_goes_on_as_the_saved_one(kind: str) -> None:
    """Some corrections of a covariance wait when it is saved, and some are in its matrix."""
    one, other = made(kind), made(kind)
    keys = observe(one, kind, PENDING + 20, seed=0)
    other.load(copy.deepcopy(one.state()))
    np.testing.assert_array_equal(other.score(keys, no_predict), one.score(keys, no_predict))
    later = observe(one, kind, PENDING, seed=2)
    assert np.array_equal(observe(other, kind, PENDING, seed=2), later)
    scores = one.score(later, no_predict)
    np.testing.assert_array_equal(other.score(later, no_predict), scores)
    np.testing.assert_array_equal(
        other.score_states(later, no_predict), one.score_states(later, no_predict)
    )
    # Something was learned that a new one does not know.
    new = made(kind)
    assert scores.mean() < new.score(observe(new, kind, 1, seed=3), no_predict).mean()


@pytest.mark.parametrize(
    ("kind", "place", "value"),
    [
        ("counts of ids", ("visits",), np.full((7, 3), -1)),
        ("counts of ids", ("visits",), np.zeros((7, 2), np.int64)),
        ("counts of ids", ("visits",), np.full((7, 3), 2**62)),
        ("counts of cells", ("names",), b"12345678" * 2),
        ("counts of cells", ("visits",), np.full((1, 3), -1)),
        ("covariance of ids", ("variance",), np.full((7, 3), np.nan)),
        ("covariance of ids", ("blocks", 1, "base"), np.full((7, 7), np.inf)),
        ("covariance of ids", ("blocks", 1, "columns"), np.full((PENDING, 7), np.nan)),
        ("covariance of ids", ("blocks", 1, "pending"), PENDING),
        ("covariance of vectors", ("blocks", 0, "base"), np.zeros((4, 4))),
        ("covariance of pairs", ("blocks", 0, "columns"), np.zeros((PENDING, 4))),
    ],
)
def test_states_that_cannot_be_are_refused(kind: str, place: tuple[Any, ...], value: Any) -> None:
    one = made(kind)
    observe(one, kind, 1, seed=0)
    state = copy.deepcopy(one.state())
    made(kind).load(copy.deepcopy(state))
    part = state
    for name in place[:-1]:
        part = part[name]
    part[place[-1]] = value
    with pytest.raises(StateError):
        made(kind).load(state)
