"""Snapshots of known environments hold only what can change, and lose nothing by that."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

import gymnasium
import msgpack
import numpy as np
import pytest
from gymnasium.envs.classic_control import PendulumEnv
from gymnasium.wrappers import TimeLimit

from uflp.simulators import SnapshotError, attributes
from uflp.simulators.action_script import same
from uflp.simulators.base import Simulator
from uflp.simulators.contract import check
from uflp.simulators.gymnasium import Gymnasium, GymnasiumSimulator
from uflp.types import Snapshot


def begun(simulator: GymnasiumSimulator, steps: int = 5) -> GymnasiumSimulator:
    simulator.reset(seed=0)
    simulator.action_space.seed(0)
    for _ in range(steps):
        simulator.step(simulator.action_space.sample())
    return simulator


def future(simulator: Simulator) -> list[Any]:
    simulator.action_space.seed(1)
    return [simulator.step(simulator.action_space.sample()) for _ in range(6)]


@pytest.mark.parametrize(
    ("name", "most"),
    [("MountainCar-v0", 200), ("CartPole-v1", 250), ("Pendulum-v1", 250), ("Taxi-v4", 250)],
)
def test_snapshots_hold_little(name: str, most: int) -> None:
    """All attributes are 1,300 bytes and more."""
    assert len(begun(Gymnasium(name).make(0)).save().data) < most


@pytest.mark.parametrize("name", ["Ant-v5", "HalfCheetah-v5", "Pusher-v5"])
def test_derived_arrays_that_a_step_reads_go_along(name: str) -> None:
    """Ant's info and reward come from positions that MuJoCo leaves one substep behind."""
    pytest.importorskip("mujoco")
    simulator, other = begun(Gymnasium(name).make(0)), Gymnasium(name).make(0)
    snapshot = simulator.save()
    assert len(snapshot.data) < 2000
    expected = future(simulator)
    for target in (simulator, other, begun(other, 30)):
        target.restore(snapshot, randomness="exact")
        assert all(map(same, expected, future(target)))


@pytest.mark.parametrize("wrapper", ["RecordEpisodeStatistics", "NormalizeReward"])
def test_wrappers_of_a_robot_with_a_clock_or_statistics_leave_its_snapshots_small(
    wrapper: str,
) -> None:
    """Neither is the same twice, and neither is a reason to save all arrays of MuJoCo."""
    pytest.importorskip("mujoco")
    env = getattr(gymnasium.wrappers, wrapper)(gymnasium.make("HalfCheetah-v5"))
    simulator = begun(GymnasiumSimulator(env))
    simulator.save()
    assert len(simulator.save().data) < 2000


def test_snapshots_stay_small_after_an_episode_was_logged() -> None:
    env = gymnasium.wrappers.RecordEpisodeStatistics(gymnasium.make("MountainCar-v0"))
    simulator = begun(GymnasiumSimulator(env), 200)
    assert env.episode_count == 1
    assert len(begun(simulator).save().data) < 250


class Painted(PendulumEnv):
    """A pendulum that is drawn without a window."""

    def __init__(self) -> None:
        super().__init__()
        self.render_mode = "rgb_array"

    def render(self) -> Any:
        return np.zeros((4, 4, 3), np.uint8)


