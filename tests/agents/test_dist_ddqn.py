"""Distributional double DQN, against rlax, by hand, and on a task whose values are known."""

from __future__ import annotations

from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import rlax

from uflp.agents import losses
from uflp.agents.dist_ddqn import DistDDQN
from uflp.experiments.resolve import resolve
from uflp.types import Batch, UsageError

ACTIONS, ATOMS, CASES = 3, 21, 64


def test_the_loss_and_its_gradient_are_those_of_rlax() -> None:
    rng = np.random.default_rng(0)
    atoms = jnp.linspace(-1.0, 3.0, ATOMS)
    cases = (
        rng.normal(size=(CASES, ACTIONS, ATOMS)).astype(np.float32),
        rng.integers(ACTIONS, size=CASES),
        (4 * rng.normal(size=CASES)).astype(np.float32),  # many beyond the atoms
        np.where(rng.random(CASES) < 0.3, 0, rng.random(CASES)).astype(np.float32),
        rng.normal(size=(CASES, ACTIONS, ATOMS)).astype(np.float32),
        rng.normal(size=(CASES, ACTIONS)).astype(np.float32),
    )

    def theirs(logits: Any, action: Any, r: Any, d: Any, logits_t: Any, selector: Any) -> Any:
        return rlax.categorical_double_q_learning(
            atoms, logits, action, r, d, atoms, logits_t, selector
        )

    def ours(*case: Any) -> Any:
        return losses.categorical_double_q(atoms, *case)

    outcomes = [jax.jit(jax.vmap(jax.value_and_grad(loss)))(*cases) for loss in (ours, theirs)]
    for one, two in zip(*outcomes, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-4, atol=1e-6)


def test_a_return_between_atoms_is_shared_by_hand() -> None:
    """All of the target lies at 0.25 · 2 + 0.75 = 1.25: three quarters at 1, a quarter at 2."""
    atoms = jnp.arange(4.0)
    certain = jnp.array([[-1e9, -1e9, 0.0, -1e9]])
    logits = jnp.log(jnp.array([[0.1, 0.2, 0.3, 0.4]]))
    loss = losses.categorical_double_q(atoms, logits, 0, 0.75, 0.25, certain, jnp.zeros(1))
    assert loss == pytest.approx(-0.75 * np.log(0.2) - 0.25 * np.log(0.3), rel=1e-5)


def test_it_learns_the_values_of_a_chain() -> None:
    """State 0 leads to 1, and 1 to the end with reward 1 by action 1 and 0 by action 0."""
    agent = DistDDQN(
        hidden=(16,), learning_rate=1e-2, atoms=11, v_min=0.0, v_max=1.0, target_period=5
    ).make(gymnasium.spaces.Discrete(3), 2)
    batch = Batch(
        np.array([0, 0, 1, 1]),
        np.array([0, 1, 0, 1]),
        np.array([0.0, 0, 0, 1], np.float32),
        np.array([0.5, 0.5, 0, 0], np.float32),
        np.array([1, 1, 2, 2]),
    )
    learner = agent.init(jax.random.key(0))
    for _ in range(200):
        learner, _ = agent.update(learner, batch)
    values = agent.predict(learner, np.array([0, 1]))
    assert values.shape == (1, 2, 2)
    np.testing.assert_allclose(values[0], [[0.5, 0.5], [0, 1]], atol=0.05)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"atoms": 1}, "atoms must be at least 2"),
        ({"v_min": 1.0}, "v_min must lie below v_max"),
        ({"target_period": 0}, "target_period must be at least 1"),
    ],
)
def test_bad_settings_are_refused(settings: Any, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        DistDDQN(**settings)


@pytest.mark.parametrize("game", ["montezuma-revenge", "private-eye"])
def test_presets_hold_the_values_of_the_paper(game: str) -> None:
    pytest.importorskip("ale_py")
    settings = resolve(f"atari/{game}", agent="dist-ddqn")
    loop, learner = settings.loop, settings.learner
    assert (loop.n_step, loop.learning_batch, loop.reward_clip) == (5, 256, None)
    assert (loop.p_init, loop.batch, loop.samples_per_insert) == (0.3, 32, 8)
    assert (learner.atoms, learner.v_min) == (201, -1.0)
    assert learner.v_max == (120_000.0 if game == "private-eye" else 20_000.0)
