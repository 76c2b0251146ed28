"""Compare the numbers of two revisions: equal settings must give equal metrics, to the bit.

Record small runs with one revision, then repeat them with another one on the same machine:

    PYTHONPATH=OLD/src python benchmarks/same_numbers.py record FOLDER
    PYTHONPATH=NEW/src python benchmarks/same_numbers.py compare FOLDER

`record` writes a run folder for each configuration. `compare` trains again with the very settings
that the `config.json` of each folder holds, so changed presets and defaults do not matter, and
compares `metrics.csv` column for column, the clock aside; columns that came later are passed over.
Names after FOLDER choose some of the configurations.
"""

from __future__ import annotations

import csv
import hashlib
import inspect
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

import uflp
from uflp.simulators.gymnasium import GymnasiumSimulator

_SMALL = {"queries": 600, "eval_period": 100, "eval_episodes": 1, "learning_batch": 16}
_SMALL |= {"hidden": (16,), "replay_size": 400, "queries_at_once": 1}
_SEA = {"preset": "deep-sea", "size": 8, "history_size": 300}
_PIXELS = {"queries": 240, "eval_period": 80, "rollout_limit": 25, "max_frames": 300}
_PIXELS |= {"history_size": 60, "learning_batch": 8, "replay_size": 150, "eval_episodes": 1}
_RND = {"rnd_width": 8, "rnd_batch": 8, "rnd_period": 2}
_LEARNING_GAME = {"hidden": (16,), "min_replay": 16, "sgd_period": 20}

RUNS: dict[str, dict[str, Any]] = {
    "sea-ddqn-counts": {**_SEA, "agent": "ddqn", "uncertainty": "counts"},
    "sea-ddqn-covariance": {
        **_SEA,
        "agent": "ddqn",
        "uncertainty": "covariance",
        "feature_size": 30,
        "batch": 5,
    },
    "sea-ddqn-rnd": {**_SEA, **_RND, "agent": "ddqn", "uncertainty": "rnd", "batch": 4},
    "sea-ddqn-online": {**_SEA, "agent": "ddqn", "access": "online", "epsilon": 0.2},
    "sea-bonus-covariance": {
        **_SEA,
        "agent": "ddqn-bonus",
        "uncertainty": "covariance",
        "feature_size": 30,
    },
    "sea-bonus-limits": {
        **_SEA,
        "agent": "ddqn-bonus",
        "uncertainty": "counts",
        "size": 15,
        "rollout_limit": 11,
        "restart_limit": 4,
        "checkpoint_period": 3,
    },
    "sea-intrinsic-counts": {
        **_SEA,
        "agent": "ddqn-intrinsic",
        "uncertainty": "counts",
        "stochastic": True,
        "restart": "state",
    },
    "sea-boot-ensemble": {
        **_SEA,
        "agent": "boot-ddqn",
        "uncertainty": "ensemble-std",
        "members": 3,
        "stochastic": True,
        "batch": 6,
    },
    "sea-boot-counts-online": {
        **_SEA,
        "agent": "boot-ddqn",
        "uncertainty": "counts",
        "members": 3,
        "access": "online",
    },
    "sea-pi-bonus-counts": {**_SEA, "agent": "pi-bonus", "uncertainty": "counts"},
    "sea-dist-ddqn-covariance": {
        **_SEA,
        "agent": "dist-ddqn",
        "uncertainty": "covariance",
        "feature_size": 30,
    },
    "sea-n-step": {
        **_SEA,
        "agent": "ddqn",
        "uncertainty": "counts",
        "n_step": 3,
        "samples_per_insert": 10.0,
        "epsilon": 0.1,
        "reward_clip": 0.5,
    },
    "sea-rule-uniform": {**_SEA, "agent": "ddqn", "rule": "uniform", "checkpoint_period": 2},
    "sea-rule-return": {**_SEA, "agent": "ddqn", "rule": "return", "stochastic": True, "batch": 3},
    "sea-rule-td-error": {
        **_SEA,
        "agent": "ddqn-bonus",
        "uncertainty": "counts",
        "rule": "td-error",
        "checkpoint_period": 2,
        "batch": 8,
    },
    "sea-rule-go-explore": {**_SEA, "agent": "ddqn", "uncertainty": "counts", "rule": "go-explore"},
    "swingup-bonus-covariance": {
        "preset": "swingup",
        "agent": "ddqn-bonus",
        "uncertainty": "covariance",
        "max_time": 0.5,
        "feature_size": 20,
    },
    "swingup-intrinsic-rnd": {
        **_RND,
        "preset": "swingup",
        "agent": "ddqn-intrinsic",
        "uncertainty": "rnd",
        "max_time": 0.5,
    },
    "cartpole-ddqn-counts": {
        "preset": "gym:CartPole-v1",
        "agent": "ddqn",
        "uncertainty": "counts",
        "history_size": 200,
        "restart_limit": 20,
    },
    "taxi-replay-counts": {
        "preset": "gym:Taxi-v4",
        "agent": "ddqn-bonus",
        "uncertainty": "counts",
        "strategy": "replay",
        "history_size": 50,
    },
    "atari-random-counts": {
        "preset": "atari/montezuma-revenge",
        "agent": "random",
        "uncertainty": "counts",
        "repeat_probability": 0.5,
        **_PIXELS,
    },
    "atari-ddqn-counts": {
        "preset": "atari/ms-pacman",
        "agent": "ddqn",
        "uncertainty": "counts",
        **_PIXELS,
        **_LEARNING_GAME,
    },
    "atari-intrinsic-rnd": {
        "preset": "atari/ms-pacman",
        "agent": "ddqn-intrinsic",
        "uncertainty": "rnd",
        "checkpoint_period": 5,
        **_PIXELS,
        **_RND,
        **_LEARNING_GAME,
    },
    "sea-demonstrations": {
        **_SEA,
        "agent": "ddqn",
        "uncertainty": "counts",
        "demonstrations": "demonstrations.npz",
    },
    "sea-lock-step": {
        **_SEA,
        "agent": "ddqn-bonus",
        "uncertainty": "covariance",
        "feature_size": 30,
        "stochastic": True,
        "sgd_period": 4,
        "lock_step": True,
    },
    "atari-lock-step": {
        "preset": "atari/ms-pacman",
        "agent": "random",
        "uncertainty": "counts",
        "lock_step": True,
        **_PIXELS,
    },
}

