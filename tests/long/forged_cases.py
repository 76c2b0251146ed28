"""One process of the fuzzing: forges files of one kind, reads them, and says what came of it.

Called as `python forged_cases.py KIND FIRST STOP FOLDER`. Ends with 0 if only documented errors
came up; prints one line of JSON with the outcomes and the highest memory.
"""

from __future__ import annotations

import json
import random
import resource
import shutil
import signal
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import forging
from resuming import signalled, small

import uflp
from uflp.experiments.resolve import resolve
from uflp.experiments.trained import best_score
from uflp.planning import DemonstrationRecorder
from uflp.report import write_report
from uflp.runs.interruption import Interrupted
from uflp.runs.train import train
from uflp.simulators import SIMULATORS, SnapshotError, atari
from uflp.simulators.base import SEAL_WIDTH, seal
from uflp.training.exploration_log import read_explored, read_sheet
from uflp.training.settings import RunSettings
from uflp.types import RunError, Snapshot, UsageError

warnings.simplefilter("ignore")

SECONDS = 60
"""After which a case counts as one that hangs."""

_QUERIES = {"queries": 80, "eval_period": 20}
RUNS: dict[str, dict[str, Any]] = {
    "counts": {"preset": "deep-sea", "agent": "ddqn", "uncertainty": "counts", "size": 4},
    "pi": {"preset": "deep-sea", "agent": "pi-bonus", "uncertainty": "counts", "size": 3},
    "covariance": {"preset": "swingup", "agent": "ddqn-bonus", "uncertainty": "covariance"},
    "ensemble": {"preset": "deep-sea", "agent": "boot-ddqn", "uncertainty": "ensemble-std"},
    "rnd": {"preset": "swingup", "agent": "ddqn-intrinsic", "uncertainty": "rnd"},
    "td-error": {"preset": "deep-sea", "agent": "ddqn", "uncertainty": None, "rule": "td-error"},
    "go-explore": {
        "preset": "swingup",
        "agent": "random",
        "uncertainty": "counts",
        "rule": "go-explore",
    },
    "gym": {
        "preset": "gym:CartPole-v1",
        "agent": "ddqn",
        "uncertainty": "counts",
        "samples_per_insert": 8.0,
    },
    "sac": {"preset": "gym:Pendulum-v1", "agent": "sac", "uncertainty": "counts"},
    "sac-bonus": {"preset": "gym:Pendulum-v1", "agent": "sac-bonus", "uncertainty": "ensemble-std"},
    "atari": {
        "preset": "atari/montezuma-revenge",
        "agent": "random",
        "uncertainty": "counts",
        "queries": 60,
    },
    "atari-ddqn": {
        "preset": "atari/venture",
        "agent": "ddqn",
        "uncertainty": "counts",
        "queries": 60,
        "sgd_period": 20,
    },
}

HUBS = ["counts", "ensemble", "covariance", "sac", "gym", "atari-ddqn"]
"""Runs that are exported, with their history where it knows no actions."""

PLANNERS: list[tuple[str, dict[str, Any]]] = [
    ("CartPole-v1", {}),
    ("Pendulum-v1", {"p_init": 0.0, "restart_limit": 5}),
    ("FrozenLake-v1", {"rule": "go-explore", "history_size": 20}),
    ("MountainCar-v0", {"uncertainty": "covariance", "feature_size": 20, "batch": 4}),
    ("CartPole-v1", {"first_action": "forced", "checkpoint_period": 2}),
    ("MountainCarContinuous-v0", {"rule": "return"}),
]
"""Environments, and how they are wrapped."""


def settings_of(name: str) -> RunSettings:
    return small(**(_QUERIES | RUNS[name]))


