"""What an installed package must do with nothing but its core dependencies.

Run it with the Python of the environment, from a folder outside of the checkout:
`python -P …/release/smoke.py`. It needs nothing that the package does not bring.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

EXTRAS = {
    "atari": ("ale_py", "atari/venture"),
    "bsuite": ("bsuite", "bsuite:catch/0"),
    "gymnax": ("gymnax", "gymnax:CartPole-v1"),
    "minigrid": ("minigrid", "minigrid:MiniGrid-Empty-5x5-v0"),
    "robotics": ("dm_control", "dmc:cartpole-swingup"),
}
"""The module that an extra brings, and a preset that needs it."""

TINY = ["--set", "size=4", "--set", "learning_batch=8", "--queries", "60"]


def main() -> None:
    """Try everything; raise an error at the first thing that does not work."""
    with tempfile.TemporaryDirectory() as below:
        folder = Path(below)
        check_metadata()
        check_python(folder)
        check_commands(folder)
        check_missing_extras(folder)
    print("everything works")


def check_metadata() -> None:
    """Version, types, and a description whose links lead somewhere."""
    import uflp

    package = Path(uflp.__file__).parent
    require(Path(sysconfig.get_path("purelib")) in package.parents, f"{package} is installed")
    require(importlib.metadata.version("uflp") == uflp.__version__, "one version")
    require((package / "py.typed").exists(), "py.typed is there")
    text = str(importlib.metadata.metadata("uflp").get_payload())
    require("Reinforcement learning with a simulator" in text, "the description is there")
    links = re.findall(r"\]\(([^)]*)\)|<img", text)
    require(all(link.startswith("https://") for link in links), f"{links} lead somewhere")


def check_python(folder: Path) -> None:
    """Train, load, check, draw, and hand over, from Python."""
    import uflp

    result = uflp.train(
        "deep-sea", uncertainty="counts", size=4, learning_batch=8, queries=60, out=folder / "run"
    )
    require(result.summary["queries"] == 60, "60 queries were made")
    require(result.plot() is not None, "a curve is drawn")
    require(result.report(folder / "page.html").exists(), "a page is written")
    require(uflp.load(folder / "run").queries == 60, "the agent is loaded")
    verdict = uflp.check("gym:CartPole-v1", steps=50)
    require("faithful" in str(verdict), f"{verdict} is faithful")
    if importlib.util.find_spec("pandas") is None:
        try:
            result.to_dataframe()
        except uflp.UsageError as error:
            require("pip install 'uflp[dataframe]'" in str(error), f"{error} says what to install")
        else:
            raise SystemExit("there is a DataFrame without pandas")


def check_commands(folder: Path) -> None:
    """The same from the command line."""
    require(uflp_command(folder, "--version")[0] == 0, "--version works")
    words = ["train", "deep-sea", *TINY, "--uncertainty", "covariance", "--out", "trained"]
    for line in (
        words,
        ["evaluate", "trained", "--episodes", "1", "--video", "dive.gif"],
        ["export", "trained", "diver.state"],
        ["export", "trained", "hub/"],
        ["evaluate", "hub", "--episodes", "1"],
        ["check", "deep-sea"],
        ["list"],
    ):
        code, output = uflp_command(folder, *line)
        require(code == 0, f"uflp {' '.join(line)} works: {output}")


def check_missing_extras(folder: Path) -> None:
    """What is not installed is said in one sentence, with what to install."""
    for extra, (module, preset) in EXTRAS.items():
        if importlib.util.find_spec(module) is not None:
            continue
        code, output = uflp_command(folder, "train", preset, "--queries", "10", "--out", extra)
        require(code == 2, f"uflp train {preset} ends with 2: {output}")
        require(f"pip install 'uflp[{extra}]'" in output, f"{output} names uflp[{extra}]")
        require(not (folder / extra).exists(), f"there is no run folder of {preset}")
    if importlib.util.find_spec("ray") is None:
        words = ["train", "deep-sea", *TINY, "--ray", "local", "--out", "spread"]
        code, output = uflp_command(folder, *words)
        require(code == 2 and "pip install 'uflp[ray]'" in output, f"{output} names uflp[ray]")


def uflp_command(folder: Path, *words: str) -> tuple[int, str]:
    """Run `uflp` as it was installed; return its exit code, and all that it printed."""
    command = Path(sysconfig.get_path("scripts")) / "uflp"
    ended = subprocess.run([command, *words], cwd=folder, capture_output=True, text=True)
    return ended.returncode, ended.stdout + ended.stderr


def require(holds: bool, what: str) -> None:
    """End with what does not hold."""
    if not holds:
        raise SystemExit(f"not so: {what}")


if __name__ == "__main__":
    sys.exit(main())