_PENDULUM = {"uncertainty": "covariance", "feature_size": 16}
WRAPPERS: dict[str, dict[str, Any]] = {
    "wrapper-cartpole": {"id": "CartPole-v1", "p_init": 0.3},
    "wrapper-cartpole-unseeded-reset": {"id": "CartPole-v1", "p_init": 0.3, "seed": 3},
    "wrapper-limit": {"id": "CartPole-v1", "restart_limit": 7, "checkpoint_period": 2},
    "wrapper-forced": {"id": "CartPole-v1", "first_action": "forced", "batch": None},
    "wrapper-uniform": {"id": "MountainCar-v0", "rule": "uniform", "checkpoint_period": 5},
    "wrapper-return": {"id": "CartPole-v1", "rule": "return", "history_size": 40},
    "wrapper-go-explore": {"id": "CartPole-v1", "rule": "go-explore", "restart": "state"},
    "wrapper-pendulum": {"id": "Pendulum-v1", "first_action": "forced", **_PENDULUM},
    "wrapper-taxi-masks": {"id": "Taxi-v4", "p_init": 0.1, "checkpoint_period": 1},
}


def trained(name: str, values: dict[str, Any], out: Path) -> None:
    """Train one configuration into a folder, in this process or in lock step on Ray."""
    values = dict(values)
    if values.pop("lock_step", False):
        from uflp.distributed.settings import ClusterSettings
        from uflp.distributed.train import train
        from uflp.experiments.resolve import resolve

        names = {key: values.pop(key) for key in ("preset", "agent", "uncertainty")}
        cluster = ClusterSettings(ray="local", actors=1, lock_step=True)
        train(resolve(**names, overrides=values), cluster, out=out)
    else:
        uflp.train(values.pop("preset"), out=out, **values)


def first_values(name: str, folder: Path) -> dict[str, Any]:
    """Return the configuration of a run that is recorded for the first time."""
    game = RUNS[name]["preset"].startswith("atari/")
    values = {**({} if game else _SMALL), **RUNS[name]}
    if values["agent"] == "random":
        values.pop("hidden", None)
    if "demonstrations" in values:
        values["demonstrations"] = str(folder / values["demonstrations"])
        _write_demonstrations(Path(values["demonstrations"]))
    return values


