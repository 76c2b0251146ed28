"""One process of the fuzzing of the command line: random words, each call in a folder of its own.

Called as `python command_cases.py FIRST STOP FOLDER`. Ends with 0 if every call ended with 0, 1 or
2, without a traceback, if 2 left nothing behind, and if no module that only a file names was
imported.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from resuming import signalled, small

import uflp
from uflp import cli, state_file
from uflp.experiments import jobs
from uflp.experiments.presets import PRESETS
from uflp.experiments.resolve import resolve
from uflp.planning import RULES
from uflp.runs.interruption import Interrupted
from uflp.runs.train import train
from uflp.uncertainty import UNCERTAINTIES

warnings.simplefilter("ignore")

SECONDS = 20
"""After which a call is interrupted, as by Ctrl-C: some of them ask for much."""

CANARY = (
    "from pathlib import Path\nPath(__file__).with_name('canary-ran').touch()\ndef make(): 1/0\n"
)
VALUES = [
    *("0", "1", "2", "3", "-1", "1.5", "0.5", "nan", "inf", "-inf", "1e308", "1e-308", "1e999"),
    *(str(2**31), str(2**53), str(2**63), str(10**30), "0x10", "1_000", "١", "1e3"),
    *("", " ", "none", "None", "null", "true", "false", "x", "é", "𝕏", "x" * 5000, "a b", "a\nb"),
    *("../..", "/", ".", "~", "-", "--", "%s", "{}", "$(id)", "`id`", ";", "|", "\\", "'", '"'),
    *("counts", "ddqn", "pair", "uniform", "local", "online", "tuned", "smoke"),
]
PLACES = ["done", "cut", "stranger", "stranger.state", "file", "seeds", "empty", "done/metrics.csv"]
PLACES += ["done/agent.state", "missing", "missing/below", ".", "..", "/dev/null", "/proc/self/mem"]
PLACES += [
    "hub",
    "stranger-hub",
    "new/",
    "/proc/nowhere/x",
    "x" * 300,
    "link",
    "folder/page.html",
    "page.md",
    "a.gif",
    "a.state",
    "",
]
NAMES = [*PRESETS, "deep-sea", "swingup", "gym:CartPole-v1", "gym:Nothing-v0", "gym:", "bsuite:x"]
NAMES += ["mine:make", "mine:nothing", "nothing:make", "minigrid:x", "gymnax:x", "dmc:x", "atari/x"]
NAMES += ["gym:Pendulum-v1", "atari/pong", "deep-sea:3", ":", "mine:", "os:abort:x", *VALUES[:20]]
COMMANDS = ["list", "train", "figure", "sweep", "compare", "report", "evaluate", "export", "replay"]
COMMANDS += ["check", "nothing", "--version", "--help", "-h"]
OPTIONS = {
    "--agent": ["ddqn", "ddqn-bonus", "random", "boot-ddqn", "pi", "sac", *VALUES],
    "--uncertainty": [*UNCERTAINTIES, *VALUES],
    "--rule": [*RULES, *VALUES],
    "--access": ["local", "online", *VALUES],
    "--variant": ["tuned", *VALUES],
    "--seed": VALUES,
    "--seeds": ["1", "2", *VALUES],
    "--queries": ["8", "20", "40", *VALUES],
    "--stop-at-return": VALUES,
    "--out": PLACES,
    "--history-from": PLACES,
    "--init-from": PLACES,
    "--demonstrations": PLACES,
    "--resume": PLACES,
    "--checkpoint-seconds": VALUES,
    "--scale": ["smoke", *VALUES],
    "--episodes": VALUES,
    "--video": PLACES,
    "--steps": ["10", "30", *VALUES],
    "--vary": ["p_init=0,1", "epsilon=0.1;0.2", "size=3,4", "p_init", "=", "x=1,2", *VALUES],
    "--keep-history": None,
    "--keep-checkpoint": None,
    "--force": None,
    "--json": None,
    "--partial": None,
    "--no-such-option": None,
    "--actors": VALUES,
    "--replay-shards": VALUES,
    "--shared-counts": None,
    "--gpu-learner": None,
    "--ray": ["x", "0:0", "127.0.0.1:1", "nowhere.invalid:6379", "ray://", *VALUES],
    "--history": None,
    "--every": VALUES,
    "--strategy": ["attributes", "replay", *VALUES],
    "--tolerance": VALUES,
    "--lock-step": None,
}
SETTINGS = [*resolve("deep-sea").values(), "nothing", "newest", ""]


def words_of(rng: random.Random) -> list[str]:
    """Returns the words of one call."""
    command = rng.choice(COMMANDS)
    words = [command]
    first = {
        "list": ["presets", "agents", "settings", "rules", "figures", "simulators", *VALUES],
        "figure": ["deep-sea-50", "deep-sea-20", "montezuma-random", *VALUES],
        "report": PLACES,
        "evaluate": PLACES,
        "export": PLACES,
        "replay": PLACES,
    }.get(command, NAMES)
    if rng.random() < 0.95:
        words.append(rng.choice(first))
    if command in ("export", "report") and rng.random() < 0.8:
        words.append(rng.choice(PLACES))
    if command == "sweep" and rng.random() < 0.8:
        words += ["--vary", rng.choice(OPTIONS["--vary"] or [])]
    for _ in range(rng.randrange(4)):
        option = rng.choice(list(OPTIONS))
        values = OPTIONS[option]
        words.append(option)
        if values is not None and rng.random() < 0.97:
            words.append(rng.choice(values))
    for _ in range(rng.randrange(3) if command in ("train", "sweep", "compare", "figure") else 0):
        words += ["--set", f"{rng.choice(SETTINGS)}={rng.choice(VALUES)}"]
    if command in ("train", "sweep", "compare") and "--resume" not in words:
        words += ["--set", "size=3"] if rng.random() < 0.5 else []
        words += ["--queries", "20"] if "--queries" not in words else []
        words += ["--seeds", "1"] if command != "train" and "--seeds" not in words else []
    if command == "figure" and "--partial" not in words:
        words.append("--partial")
    return words


def prepare(folder: Path) -> None:
    """Makes what the words name."""
    folder.mkdir()
    settings = small("deep-sea", "ddqn", "counts", size=3, queries=40, eval_period=20)
    train(settings, out=folder / "done")
    with contextlib.suppress(Interrupted):
        train(settings, out=folder / "cut", callback=signalled(signal.SIGTERM, 20))
    (folder / "file").write_text("mine")
    (folder / "link").symlink_to("file")
    for name in ("empty", "folder", "seeds"):
        (folder / name).mkdir()
    config = json.loads((folder / "cut" / "config.json").read_text())
    (folder / "seeds" / "seeds.json").write_text(json.dumps(config | {"seeds": [0]}))
    (folder / "mine.py").write_text(
        "import gymnasium\ndef make(): return gymnasium.make('Taxi-v4')\n"
    )
    # A stranger's run, which names a module beside it.
    shutil.copytree(folder / "cut", folder / "stranger")
    config = json.loads((folder / "stranger" / "config.json").read_text())
    (folder / "stranger" / "config.json").write_text(json.dumps(config | {"preset": "canary:make"}))
    forged = state_file.read(folder / "done" / "agent.state")
    identity = json.loads(forged["identity"]) | {"preset": "canary:make"}
    state_file.write(folder / "stranger.state", forged | {"identity": json.dumps(identity)})
    uflp.export(folder / "done", f"{folder}/hub/")
    shutil.copytree(folder / "hub", folder / "stranger-hub")
    config = json.loads((folder / "hub" / "config.json").read_text())
    config["run"]["preset"] = "canary:make"
    (folder / "stranger-hub" / "config.json").write_text(json.dumps(config))
    for place in (folder, folder / "stranger", folder / "stranger-hub"):
        (place / "canary.py").write_text(CANARY)


def tree(folder: Path) -> dict[str, Any]:
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else path.is_dir()
        for path in folder.rglob("*")
        if "__pycache__" not in path.parts
    }


def call(words: list[str]) -> tuple[Any, str]:
    """Calls the command line in this process; returns the exit code and what it wrote."""
    out, err = io.StringIO(), io.StringIO()
    before = sys.argv, sys.stdout, sys.stderr
    sys.argv, sys.stdout, sys.stderr = ["uflp", *words], out, err
    code: Any = 0
    try:
        cli.main()
    except SystemExit as stop:
        code = stop.code or 0
    except BaseException:
        code = traceback.format_exc()
    finally:
        sys.argv, sys.stdout, sys.stderr = before
    return code, out.getvalue() + err.getvalue()


def main() -> None:
    first, stop, folder = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
    late = False

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal late
        late = True
        raise KeyboardInterrupt

    signal.signal(signal.SIGALRM, interrupt)
    # Processes for each run would take most of the time.
    jobs.run_jobs = lambda all_: (jobs.run_job(job) for job in all_)
    outcomes: Counter[str] = Counter()
    failures = []
    with tempfile.TemporaryDirectory(dir=folder) as below:
        prepare(Path(below) / "good")
        good = tree(Path(below) / "good")
        for number in range(first, stop):
            here = Path(below) / "here"
            shutil.copytree(Path(below) / "good", here, symlinks=True)
            os.chdir(here)
            words = words_of(random.Random(number))
            print(number, words, file=sys.stderr, flush=True)
            before, late = tree(here), False
            signal.alarm(SECONDS)
            code, text = call(words)
            signal.alarm(0)
            after = tree(here)
            wrong = []
            if code not in (0, 1, 2) and not (late and code in (130, 1)):
                wrong.append(f"exit code {code}")
            if "Traceback" in text:
                wrong.append(f"a traceback: {text[-1500:]}")
            if code == 2 and after != before:
                wrong.append(f"left behind: {sorted(set(after) ^ set(before))}")
            if any(path.name == "canary-ran" for path in Path(below).rglob("*")):
                wrong.append("the canary ran")
            outside = [one for one in Path(below).iterdir() if one.name not in ("good", "here")]
            if outside and (code == 2 or ".." not in words):  # Else the user has asked for it.
                wrong.append(f"written outside: {[one.name for one in outside]}")
            for one in outside:
                shutil.rmtree(one) if one.is_dir() else one.unlink()
            outcomes[f"late {code}" if late else str(code)[:10]] += 1
            if wrong:
                failures.append(f"{number} {words}: {'; '.join(wrong)}")
            os.chdir(folder)
            shutil.rmtree(here)
        if tree(Path(below) / "good") != good:
            failures.append("what is outside was changed")
    print(json.dumps(outcomes))
    print("\n".join(failures), file=sys.stderr)
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
