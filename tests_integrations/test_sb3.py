"""Stable-Baselines3 with LocalAccess: transitions arrive, vectors work, and it pays."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from stable_baselines3 import DQN, PPO, TD3, HerReplayBuffer
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.logger import configure
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecFrameStack, VecMonitor

import uflp
from uflp.simulators.deep_sea import DeepSea
from uflp.types import UsageError
from uflp.wrappers.sb3 import InjectTransitions, LocalAccessVecEnv, LogMetrics

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))
import cleanrl_style
import sb3_deep_sea
import sb3_ppo


def deep_sea() -> Any:
    """Returns Deep Sea 5 with local access; at the top of a file, so that processes find it."""
    return uflp.LocalAccess(
        lambda: DeepSea(size=5).make(0), p_init=0.1, batch=None, first_action="forced"
    )


def small_dqn(env: Any) -> DQN:
    return DQN("MlpPolicy", env, buffer_size=500, learning_starts=10_000, device="cpu", seed=0)


def test_sb3_finds_nothing_wrong_with_the_wrapper() -> None:
    check_env(deep_sea(), skip_render_check=True)


@pytest.mark.parametrize(
    ("kind", "count"), [(DummyVecEnv, 1), (DummyVecEnv, 3), (SubprocVecEnv, 2)]
)
def test_forced_first_actions_arrive_in_the_replay_buffer(kind: Any, count: int) -> None:
    envs = make_vec_env(deep_sea, count, vec_env_cls=kind)
    inject = InjectTransitions()
    agent = small_dqn(envs)
    agent.learn(60 * count, callback=inject)
    queries = sum(envs.get_attr("queries"))
    assert inject.injected > 10
    # All that was queried is there, but for what waits for as many as there are environments.
    held = agent.replay_buffer.pos * count
    assert held == agent.num_timesteps + inject.injected
    assert 0 <= queries - held < 2 * count
    envs.close()


def test_an_injected_transition_is_stored_as_it_was() -> None:
    env = deep_sea()
    agent = small_dqn(env)
    seen: list[Any] = []
    pop = env.pop_transitions

    def spied() -> list[Any]:
        popped = pop()
        seen.extend(popped)
        return popped

    env.pop_transitions = spied
    agent.learn(60, callback=InjectTransitions())
    buffer = agent.replay_buffer
    columns = (buffer.observations, buffer.actions, buffer.rewards, buffer.dones)
    stored = set(zip(*(column[: buffer.pos].ravel().tolist() for column in columns), strict=True))
    assert seen
    for step in seen:
        row = (
            step.observation,
            step.action,
            float(np.float32(step.reward)),
            float(step.terminated),
        )
        assert row in stored


class Marked(gymnasium.Env[Any, Any]):
    """An episode of eight steps, whose time is in every part of the observation."""

    def __init__(self, observation_space: Any, action_space: Any = None):
        self.observation_space = observation_space
        self.action_space = action_space or spaces.Discrete(2)

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.time = 0
        return self.seen(self.observation_space), {}

    def step(self, action: Any) -> Any:
        self.time += 1
        reward = float(np.sum(action))
        return self.seen(self.observation_space), reward, False, self.time == 8, {}

    def seen(self, space: Any) -> Any:
        if isinstance(space, spaces.Dict):
            return {name: self.seen(part) for name, part in space.items()}
        observation = np.full(space.shape, self.time, space.dtype)
        observation[0] += 20  # which tells images from transposed ones
        return observation


VECTOR, IMAGE = spaces.Box(0, 99, (3,), np.float32), spaces.Box(0, 255, (40, 36, 3), np.uint8)


def marked(*space: Any) -> Any:
    return uflp.LocalAccess(Marked(*space), p_init=0.1, first_action="forced", seed=0)


def test_injected_actions_are_scaled_like_those_of_the_agent() -> None:
    """The reward is the action, so that each one can be told from what is beside it."""
    inject = InjectTransitions()
    agent = TD3(
        *("MlpPolicy", marked(VECTOR, spaces.Box(0, 10, (1,), np.float32))),
        **{"buffer_size": 500, "learning_starts": 10_000, "device": "cpu", "seed": 0},
    )
    agent.learn(60, callback=inject)
    buffer = agent.replay_buffer
    assert inject.injected > 3
    actions = buffer.actions[: buffer.pos, 0, 0]
    np.testing.assert_allclose(actions, buffer.rewards[: buffer.pos, 0] / 5 - 1, atol=1e-5)


@pytest.mark.parametrize("space", [IMAGE, spaces.Dict({"far": VECTOR, "near": IMAGE})])
def test_images_and_observations_with_parts_are_injected_as_the_agent_sees_them(
    space: Any,
) -> None:
    policy = "MultiInputPolicy" if isinstance(space, spaces.Dict) else "CnnPolicy"
    envs = make_vec_env(lambda: marked(space), 2)
    agent = DQN(policy, envs, buffer_size=200, learning_starts=10_000, device="cpu", seed=0)
    inject = InjectTransitions()
    agent.learn(80, callback=inject)
    buffer: Any = agent.replay_buffer
    assert inject.injected > 5
    for held, step in ((buffer.observations, 0), (buffer.next_observations, 1)):
        images = (held["near"] if isinstance(held, dict) else held)[: buffer.pos]
        times = images[:, :, 0, 1, 0]
        assert images.shape[2:] == (3, 40, 36) and times.min() == step
        assert (images[:, :, :, 0] == times[:, :, None, None] + 20).all()
        assert (images[:, :, :, 1:] == times[:, :, None, None, None]).all()
        if isinstance(held, dict):
            assert (held["far"][: buffer.pos, :, 1] == times).all()


@pytest.mark.parametrize(
    ("options", "name"),
    [
        (
            {
                "optimize_memory_usage": True,
                "replay_buffer_kwargs": {"handle_timeout_termination": False},
            },
            "ReplayBuffer",
        ),
        ({"n_steps": 3}, "NStepReplayBuffer"),
    ],
)
def test_buffers_that_read_neighbours_are_refused(options: Any, name: str) -> None:
    agent = DQN("MlpPolicy", deep_sea(), buffer_size=500, device="cpu", **options)
    with pytest.raises(UsageError, match=rf'{name} takes neighbouring.*first_action="free"'):
        agent.learn(8, callback=InjectTransitions())


def test_hindsight_is_refused() -> None:
    goals = spaces.Dict(dict.fromkeys(("observation", "achieved_goal", "desired_goal"), VECTOR))
    agent = DQN(
        *("MultiInputPolicy", marked(goals)),
        **{"buffer_size": 500, "device": "cpu", "replay_buffer_class": HerReplayBuffer},
    )
    with pytest.raises(UsageError, match="HerReplayBuffer takes neighbouring"):
        agent.learn(8, callback=InjectTransitions())


def test_layers_that_reshape_observations_outside_are_refused() -> None:
    agent = small_dqn(VecFrameStack(make_vec_env(lambda: marked(VECTOR), 1), 2))
    with pytest.raises(UsageError, match=r"VecFrameStack reshapes.*inside LocalAccess"):
        agent.learn(8, callback=InjectTransitions())


def test_agents_without_a_replay_buffer_are_told_what_to_do() -> None:
    agent = PPO("MlpPolicy", deep_sea(), n_steps=8, batch_size=8, device="cpu")
    with pytest.raises(UsageError, match=r'PPO has no replay buffer.*first_action="free"'):
        agent.learn(8, callback=InjectTransitions())


def test_dqn_solves_deep_sea_with_local_access() -> None:
    local = sb3_deep_sea.train("local", 0, 1500, size=8, period=100)
    assert local["queries_to_solve"] is not None and local["rewarded_queries"] > 0


def test_ppo_takes_local_access() -> None:
    """On the smaller lake, which it solves sooner; that it pays is in the example's table."""
    outcome = sb3_ppo.train("local", 0, 6_000, lake="4x4", period=512)
    assert outcome["restarts"] > 0
    assert outcome["queries_to_solve"] is not None
    online = sb3_ppo.train("online", 0, 512, lake="4x4")
    assert (online["restarts"], online["queries"]) == (0, 512)