def recorded_values(name: str, folder: Path) -> dict[str, Any]:
    """Return the configuration that a run folder records, every setting given explicitly."""
    config = json.loads((folder / name / "config.json").read_text())
    names = {key: config[key] for key in ("preset", "agent", "uncertainty", "access", "seed")}
    if config.get("cluster"):
        del names["access"], names["seed"]
        names["lock_step"] = True
    # Revisions without this key restored time limits with the state.
    before = {"time_limit": "continue"} if names["preset"].startswith("gym:") else {}
    return {**before, **config["settings"], **names}


def metrics(path: Path) -> dict[str, list[str]]:
    """Return the columns of a `metrics.csv`, the clock aside."""
    with path.open() as file:
        rows = list(csv.DictReader(file))
    return {name: [row[name] for row in rows] for name in rows[0] if name != "wall_seconds"}


def walked(name: str) -> str:
    """Return a hash of all that random actions see in a `LocalAccess`, its first actions too."""
    options = dict(WRAPPERS[name])
    made: Any = gymnasium.make(options.pop("id"))
    if "time_limit" in inspect.signature(GymnasiumSimulator).parameters:
        # Older revisions can only restore time limits with the state.
        made = GymnasiumSimulator(made, time_limit="continue")
    env = uflp.LocalAccess(made, **options)
    rng = np.random.default_rng(0)
    env.action_space.seed(0)
    env.unwrapped.reset(seed=0)  # for resets that have no seed
    seen: list[Any] = [env.reset(**({} if "seed" in options else {"seed": 0}))]
    for _ in range(1500):
        if isinstance(env.action_space, gymnasium.spaces.Discrete):
            action: Any = int(rng.integers(env.action_space.n))
        else:
            action = rng.uniform(-2, 2, env.action_space.shape).astype(np.float32)
        *result, _ = env.step(action)
        seen.append(result)
        if result[2] or result[3] or rng.random() < 0.01:
            seen.append(env.reset())
    seen += [env.pop_transitions(), env.queries, env.restarts]
    return hashlib.sha256(repr(seen).encode()).hexdigest()


def differences(name: str, folder: Path) -> Iterator[str]:
    """Yield a line for every column that differs from what was recorded."""
    if name in WRAPPERS:
        if walked(name) != (folder / name).read_text():
            yield "what was seen"
        return
    with tempfile.TemporaryDirectory() as temporary:
        trained(name, recorded_values(name, folder), Path(temporary) / "run")
        found = metrics(Path(temporary) / "run" / "metrics.csv")
    expected = metrics(folder / name / "metrics.csv")
    for column, values in expected.items():
        if found.get(column) != values:
            yield f"{column}: {found.get(column)} in place of {values}"


def _write_demonstrations(path: Path) -> None:
    try:
        from uflp.planning import DemonstrationRecorder
    except ImportError:  # a revision of before the room had this name
        from uflp.collection import DemonstrationRecorder  # type: ignore[no-redef]
    from uflp.simulators.deep_sea import DeepSea

    recorder = DemonstrationRecorder(DeepSea(size=_SEA["size"]).make(0))
    rng = np.random.default_rng(0)
    for seed in range(3):
        recorder.reset(seed=seed)
        over = False
        while not over:
            _, _, terminated, truncated, _ = recorder.step(int(rng.integers(2)))
            over = terminated or truncated
    recorder.write(path)


def main(command: str, folder: Path, chosen: list[str]) -> int:
    """Record or compare; return the exit code."""
    failed = 0
    folder.mkdir(parents=True, exist_ok=True)
    for name in chosen or [*RUNS, *WRAPPERS]:
        if command == "record":
            if name in WRAPPERS:
                (folder / name).write_text(walked(name))
            elif not (folder / name / "summary.json").exists():
                trained(name, first_values(name, folder), folder / name)
            print(f"{name}: recorded", flush=True)
            continue
        lines = list(differences(name, folder))
        failed += bool(lines)
        print(f"{name}: {'; '.join(lines) or 'equal'}", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2]), sys.argv[3:]))
