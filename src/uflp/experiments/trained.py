"""From a run folder, or a file that was exported from one, to the agent that was trained."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

from uflp.experiments.recorded import resolved
from uflp.runs import state_file
from uflp.runs.checkpoints import Checkpoints
from uflp.runs.folder import AGENT, CHECKPOINT
from uflp.runs.policy import Policy, write_policy
from uflp.runs.state_file import DamagedError
from uflp.trust import names_of_run, remember
from uflp.types import RunError, UsageError


def load(path: Path, *, trust: bool = False) -> Policy:
    """Returns the trained agent of a run, or of a file that `export` wrote.

    Of a run that is not finished, it is the agent of the newest checkpoint.

    Args:
        path: the run folder or file.
        trust: whether the user trusts the code that it names.
    """
    saved = _read(path)
    try:
        settings, _ = resolved(json.loads(saved["identity"]), path, path, trust=trust)
        return Policy(settings, saved["run"])
    except UsageError:
        raise
    except Exception as error:  # whole and with its checksum, but not written by this code
        raise UsageError(f"{path} does not hold a trained agent: {error!r}") from error


def export(path: Path, out: Path, *, trust: bool = False) -> None:
    """Writes the settings and the agent of a run into one file, without replay and history.

    Args:
        path: the run folder or file.
        out: the file to write.
        trust: whether the user trusts the code that the run names.
    """
    made = [folder for folder in out.parents if not folder.exists()]
    try:
        if out.is_dir():
            raise UsageError(f"{out} is a folder: name a file in it")
    except OSError as error:
        raise UsageError(f"{out} cannot be written: {error.strerror}") from error
    policy = load(path, trust=trust)  # refuses what could not be loaded again
    saved = _read(path)
    run = saved["run"]
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        write_policy(out, saved["identity"], run["queries"], run["learner"])
        remember(out, names_of_run(policy.settings.simulator, None))
    except OSError as error:
        for folder in made:
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise UsageError(f"{out} cannot be written: {error.strerror}") from error


def _read(path: Path) -> dict[str, Any]:
    try:
        if path.is_file():
            saved = state_file.read(path)
        elif (path / AGENT).exists():
            saved = state_file.read(path / AGENT)
        else:
            saved = Checkpoints(path / CHECKPOINT).newest(aside=False)
    except (DamagedError, RunError) as error:
        raise UsageError(f"{path} cannot be loaded: {error}") from error
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    if not isinstance(saved, dict) or not {"identity", "run"} <= saved.keys():
        raise UsageError(f"{path} holds no trained agent: neither {AGENT} nor a checkpoint")
    return saved