def test_a_single_file_agent_takes_local_access() -> None:
    outcome = cleanrl_style.train(size=6, seed=0, queries=1500)
    assert outcome["return"] > 0.9


@pytest.mark.parametrize("count", [1, 3])
def test_metrics_are_logged(count: int, tmp_path: Path) -> None:
    envs = make_vec_env(deep_sea, count)
    agent = small_dqn(envs)
    logger = configure(str(tmp_path), ["csv"])
    agent.set_logger(logger)
    agent.learn(60 * count, callback=LogMetrics(period=10), log_interval=1)
    logger.dump(0)
    rows = (tmp_path / "progress.csv").read_text().splitlines()
    last = dict(zip(rows[0].split(","), rows[-1].split(","), strict=True))
    assert float(last["uflp/queries"]) == sum(envs.get_attr("queries"))
    assert float(last["uflp/restarts"]) == sum(envs.get_attr("restarts")) > 0
    assert float(last["uflp/cells"]) > 0 and float(last["uflp/deepest_start"]) > 0


def cart_pole() -> Any:
    return gymnasium.make("CartPole-v1", max_episode_steps=30)


@pytest.mark.parametrize("callback", [LogMetrics, InjectTransitions])
def test_callbacks_ask_for_local_access(callback: Any) -> None:
    agent = small_dqn(cart_pole())
    with pytest.raises(UsageError, match="wrapped in LocalAccess"):
        agent.learn(20, callback=callback())