@pytest.mark.parametrize("randomness", ["fresh", "exact"])
def test_a_restore_does_not_change_where_films_are_written_or_what_they_show(
    randomness: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a forged snapshot could have a film written anywhere."""

    def ended(recorder: Any) -> None:
        recorder.recording, recorder.recorded_frames = False, []

    # Films are begun here, and never written: MoviePy need not be there.
    monkeypatch.setitem(sys.modules, "moviepy", ModuleType("moviepy"))
    monkeypatch.setattr(gymnasium.wrappers.RecordVideo, "stop_recording", ended)

    def filmed(folder: str) -> tuple[GymnasiumSimulator, Any]:
        bare = Painted()
        options: Any = {"episode_trigger": lambda episode: True, "disable_logger": True}
        env = gymnasium.wrappers.RecordVideo(bare, str(tmp_path / folder), **options)
        return begun(GymnasiumSimulator(env), 3), env

    one, _ = filmed("one")
    snapshot = one.save()
    other, env = filmed("other")
    for _ in range(2):
        other.step(np.zeros(1, np.float32))
    frames = len(env.recorded_frames)
    other.restore(snapshot, randomness=randomness)
    assert env.video_folder == str(tmp_path / "other")
    assert (env.recording, len(env.recorded_frames)) == (True, frames)


def test_what_changes_later_is_noticed() -> None:
    """Nothing in the first steps says that gravity may change."""
    simulator, other = begun(Gymnasium("CartPole-v1").make(0)), Gymnasium("CartPole-v1").make(0)
    before = simulator.save()
    simulator.unwrapped.gravity = 5.0
    changed = simulator.save()
    assert len(changed.data) > 2 * len(before.data)
    for target in (simulator, begun(other)):
        target.restore(before)
        assert target.unwrapped.gravity == 9.8
        target.restore(changed)
        assert target.unwrapped.gravity == 5.0
        target.restore(before)
        assert target.unwrapped.gravity == 9.8
        assert len(target.save().data) == len(before.data)


def test_arrays_and_containers_among_the_constants_are_compared_by_content() -> None:
    simulator = begun(Gymnasium("MountainCar-v0").make(0))
    before = simulator.save()
    simulator.unwrapped.low[0] = -3
    assert len(simulator.save().data) > 2 * len(before.data)
    simulator.restore(before)
    assert simulator.unwrapped.low[0] == np.float32(-1.2)


def test_attributes_that_come_later_go_along_and_go_away() -> None:
    simulator = begun(Gymnasium("CartPole-v1").make(0))
    before = simulator.save()
    simulator.unwrapped.late = [1, 2]
    after = simulator.save()
    simulator.restore(before)
    assert not hasattr(simulator.unwrapped, "late")
    simulator.restore(after)
    assert simulator.unwrapped.late == [1, 2]


@pytest.mark.parametrize(
    ("name", "constant"),
    [("MountainCar-v0", "low"), ("MountainCarContinuous-v0", "low_state")],
)
def test_what_is_shared_with_a_constant_stays_shared(name: str, constant: str) -> None:
    """The state of the first is a tuple most of the time, that of the second an array."""
    simulator = begun(Gymnasium(name).make(0))
    env = simulator.unwrapped
    env.state = getattr(env, constant)
    snapshot = simulator.save()
    env.state = np.zeros(2)
    simulator.restore(snapshot)
    assert env.state is getattr(env, constant)


def test_snapshots_that_hold_everything_are_still_read() -> None:
    """As all snapshots were before, when a class had another name."""
    simulator = begun(Gymnasium("Pendulum-v1").make(0))
    node = msgpack.unpackb(attributes.encode(simulator._layered, skip=simulator.strategy.skip))
    node[2] = "uflp.simulators.scene:Scene"
    whole = msgpack.packb(node)
    snapshot = simulator.save()
    old = Snapshot(snapshot.simulator, sealed(whole), snapshot.screen_score)
    expected = future(simulator)
    simulator.restore(old, randomness="exact")
    assert all(map(same, expected, future(simulator)))


def sealed(data: bytes) -> bytes:
    class Sealer(Gymnasium("CartPole-v1").make(0).__class__):  # type: ignore[misc]
        def _save(self) -> bytes:
            return data

    sealer = Sealer(gymnasium.make("CartPole-v1"))
    sealer.reset(seed=0)
    return sealer.save().data


def test_environments_that_were_made_otherwise_do_not_understand_each_other() -> None:
    def pendulum(gravity: float) -> GymnasiumSimulator:
        return begun(GymnasiumSimulator(TimeLimit(PendulumEnv(g=gravity), 200)))

    one, same_again, two = pendulum(10.0), pendulum(10.0), pendulum(5.0)
    same_again.restore(one.save())
    with pytest.raises(SnapshotError, match="made otherwise"):
        two.restore(one.save())


class Labelled(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Somebody's own wrapper, with a constant that differs between instances."""

    steps = 0

    def __init__(self, env: Any, label: str):
        super().__init__(env)
        self.label = label

    def step(self, action: Any) -> Any:
        Labelled.steps += 1
        return super().step(action)


def test_wrappers_of_other_people_are_saved_whole_and_not_played() -> None:
    Labelled.steps = 0
    one, two = (
        GymnasiumSimulator(Labelled(gymnasium.make("CartPole-v1"), label)) for label in "ab"
    )
    assert Labelled.steps == 0
    two.restore(begun(one).save())
    assert two.env.label == "a"


def test_working_it_out_disturbs_nothing() -> None:
    env = gymnasium.make("CartPole-v1")
    twin = gymnasium.make("CartPole-v1")
    for one in (env, twin):
        one.reset(seed=3)
        one.action_space.seed(3)
    np.random.seed(0)
    drawn = np.random.get_state()[2]
    simulator = GymnasiumSimulator(env)
    twin.reset()  # as the simulator does, once
    assert np.random.get_state()[2] == drawn
    assert env.action_space.sample() == twin.action_space.sample()
    assert np.array_equal(simulator.reset()[0], twin.reset()[0])


class Edits(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Moves a body of the model at each reset, as Adroit's doors are; draws from what all share."""

    moved: list[float] = []  # noqa: RUF012 (shared on purpose)

    def reset(self, **options: Any) -> Any:
        result = super().reset(**options)
        np.random.normal()
        self.unwrapped.model.body_pos[1, 0] = self.unwrapped.np_random.uniform()
        self.moved.append(self.unwrapped.model.body_pos[1, 0])
        return result


Edits.__module__ = "gymnasium.wrappers.edits"  # as if it were of a known package


def test_models_that_are_edited_go_back() -> None:
    pytest.importorskip("mujoco")
    Edits.moved.clear()
    env = Edits(gymnasium.make("Reacher-v5"))
    env.reset(seed=0)
    np.random.seed(0)
    expected = np.random.RandomState(0).normal(size=2)[1]
    simulator = GymnasiumSimulator(env)
    assert len(Edits.moved) > 3 and env.unwrapped.model.body_pos[1, 0] == Edits.moved[1]
    assert np.random.normal() == expected, "but for the reset, nothing was drawn"
    begun(simulator)
    snapshot = simulator.save()
    place = simulator.unwrapped.model.body_pos[1, 0]
    simulator.reset(seed=7)
    assert simulator.unwrapped.model.body_pos[1, 0] != place
    simulator.restore(snapshot)
    assert simulator.unwrapped.model.body_pos[1, 0] == place


class Speed(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Somebody's own wrapper, which reads what MuJoCo leaves one substep behind."""

    def step(self, action: Any) -> Any:
        before = self.unwrapped.data.xpos.sum()
        observation, _, *ends, info = super().step(action)
        return observation, self.unwrapped.data.xpos.sum() - before, *ends, info


def test_wrappers_may_read_derived_arrays_too() -> None:
    """The environment by itself, which was looked at first, does without them."""
    pytest.importorskip("mujoco")
    alone = begun(Gymnasium("Hopper-v5").make(0)).save()
    simulator = begun(GymnasiumSimulator(Speed(gymnasium.make("Hopper-v5"))))
    snapshot = simulator.save()
    assert len(alone.data) < len(snapshot.data) < 2000
    expected = future(simulator)
    simulator.restore(snapshot, randomness="exact")
    assert all(map(same, expected, future(simulator)))


def test_objects_that_a_reset_replaces_are_saved_once() -> None:
    pytest.importorskip("minigrid")
    from uflp.simulators.minigrid import Minigrid

    simulator = begun(Minigrid("MiniGrid-DoorKey-8x8-v0").make(0))
    whole = attributes.encode(simulator._layered, skip=simulator.strategy.skip)
    assert len(simulator.save().data) < len(whole)


ROBOTS = [
    ("PointMaze_Large-v3", 500),
    ("AntMaze_UMaze-v5", 2000),
    ("FetchReach-v4", 3000),
    ("AdroitHandDoorSparse-v1", 3000),
]


@pytest.mark.parametrize(("name", "most"), ROBOTS)
def test_robots_keep_every_promise_with_small_snapshots(name: str, most: int) -> None:
    robotics = pytest.importorskip("gymnasium_robotics")
    gymnasium.register_envs(robotics)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert len(begun(Gymnasium(name).make(0)).save().data) < most
        assert check(lambda: Gymnasium(name).make(0), steps=6) == []
