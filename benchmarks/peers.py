"""bsuite's own JAX agents on Deep Sea 50, in a process of their own with JAX's default settings.

`python -m benchmarks.peers dqn 300` prints the seconds that one query takes, network, batch, SGD
period and replay being those of our preset.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

SIZE = 50
WARM_UP = 200


def seconds_per_query(name: str, queries: int) -> Callable[[], float]:
    """Returns a measurement of a peer in a fresh process."""
    # Without what `configure` has set for us in this one.
    ours = ("XLA_FLAGS", "PJRT_NPROC")
    environment = {key: value for key, value in os.environ.items() if key not in ours}

    def measure() -> float:
        command = [sys.executable, "-m", "benchmarks.peers", name, str(queries)]
        ran = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        return float(ran.stdout)

    return measure


def make_dqn(environment: Any) -> Any:
    import haiku as hk
    import optax
    from bsuite.baselines.jax.dqn.agent import DQN

    return DQN(
        obs_spec=environment.observation_spec(),
        action_spec=environment.action_spec(),
        network=lambda seen: hk.nets.MLP([64, 64, 2])(hk.Flatten()(seen)),
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


def make_boot_dqn(environment: Any) -> Any:
    import haiku as hk
    import jax
    import optax
    from bsuite.baselines.jax.boot_dqn.agent import BootstrappedDqn

    def network(seen: Any) -> Any:
        flat = hk.Flatten()(seen)
        prior = hk.nets.MLP([64, 64, 2])(flat)
        return hk.nets.MLP([64, 64, 2])(flat) + 40.0 * jax.lax.stop_gradient(prior)

    return BootstrappedDqn(
        obs_spec=environment.observation_spec(),
        action_spec=environment.action_spec(),
        network=network,
        num_ensemble=20,
        batch_size=128,
        discount=0.99,
        replay_capacity=10**6,
        min_replay_size=128,
        sgd_period=1,
        target_update_period=4,
        optimizer=optax.adam(1e-3),
        mask_prob=1.0,
        noise_scale=0.0,
    )


def main() -> None:
    from bsuite.environments.deep_sea import DeepSea

    name, queries = sys.argv[1], int(sys.argv[2])
    environment = DeepSea(size=SIZE, mapping_seed=0)
    agent = {"dqn": make_dqn, "boot-dqn": make_boot_dqn}[name](environment)

    def train(count: int) -> int:
        done = 0
        while done < count:
            timestep = environment.reset()
            while not timestep.last():
                action = agent.select_action(timestep)
                following = environment.step(action)
                agent.update(timestep, action, following)
                timestep = following
                done += 1
        return done

    train(WARM_UP)
    started = time.perf_counter()
    done = train(queries)
    print((time.perf_counter() - started) / done)


if __name__ == "__main__":
    main()
