"""Stable-Baselines3 with LocalAccess: transitions arrive, vectors work, and it pays."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv

import uflp
from uflp.simulators.deep_sea import DeepSea
from uflp.types import UsageError
from uflp.wrappers.sb3 import InjectTransitions

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


def test_evaluation_has_an_environment_of_its_own() -> None:
    env = uflp.LocalAccess(gymnasium.make("CartPole-v1"), p_init=0.0)
    env.reset(seed=0)
    env.step(1)
    before = env.unwrapped.state
    sb3_deep_sea.greedy_return(small_dqn(env.online()), env.online())
    assert env.unwrapped.state is before
