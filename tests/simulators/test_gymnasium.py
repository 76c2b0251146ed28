"""Any Gymnasium environment goes back, in each of the ways in which it can be saved."""

from __future__ import annotations

import array
import re
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces, wrappers

from uflp.simulators import SnapshotError, UnsavableError
from uflp.simulators.contract import check
from uflp.simulators.gymnasium import Gymnasium, GymnasiumSimulator
from uflp.types import UsageError


class Drift(gymnasium.Env[Any, Any]):
    """A noisy walk; everything that decides its future is in `place` and `np_random`."""

    observation_space = spaces.Box(-np.inf, np.inf, (1,), np.float64)
    action_space = spaces.Discrete(2)

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.place = np.zeros(1)
        self.time = 0
        return self.place.copy(), {}

    def step(self, action: int) -> Any:
        self.place = self.place + action + self.np_random.normal()
        self.time += 1
        return self.place.copy(), 1.0, self.time == 30, False, {}


class Compiled:
    """Stands for an object in C: its class hides how it is kept, and it can be copied."""

    __slots__ = ("__dict__",)

    def __init__(self, place: float):
        self.box = memoryview(np.array([place]))

    def __deepcopy__(self, memo: Any) -> Compiled:
        return Compiled(self.box[0])


class CopiesOnly(Drift):
    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        result = super().reset(seed=seed)
        self.inner = Compiled(0.0)
        # A function over `self` must still see this environment after a restore.
        self.look = lambda: self.inner.box[0]
        return result

    def step(self, action: int) -> Any:
        self.inner.box[0] += action + self.np_random.normal()
        self.place = np.array([self.look()])
        self.time += 1
        return self.place.copy(), 1.0, self.time == 30, False, {}


class Uncopied(CopiesOnly):
    """Like Box2D: it is in C, and refuses to be copied."""

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        result = super().reset(seed=seed)
        self.handle = memoryview(b"")
        return result


class SavesItself(Uncopied):
    """Its author forgot the generator, or thinks it is no part of the state."""

    def get_state(self) -> Any:
        return {"place": self.inner.box[0], "time": self.time}

    def set_state(self, state: Any) -> None:
        self.np_random.normal()  # draws on the way, and then starts another generator
        super().reset(seed=3)
        self.inner.box[0], self.time = state["place"], state["time"]


class OwnNoise(Drift):
    """Draws from a generator of its own, which its author leaves out of the state."""

    def __init__(self) -> None:
        self.noise = np.random.default_rng()

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        if seed is not None:
            self.noise = np.random.default_rng(seed)
        return super().reset(seed=seed)

    def step(self, action: int) -> Any:
        self.place = self.place + action + self.noise.normal()
        self.time += 1
        return self.place.copy(), 1.0, self.time == 30, False, {}

    def get_state(self) -> Any:
        return {"place": self.place.copy(), "time": self.time}

    def set_state(self, state: Any) -> None:
        self.place, self.time = state["place"].copy(), state["time"]


class SavesItsNoise(OwnNoise):
    """Its author takes the generator for a part of the state."""

    def get_state(self) -> Any:
        return {**super().get_state(), "noise": self.noise.bit_generator.state}

    def set_state(self, state: Any) -> None:
        super().set_state(state)
        self.noise = np.random.default_rng()
        self.noise.bit_generator.state = state["noise"]


class HandsOverItsNoise(OwnNoise):
    def get_state(self) -> Any:
        return {**super().get_state(), "noise": self.noise}

    def set_state(self, state: Any) -> None:
        super().set_state(state)
        self.noise = state["noise"]


class AdaptsC(Drift):
    """Is no wrapper, and what it calls its env is an object in C."""

    def __init__(self) -> None:
        self.env: Any = bytearray(3)


class AdaptsDrift(Drift):
    """Its noise is that of another environment, which a fresh restore must leave alone, too."""

    def __init__(self) -> None:
        self.env = Drift()
        self.env.reset(seed=0)  # its generator is made when first asked for

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        return self.env.reset(seed=seed)

    def step(self, action: int) -> Any:
        return self.env.step(action)


def simulator_of(env: Any, strategy: str = "auto") -> GymnasiumSimulator:
    return GymnasiumSimulator(wrappers.TimeLimit(env, 25), strategy=strategy)


