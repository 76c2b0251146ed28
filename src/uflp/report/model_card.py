"""A trained agent as a folder for a model hub, with a card that says what it is."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from uflp.arguments import argument
from uflp.experiments.trained import export as export_file
from uflp.experiments.trained import load
from uflp.report.video import Recorder
from uflp.runs.checkpoints import kept_history, read_agent
from uflp.runs.hub import FILM, write_hub_folder
from uflp.runs.policy import Policy
from uflp.training.evaluation import Evaluation
from uflp.trust import names_of_run, remember
from uflp.types import Snapshot, UsageError

_EPISODES = 10


def export(path: Path, out: str, *, history: bool = False, trust: bool = False) -> Path:
    """Write a trained agent into one file, or into a folder where the name ends in `/`.

    Args:
        path: the run folder, or an exported file or folder.
        out: the file or folder to write.
        history: whether the snapshots of the run go with it; only into a folder.
        trust: whether the user trusts the code that the run names.

    Returns:
        What was written.
    """
    if out.endswith(("/", os.sep)):
        export_folder(path, Path(out), history=history, trust=trust)
    elif history:
        raise UsageError(f"a history goes into a folder, and {out} names a file: write {out}/")
    else:
        export_file(path, Path(out), trust=trust)
    return Path(out)


def export_folder(path: Path, out: Path, *, history: bool = False, trust: bool = False) -> None:
    """Write weights, settings, a model card and, where the simulator draws pictures, a film.

    Args:
        path: the run folder, or an exported file or folder.
        out: the folder to write, which must be new or empty.
        history: whether the snapshots of the run go with it.
        trust: whether the user trusts the code that the run names.
    """
    policy = load(path, trust=trust)  # refuses what could not be loaded again
    saved = read_agent(path)
    identity = json.loads(saved["identity"])
    snapshots = list(_snapshots(path, identity)) if history else None
    film = _film(policy)
    card = model_card(
        policy, policy.evaluate(_EPISODES), film=film is not None, snapshots=len(snapshots or ())
    )
    write_hub_folder(
        out,
        identity,
        saved["run"]["queries"],
        saved["run"]["learner"],
        card=card,
        snapshots=snapshots,
        film=film,
    )
    remember(out, names_of_run(policy.settings.imports, None))


def model_card(policy: Policy, played: Evaluation, *, film: bool, snapshots: int) -> str:
    """Return the text of a model card.

    Args:
        policy: the agent.
        played: what it reached.
        film: whether a film lies beside it.
        snapshots: how many the folder holds.
    """
    names = policy.settings.names()
    rows = {
        **{key: "–" if value is None else value for key, value in names.items()},
        "queries": f"{policy.queries:,}",
        "return": f"{played.mean:.4g} ± {played.std:.2g} over {played.episodes} episodes, greedy",
        **({"snapshots": f"{snapshots:,}"} if snapshots else {}),
    }
    table = "\n".join(f"| {key} | {_cell(value)} |" for key, value in rows.items())
    picture = f"\n![One episode]({FILM})\n" if film else ""
    begin = (
        '\nuflp.train(PRESET, history_from="FOLDER")  # begin with its history' if snapshots else ""
    )
    return f"""---
library_name: uflp
pipeline_tag: reinforcement-learning
tags:
- reinforcement-learning
- local-planning
---

# {_cell(names["agent"])} on {_cell(names["preset"])}

An agent that was trained with `uflp`: reinforcement learning with a simulator that can go back.
{picture}
| | |
|---|---|
{table}

```python
import uflp

policy = uflp.load("FOLDER")  # the folder that holds this file
policy.act(observation)
policy.evaluate(episodes=20)
uflp.train(PRESET, init_from="FOLDER")  # go on from it{begin}
```

`config.json` holds every setting, `model.safetensors` the weights. Reading them executes nothing;
code of the user's own that the settings name is imported only with `trust=True`.
"""


def _cell(value: Any) -> str:
    """Return text that cannot end a cell or begin another line."""
    return " ".join(str(value).split()).replace("|", "\\|").replace("<", "&lt;")


def _snapshots(path: Path, identity: dict[str, Any]) -> Iterator[Snapshot]:
    for snapshot, actions in kept_history(path, identity["simulator"]):
        if actions is not None:
            raise UsageError(
                f"the history of {path} knows the actions that led to its states, which a folder "
                f"cannot hold: leave out {argument('history')}"
            )
        yield snapshot


def _film(policy: Policy) -> bytes | None:
    """Return one episode as a GIF, None where the simulator draws no pictures."""
    recorder = Recorder()
    try:
        with closing(policy.drawing_simulator()) as drawing:
            policy.evaluate(1, watch=recorder, simulator=drawing)
    except UsageError:
        return None
    with tempfile.TemporaryDirectory() as below:
        recorder.write(Path(below) / FILM)
        return (Path(below) / FILM).read_bytes()
