"""Uncertainty-first local planning (UFLP) in one file, to be read from top to bottom.

The paper: Yin et al. 2023, "Sample Efficient Deep Reinforcement Learning via Local Planning".
Most simulators can go back to a state that was seen before. UFLP makes use of that: most rollouts
begin at the most uncertain state seen so far instead of at the initial state.

This file needs NumPy, JAX and Optax, and nothing of the package `uflp`. Its parts, in order: types
and randomness, Deep Sea, visit counts, double DQN, Algorithms 1 and 2, `main`. Given the same
random numbers and initial parameters, it makes the queries that the package makes, until rounding
errors have grown large enough to change an action.

    python examples/uflp_single_file.py --size 10 --seed 0
"""

from __future__ import annotations

import argparse
import zlib
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

# The paper's settings on Deep Sea. B is the whole history; ε is 0, so that every action is greedy
# but a0 of a restart.
P_INIT = 0.1  # probability that a rollout begins at the initial state
COUNT_REGULARIZATION = 0.01  # λ of the visit counts
DISCOUNT = 0.99  # γ
HIDDEN = (64, 64)
LEARNING_BATCH = 128  # learning starts when the replay holds as many transitions
LEARNING_RATE = 1e-3
MAX_GRADIENT_NORM = 20.0
TARGET_PERIOD = 4  # SGD steps between copies into the target network

ACTIONS = 2
SOLVED = 0.95  # the best return is 0.99


class Snapshot(NamedTuple):
    """All that decides the future of the simulator from one state, and the observation there."""

    row: int
    column: int
    observation: int


class Transition(NamedTuple):
    """One query of the simulator; or a batch of them, where each field is an array [B]."""

    observation: Any
    action: Any
    reward: Any
    terminated: Any
    next_observation: Any


# The paper's H: the snapshots that a rollout may begin from, each under its observation. Elsewhere
# H is a FIFO queue, to bound its memory. Deep Sea has fewer than N² states, and equal observations
# are equal states, so one snapshot of each is the whole history.
History = dict[int, Snapshot]

# Kernel [inputs, outputs] and bias [outputs] of each layer.
Params = list[tuple[jax.Array, jax.Array]]


class Randomness:
    """Random numbers as a function of (seed, stream, number).

    No generator is carried along, so what one part draws never shifts what another part draws.
    """

    def __init__(self, seed: int):
        self.seed = seed

    def at(self, stream: str, number: int) -> np.random.Generator:
        """Return the generator of a stream at a number."""
        return np.random.default_rng([self.seed, zlib.crc32(stream.encode()), number])

    def uniforms(self, stream: str, number: int, size: int) -> np.ndarray:
        """Return floats in [0, 1) of a stream at a number."""
        return self.at(stream, number).random(size)

    def integer(self, stream: str) -> int:
        """Return one 32-bit integer of a stream, to seed another generator."""
        return int(self.at(stream, 0).integers(2**32))


class DeepSea:
    """Deep Sea of bsuite (Osband et al. 2020): N × N cells, one of which is rewarded.

    An episode starts in the upper left cell and goes down one row a query, to the left or to the
    right. Only the one path that goes right N times is rewarded, so random actions find the reward
    once in 2^N episodes. Which action goes right differs from cell to cell.
    """

    def __init__(self, size: int, mapping_seed: int):
        self.size = size
        # The action that goes right, for each cell.
        self.right = np.random.RandomState(mapping_seed).binomial(1, 0.5, [size, size])
        self.row = self.column = 0

    def reset(self) -> None:
        """Go to the initial state."""
        self.row = self.column = 0

    def save(self) -> Snapshot:
        """Return the present state."""
        return Snapshot(self.row, self.column, self.observation)

    def restore(self, snapshot: Snapshot) -> None:
        """Go back to a state: this is all that local access asks of a simulator."""
        self.row, self.column, _ = snapshot

    @property
    def observation(self) -> int:
        """Number of the present cell; N² or more below the last row, where nobody acts."""
        return self.row * self.size + self.column

    def step(self, action: int) -> Transition:
        """Make one query."""
        observation = self.observation
        reward = 0.0
        if action == self.right[self.row, self.column]:
            if self.column == self.size - 1:  # only the last row reaches the last column
                reward += 1.0
            reward -= 0.01 / self.size
            self.column = min(self.column + 1, self.size - 1)
        else:
            self.column = max(self.column - 1, 0)
        self.row += 1
        terminated = self.row == self.size
        return Transition(observation, action, reward, terminated, self.observation)