@pytest.mark.parametrize(
    ("env", "strategy"),
    [
        (Drift, "attributes"),
        (Drift, "copy"),
        (Drift, "replay"),
        (CopiesOnly, "copy"),
        (CopiesOnly, "replay"),
        (SavesItself, "native"),
        (SavesItself, "replay"),
        (OwnNoise, "native"),
        (SavesItsNoise, "native"),
        (HandsOverItsNoise, "native"),
        (AdaptsC, "copy"),
        (AdaptsC, "replay"),
        (AdaptsDrift, "copy"),
        (AdaptsDrift, "replay"),
    ],
)
def test_every_strategy_keeps_every_promise(env: Any, strategy: str) -> None:
    assert check(lambda: simulator_of(env(), strategy), steps=40) == []


@pytest.mark.parametrize(
    ("env", "chosen"), [(Drift, "attributes"), (CopiesOnly, "copy"), (SavesItself, "native")]
)
def test_a_strategy_is_chosen_by_what_the_environment_allows(env: Any, chosen: str) -> None:
    simulator = simulator_of(env())
    assert simulator.strategy.name == chosen
    assert simulator.portable == (chosen != "copy")


def test_what_cannot_be_saved_is_refused_with_a_reason_and_a_way_out() -> None:
    with pytest.raises(UnsavableError, match=r"memoryview.*strategy=\"replay\"") as refused:
        simulator_of(Uncopied())
    assert isinstance(refused.value, UsageError)  # the command line says it in one sentence
    assert "Layered" not in str(refused.value) and "env." in str(refused.value)


class Surface(array.array):  # type: ignore[type-arg]
    """Stands for what a renderer draws on: its state is in C, and it can be copied."""


@pytest.mark.parametrize(("module", "refused"), [("pygame.surface", True), ("elsewhere", False)])
def test_a_renderer_that_could_be_copied_is_refused(
    module: str, refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Surface, "__module__", module)
    env = Drift()
    env.screen = Surface("d", [0.0])  # type: ignore[attr-defined]
    if not refused:
        assert simulator_of(env).strategy.name == "copy"
        return
    with pytest.raises(UnsavableError, match=r"pygame.*render_mode=None"):
        simulator_of(env)


def test_statistics_of_a_normaliser_do_not_go_back() -> None:
    env = gymnasium.wrappers.NormalizeObservation(Drift())
    simulator = GymnasiumSimulator(env)
    simulator.reset(seed=0)
    snapshot = simulator.save()
    for _ in range(5):
        simulator.step(0)
    count = env.obs_rms.count
    for randomness in ("fresh", "exact"):
        simulator.restore(snapshot, randomness=randomness)
        assert env.obs_rms.count == count


def test_logs_of_episodes_do_not_go_back() -> None:
    env = gymnasium.wrappers.RecordEpisodeStatistics(gymnasium.make("CartPole-v1"))
    simulator = GymnasiumSimulator(env)
    simulator.reset(seed=0)
    snapshot = simulator.save()
    while not simulator.step(0)[2]:
        pass
    assert (env.episode_count, len(env.return_queue)) == (1, 1)
    simulator.restore(snapshot)
    assert (env.episode_count, len(env.return_queue)) == (1, 1)
    assert env.episode_lengths == 0, "the episode under way is part of the state"


def test_an_open_renderer_is_refused_with_a_way_out() -> None:
    pytest.importorskip("pygame")
    env = gymnasium.make("CartPole-v1", render_mode="rgb_array")
    env.reset()
    env.render()
    with pytest.raises(UnsavableError, match=r"pygame.*render_mode=None"):
        GymnasiumSimulator(env)
    env.close()


def test_a_renderer_that_is_opened_later_is_refused_with_a_way_out() -> None:
    pytest.importorskip("pygame")
    simulator = GymnasiumSimulator(gymnasium.make("CartPole-v1", render_mode="rgb_array"))
    simulator.reset(seed=0)
    simulator.render()
    with pytest.raises(SnapshotError, match=r"^env.*screen.*pygame.*render_mode=None"):
        simulator.save()
    simulator.close()


@pytest.mark.parametrize("name", ["CartPole-v1", "Pendulum-v1", "FrozenLake8x8-v1", "Blackjack-v1"])
def test_gymnasium_environments_keep_every_promise(name: str) -> None:
    assert check(lambda: Gymnasium(name).make(0), steps=30) == []


@pytest.mark.parametrize("name", ["Ant-v5", "InvertedDoublePendulum-v5"])
def test_mujoco_keeps_every_promise(name: str) -> None:
    pytest.importorskip("mujoco")
    assert check(lambda: Gymnasium(name).make(0), steps=8) == []


def test_minigrid_keeps_every_promise() -> None:
    pytest.importorskip("minigrid")
    from uflp.simulators.minigrid import Minigrid

    assert check(lambda: Minigrid("MiniGrid-Dynamic-Obstacles-5x5-v0").make(0), steps=16) == []


