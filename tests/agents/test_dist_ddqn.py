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


def test_the_online_network_chooses_the_next_action_and_the_target_network_values_it() -> None:
    """The loss of action 0 in s, with reward 1/2 and γ = 1/2, worked by hand.

    The atoms are 0, 1 and 2. In s' the online network has the means 0.75 and 1.25 and chooses
    action 1; the target network has 1.625 and 0.75 and would choose action 0. By the target network
    the returns of action 1 have the probabilities 1/2, 1/4, 1/4. They move to 1/2, 1 and 3/2, and
    the halves are shared: 1/4 at 0, 1/4 + 1/4 + 1/8 at 1, and 1/8 at 2. The prediction is 1/2, 1/4,
    1/4, so the cross-entropy is 1/4 ln 2 + 3/4 ln 4 = 7/4 ln 2.
    """
    config = DistDDQN(hidden=(2,), atoms=3, v_min=0.0, v_max=2.0, target_period=100)
    agent = config.make(gymnasium.spaces.Box(-9, 9, (2,)), 2)
    low, high, highest = [1 / 2, 1 / 4, 1 / 4], [1 / 4, 1 / 4, 1 / 2], [1 / 8, 1 / 8, 3 / 4]
    # Of s and of s', the probabilities by action 0 and by action 1.
    online, target = [[low, high], [low, high]], [[highest, highest], [highest, low]]

    def weights(tables: Any) -> Any:
        """Parameters of logits that are columns of the last kernel; unit vectors pass the first."""
        kernel = np.log(tables).reshape(2, 6).T
        return jnp.asarray([1, 0, 0, 1, 0, 0, *kernel.ravel(), *np.zeros(6)], jnp.float32)

    learner = agent.init(jax.random.key(0))
    # Here alone the test knows where a learner keeps what.
    member = learner.member._replace(params=weights(online), target=weights(target))
    learner = learner._replace(member=member)
    states = np.eye(2, dtype=np.float32)
    np.testing.assert_allclose(agent.predict(learner, states)[0], [[0.75, 1.25]] * 2, rtol=1e-6)
    half = np.full(1, 0.5, np.float32)
    batch = Batch(states[:1], np.zeros(1, np.int32), half, half, states[1:])
    _, loss = agent.update(learner, batch)
    assert loss == pytest.approx(7 / 4 * np.log(2), rel=1e-5)


@pytest.mark.parametrize(
    "space", [gymnasium.spaces.Discrete(6), gymnasium.spaces.Box(-9, 9, (6,))], ids=str
)
def test_with_two_atoms_the_loss_is_that_of_a_coin(space: Any) -> None:
    """With the atoms 0 and 1 the mean is the probability of 1, and so predictions tell all.

    In NumPy, from the predictions of now and of when the target was copied: every 30 steps.
    """
    config = DistDDQN(
        hidden=(8,), learning_rate=0.05, atoms=2, v_min=0.0, v_max=1.0, target_period=30
    )
    agent = config.make(space, ACTIONS)
    show = np.arange(6) if isinstance(space, gymnasium.spaces.Discrete) else np.eye(6)
    show = show.astype(space.dtype)
    rng, learner, differed = np.random.default_rng(0), agent.init(jax.random.key(0)), 0
    for step in range(75):
        online = np.array(agent.predict(learner, show))[0]
        if step % 30 == 0:
            target = online
        state, action, beyond = rng.integers([[6], [ACTIONS], [6]], size=(3, 16))
        # No return lies beyond 1, and one half of the transitions end the task.
        reward = (0.1 * rng.random(16)).astype(np.float32)
        discount = np.where(rng.random(16) < 0.5, 0.0, 0.9).astype(np.float32)
        reward[discount == 0] *= 10
        best = online[beyond].argmax(axis=-1)
        differed += (best != target[beyond].argmax(axis=-1)).sum()
        heads = reward + discount * target[beyond, best]
        p = online[state, action]
        expected = -np.mean(heads * np.log(p) + (1 - heads) * np.log(1 - p))
        learner, loss = agent.update(
            learner, Batch(show[state], action, reward, discount, show[beyond])
        )
        assert loss == pytest.approx(expected, rel=1e-4), step
    assert differed > 0, "the two networks never disagreed"


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
    learner, values = settings.agent_config, settings.values()
    assert (
        values["n_step"],
        values["learning_batch"],
        values["reward_clip"],
    ) == (5, 256, None)
    assert (
        values["p_init"],
        values["batch"],
        values["samples_per_insert"],
    ) == (0.3, 32, 8)
    assert (learner.atoms, learner.v_min) == (201, -1.0)
    assert learner.v_max == (120_000.0 if game == "private-eye" else 20_000.0)