class Counts:
    """Uncertainty by visit counts, Eq. 10: u(s, a) = (n(s, a) + λ)^(-1/2)."""

    def __init__(self, states: int):
        self.visits = np.zeros((states, ACTIONS), np.int64)

    def visit(self, state: int, action: int) -> None:
        """Count one visit of (s, a)."""
        self.visits[state, action] += 1

    def uncertainty(self, states: np.ndarray) -> np.ndarray:
        """Return u(s, a) as [B, A]."""
        return (self.visits[states] + COUNT_REGULARIZATION) ** -0.5


def init_params(key: jax.Array, sizes: tuple[int, ...]) -> Params:
    """Draw the parameters of a multi-layer perceptron."""
    draw = jax.nn.initializers.lecun_normal()
    keys = jax.random.split(key, len(sizes) - 1)
    layers = zip(keys, pairwise(sizes), strict=True)
    return [(draw(own, shape), jnp.zeros(shape[1])) for own, shape in layers]


def q_values(params: Params, observations: jax.Array) -> jax.Array:
    """Map observations, int [B], to Q(s, a; θ), float [B, A]."""
    # A one-hot vector tells the network nothing about which cells are neighbours. That of a
    # terminal observation is all zeros, as in bsuite.
    x = jax.nn.one_hot(observations, len(params[0][0]))
    for kernel, bias in params[:-1]:
        x = jax.nn.relu(x @ kernel + bias)
    kernel, bias = params[-1]
    return x @ kernel + bias


def ddqn_loss(params: Params, target_params: Params, batch: Transition) -> jax.Array:
    """Return the loss of double DQN, Eq. 3: θ chooses the next action, θ' says what it is worth."""
    each = jnp.arange(len(batch.action))
    next_action = q_values(params, batch.next_observation).argmax(axis=1)
    next_value = q_values(target_params, batch.next_observation)[each, next_action]
    # Nothing is worth anything after the end of an episode.
    target = batch.reward + DISCOUNT * (1 - batch.terminated) * next_value
    value = q_values(params, batch.observation)[each, batch.action]
    return jnp.mean((value - target) ** 2)


optimizer = optax.chain(optax.clip_by_global_norm(MAX_GRADIENT_NORM), optax.adam(LEARNING_RATE))


@jax.jit
def sgd_step(
    params: Params, target_params: Params, optimizer_state: optax.OptState, batch: Transition
) -> tuple[Params, optax.OptState]:
    """Take one step of Adam, with the gradient shortened if it is too long."""
    gradient = jax.grad(ddqn_loss)(params, target_params, batch)
    updates, optimizer_state = optimizer.update(gradient, optimizer_state)
    return optax.apply_updates(params, updates), optimizer_state


@jax.jit
def greedy_action(params: Params, observation: int) -> jax.Array:
    """Return the action with the highest value."""
    return q_values(params, jnp.array([observation]))[0].argmax()


class DDQN:
    """Double DQN, the base agent. It knows nothing of restarts."""

    def __init__(self, params: Params, randomness: Randomness):
        self.params = self.target_params = params  # θ and θ'
        self.optimizer_state = optimizer.init(params)
        self.replay: list[Transition] = []  # what it learns from; not to be mixed up with H
        self.randomness = randomness
        self.steps = 0

    def act(self, observation: int) -> int:
        """Return the greedy action: ε is 0."""
        return int(greedy_action(self.params, observation))

    def update(self) -> None:
        """Take one SGD step on transitions drawn uniformly with replacement from the replay."""
        uniforms = self.randomness.uniforms("replay", self.steps, LEARNING_BATCH)
        places = (uniforms * len(self.replay)).astype(int)
        columns = zip(*[self.replay[place] for place in places], strict=True)
        batch = Transition(*[np.array(column) for column in columns])
        self.params, self.optimizer_state = sgd_step(
            self.params, self.target_params, self.optimizer_state, batch
        )
        self.steps += 1
        if self.steps % TARGET_PERIOD == 0:
            self.target_params = self.params


def data_collection(
    env: DeepSea, agent: DDQN, s0: Snapshot, a0: int, history: History
) -> Iterator[Transition]:
    """Algorithm 1: roll out from (s0, a0) to the end of the episode; yield each transition."""
    history[s0.observation] = s0  # H ← H ∪ {s0}
    env.restore(s0)  # Env.Reset(s0)
    transition = env.step(a0)  # s ← Env.Step(a0)
    yield transition
    while not transition.terminated:  # while end of episode not reached
        s = env.save()
        history[s.observation] = s  # H ← H ∪ {s}
        a = agent.act(s.observation)  # a ← Agent.Act(s)
        transition = env.step(a)  # s ← Env.Step(a)
        yield transition


