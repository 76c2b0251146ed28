"""PPO in a single file, in the manner of CleanRL, on copies that share one history.

The task is MiniGrid's DoorKey 8 × 8 with one fixed layout: find the key, open the door, reach the
goal, and nothing before it is rewarded. What local access changes is marked. Run as
`python examples/cleanrl_ppo.py [--access online] [--seed 0] [--queries 200000]`; needs
`pip install 'uflp[minigrid,sb3]'` (of the latter only PyTorch).
"""

from __future__ import annotations

import argparse
import itertools
from typing import Any

import numpy as np
import torch
from sparse_tasks import SOLVED, door_key, goals_of_greedy_episodes
from torch import nn
from torch.distributions import Categorical

import uflp

COPIES, STEPS, EPOCHS, MINIBATCHES = 8, 128, 4, 4
DISCOUNT, TRACE, CLIP, VALUE = 0.98, 0.95, 0.2, 0.5
ENTROPY, ENTROPY_ENDS = 0.03, 0.8
"""Weight at the start, and the share of the budget after which it is zero.

Actions that do nothing cost little more than a step: while the entropy is rewarded, they stay
nearly as likely as the best one, and the most likely action may do nothing for ever."""
LEARNING_RATE, MAX_NORM = 7e-4, 0.5


class Agent(nn.Module):
    """Policy and value of a vector of numbers of about one."""

    def __init__(self, inputs: int, actions: int):
        super().__init__()
        self.policy = _network(inputs, actions, 0.01)
        self.value = _network(inputs, 1, 1.0)

    def forward(self, observations: Any) -> tuple[Categorical, torch.Tensor]:
        """Return the distribution of actions [B] and the values [B]."""
        seen = torch.as_tensor(observations, dtype=torch.float32)
        return Categorical(logits=self.policy(seen)), self.value(seen).squeeze(-1)


def train(
    access: str,
    seed: int,
    queries: int,
    *,
    make: Any = door_key,
    processes: bool = False,
    period: int = 5000,
) -> dict[str, Any]:
    """Train until the task is solved or the queries are spent; return when it was solved.

    Args:
        access: `local`, or `online`, which never restarts.
        seed: of everything.
        queries: the budget, of all copies together.
        make: makes one environment.
        processes: whether the copies are in processes of their own.
        period: queries between two evaluations.
    """
    torch.set_num_threads(1)  # networks this small want no more
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    envs = uflp.LocalAccessVector(  # instead of gymnasium.vector.SyncVectorEnv
        make,
        COPIES,
        processes=processes,
        autoreset_mode="SameStep",
        seed=seed,
        **({} if access == "local" else {"p_init": 1.0}),
    )
    space = envs.single_observation_space
    agent = Agent(int(np.prod(space.shape)), envs.single_action_space.n)
    optimizer = torch.optim.Adam(agent.parameters(), lr=LEARNING_RATE, eps=1e-5)
    test = make()
    solved_at, goals, evaluated = None, 0, 0
    observations, _ = envs.reset(seed=seed)
    while solved_at is None and envs.queries < queries:
        entropy = ENTROPY * max(0.0, 1 - envs.queries / (ENTROPY_ENDS * queries))
        rollout, observations = _collect(envs, agent, observations)
        _update(agent, optimizer, rollout, entropy, rng)
        if envs.queries // period > evaluated or envs.queries >= queries:
            evaluated = envs.queries // period
            goals = goals_of_greedy_episodes(lambda seen: _greedy(agent, seen), test)
            if goals >= SOLVED:
                solved_at = envs.queries
    told = envs.metrics()
    envs.close()
    return {"queries_to_solve": solved_at, "final_goals": goals, **told}


def _collect(envs: Any, agent: Agent, observations: Any) -> tuple[dict[str, Any], Any]:
    """Take a number of steps in each copy; return them with advantages and returns."""
    kept: dict[str, list[Any]] = {name: [] for name in ("seen", "action", "log", "value")}
    rewards, overs, follows = [], [], []
    for _ in range(STEPS):
        with torch.no_grad():
            policy, value = agent(observations)
            action = policy.sample()
        row = (observations, action, policy.log_prob(action), value)
        for name, item in zip(kept, row, strict=True):
            kept[name].append(torch.as_tensor(item))
        observations, reward, terminated, truncated, infos = envs.step(action.numpy())
        over = terminated | truncated
        with torch.no_grad():
            follow = agent(observations)[1].numpy()
            # A restart is no part of the episode before it: values bootstrap from its own end.
            for number in np.flatnonzero(truncated & ~terminated):
                last = infos["final_obs"][number]
                follow[number] = agent(np.asarray(last)[None])[1].item()
        rewards.append(reward)
        overs.append(over)
        follows.append(np.where(terminated, 0.0, follow))
    values = torch.stack(kept["value"]).numpy()
    advantages = np.zeros_like(values)
    trace = np.zeros(COPIES)
    for step in reversed(range(STEPS)):
        error = rewards[step] + DISCOUNT * follows[step] - values[step]
        trace = error + DISCOUNT * TRACE * np.where(overs[step], 0.0, trace)
        advantages[step] = trace
    rollout = {name: torch.stack(rows).flatten(0, 1) for name, rows in kept.items()}
    rollout["advantage"] = torch.as_tensor(advantages, dtype=torch.float32).flatten()
    rollout["return"] = rollout["advantage"] + rollout["value"]
    return rollout, observations


def _update(
    agent: Agent, optimizer: Any, rollout: dict[str, Any], entropy: float, rng: np.random.Generator
) -> None:
    """Run PPO's SGD steps on one rollout."""
    size = len(rollout["action"])
    for _ in range(EPOCHS):
        for rows in np.array_split(rng.permutation(size), MINIBATCHES):
            batch = {name: column[rows] for name, column in rollout.items()}
            policy, value = agent(batch["seen"])
            ratio = (policy.log_prob(batch["action"]) - batch["log"]).exp()
            advantage = batch["advantage"]
            advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
            clipped = ratio.clamp(1 - CLIP, 1 + CLIP)
            loss = -torch.minimum(ratio * advantage, clipped * advantage).mean()
            loss = loss - entropy * policy.entropy().mean()
            loss = loss + VALUE * (value - batch["return"]).square().mean() / 2
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), MAX_NORM)
            optimizer.step()


def _greedy(agent: Agent, observation: Any) -> int:
    with torch.no_grad():
        return int(agent(np.asarray(observation)[None])[0].logits.argmax())


def _network(inputs: int, outputs: int, gain: float) -> nn.Sequential:
    sizes = [inputs, 64, 64, outputs]
    layers: list[nn.Module] = []
    for number, (before, after) in enumerate(itertools.pairwise(sizes)):
        layer = nn.Linear(before, after)
        nn.init.orthogonal_(layer.weight, gain if number == 2 else np.sqrt(2))
        nn.init.zeros_(layer.bias)
        layers += [layer, nn.Tanh()]
    return nn.Sequential(*layers[:-1])


def main() -> None:
    """Train one agent and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--access", choices=["local", "online"], default="local")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--queries", type=int, default=200_000)
    arguments = parser.parse_args()
    print(train(arguments.access, arguments.seed, arguments.queries))


if __name__ == "__main__":
    main()
