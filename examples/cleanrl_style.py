"""Q-learning in a single file, in the manner of CleanRL, with local access in Deep Sea.

The agent and its loop are the reader's own; what local access adds is marked. Run as
`python examples/cleanrl_style.py`.
"""

from __future__ import annotations

import numpy as np

import uflp
from uflp.simulators.deep_sea import DeepSea


def train(size: int = 10, seed: int = 0, queries: int = 5000) -> dict[str, float]:
    """Trains a table of action values; returns what the greedy policy earns."""
    rng = np.random.default_rng(seed)
    env = uflp.LocalAccess(  # added: the one line
        lambda: DeepSea(size=size).make(seed), p_init=0.1, batch=None, first_action="forced"
    )
    values = np.zeros((env.observation_space.n, env.action_space.n))
    replay: list[tuple] = []
    observation, _ = env.reset(seed=seed)
    while env.queries < queries:
        action = int(rng.integers(2)) if rng.random() < 0.05 else int(values[observation].argmax())
        seen, reward, terminated, truncated, _ = env.step(action)
        replay.append((observation, action, reward, seen, terminated))
        observation = env.reset()[0] if terminated or truncated else seen
        replay += [step[:5] for step in env.pop_transitions()]  # added: what was done inside
        for index in rng.integers(len(replay), size=32):
            s, a, r, s_next, last = replay[index]
            target = r if last else r + 0.99 * values[s_next].max()
            values[s, a] += 0.5 * (target - values[s, a])
    return {"queries": env.queries, "return": greedy_return(env.online(), values)}


def greedy_return(env: object, values: np.ndarray) -> float:
    """Plays one episode without chance."""
    observation, _ = env.reset(seed=0)
    total, over = 0.0, False
    while not over:
        action = int(values[observation].argmax())
        observation, reward, terminated, truncated, _ = env.step(action)
        total, over = total + reward, terminated or truncated
    return total


if __name__ == "__main__":
    print(train())