def run_of(number: int) -> str:
    """Returns the name of a run: those of games, which take longest, come up more rarely."""
    games = [name for name in RUNS if name.startswith("atari")]
    others = [name for name in RUNS if name not in games]
    return games[number // 16 % 16 == 0] if number % 16 == 0 else others[number % len(others)]


def documented(act: Callable[[], Any]) -> str:
    """Returns how a call ended, if it did so in a documented way."""
    try:
        act()
    except (UsageError, SnapshotError):
        return "refused"
    except RunError:
        return "stopped"
    return "taken"


class Cases:
    """Cases of all kinds, in a folder of their own."""

    def __init__(self, folder: Path):
        self.folder = folder
        self._good: dict[str, Path] = {}
        self._game = ""
        self._simulator: Any = None

    def copy(self, name: str, make: Callable[[Path], Any]) -> Path:
        """Returns a copy of what is made once."""
        if name not in self._good:
            left = signal.alarm(0)  # The time to make it is not the case's.
            make(self.folder / f"good-{name}")
            self._good[name] = self.folder / f"good-{name}"
            signal.alarm(left)
        path = self.folder / "copy"
        shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(self._good[name], path)
        return path

    def cut(self, run: str) -> Path:
        """Returns the folder of an unfinished run."""
        settings = settings_of(run)

        def make(path: Path) -> None:
            try:
                train(settings, out=path, callback=signalled(signal.SIGTERM, 40))
            except Interrupted:
                return
            raise AssertionError("the run was not interrupted")

        return self.copy(f"cut-{run}", make)

    def done(self, run: str) -> Path:
        """Returns the folder of a finished run that has kept its history."""
        settings = settings_of(run).changed(keep_history=True)
        return self.copy(f"done-{run}", lambda path: train(settings, out=path))

    def checkpoint(self, number: int, rng: random.Random) -> str:
        path = self.cut(run_of(number))
        forging.forge_checkpoint(path / "checkpoint" / "a", rng)
        return documented(lambda: uflp.resume(path))

    def agent(self, number: int, rng: random.Random) -> str:
        run = run_of(number)
        path = self.done(run)
        forging.forge_state_file(path / "agent.state", rng)

        def use() -> None:
            if rng.random() < 0.5:
                settings = settings_of(run).changed(init_from=str(path), queries=20)
                train(settings)
            else:
                uflp.load(path).evaluate(1)

        return documented(use)

    def hub(self, number: int, rng: random.Random) -> str:
        """Reads a forged folder for a model hub in every way there is."""
        run = HUBS[number % len(HUBS)]
        settings = settings_of(run)

        def make(path: Path) -> None:
            train(settings.changed(keep_history=True), out=path / "run")
            uflp.export(path / "run", f"{path}/hub/", history=run != "atari-ddqn")

        path = self.copy(f"hub-{run}", make) / "hub"
        files = ("config.json", "model.safetensors", "history.safetensors")
        name = rng.choice([file for file in files if (path / file).exists()])
        forge = forging.forge_json if name == "config.json" else forging.forge_safetensors
        forge(path / name, rng)
        uses: list[Callable[[], Any]] = [
            lambda: uflp.load(path).evaluate(1),
            lambda: uflp.export(path, path.parent / "again.state"),
            lambda: uflp.export(path, f"{path.parent}/again/"),
            lambda: train(settings.changed(init_from=str(path), queries=20)),
        ]
        if (path / "history.safetensors").exists():
            uses.append(lambda: train(settings.changed(history_from=str(path), queries=20)))
        if name == "history.safetensors":
            uses = uses[-1:]
        return documented(rng.choice(uses))

    def planner(self, number: int, rng: random.Random) -> str:
        """Loads the forged planner of a wrapper, and plays on."""
        kind = number % len(PLANNERS)
        name, options = PLANNERS[kind]

        def played(env: Any, steps: int) -> Any:
            env.reset(seed=0)
            for _ in range(steps):
                if any(env.step(env.action_space.sample())[2:4]):
                    env.reset()
            return env

        def make(path: Path) -> None:
            path.mkdir()
            played(uflp.LocalAccess(name, **options), 50).save_planner(path / "planner")

        path = self.copy(f"planner-{kind}", make) / "planner"
        env = uflp.LocalAccess(name, check=False, **options)
        forging.forge_state_file(path, rng)

        def use() -> None:
            env.load_planner(path)
            played(env, 30)

        return documented(use)

    def history(self, number: int, rng: random.Random) -> str:
        run = run_of(number)
        path = self.done(run)
        forging.forge_checkpoint(path / "history" / "a", rng)
        settings = settings_of(run).changed(history_from=str(path), queries=20)
        return documented(lambda: train(settings))

    def config(self, number: int, rng: random.Random) -> str:
        path = self.cut(list(RUNS)[number % 3])
        if number % 2:
            shutil.rmtree(path / "checkpoint")
        forging.forge_json(path / "config.json", rng)
        return documented(lambda: uflp.resume(path))

    def report(self, number: int, rng: random.Random) -> str:
        path = self.done(("counts", "covariance", "atari")[number % 3])
        forges: list[tuple[str, Callable[[Path, random.Random], None]]] = [
            ("metrics.csv", forging.forge_table),
            ("config.json", forging.forge_json),
            ("summary.json", forging.forge_json),
            ("exploration.npz", forging.forge_arrays),
        ]
        if number % 3 == 2:
            forges.append(("restarted.npz", forging.forge_arrays))
        name, forge = forges[number // 3 % len(forges)]
        forge(path / name, rng)
        return documented(lambda: write_report([path], self.folder / "copy" / "page.md"))

    def arrays(self, number: int, rng: random.Random) -> str:
        path = self.done("atari")
        name = ("best-actions.npz", "exploration.npz", "restarted.npz", "shown.npz")[number % 4]
        settings = resolve("deep-sea", agent="random", uncertainty="counts", overrides={"size": 4})
        settings = settings.changed(queries=20)
        if name == "shown.npz":
            played = DemonstrationRecorder(settings.simulator.make(0))
            for seed in range(3):
                played.reset(seed=seed)
                for _ in range(3):
                    played.step(1)
            played.write(path / name)
        forging.forge_arrays(path / name, rng)

        def use() -> None:
            try:
                if name == "best-actions.npz":
                    list(best_score(path).play())
                elif name == "exploration.npz":
                    read_explored(path / name)
                elif name == "restarted.npz":
                    read_sheet(path / name)
                else:
                    train(settings.changed(demonstrations=str(path / name)))
            except (ValueError, OSError) as error:
                if not isinstance(error, UsageError) and name in ("best-actions.npz", "shown.npz"):
                    raise AssertionError("an error that is not documented") from error
                raise UsageError(str(error)) from error

        return documented(use)

    def snapshot(self, number: int, rng: random.Random) -> str:
        """Restores a forged snapshot, and plays on."""
        kinds: list[tuple[str, dict[str, Any]]] = [
            ("deep-sea", {"size": 5}),
            ("deep-sea", {"size": 5, "stochastic": True}),
            ("swingup", {}),
            ("gym", {"id": "CartPole-v1"}),
            ("bsuite", {"id": "catch/0"}),
            ("bsuite", {"id": "cartpole_noise/0"}),
        ]
        name, values = kinds[number % len(kinds)]
        if name not in SIMULATORS:
            return "left out"
        simulator = SIMULATORS[name](**values).make(0)
        simulator.reset(seed=number)
        simulator.step(0)
        snapshot = simulator.save()
        body = forging.forged_bytes(snapshot.data[:-SEAL_WIDTH], rng)
        try:
            simulator.restore(
                Snapshot(snapshot.simulator, body + seal(body), 0.0), randomness="exact"
            )
        except SnapshotError:
            return "refused"
        return "taken"

    def emulator(self, number: int, rng: random.Random) -> str:
        """Restores a game whose emulator has forged fields, with a right checksum, and plays on."""
        games = [game for game in atari.games() if game not in _TWO_PLAYERS]
        game = games[number // 40 % len(games)]
        if game != self._game:
            self._game, self._simulator = game, SIMULATORS["atari"](game=game).make(0)
        simulator = self._simulator
        simulator.reset(seed=number)
        for _ in range(rng.randrange(20)):
            if any(simulator.step(rng.randrange(18))[2:4]):
                simulator.reset(seed=number)
        snapshot = simulator.save()
        codec = simulator._codec
        state = codec.unpack(snapshot.data[:-SEAL_WIDTH])
        body = codec.pack(state._replace(emulator=_forged_emulator(state.emulator, codec, rng)))
        if rng.random() < 0.1:
            body = forging.forged_bytes(body, rng)
        try:
            simulator.restore(
                Snapshot(snapshot.simulator, body + seal(body), 0.0), randomness="exact"
            )
        except SnapshotError:
            return "refused"
        for _ in range(15):
            if any(simulator.step(rng.randrange(18))[2:4]):
                break
        return "taken"


_TWO_PLAYERS = {"combat", "joust", "maze-craze", "warlords"}


def _forged_emulator(state: bytes, codec: Any, rng: random.Random) -> bytes:
    """Returns an emulator's state with other words, mostly ones that its layout allows."""
    layout, changed = codec._layout, bytearray(state)
    tail = len(state) - len(layout._tail)
    for _ in range(rng.randrange(1, 8)):
        field = rng.randrange(len(layout._least))
        least, most = int(layout._least[field]), int(layout._most[field])
        if layout._flags[field]:
            word = rng.choice([least, most])
        else:
            word = rng.choice([least, most, rng.randint(least, most)])
        if rng.random() < 0.05:
            word = rng.choice([-1, 0, 2**31 - 1, -(2**31), most + 1 if most < 2**31 - 1 else 99])
        place = tail + int(layout._places[4 * field])
        changed[place : place + 4] = word.to_bytes(4, "little", signed=True)
    return bytes(changed)


def main() -> None:
    kind, first, stop, folder = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4])

    def hang(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"no end after {SECONDS} seconds")

    signal.signal(signal.SIGALRM, hang)
    outcomes: Counter[str] = Counter()
    failures = []
    with tempfile.TemporaryDirectory(dir=folder) as place:
        cases = Cases(Path(place))
        for number in range(first, stop):
            rng = random.Random(f"{kind}-{number}")
            # Told before each case: where the process dies, its last line names the case.
            print(f"{kind} {number}", file=sys.stderr, flush=True)
            signal.alarm(SECONDS)
            try:
                outcomes[getattr(cases, kind)(number, rng)] += 1
            except Exception:
                failures.append(f"{kind} {number}\n{traceback.format_exc()}")
                outcomes["undocumented"] += 1
            finally:
                signal.alarm(0)
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(json.dumps({"outcomes": outcomes, "megabytes": megabytes}))
    print("\n".join(failures[:20]), file=sys.stderr)
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
