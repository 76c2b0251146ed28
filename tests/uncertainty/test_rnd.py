"""Random network distillation: its normaliser by hand, its networks by flax, and what it is for."""

from __future__ import annotations

from typing import Any

import flax.linen as nn
import gymnasium
import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from probes import no_predict

import uflp
from uflp.experiments.resolve import resolve
from uflp.networks.distillation import make_distillation
from uflp.spaces import Frames
from uflp.training.run import Run
from uflp.types import UsageError
from uflp.uncertainty.rnd import RND, Distilled, RunningMoments

VECTORS = gymnasium.spaces.Box(-np.inf, np.inf, (3,), np.float32)
FRAMES = Frames((4, 36, 36))
SMALL: dict[str, Any] = {"rnd_width": 16, "rnd_batch": 8, "rnd_period": 1}
GAME: dict[str, Any] = {"queries": 40, "max_frames": 80, "rollout_limit": 12, "batch": 3}


# The normaliser


def test_moments_by_hand() -> None:
    moments = RunningMoments((2,))
    moments.add(np.array([[1, 10], [3, 10]], np.uint8))
    moments.add(np.array([[8, 10]], np.uint8))
    assert moments.count == 3
    np.testing.assert_allclose(moments.mean, [4, 10])
    # 26 / 3 is ((1 - 4)² + (3 - 4)² + (8 - 4)²) / 3; what never changed has the least deviation.
    np.testing.assert_allclose(moments.deviation, [np.sqrt(26 / 3), 1e-4])