@pytest.mark.parametrize("processes", [False, 2])
def test_without_restarts_the_copies_are_what_sb3_makes(processes: Any) -> None:
    ours = LocalAccessVecEnv(cart_pole, 3, p_init=1.0, processes=processes)
    theirs = DummyVecEnv([cart_pole] * 3)
    for envs in (ours, theirs):
        envs.seed(4)
    np.testing.assert_array_equal(ours.reset(), theirs.reset())
    rng = np.random.default_rng(0)
    ends = 0
    for _ in range(120):
        actions = rng.integers(2, size=3)
        one, two = theirs.step(actions), ours.step(actions)
        for column in range(3):
            np.testing.assert_array_equal(one[column], two[column])
            assert one[column].dtype == two[column].dtype
        for a, b in zip(one[3], two[3], strict=True):
            assert a.keys() == b.keys()
            assert a["TimeLimit.truncated"] == b["TimeLimit.truncated"]
            if "terminal_observation" in a:
                ends += 1
                np.testing.assert_array_equal(a["terminal_observation"], b["terminal_observation"])
    assert ends > 5
    assert ours.get_attr("spec")[0].id == "CartPole-v1"
    assert ours.env_is_wrapped(gymnasium.wrappers.TimeLimit) == [True] * 3
    ours.close()


@pytest.mark.parametrize("kind", [DQN, PPO])
def test_agents_take_copies_that_share_a_history(kind: Any, tmp_path: Path) -> None:
    envs = VecMonitor(LocalAccessVecEnv(cart_pole, 2, p_init=0.0, processes=2, seed=0))
    options = {"n_steps": 32, "batch_size": 32} if kind is PPO else {"buffer_size": 500}
    agent = kind("MlpPolicy", envs, device="cpu", seed=0, **options)
    logger = configure(str(tmp_path), ["csv"])
    agent.set_logger(logger)
    agent.learn(128, callback=LogMetrics(period=10))
    logger.dump(0)
    told = envs.unwrapped.metrics()
    assert told["queries"] == 128 and told["restarts"] > 0
    rows = (tmp_path / "progress.csv").read_text().splitlines()
    assert float(rows[-1].split(",")[rows[0].split(",").index("uflp/queries")]) == 128
    envs.close()


def test_forced_first_actions_of_copies_are_injected() -> None:
    envs = LocalAccessVecEnv(
        lambda: DeepSea(size=5).make(0), 2, p_init=0.1, first_action="forced", processes=False
    )
    inject = InjectTransitions()
    agent = small_dqn(envs)
    agent.learn(120, callback=inject)
    assert inject.injected > 10
    held = agent.replay_buffer.pos * 2
    assert 0 <= envs.queries - held < 4
    envs.close()


def test_evaluation_has_an_environment_of_its_own() -> None:
    env = uflp.LocalAccess(gymnasium.make("CartPole-v1"), p_init=0.0)
    env.reset(seed=0)
    env.step(1)
    before = env.unwrapped.state
    sb3_deep_sea.greedy_return(small_dqn(env.online()), env.online())
    assert env.unwrapped.state is before
