"""The paper in one file makes the queries that the library makes, and learns what it learns."""

from __future__ import annotations

import ast
import dataclasses
import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import jax
import numpy as np
import pytest

import uflp
from uflp.experiments.resolve import resolve
from uflp.randomness import Randomness
from uflp.runs.train import train
from uflp.simulators.deep_sea import DeepSea

FILE = Path(__file__).parent.parent / "examples" / "uflp_single_file.py"
SIZE = 10
BUDGET = 2000
"""Queries in which local access is to solve Deep Sea 10, and online access is not."""

AGREE = 250
"""Queries that are compared: 128 before the first SGD step, then 122 with one more before each.

Parameters do not agree to the last bit. The library looks rows of the first layer up, and brings
those without a gradient forward when it next looks at them; the single file multiplies by one-hot
vectors, and every weight takes every step of Adam. Values differ by 10⁻⁶ for about a hundred SGD
steps. Then the differences grow, and the first action that differs is at query 354 with seed 0, 366
with seed 1, 499 with seed 2.
"""


class Query(NamedTuple):
    """One query; `start` says whether and how a rollout began with it."""

    start: str
    observation: int
    action: int
    reward: float
    terminated: bool


@pytest.mark.parametrize("seed", [0, 1])
def test_starts_actions_and_values_are_those_of_the_library(
    single: ModuleType, seed: int, tmp_path: Path
) -> None:
    library = library_run(seed, AGREE, tmp_path / "run")
    randomness = Randomness(seed)
    env = single.DeepSea(SIZE, randomness.integer("deep-sea/mapping"))
    queries = recorded(env)
    agent, counts = single.DDQN(library.params, randomness), single.Counts(SIZE**2)
    planning = single.uncertainty_first_local_planning(
        env, agent, counts, single.P_INIT, randomness
    )
    for _ in range(AGREE):
        next(planning)
    assert {query.start for query in queries} == {"initial", "restart", ""}
    assert queries == library.queries
    values = single.q_values(agent.params, np.arange(SIZE**2))
    np.testing.assert_allclose(values, library.values, atol=2e-4)


@pytest.mark.parametrize("seed", [0, 1])
def test_local_access_solves_deep_sea_and_online_access_does_not(
    single: ModuleType, seed: int
) -> None:
    solved = single.queries_to_solve(SIZE, seed, BUDGET, single.P_INIT)
    assert solved is not None
    assert single.queries_to_solve(SIZE, seed, BUDGET, 1.0) is None


def test_it_needs_nothing_of_the_package() -> None:
    imported = set()
    for node in ast.walk(ast.parse(FILE.read_text())):
        if isinstance(node, ast.Import):
            imported |= {name.name.split(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add((node.module or "").split(".")[0])
    assert imported - set(sys.stdlib_module_names) == {"jax", "numpy", "optax"}


def test_it_runs_from_any_folder(tmp_path: Path) -> None:
    command = [sys.executable, str(FILE), "--size", "6", "--queries", "600"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    local, online = done.stdout.splitlines()
    assert local.startswith("Deep Sea 6, local access, p_init 0.1: ")
    assert online.startswith("Deep Sea 6, online access, p_init 1.0: ")


@pytest.fixture(scope="module")
def single() -> ModuleType:
    spec = importlib.util.spec_from_file_location("uflp_single_file", FILE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def recorded(env: Any) -> list[Query]:
    """Return a list that is filled with the queries that are made in a simulator from now on.

    It serves the simulators of the library and of the single file, whose methods have the same
    names but return different things.
    """
    queries: list[Query] = []
    reset, restore, step = env.reset, env.restore, env.step
    seen, start = 0, ""

    def watched_reset(*args: Any, **kwargs: Any) -> Any:
        nonlocal seen, start
        seen, start = 0, "initial"
        return reset(*args, **kwargs)

    def watched_restore(snapshot: Any, **kwargs: Any) -> Any:
        nonlocal seen, start
        answer = restore(snapshot, **kwargs)
        seen = env.observation if answer is None else answer[0]
        # The single file saves the initial state after a reset, and then restores it.
        start = start or "restart"
        return answer

    def watched_step(action: int) -> Any:
        nonlocal seen, start
        answer = step(action)
        if hasattr(answer, "next_observation"):
            reward, over, after = answer.reward, answer.terminated, answer.next_observation
        else:
            after, reward, over, *_ = answer
        queries.append(Query(start, int(seen), int(action), float(reward), bool(over)))
        seen, start = after, ""
        return answer

    env.reset, env.restore, env.step = watched_reset, watched_restore, watched_step
    return queries


class LibraryRun(NamedTuple):
    """What a run of the library did, and where it began and ended.

    Attributes:
        queries: all of them.
        params: the initial parameters, kernel [inputs, outputs] and bias [outputs] of each layer.
        values: action values of every observation after the last query, [N², A].
    """

    queries: list[Query]
    params: list[tuple[np.ndarray, np.ndarray]]
    values: np.ndarray


def library_run(seed: int, queries: int, out: Path) -> LibraryRun:
    """Train with the library; all that these tests know of its inside is here."""
    recordings: list[list[Query]] = []

    class RecordedDeepSea(DeepSea):
        def make(self, seed: int) -> Any:
            simulator = super().make(seed)
            recordings.append(recorded(simulator))
            return simulator

    # Evaluated once, at the end.
    overrides = {"size": SIZE, "queries": queries, "eval_period": queries}
    settings = resolve(
        "deep-sea", agent="ddqn", uncertainty="counts", seed=seed, overrides=overrides
    )
    train(dataclasses.replace(settings, simulator=RecordedDeepSea(size=SIZE)), out=out)
    policy = uflp.load(out)
    agent = settings.agent_config.make(policy.observation_space, 2)
    (table, rest), _ = agent.init(jax.random.key(Randomness(seed).integer("agent")))
    # A quarter of each is the weights; the others are what Adam keeps, and the target's weights.
    first, rest = np.asarray(table)[:, :64], np.asarray(rest)[0]
    ends = np.cumsum([64, 64 * 64, 64, 2 * 64])
    bias, second, second_bias, third, third_bias = np.split(rest, ends)
    return LibraryRun(
        queries=max(recordings, key=len),  # the evaluation's simulator makes one episode
        params=[
            (first, bias),
            (second.reshape(64, 64).T, second_bias),
            (third.reshape(2, 64).T, third_bias),
        ],
        values=np.stack([policy.values(observation) for observation in range(SIZE**2)]),
    )