def test_all_wrapper_state_goes_back() -> None:
    """Trap 12: time limit, frame stack, statistics, order and checker."""
    env: Any = gymnasium.make("MountainCar-v0")
    env = wrappers.RecordEpisodeStatistics(wrappers.FrameStackObservation(env, 3))
    simulator = GymnasiumSimulator(env)
    simulator.reset(seed=0)
    for action in (0, 2, 2, 0, 1):
        simulator.step(action)
    snapshot = simulator.save()
    expected = [simulator.step(2)[:4] for _ in range(195)]
    assert expected[-1][3], "the time limit of 200 steps counts the 5 before"
    observation, _ = simulator.restore(snapshot, randomness="exact")
    assert np.array_equal(observation[1:], expected[0][0][:2]), "the stack holds three frames"
    again = [simulator.step(2)[:4] for _ in range(195)]
    assert all(np.array_equal(a[0], b[0]) for a, b in zip(expected, again, strict=True))
    assert again[-1][3]


def test_replaying_costs_steps_and_counts_them() -> None:
    simulator = simulator_of(Drift(), "replay")
    simulator.reset(seed=0)
    for _ in range(7):
        simulator.step(1)
    snapshot = simulator.save()
    assert simulator.replayed == 0
    simulator.restore(snapshot)
    simulator.restore(snapshot)
    assert simulator.replayed == 14


def test_a_replay_that_leads_elsewhere_is_refused() -> None:
    class Seedless(Drift):
        def step(self, action: int) -> Any:
            self.place = self.place + np.random.normal()
            return self.place.copy(), 1.0, False, False, {}

    simulator = GymnasiumSimulator(Seedless(), strategy="replay")
    simulator.reset(seed=0)
    simulator.step(1)
    with pytest.raises(SnapshotError, match="led elsewhere"):
        simulator.restore(simulator.save())


def test_tables_are_left_out_of_snapshots_but_not_of_the_stamp() -> None:
    def lake(cells: list[str]) -> GymnasiumSimulator:
        return GymnasiumSimulator(gymnasium.make("FrozenLake-v1", desc=cells))

    one, two = lake(["SF", "FG"]), lake(["SH", "FG"])
    one.reset(seed=0)
    assert len(one.save().data) < 2000
    two.reset(seed=0)
    with pytest.raises(SnapshotError, match="cannot be restored into"):
        two.restore(one.save())


def test_action_masks_come_back() -> None:
    simulator = Gymnasium("Taxi-v4").make(0)
    _, info = simulator.reset(seed=1)
    snapshot = simulator.save()
    for action in range(4):
        simulator.step(action)
    assert np.array_equal(simulator.restore(snapshot)[1]["action_mask"], info["action_mask"])


def test_it_looks_like_the_environment_it_holds() -> None:
    pytest.importorskip("pygame")
    env = gymnasium.make("CartPole-v1", render_mode="rgb_array")
    simulator = GymnasiumSimulator(env)
    assert simulator.unwrapped is env.unwrapped
    assert simulator.spec is env.spec and simulator.render_mode == "rgb_array"
    simulator.reset(seed=0, options={"low": 0.01, "high": 0.02})
    assert (env.unwrapped.state > 0.009).all(), "options reach the environment"
    assert simulator.render().shape == (400, 600, 3)
    simulator.close()


@pytest.mark.parametrize(
    ("attempt", "message"),
    [
        (lambda: Gymnasium("CartPol-v1"), "did you mean 'CartPole-v1'"),
        (lambda: Gymnasium(strategy="guess"), "choose from auto, native, attributes, copy, replay"),
        (lambda: GymnasiumSimulator(Drift(), strategy="native"), "no methods of its own"),
        (lambda: GymnasiumSimulator(gymnasium.make_vec("CartPole-v1", 2)), "wrap each one"),
    ],
)
def test_bad_input_is_refused(attempt: Any, message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        attempt()


class InPlace(Drift):
    """Writes each observation into the array that it gave out before."""

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        return self.place, {}

    def step(self, action: int) -> Any:
        self.place += 1
        return self.place, 1.0, False, False, {}


def test_what_was_seen_stays_when_an_environment_writes_into_its_observation() -> None:
    simulator = GymnasiumSimulator(InPlace())
    seen = [simulator.reset(seed=0)[0], *(simulator.step(0)[0] for _ in range(3))]
    assert [float(observation[0]) for observation in seen] == [0, 1, 2, 3]
