"""Atari: bytes of a snapshot and a transition, and the cost of the history and of `--agent random`.

Times are of the processor, one thread, since emulator and loop use no more.
"""

from __future__ import annotations

import statistics
import time
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.timing import medians
from uflp.experiments.resolve import resolve
from uflp.planning.history import History
from uflp.replay import FrameReplay, NStep
from uflp.simulators.atari import Atari, AtariSimulator, Screen, load, pushed, stacked
from uflp.training.run import Run
from uflp.types import Transition

GAMES = ("montezuma-revenge", "private-eye", "venture", "pitfall")
QUERIES = 1000
CHECKPOINT_PERIOD = 10


def measure() -> dict[str, Any]:
    """Returns bytes by game, and ratios of time."""
    sizes = {game: _sizes(game) for game in GAMES}
    with threadpool_limits(1):
        seconds = medians({"bare loop": _bare, "random agent": _agent, "history": _history}, 3)
    return {
        "bytes by game": sizes,
        "bytes a snapshot, mean": _mean(sizes, "snapshot"),
        "bytes a transition, mean": _mean(sizes, "transition"),
        "random agent, of a bare loop's speed": round(
            seconds["bare loop"] / seconds["random agent"], 3
        ),
        "history, of a bare loop's time": round(seconds["history"] / seconds["bare loop"], 3),
    }


def _mean(sizes: dict[str, dict[str, int]], what: str) -> int:
    return round(statistics.mean(size[what] for size in sizes.values()))


def _sizes(game: str) -> dict[str, int]:
    """Returns the mean bytes of snapshots and transitions over a run with restarts."""
    run = Run(resolve(f"atari/{game}", agent="random", overrides={"queries": QUERIES}))
    replay = FrameReplay(run.simulator.observation_space, QUERIES)
    targets = NStep(replay, 0.99, 3, None)
    for _ in range(QUERIES):
        targets.add(_query(run))
    assert run.history is not None
    return {
        "snapshot": round(run.history.nbytes / len(run.history)),
        "transition": round(replay.nbytes / len(replay)),
    }


def _query(run: Run) -> Transition:
    """Makes one query, as a run does."""
    if run.rollout.over:
        rng = run.randomness.at("restart", run.rollout.rollouts)
        run.rollout.begin(run.planner.start(rng))
    transition = run.rollout.step()
    assert transition is not None
    return transition


def _bare() -> float:
    """Returns seconds a query of the emulator and the preprocessing, and nothing else."""
    emulator = load("montezuma-revenge")
    screen, initial, rng = Screen(emulator), emulator.cloneState(), np.random.default_rng(0)
    observation = stacked(np.zeros((84, 84), np.uint8))
    started = time.process_time()
    for action in rng.integers(18, size=QUERIES).tolist():
        screen.begin()
        for frame in range(4):
            emulator.act(action)
            if frame >= 2:
                screen.catch()
        observation = pushed(observation, screen.gray())
        if emulator.game_over():
            emulator.restoreState(initial)
    return (time.process_time() - started) / QUERIES


def _agent() -> float:
    """Returns seconds a query of `--agent random` with counts, history and restarts."""
    overrides = {"queries": QUERIES + 1, "eval_period": 2 * QUERIES}
    run = Run(resolve("atari/montezuma-revenge", agent="random", overrides=overrides))
    started = time.process_time()
    for _ in range(QUERIES):
        run.accumulator.add(_query(run))
    return (time.process_time() - started) / QUERIES


def _history() -> float:
    """Returns the seconds that saving and adding take, spread over the queries between two."""
    simulator: AtariSimulator = Atari().make(0)
    history = History(simulator.stamp)
    rng = np.random.default_rng(0)
    simulator.reset(seed=0)
    spent = 0.0
    for query in range(QUERIES):
        _, _, terminated, truncated, _ = simulator.step(int(rng.integers(18)))
        if terminated or truncated:
            simulator.reset()
        if query % CHECKPOINT_PERIOD == 0:
            started = time.process_time()
            history.add(simulator.save(), 0)
            spent += time.process_time() - started
    return spent / QUERIES
