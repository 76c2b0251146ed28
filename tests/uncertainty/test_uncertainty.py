"""Uncertainties against values worked by hand and against direct formulas in NumPy."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from probes import no_predict
from threadpoolctl import threadpool_limits

from uflp.spaces import Frames, RealActions
from uflp.types import UsageError
from uflp.uncertainty import UNCERTAINTIES
from uflp.uncertainty.counts import Counts
from uflp.uncertainty.covariance import (
    PENDING,
    Covariance,
    TableCovariance,
    VectorCovariance,
    fourier,
    network,
)
from uflp.uncertainty.ensemble import EnsembleStd
from uflp.uncertainty.rnd import RND

IDS = gymnasium.spaces.Discrete
VECTORS = gymnasium.spaces.Box(-5, 5, (3,), np.float32)


def direct(features: np.ndarray, visited: np.ndarray, regularization: float) -> np.ndarray:
    """Returns (φᵀΦ⁻¹φ)^(1/2) of every row of features, by inverting Φ."""
    matrix = visited.T @ visited + regularization * np.eye(features.shape[1])
    return np.sqrt(np.einsum("nd,nd->n", features, np.linalg.solve(matrix, features.T).T))


# Counts


def test_counts_by_hand() -> None:
    counts = Counts(regularization=0.25).make(IDS(4), 3, seed=0)
    for key, action in [(2, 1), (2, 1), (0, 2), (2, 0)]:
        counts.observe(key, action)
    scores = counts.score(np.array([2, 0, 3]), no_predict)
    np.testing.assert_allclose(
        scores, np.array([[1.25, 2.25, 0.25], [0.25, 0.25, 1.25], [0.25, 0.25, 0.25]]) ** -0.5
    )
    states = counts.score_states(np.array([2, 0, 3]), no_predict)
    np.testing.assert_allclose(states, np.array([3.25, 1.25, 0.25]) ** -0.5)
    assert counts.key_of(2) == 2
    assert (counts.ids, counts.monotone, counts.knows_actions) == (4, True, True)


# Covariance


@pytest.mark.parametrize("form", ["table", "vector"])
def test_the_inverse_does_not_drift_over_a_hundred_thousand_updates(form: str) -> None:
    """The bar: d = 200, 100,000 updates, within 1e-4 of the direct inverse in float64."""
    size, states, actions, regularization = 200, 250, 2, 0.01
    rng = np.random.default_rng(0)
    psi = fourier(states, size, 1.0, rng)(np.arange(states))
    covariance: TableCovariance | VectorCovariance
    if form == "table":
        covariance = TableCovariance(psi, actions, regularization)
    else:
        covariance = VectorCovariance(
            lambda keys: psi[keys], IDS(states), size, actions, regularization
        )
    # Some states are visited thousands of times and some never.
    keys = (states * rng.random(100_000) ** 3).astype(np.int64)
    chosen = rng.integers(actions, size=len(keys))
    with threadpool_limits(1):
        for number, (key, action) in enumerate(zip(keys, chosen, strict=True), start=1):
            covariance.observe(key, action)
            if number not in (1, PENDING, 1000, 30_000, 100_000):
                continue
            scores = covariance.score(np.arange(states), no_predict)
            for block in range(actions):
                visited = psi[keys[:number][chosen[:number] == block]]
                expected = direct(psi, visited, regularization)
                np.testing.assert_allclose(scores[:, block], expected, rtol=1e-4)


def test_vectors_agree_with_the_direct_inverse_one_at_a_time_and_together() -> None:
    settings = Covariance(feature_size=30, bandwidth=2.0, regularization=0.1)
    covariance = settings.make(VECTORS, 2, seed=5)
    psi = fourier(3, 30, 2.0, np.random.default_rng(5))
    rng = np.random.default_rng(1)
    visited: list[list[np.ndarray]] = [[], []]
    probe = rng.normal(size=(7, 3)).astype(np.float32)
    for number in range(3 * PENDING // 2):
        key, action = rng.normal(size=3).astype(np.float32), number % 3 % 2
        covariance.observe(covariance.key_of(key), action)
        visited[action].append(key)
    expected = np.stack([direct(psi(probe), psi(np.array(keys)), 0.1) for keys in visited], axis=1)
    scores = covariance.score(probe, no_predict)
    np.testing.assert_allclose(scores, expected, rtol=1e-9)
    for row in range(7):
        alone = covariance.score(probe[row : row + 1], no_predict)
        assert alone.shape == (1, 2)
        np.testing.assert_allclose(alone[0], expected[row], rtol=1e-9)
    np.testing.assert_allclose(
        covariance.score_states(probe, no_predict), expected.max(axis=1), rtol=1e-9
    )
    assert (covariance.key_shape, covariance.key_dtype) == ((3,), np.float32)


def test_looking_before_a_visit_changes_nothing() -> None:
    """What a bonus has just asked for is used again, but never once it is out of date."""
    space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
    quiet, asked = (Covariance(feature_size=20).make(space, 2, seed=0) for _ in range(2))
    rng = np.random.default_rng(0)
    places = rng.uniform(-1, 1, (5, 2)).astype(np.float32)
    for _ in range(200):
        state, other = places[rng.integers(5, size=2)]
        action = int(rng.integers(2))
        for look in (state, other)[: rng.integers(3)]:
            asked.score(look[None], no_predict)
        quiet.observe(state, action)
        asked.observe(state, action)
    np.testing.assert_allclose(
        asked.score(places, no_predict), quiet.score(places, no_predict), rtol=1e-9
    )


@pytest.mark.parametrize("kind", ["fourier", "network"])
def test_table_and_vectors_are_two_forms_of_one_thing(kind: str) -> None:
    settings = Covariance(feature_size=40, feature_kind=kind)
    table = settings.make(IDS(50), 3, seed=2)
    vectors = settings.make(IDS(170), 3, seed=2)
    assert isinstance(table, TableCovariance)
    assert isinstance(vectors, VectorCovariance)
    draw = {"fourier": fourier, "network": network}[kind]
    features = draw(50, 40, 1.0, np.random.default_rng(2))
    vectors = VectorCovariance(features, IDS(50), 40, 3, 0.01)
    rng = np.random.default_rng(3)
    for _ in range(500):
        key, action = int(rng.integers(50)), int(rng.integers(3))
        table.observe(key, action)
        vectors.observe(key, action)
    keys = rng.permutation(50)
    for score in ("score", "score_states"):
        np.testing.assert_allclose(
            getattr(table, score)(keys, no_predict),
            getattr(vectors, score)(keys.astype(np.int32), no_predict),
            rtol=1e-8,
        )


def test_one_hot_features_make_the_covariance_count() -> None:
    counts = Counts(regularization=0.5).make(IDS(30), 2, seed=0)
    covariance = Covariance(feature_kind="one-hot", regularization=0.5).make(IDS(30), 2, seed=0)
    rng = np.random.default_rng(0)
    for _ in range(1000):
        key, action = int(30 * rng.random() ** 2), int(rng.integers(2))
        counts.observe(key, action)
        covariance.observe(key, action)
    keys = np.arange(30)
    np.testing.assert_allclose(
        covariance.score(keys, no_predict), counts.score(keys, no_predict), rtol=1e-9
    )


@pytest.mark.parametrize("space", [IDS(10), VECTORS])
def test_the_blocks_of_actions_share_nothing(space: gymnasium.Space) -> None:
    space.seed(0)
    for size in (1, 4):
        covariance = Covariance(feature_size=size, bandwidth=3.0).make(space, 2, seed=0)
        keys = np.stack([np.asarray(space.sample()) for _ in range(5)]).astype(covariance.key_dtype)
        before = covariance.score(keys, no_predict)
        for _ in range(2 * PENDING):
            covariance.observe(keys[0], 1)
        after = covariance.score(keys, no_predict)
        np.testing.assert_array_equal(after[:, 0], before[:, 0])
        assert after[0, 1] < before[0, 1] / 5


@given(
    visits=st.lists(st.tuples(st.integers(0, 11), st.integers(0, 1)), max_size=150),
    name=st.sampled_from(["counts", "fourier", "network", "one-hot", "vectors"]),
)
def test_what_is_called_monotone_never_rises(visits: list[tuple[int, int]], name: str) -> None:
    keys = np.arange(12)
    if name == "counts":
        uncertainty = Counts().make(IDS(12), 2, seed=0)
    elif name == "vectors":
        features = fourier(12, 6, 1.0, np.random.default_rng(0))
        uncertainty = VectorCovariance(features, IDS(12), 6, 2, 0.01)
    else:
        uncertainty = Covariance(feature_size=6, feature_kind=name).make(IDS(12), 2, seed=0)
    assert uncertainty.monotone
    last, last_states = np.inf, np.inf
    for key, action in visits:
        uncertainty.observe(key, action)
        scores = uncertainty.score(keys, no_predict)
        states = uncertainty.score_states(keys, no_predict)
        assert np.all(scores <= last * (1 + 1e-9))
        assert np.all(states <= last_states * (1 + 1e-9))
        assert np.all(scores >= 0)
        last, last_states = scores, states


def test_visiting_makes_that_pair_certain_and_its_neighbours_too() -> None:
    covariance = Covariance(feature_size=300, bandwidth=1.0).make(VECTORS, 2, seed=0)
    keys = np.array([[0, 0, 0], [0.1, 0, 0], [5, 5, 5]], np.float32)
    before = covariance.score(keys, no_predict)
    for _ in range(10):
        covariance.observe(keys[0], 1)
    ratio = covariance.score(keys, no_predict) / before
    assert ratio[0, 1] < 0.1
    assert ratio[1, 1] < 0.2
    assert ratio[2, 1] > 0.8
    np.testing.assert_array_equal(ratio[:, 0], 1)


# Features


def test_fourier_features_approximate_the_gaussian_kernel() -> None:
    psi = fourier(3, 40_000, 2.0, np.random.default_rng(0))
    x, y = np.zeros((1, 3)), np.array([[1.0, 2.0, 2.0]])
    assert (psi(x) @ psi(x).T).item() == pytest.approx(1, abs=0.03)
    assert (psi(x) @ psi(y).T).item() == pytest.approx(np.exp(-9 / 8), abs=0.03)


@pytest.mark.parametrize("draw", [fourier, network])
def test_an_id_has_the_features_of_its_one_hot_vector(draw: object) -> None:
    psi = draw(9, 20, 1.0, np.random.default_rng(0))
    np.testing.assert_allclose(psi(np.arange(9)), psi(np.eye(9)), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("size", [1, 2, 50])
def test_network_features_have_unit_length_and_are_finite(size: int) -> None:
    for seed in range(20):
        outputs = network(12, size, 1.0, np.random.default_rng(seed))(np.arange(12))
        assert outputs.shape == (12, size)
        assert np.isfinite(outputs).all()
        lengths = np.linalg.norm(outputs, axis=1)
        np.testing.assert_allclose(lengths[lengths > 0], 1)
        if size == 50:
            assert (lengths > 0).all()


def test_features_are_a_function_of_the_seed() -> None:
    keys = np.array([[1, 2, 3]], np.float32)
    scores = [
        Covariance(feature_size=20).make(VECTORS, 1, seed).score(keys, no_predict).item()
        for seed in (0, 0, 1)
    ]
    assert scores[0] == scores[1] != scores[2]


# Ensembles


@pytest.mark.parametrize("space", [IDS(9), VECTORS])
def test_disagreement_is_the_standard_deviation_over_members(space: gymnasium.Space) -> None:
    disagreement = EnsembleStd().make(space, 4, seed=0)
    values = np.random.default_rng(0).normal(size=(5, 3, 4)).astype(np.float32)
    space.seed(0)
    keys = np.stack([np.asarray(space.sample()) for _ in range(3)])

    def predict(observations: np.ndarray) -> np.ndarray:
        assert observations is keys
        return values

    deviations = np.array(
        [
            [np.sqrt(np.mean((values[:, b, a] - values[:, b, a].mean()) ** 2)) for a in range(4)]
            for b in range(3)
        ]
    )
    np.testing.assert_allclose(disagreement.score(keys, predict), deviations, rtol=1e-5)
    np.testing.assert_allclose(
        disagreement.score_states(keys, predict), deviations.max(axis=1), rtol=1e-5
    )
    assert not disagreement.monotone


# Refusals


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (lambda: Counts(regularization=0), "regularization must be positive"),
        (lambda: Counts(regularization=float("nan")), "regularization must be positive"),
        (lambda: Counts().make(gymnasium.spaces.Text(3), 2, 0), "cannot be counted"),
        (lambda: Covariance(feature_size=0), "feature_size must be at least 1"),
        (lambda: Covariance(bandwidth=-1), "bandwidth must be positive"),
        (lambda: Covariance(regularization=0), "regularization must be positive"),
        (lambda: Covariance(feature_kind="furier"), "did you mean 'fourier'.*network, one-hot"),
        (lambda: Covariance(feature_kind="one-hot").make(VECTORS, 2, 0), "discrete"),
        (lambda: UNCERTAINTIES["count"], "did you mean 'counts'.*covariance, ensemble-std"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(settings: object, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        settings()


def test_images_of_bytes_are_vectors_and_no_ids() -> None:
    """A byte of an image is a number among others; only a single number for each state is an id."""
    rng = np.random.default_rng(0)
    images = rng.integers(0, 4, (5, 3, 3, 2)).astype(np.uint8)
    space = gymnasium.spaces.Box(0, 3, images.shape[1:], np.uint8)
    numbers = gymnasium.spaces.Box(0, 3, (18,), np.float32)
    on_images = Covariance(feature_size=20).make(space, 2, seed=0)
    on_numbers = Covariance(feature_size=20).make(numbers, 2, seed=0)
    for place, image in enumerate(images):
        on_images.observe(image, place % 2)
        on_numbers.observe(image.astype(np.float32).ravel(), place % 2)
    np.testing.assert_allclose(
        on_images.score(images, no_predict),
        on_numbers.score(images.reshape(5, -1).astype(np.float32), no_predict),
    )


@pytest.mark.parametrize("uncertainty", [Covariance(feature_size=4), EnsembleStd(), RND()])
def test_large_observations_are_not_kept_a_second_time(uncertainty: Any) -> None:
    images = uncertainty.make(Frames((4, 84, 84)), 3, 0)
    assert images.key_shape is None
    small = uncertainty.make(gymnasium.spaces.Box(0, 1, (6,), np.float32), 3, 0)
    assert small.key_shape == (6,)


def test_a_name_that_is_none_is_told_with_those_that_are() -> None:
    with pytest.raises(UsageError, match=r"\buncertainty\b.*'nothing'") as refused:
        UNCERTAINTIES["nothing"]
    assert all(name in str(refused.value) for name in UNCERTAINTIES)


def test_states_are_judged_by_their_probes_where_actions_are_real_valued() -> None:
    """Of the actions that stand for all, the one that members differ about most."""
    actions = RealActions((1,), (-1.0,), (1.0,))
    disagreement = EnsembleStd().make(VECTORS, actions, seed=0)
    keys = np.zeros((3, 4), np.float32)
    asked = []

    def predict(observations: np.ndarray, tried: np.ndarray | None = None) -> np.ndarray:
        assert observations is keys and tried is not None
        asked.append(tried)
        return np.stack([tried[..., 0], 3 * tried[..., 0]])  # the deviation is |a|

    scores = disagreement.score_states(keys, predict)
    assert asked[0].shape[0] == 3 and asked[0].shape[1] > 1
    np.testing.assert_allclose(scores, np.abs(asked[0][..., 0]).max(axis=1), rtol=1e-5)


def test_defaults_are_those_of_the_paper() -> None:
    assert RND() == RND(rnd_width=1024, rnd_learning_rate=1e-4, rnd_batch=128, rnd_period=4)
    assert Counts() == Counts(regularization=0.01)


def test_uncertainties_say_which_actions_they_can_judge() -> None:
    real = RealActions((1,), (-1.0,), (1.0,))
    for name, judges_pairs in {
        "counts": False,
        "covariance": True,
        "ensemble-std": True,
        "rnd": False,
    }.items():
        settings = UNCERTAINTIES[name]
        assert set(settings.action_kinds) == {"numbered", "real"}
        assert bool(settings().make(VECTORS, real, 0).knows_actions) is judges_pairs
        numbered = settings().make(VECTORS, 3, 0)
        assert bool(numbered.knows_actions) is (name != "rnd")
