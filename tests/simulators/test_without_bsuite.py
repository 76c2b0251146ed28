"""Everything but `bsuite:ID` works where bsuite and dm_env are not installed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

BLOCKER = """
import importlib.metadata
import sys

MISSING = {"bsuite", "dm_env", "dm-env"}


class Blocker:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in MISSING:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def version(name, installed=importlib.metadata.version):
    if name in MISSING:
        raise importlib.metadata.PackageNotFoundError(name)
    return installed(name)


sys.meta_path.insert(0, Blocker)
importlib.metadata.version = version
"""


def without_bsuite(code: str, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", BLOCKER + code, *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def uflp(*words: str) -> subprocess.CompletedProcess[str]:
    return without_bsuite("from uflp.cli import main; main()", *words)


def test_our_simulators_and_those_of_others_are_saved_and_restored() -> None:
    ended = without_bsuite("""
from uflp.simulators.lookup import named

for name in ("deep-sea", "swingup", "gym:CartPole-v1"):
    simulator = named(name).make(0)
    simulator.reset(seed=0)
    simulator.restore(simulator.save())
    print(simulator.step(1)[2])
""")
    assert (ended.stdout.split(), ended.stderr) == (["False"] * 3, "")


def test_deep_sea_is_trained_and_bsuite_is_not_among_the_versions(tmp_path: Path) -> None:
    words = ["train", "deep-sea", "--queries", "60", "--out", str(tmp_path / "run")]
    words += ["--set", "size=4", "--set", "learning_batch=8", "--uncertainty", "counts"]
    ended = uflp(*words)
    assert ended.returncode == 0, ended.stderr
    versions = json.loads((tmp_path / "run" / "config.json").read_text())["versions"]
    assert "numpy" in versions and "bsuite" not in versions


def test_a_bsuite_id_is_refused_with_what_to_install() -> None:
    ended = uflp("check", "bsuite:catch/0")
    assert ended.returncode == 2
    assert "bsuite is not installed: pip install 'uflp[bsuite]'" in ended.stderr


def test_listing_simulators_does_not_need_bsuite() -> None:
    ended = uflp("list", "simulators")
    assert ended.returncode == 0, ended.stderr
    assert "bsuite" in ended.stdout
