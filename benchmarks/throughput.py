"""Training throughput on Deep Sea 50, against bsuite's own JAX DQN doing the same work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import haiku as hk
import optax
from bsuite.baselines.jax.dqn.agent import DQN
from bsuite.environments.deep_sea import DeepSea

from benchmarks.timing import seconds_per_call
from uflp.experiments.resolve import resolve
from uflp.training.run import Run

SIZE = 50
WARM_UP = 600


def measure() -> dict[str, Any]:
    """Returns queries per second of the peer and of our runs, and their ratios."""
    seconds = seconds_per_call(
        {
            "bsuite dqn": _peer(300),
            "ddqn, counts": _ours("ddqn", "counts", 2000),
            "ddqn, covariance": _ours("ddqn", "covariance", 1000),
            "ddqn-bonus, covariance": _ours("ddqn-bonus", "covariance", 1000),
        }
    )
    peer = seconds["bsuite dqn"]
    return {
        name: {"queries_per_second": round(1 / value, 1), "ratio": round(peer / value, 2)}
        for name, value in seconds.items()
    }


def _ours(agent: str, uncertainty: str, queries: int) -> Callable[[], int]:
    """Returns work that trains for some more queries, whole history, one SGD step a query."""
    never = 10**9
    settings = {"size": SIZE, "queries": never, "eval_period": queries, "replay_size": 10**6}
    run = Run(resolve("deep-sea", agent=agent, uncertainty=uncertainty, overrides=settings))
    rows = run.train()
    while run.queries < WARM_UP:
        next(rows)

    def work() -> int:
        next(rows)
        return queries

    return work


def _peer(queries: int) -> Callable[[], int]:
    """Returns work that trains bsuite's agent with the same network, batch and SGD period."""

    def network(observation: Any) -> Any:
        return hk.nets.MLP([64, 64, 2])(hk.Flatten()(observation))

    environment = DeepSea(size=SIZE, mapping_seed=0)
    agent = DQN(
        obs_spec=environment.observation_spec(),
        action_spec=environment.action_spec(),
        network=network,
        optimizer=optax.adam(1e-3),
        batch_size=128,
        epsilon=0.0,
        rng=hk.PRNGSequence(0),
        discount=0.99,
        replay_capacity=10**6,
        min_replay_size=128,
        sgd_period=1,
        target_update_period=4,
    )

    def work() -> int:
        done = 0
        while done < queries:
            timestep = environment.reset()
            while not timestep.last():
                action = agent.select_action(timestep)
                following = environment.step(action)
                agent.update(timestep, action, following)
                timestep = following
                done += 1
        return done

    while agent._replay.size < WARM_UP:
        work()
    return work