@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.integers(0, 2**32 - 1))
def test_moments_of_batches_are_those_of_all(sizes: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    batches = [rng.normal(1000, 3, (size, 2, 3)) for size in sizes]
    moments = RunningMoments((2, 3))
    for batch in batches:
        moments.add(batch)
    everything = np.concatenate(batches)
    np.testing.assert_allclose(moments.mean, everything.mean(axis=0), rtol=1e-12)
    expected = np.maximum(everything.std(axis=0), 1e-4)
    np.testing.assert_allclose(moments.deviation, expected, rtol=1e-9)


def test_observations_are_normalised_and_clipped() -> None:
    """What lies beyond five deviations counts as five."""
    rnd = RND(**SMALL).make(VECTORS, 2, seed=0)
    values = np.array([-1, 1] * 4, np.float32)
    for value in values:
        rnd.observe(np.array([7 + value, 100 * value, value]), 0)
    near = np.array([[7 + 5, 0, 0], [7 + 4.9, 0, 0], [7 + 50, 0, 0]], np.float32)
    five, less, beyond = rnd.score(near, no_predict)
    assert five == beyond != less
    # Of the second number a hundred is one deviation.
    swapped = rnd.score(np.array([[7 + 3, 0, 0], [7, 300, 0], [7, 3, 0]], np.float32), no_predict)
    scaled = make_distillation((3,), None, 16, 1e-4)
    plain = np.array([[3, 0, 0], [0, 3, 0], [0, 0.03, 0]], np.float32)
    expected = scaled.errors(rnd.target, rnd.predictor, plain, (np.zeros(3), np.ones(3)))
    np.testing.assert_allclose(swapped, expected, rtol=1e-5)


# The networks


class Reference(nn.Module):
    """The paper's network for images, as flax users write it."""

    @nn.compact
    def __call__(self, x):
        x = x.transpose(0, 2, 3, 1)
        for channels, side, stride in ((32, 8, 4), (64, 4, 2), (64, 3, 1)):
            x = nn.relu(nn.Conv(channels, (side, side), (stride, stride), padding="SAME")(x))
        x = nn.relu(nn.Dense(16)(x.reshape(len(x), -1)))
        return nn.Dense(16)(x)


def as_flax(params: Any) -> dict[str, Any]:
    torso, layers = params
    convolutions = zip(torso.kernels, torso.biases, strict=True)
    return {
        **{f"Conv_{n}": {"kernel": k, "bias": b} for n, (k, b) in enumerate(convolutions)},
        **{f"Dense_{n}": {"kernel": k.T, "bias": b} for n, (k, b) in enumerate(layers)},
    }


def test_a_score_is_the_mean_square_between_two_networks_of_the_paper() -> None:
    functions = make_distillation(FRAMES.shape, None, 16, 1e-3)
    target, predictor = functions.init(3)
    images = np.random.default_rng(0).integers(0, 256, (5, *FRAMES.shape)).astype(np.uint8)
    mean = np.full(FRAMES.shape, 100, np.float32)
    scaling = mean, np.full(FRAMES.shape, 0.01, np.float32)
    outputs = [
        Reference().apply({"params": as_flax(params)}, (images - mean) / 100)
        for params in (target, predictor.params)
    ]
    expected = np.square(outputs[0] - outputs[1]).mean(axis=1)
    found = functions.errors(target, predictor, images, scaling)
    np.testing.assert_allclose(found, expected, rtol=1e-4)
    assert expected.min() > 0


def test_only_the_predictor_learns_and_both_are_drawn_from_the_seed() -> None:
    one, same, other = (RND(**SMALL).make(VECTORS, 2, seed) for seed in (1, 1, 2))
    target = jax.tree.map(np.array, one.target)
    rng = np.random.default_rng(0)
    for rnd in (one, same, other):
        rng = np.random.default_rng(0)
        for _ in range(24):
            rnd.observe(rng.normal(size=3), 0)
    keys = rng.normal(size=(5, 3)).astype(np.float32)
    scores = [rnd.score(keys, no_predict) for rnd in (one, same, other)]
    np.testing.assert_array_equal(scores[0], scores[1])
    assert (scores[0] != scores[2]).all()
    assert jax.tree.all(jax.tree.map(np.array_equal, target, one.target))


# What it is for


def blocks(space: Frames, rng: np.random.Generator, top: bool) -> np.ndarray:
    """Returns a stack of black frames with a bright block in one half."""
    image = np.zeros(space.shape, np.uint8)
    row, column = rng.integers(2, 9), rng.integers(2, 28)
    image[:, row + (0 if top else 18) :, column:][:, :6, :6] = 200
    return image


@pytest.mark.parametrize("kind", ["ids", "vectors", "frames"])
def test_the_error_falls_where_it_has_been_and_stays_up_elsewhere(kind: str) -> None:
    rng = np.random.default_rng(0)
    if kind == "ids":
        space: Any = gymnasium.spaces.Discrete(40)
        seen, novel = np.arange(20), np.arange(20, 40)
    elif kind == "vectors":
        space = VECTORS
        seen, novel = rng.normal(size=(2, 40, 3)).astype(np.float32)
        novel *= 4 / np.linalg.norm(novel, axis=1, keepdims=True)
    else:
        space = FRAMES
        seen = np.stack([blocks(space, rng, True) for _ in range(40)])
        novel = np.stack([blocks(space, rng, False) for _ in range(20)])
    settings = RND(rnd_width=32, rnd_batch=20, rnd_period=1, rnd_learning_rate=3e-3)
    rnd = settings.make(space, 2, seed=0)
    for _ in range(20 if kind == "frames" else 60):
        for place in rng.permutation(len(seen)):
            rnd.observe(seen[place], 1)
    assert rnd.score(seen, no_predict).mean() < 0.2 * rnd.score(novel, no_predict).mean()
    np.testing.assert_array_equal(rnd.score(novel, no_predict), rnd.score_states(novel, no_predict))


def test_until_it_has_learned_all_states_are_alike() -> None:
    rnd = RND(**SMALL | {"rnd_period": 3}).make(VECTORS, 2, seed=0)
    keys = np.eye(3, dtype=np.float32)
    for number in range(23):
        rnd.observe(keys[number % 2], 0)
    np.testing.assert_array_equal(rnd.score(keys, no_predict), 0)
    rnd.observe(keys[0], 0)  # the eighth of every third
    assert (rnd.score(keys, no_predict) > 0).all()


def test_a_score_is_the_same_in_whatever_company() -> None:
    rnd = RND(**SMALL).make(VECTORS, 2, seed=0)
    rng = np.random.default_rng(0)
    for _ in range(8):
        rnd.observe(rng.normal(size=3), 0)
    keys = rng.normal(size=(1500, 3)).astype(np.float32)
    together = rnd.score(keys, no_predict)
    for place in (0, 1023, 1024, 1499):
        alone = rnd.score(keys[place : place + 1], no_predict)
        np.testing.assert_allclose(alone, together[place], rtol=1e-4)


# Going on


@pytest.mark.parametrize("space", [gymnasium.spaces.Discrete(9), VECTORS, FRAMES], ids=repr)
def test_one_that_was_saved_goes_on_to_the_bit(space: Any) -> None:
    space.seed(0)
    samples = [space.sample() for _ in range(40)]

    def made() -> Distilled:
        return RND(**SMALL | {"rnd_period": 2}).make(space, 2, seed=5)

    whole, first, second = made(), made(), made()
    for sample in samples:
        whole.observe(sample, 0)
    for sample in samples[:21]:
        first.observe(sample, 0)
    keys = np.stack(samples)
    second.load(first.state())
    np.testing.assert_array_equal(second.score(keys, no_predict), first.score(keys, no_predict))
    for sample in samples[21:]:
        second.observe(sample, 0)
    np.testing.assert_array_equal(second.score(keys, no_predict), whole.score(keys, no_predict))


# In runs


def test_a_history_of_games_keeps_no_frames_but_reads_those_of_the_candidates() -> None:
    pytest.importorskip("ale_py")
    overrides = GAME | SMALL
    run = Run(resolve("atari/venture", agent="random", uncertainty="rnd", overrides=overrides))
    seen = {}
    for _ in run.train(lambda: seen.setdefault(run.history.newest, run.rollout.observation)):
        pass
    assert run.rollout.restarts >= 1
    rows = run.history.state()["rows"]
    assert all(columns["keys"].size == 0 for _, _, columns in rows.blocks(rows.first))
    # Entries that were added at the beginning of a rollout: what was seen there is known.
    entries = np.array(sorted(seen)[:3])
    expected = np.stack([seen[entry] for entry in entries.tolist()])
    before = run.rollout.state()["snapshot"]
    np.testing.assert_array_equal(run.history.keys(entries), expected)
    assert run.rollout.state()["snapshot"] == before


def test_the_paper_s_values_with_rnd() -> None:
    pytest.importorskip("ale_py")
    for game in ("montezuma-revenge", "private-eye", "venture"):
        settings = resolve(f"atari/{game}", uncertainty="rnd")
        assert (settings.planning.p_init, settings.planning.batch) == (0.3, 32)
        assert (settings.planning.restart, settings.uncertainty.rnd_width) == ("state", 1024)
        dist = resolve(f"atari/{game}", agent="dist-ddqn", uncertainty="rnd")
        assert dist.agent_config.v_max == (120_000 if game == "private-eye" else 10_000)
        assert (dist.planning.p_init, dist.planning.batch, dist.learning.n_step) == (0.3, 32, 5)
        counts = resolve(f"atari/{game}", agent="dist-ddqn", uncertainty="counts")
        assert counts.agent_config.v_max == (120_000 if game == "private-eye" else 20_000)
    overrides = {"rnd_learning_rate": 3e-4}
    settings = resolve("deep-sea", uncertainty="rnd", overrides=overrides)
    assert settings.uncertainty.rnd_learning_rate == 3e-4
    assert settings.agent_config.learning_rate == 1e-3


@pytest.mark.parametrize(
    ("preset", "agent", "more"),
    [
        ("deep-sea", "ddqn", {"size": 6}),
        ("swingup", "ddqn-intrinsic", {"max_time": 0.3}),
        ("gym:Taxi-v4", "random", {"learning_batch": 1, "rollout_limit": 20}),
        ("atari/pitfall", "dist-ddqn", {"hidden": (8,), "min_replay": 20, **GAME}),
    ],
)
def test_it_restarts_wherever_there_is_something_to_see(
    preset: str, agent: str, more: dict[str, Any]
) -> None:
    pytest.importorskip("ale_py")
    values = {"queries": 120, "eval_period": 200, "eval_episodes": 1, "learning_batch": 4}
    result = uflp.train(preset, agent=agent, uncertainty="rnd", **(values | SMALL | more))
    assert result.metrics["restarts"][-1] >= 1


def test_any_environment_can_be_wrapped_with_it() -> None:
    for batch in (8, None):
        env = uflp.LocalAccess(
            lambda: gymnasium.make("CartPole-v1"), "rnd", p_init=0.0, batch=batch, **SMALL
        )
        env.reset(seed=0)
        env.action_space.seed(0)
        for _ in range(80):
            _, _, terminated, truncated, _ = env.step(env.action_space.sample())
            if terminated or truncated:
                env.reset()
        assert env.restarts > 0


@pytest.mark.parametrize(
    ("refused", "message"),
    [
        (lambda: RND(rnd_learning_rate=0), "rnd_learning_rate must be positive"),
        (lambda: RND(rnd_width=0), "rnd_width must be at least 1"),
        (lambda: RND().make(gymnasium.spaces.Text(3), 2, 0), "cannot be learned from"),
        (
            lambda: uflp.train("deep-sea", uncertainty="rnd", restart="pair", queries=10),
            "use restart=state",
        ),
        (
            lambda: uflp.train("deep-sea", agent="ddqn-bonus", uncertainty="rnd", queries=10),
            "rnd gives all actions of a state the same bonus.*without bonus, such as ddqn",
        ),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(refused: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        refused()


def test_a_whole_history_of_images_is_refused() -> None:
    pytest.importorskip("ale_py")
    with pytest.raises(UsageError, match=r"decode every snapshot.*batch=32"):
        uflp.train(
            "atari/venture", agent="random", uncertainty="rnd", **(GAME | SMALL | {"batch": None})
        )
