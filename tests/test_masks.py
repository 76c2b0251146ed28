"""Actions that a state does not allow are never taken, and count for nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import jax
import numpy as np
import pytest
from gymnasium import spaces
from probes import no_predict
from resuming import rows_of

import uflp
from uflp import masks
from uflp.agents.base import unpack
from uflp.agents.ddqn import double_q_step
from uflp.agents.dist_ddqn import DistDDQN
from uflp.agents.q_function import QFunction, QState
from uflp.experiments.resolve import resolve
from uflp.planning.history import History
from uflp.planning.rules.uncertainty import UncertaintyFirst
from uflp.replay import FrameReplay, MonteCarlo, NStep, Replay
from uflp.simulators.contract import check
from uflp.simulators.gymnasium import GymnasiumSimulator
from uflp.spaces import Frames
from uflp.state import Rows
from uflp.training.build import state_value
from uflp.training.run import Run
from uflp.types import Batch, Snapshot, Transition, UsageError
from uflp.uncertainty.counts import Counts
from uflp.uncertainty.covariance import Covariance

PLACES, ACTIONS = 8, 5
SNAPSHOT = Snapshot("probe", bytes(4), 0.0)


class Turnstiles(gymnasium.Env[Any, Any]):
    """A row of places, of which each allows two actions: one that goes on and one that does not.

    The last place ends the episode with reward 1, and the twelfth step truncates it.
    """

    observation_space: Any = spaces.Discrete(PLACES)
    action_space: Any = spaces.Discrete(ACTIONS)
    forbidden = 0
    told = True

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.place, self.steps = 0, 0
        return self.place, self.info()

    def step(self, action: int) -> Any:
        if not self.allowed()[action]:
            type(self).forbidden += 1
            raise ValueError(f"{action} is not allowed in {self.place}")
        self.steps += 1
        self.place += action == self.place % ACTIONS
        over = self.place == PLACES - 1
        return self.place, float(over), over, self.steps == 12, {} if over else self.info()

    def allowed(self) -> np.ndarray:
        mask = np.zeros(ACTIONS, np.int8)
        mask[[self.place % ACTIONS, (self.place + 2) % ACTIONS]] = 1
        return mask

    def info(self) -> dict[str, Any]:
        return {"action_mask": self.allowed()} if self.told else {}


class AnythingGoes(Turnstiles):
    """The same where all actions are allowed, and the info says so."""

    def allowed(self) -> np.ndarray:
        return np.ones(ACTIONS, np.int8)


class NothingSaid(AnythingGoes):
    """The same where the info says nothing."""

    told = False


def quick(name: str = "Turnstiles", agent: str = "ddqn", **more: Any) -> Run:
    values = {"queries": 150, "eval_period": 75, "eval_episodes": 2}
    values |= {"checkpoint_period": 1, "p_init": 0.3, "epsilon": 0.2, **more}
    if agent != "random":
        values |= {"hidden": (4,), "learning_batch": 8}
    uncertainty = values.pop("uncertainty", "counts")
    return Run(
        resolve(f"{__name__}:{name}", agent=agent, uncertainty=uncertainty, overrides=values)
    )


@pytest.mark.parametrize(
    ("agent", "more"),
    [
        ("ddqn", {"restart": "pair", "n_step": 3}),
        ("ddqn-bonus", {"restart": "state", "uncertainty": "covariance", "feature_size": 10}),
        ("boot-ddqn", {"uncertainty": "ensemble-std", "members": 3, "batch": None}),
        ("random", {"restart": "state", "epsilon": 1.0, "repeat_probability": 0.5}),
        ("pi-bonus", {"batch": None}),
        ("dist-ddqn", {"atoms": 5}),
    ],
)
def test_a_run_never_takes_an_action_that_is_not_allowed(agent: str, more: dict[str, Any]) -> None:
    Turnstiles.forbidden = 0
    run = quick(agent=agent, **more)
    assert run.simulator.masked
    assert len(rows_of(run)) == 2
    assert run.rollout.restarts > 3
    assert Turnstiles.forbidden == 0


def test_the_value_of_a_state_is_that_of_its_best_allowed_action() -> None:
    value = state_value(lambda seen: np.array([[[9.0, 1.0, 2.0, 3.0, 4.0]]]))
    assert value(0, None) == 9
    assert value(0, np.array([False, True, True, False, False])) == 2


def test_masks_that_allow_all_change_nothing() -> None:
    # Over drawn entries: the search of a whole history breaks ties in another order with masks.
    runs = [quick(name, batch=32) for name in ("AnythingGoes", "NothingSaid")]
    assert [run.simulator.masked for run in runs] == [True, False]
    assert rows_of(runs[0]) == rows_of(runs[1])


def test_a_trained_agent_chooses_among_what_is_allowed(tmp_path: Path) -> None:
    Turnstiles.forbidden = 0
    name = f"{__name__}:Turnstiles"
    uflp.train(name, out=tmp_path / "run", queries=20, eval_period=20, eval_episodes=1, hidden=(4,))
    policy = uflp.load(tmp_path / "run")
    best = policy.values(3).argsort()[::-1]
    assert policy.act(3) == best[0]
    mask = np.ones(ACTIONS, np.int8)
    mask[best[:2]] = 0
    assert policy.act(3, mask) == policy.act(3, list(mask)) == best[2]
    policy.evaluate(2)
    assert Turnstiles.forbidden == 0
    for bad in (np.zeros(ACTIONS), np.ones(ACTIONS + 1)):
        with pytest.raises(UsageError, match="a mask says of 5 actions"):
            policy.act(3, bad)


def test_the_double_q_target_by_hand() -> None:
    q = QFunction(
        *(None, lambda state, seen: np.array([[5.0, 1.0, 2.0]])),  # type: ignore[arg-type]
        target_values=lambda state, seen: np.array([[10.0, 20.0, 30.0]]),
        fit=lambda state, seen, loss: (state, loss(np.array([[4.0, 0.0, 0.0]]))),
        fit_members=None,  # type: ignore[arg-type]
        init_prior=None,  # type: ignore[arg-type]
        prior_values=None,  # type: ignore[arg-type]
    )
    batch = Batch(np.zeros(1), np.array([0]), np.array([1.0]), np.array([0.5]), np.zeros(1))
    # The best of all actions is the first, worth 10: (1 + 5 - 4)².
    assert double_q_step(q, QState((), ()), batch)[1] == 4
    # The best of the other two is the last, worth 30: (1 + 15 - 4)².
    masked = batch._replace(next_mask=np.array([[0, 1, 1]], np.uint8))
    assert double_q_step(q, QState((), ()), masked)[1] == 144
    # Beyond a terminal nothing is allowed, and nothing is gained: (1 - 4)².
    over = batch._replace(discount=np.zeros(1), next_mask=np.zeros((1, 3), np.uint8))
    assert double_q_step(q, QState((), ()), over)[1] == 9


def test_the_distributional_target_heeds_masks() -> None:
    agent = DistDDQN(hidden=(4,), atoms=5).make(spaces.Discrete(3), 3)
    learner = agent.init(jax.random.key(0))
    best = int(agent.predict(learner, np.array([1]))[0, 0].argmax())
    zeros = np.zeros(1, np.int32)
    batch = Batch(zeros, zeros, np.ones(1), np.ones(1), zeros + 1)

    def loss(*forbidden: int) -> float:
        mask = np.ones((1, 3), np.uint8)
        mask[0, forbidden] = 0
        copy = jax.tree.map(np.array, learner)
        return float(agent.update(copy, batch._replace(next_mask=mask))[1])

    others = [action for action in range(3) if action != best]
    assert loss() == loss(*others) != loss(best)


@pytest.mark.parametrize("batch", [None, 64])
@pytest.mark.parametrize("make", [Counts(), Covariance(feature_size=4)], ids=["counts", "cov"])
def test_a_pair_is_the_most_uncertain_one_that_is_allowed(make: Any, batch: int | None) -> None:
    uncertainty = make.make(spaces.Discrete(3), 3, 0)
    history = History("probe", masked=3, width=4)
    rule = UncertaintyFirst(history, uncertainty, no_predict, actions=3, batch=batch, kind="pair")
    # State 0 twice: the first time action 2 is allowed, which was never tried; then it is not.
    for key, allowed in ((0, [1, 0, 1]), (0, [1, 1, 0]), (1, [0, 1, 0])):
        rule.added(history.add(SNAPSHOT, key, np.array(allowed)), key)
    for action, times in ((0, 3), (1, 2)):
        for _ in range(times):
            uncertainty.observe(0, action)
    for _ in range(3):
        uncertainty.observe(1, 1)
    rng = np.random.default_rng(0)
    assert {rule.choose(rng)[:2] for _ in range(20)} == {(0, 2)}
    for _ in range(9):
        uncertainty.observe(0, 2)
    assert {rule.choose(rng)[:2] for _ in range(20)} == {(1, 1)}


def test_a_state_is_as_uncertain_as_what_it_allows() -> None:
    uncertainty = Covariance(feature_kind="one-hot", regularization=1.0).make(
        spaces.Discrete(2), 3, 0
    )
    history = History("probe", masked=3, width=4)
    rule = UncertaintyFirst(history, uncertainty, no_predict, actions=3, batch=None, kind="state")
    for key, allowed in ((0, [1, 1, 0]), (1, [0, 1, 1])):
        rule.added(history.add(SNAPSHOT, key, np.array(allowed)), key)
    for key, action in ((0, 0), (0, 0), (0, 1), (0, 1), (1, 1), (1, 2)):
        uncertainty.observe(key, action)
    # 1 / √3 against 1 / √2, although action 2 was never tried in state 0.
    rng = np.random.default_rng(0)
    assert {rule.choose(rng)[:2] for _ in range(40)} == {(1, 1), (1, 2)}


def test_a_history_keeps_masks_beside_its_keys() -> None:
    def filled(entries: int) -> History:
        history = History("probe", masked=11, width=4, entries=3000)
        for number in range(entries):
            history.add(SNAPSHOT, number, np.arange(11) == number % 11)
        return history

    history = filled(4000)
    np.testing.assert_array_equal(
        history.masks(history.live()), np.eye(11, dtype=bool)[np.arange(1000, 4000) % 11]
    )
    loaded = filled(0)
    loaded.load(history.state())
    np.testing.assert_array_equal(loaded.masks(loaded.live()), history.masks(history.live()))
    plain = History("probe", width=4)
    plain.add(SNAPSHOT, 0)
    assert plain.masks(plain.live()) is None
    rows: Rows = plain.state()["rows"]
    assert all("masks" not in block.columns for block in rows.blocks(0)), "costs nothing"


def transition(number: int, **more: Any) -> Transition:
    mask = np.arange(4) == number
    return Transition(number, 0, 1.0, number + 1, False, False)._replace(
        **{"next_mask": mask, **more}
    )


def test_replay_keeps_the_mask_of_the_state_that_a_row_ends_in() -> None:
    replay = Replay(spaces.Discrete(9), 10, masked=4)
    targets = NStep(replay, 0.5, 2, None)
    for number in range(3):
        targets.add(transition(number))
    targets.add(transition(3, terminated=True, next_mask=None))
    batch = unpack(replay.sample(np.arange(4) / 4), replay.row)
    assert list(batch.observation) == [0, 1, 2, 3]
    expected = [[0, 1, 0, 0], [0, 0, 1, 0], [0] * 4, [0] * 4]
    np.testing.assert_array_equal(batch.next_mask, expected)
    plain = Replay(spaces.Discrete(9), 10)
    assert plain.row.itemsize == replay.row.itemsize - 4
    plain.add(0, 0, 0.0, 0.5, 1)
    assert unpack(plain.sample(np.zeros(1)), plain.row).next_mask is None


def test_frames_have_masks_too() -> None:
    replay = FrameReplay(Frames((2, 4, 4)), 10, masked=3)
    image = np.zeros((2, 4, 4), np.uint8)
    kept = replay.keep(image, None)
    replay.add(kept, 0, 1.0, 0.9, kept, np.array([True, False, True]))
    loaded = FrameReplay(Frames((2, 4, 4)), 10, masked=3)
    loaded.load(replay.state())
    for one in (replay, loaded):
        batch = unpack(one.sample(np.zeros(2)), one.row)
        np.testing.assert_array_equal(batch.next_mask, [[1, 0, 1]] * 2)


def test_a_return_that_was_cut_short_goes_on_with_what_is_allowed() -> None:
    replay = Replay(spaces.Discrete(9), 10, masked=4)
    values = np.array([9.0, 1.0, 2.0, 3.0])
    targets = MonteCarlo(replay, 0.5, lambda seen, mask: masks.only(values, mask).max())
    targets.add(transition(0))
    saved = targets.state()
    targets.drop()
    targets.load(saved)
    targets.add(transition(1, truncated=True))
    batch = unpack(replay.sample(np.arange(2) / 2), replay.row)
    assert list(batch.reward) == [1.5, 1 + 0.5 * 1.5]


@pytest.mark.parametrize("kind", ["pair", "state"])
@pytest.mark.parametrize("first_action", ["free", "forced"])
def test_local_access_suggests_and_takes_what_is_allowed(kind: Any, first_action: Any) -> None:
    Turnstiles.forbidden = 0
    env = uflp.LocalAccess(
        Turnstiles, p_init=0.2, batch=8, restart=kind, first_action=first_action, seed=0
    )
    rng = np.random.default_rng(0)
    _, info = env.reset(seed=0)
    for _ in range(300):
        action = rng.choice(np.flatnonzero(info["action_mask"]))
        if first_action == "free":
            action = info.get("uflp/first_action", action)
        *_, terminated, truncated, info = env.step(action)
        if terminated or truncated:
            _, info = env.reset()
    assert env.restarts > 10 and Turnstiles.forbidden == 0
    forced = env.pop_transitions()
    assert all((step.next_mask is None) == step.terminated for step in forced)
    assert bool(forced) == (first_action == "forced")


def test_a_check_takes_only_what_is_allowed() -> None:
    Turnstiles.forbidden = 0
    assert check(lambda: GymnasiumSimulator(Turnstiles()), steps=40) == []
    assert Turnstiles.forbidden == 0


class Forgetful(GymnasiumSimulator):
    """Says after a restore that everything is allowed."""

    def _restore(self, data: Any, *, exact: bool) -> Any:
        observation, _ = super()._restore(data, exact=exact)
        return observation, {"action_mask": np.ones(ACTIONS)}


def test_a_mask_that_a_restore_forgets_is_found() -> None:
    found = check(lambda: Forgetful(AnythingGoes()), steps=20)
    assert found == []
    found = check(lambda: Forgetful(Turnstiles()), steps=20)
    assert any("mask [ True  True" in detail for _, detail in found)


@pytest.mark.parametrize(
    ("info", "message"),
    [
        ({}, "has no action_mask"),
        ({"action_mask": np.zeros(ACTIONS)}, "allows no action"),
        ({"action_mask": np.ones(3)}, r"shape \(3,\) does not fit the actions Discrete\(5\)"),
    ],
)
def test_a_bad_mask_is_an_error(info: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        masks.read(info, Turnstiles.action_space)