def uncertainty_first_local_planning(
    env: DeepSea, agent: DDQN, counts: Counts, p_init: float, randomness: Randomness
) -> Iterator[Transition]:
    """Algorithm 2: choose where each rollout begins; yield each transition, without end."""
    history: History = {}  # H ← ∅
    rollouts = 0
    while True:  # while termination criteria not met: whoever iterates stops
        rng = randomness.at("restart", rollouts)
        if not history or rng.random() <= p_init:  # Unif[0, 1] ≤ p_init or H = ∅
            env.reset()  # s0 ~ μ0
            s0 = env.save()
            a0 = agent.act(s0.observation)  # a0 ← Agent.Act(s0)
        else:
            # s0, a0 ← argmax u(s, a) over s in H_B and all actions; here H_B is all of H.
            s0, a0 = most_uncertain(history, counts, rng)
        for transition in data_collection(env, agent, s0, a0, history):  # DataCollection(…)
            counts.visit(transition.observation, transition.action)
            agent.replay.append(transition)
            # The paper's experiments learn after every query, not only after every rollout.
            if len(agent.replay) >= LEARNING_BATCH:
                agent.update()  # Agent.Update()
            yield transition
        rollouts += 1


def most_uncertain(
    history: History, counts: Counts, rng: np.random.Generator
) -> tuple[Snapshot, int]:
    """Return s0 and a0, the most uncertain pair of a state in H and an action: Eq. 1."""
    states = np.array(sorted(history))
    uncertainty = counts.uncertainty(states)
    place = argmax(uncertainty.max(axis=1), rng)
    return history[states[place]], argmax(uncertainty[place], rng)


def argmax(values: np.ndarray, rng: np.random.Generator) -> int:
    """Return the place of the highest value, a random one if there are several.

    Counts often tie: all pairs that were never tried are equally uncertain.
    """
    highest = np.flatnonzero(values == values.max())
    return int(highest[rng.integers(len(highest))])


def greedy_return(env: DeepSea, agent: DDQN) -> float:
    """Play one episode from the initial state, and return the sum of its rewards."""
    env.reset()
    total, over = 0.0, False
    while not over:
        _, _, reward, over, _ = env.step(agent.act(env.observation))
        total += reward
    return total


def queries_to_solve(size: int, seed: int, queries: int, p_init: float) -> int | None:
    """Train until the greedy policy solves Deep Sea; return after how many queries it does."""
    randomness = Randomness(seed)
    mapping_seed = randomness.integer("deep-sea/mapping")
    # Evaluation has a simulator of its own: its steps are not queries, and it never goes back.
    env, evaluation_env = DeepSea(size, mapping_seed), DeepSea(size, mapping_seed)
    key = jax.random.key(randomness.integer("agent"))
    agent = DDQN(init_params(key, (size**2, *HIDDEN, ACTIONS)), randomness)
    planning = uncertainty_first_local_planning(env, agent, Counts(size**2), p_init, randomness)
    for query, _ in zip(range(1, queries + 1), planning, strict=False):
        if query % (10 * size) == 0 and greedy_return(evaluation_env, agent) >= SOLVED:
            return query
    return None


def main() -> None:
    """Compare local with online access, which is the same algorithm with p_init = 1."""
    parser = argparse.ArgumentParser(description="Uncertainty-first local planning on Deep Sea.")
    parser.add_argument("--size", type=int, default=10, help="N: rows and columns of Deep Sea")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--queries", type=int, default=3000, help="budget of each run")
    parser.add_argument("--p_init", type=float, default=P_INIT, help="of local access")
    parser.add_argument("--access", choices=("local", "online", "both"), default="both")
    options = parser.parse_args()
    for access, p_init in (("local", options.p_init), ("online", 1.0)):
        if options.access in (access, "both"):
            solved = queries_to_solve(options.size, options.seed, options.queries, p_init)
            outcome = f"not solved in {options.queries:,} queries"
            if solved is not None:
                outcome = f"solved after {solved:,} queries"
            print(f"Deep Sea {options.size}, {access} access, p_init {p_init}: {outcome}")


if __name__ == "__main__":
    main()
