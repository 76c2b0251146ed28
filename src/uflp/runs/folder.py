"""Run folders: `config.json`, `metrics.csv`, `summary.json`, records of exploration and events."""

from __future__ import annotations

import contextlib
import csv
import json
import math
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol, TextIO

import numpy as np

from uflp.arrays import write_arrays
from uflp.files import TEMPORARY, replacing
from uflp.runs.events import EventFile
from uflp.runs.lock import LOCK, Lock
from uflp.runs.provenance import changes, provenance
from uflp.runs.run_protocol import BestTrajectory
from uflp.runs.state_file import sync_folder
from uflp.training.metrics import Row
from uflp.training.settings import RunSettings, present_names
from uflp.types import RunError, UsageError

CONFIG, METRICS, SUMMARY = "config.json", "metrics.csv", "summary.json"
CHECKPOINT, HISTORY = "checkpoint", "history"
AGENT = "agent.state"
EVENTS = "events.out.tfevents"
Stopped = Literal["budget", "goal", "callback"]
_PROBE = ".write-probe"
_NOTHING = {LOCK, CONFIG + TEMPORARY, _PROBE}
BEST = "best-actions.npz"


class Record(Protocol):
    """What a part of a run writes into the folder."""

    @property
    def file(self) -> str:
        """Name of the file."""

    @property
    def due(self) -> bool:
        """Whether it is to be written after the present evaluation; at the end it is anyway."""

    def write(self, path: Path) -> None:
        """Writes the file in one piece."""


class RunFolder:
    """The folder that one run writes, row by row, so that nothing is lost when it stops.

    Attributes:
        path: of the folder.
        identity: what decides the run's numbers, as JSON.
    """

    def __init__(
        self,
        path: Path,
        settings: RunSettings,
        stop_at_return: float | None = None,
        simulator: str | None = None,
        records: Sequence[Record] = (),
        *,
        spread: Mapping[str, Any] | None = None,
        numerics: Mapping[str, Any] | None = None,
        resume: bool = False,
    ):
        """Makes the folder; refuses one that holds another run, or that cannot be written.

        Args:
            path: of the folder.
            settings: of the run.
            stop_at_return: see `train`.
            simulator: stamp of the simulator, which records what was drawn for it from the seed.
            records: what the run keeps of where it has been.
            spread: see `RunProtocol`.
            numerics: what the run's numbers depend on besides its settings.
            resume: whether the folder holds part of this very run, which goes on.
        """
        self.path = path
        self._columns: list[str] | None = None
        self._best_score: float | None = None
        self._records = records
        decisive = {**described(settings, stop_at_return), "simulator": simulator, **(spread or {})}
        self.identity = json.dumps(decisive)
        if not resume:
            claim(path)
        with writing(path / LOCK):
            self._lock = Lock(path)
        try:
            if resume:
                self._check(numerics or {})
            else:
                made_with = {**provenance(), "numerics": numerics or {}}
                write_json(path / CONFIG, decisive | made_with)
            self._events = EventFile(path)
        except BaseException:
            self._lock.release()
            raise

    def __enter__(self) -> RunFolder:
        return self

    def __exit__(self, *error: object) -> None:
        self._lock.release()

    def _check(self, numerics: Mapping[str, Any]) -> None:
        """Refuses to go on with what is finished; warns where its numbers may change."""
        if (self.path / SUMMARY).exists():
            raise UsageError(f"{self.path} holds a finished run: there is nothing to resume")
        try:
            before = json.loads((self.path / CONFIG).read_text()).get("numerics")
        except (OSError, ValueError, AttributeError, RecursionError):
            return
        changed = changes(before, numerics)
        if changed:
            warnings.warn(
                f"{self.path} goes on with other libraries or flags than it began with "
                f"({'; '.join(changed)}): from here on its numbers may differ from those of a run "
                "that was never interrupted",
                stacklevel=2,
            )

    def rewrite(self, rows: Sequence[Row]) -> None:
        """Puts the rows of a checkpoint in the place of those that were written since.

        In one piece: who looks at the metrics meanwhile sees the ones or the others.
        """
        with writing(self.path / METRICS) as metrics:
            if not rows:
                metrics.unlink(missing_ok=True)
                return
            with replacing(metrics) as temporary, temporary.open("w", newline="") as file:
                self._write(file, rows)

    def append(self, row: Row) -> None:
        """Adds one row to the metrics and events, and now and then the records so far."""
        with writing(self.path / METRICS) as metrics, metrics.open("a", newline="") as file:
            self._write(file, [row])
        with writing(self.path / EVENTS):
            self._events.append(row)
        self._keep(record for record in self._records if record.due)

    def _keep(self, records: Iterable[Record]) -> None:
        for record in records:
            with writing(self.path / record.file) as path:
                record.write(path)

    def _write(self, file: TextIO, rows: Sequence[Row]) -> None:
        for row in rows:
            writer = csv.DictWriter(file, fieldnames=self._columns or list(row))
            if self._columns is None:
                self._columns = list(row)
                writer.writeheader()
            writer.writerow({key: _cell(value) for key, value in row.items()})

    def keep_best(self, lineage: BestTrajectory) -> None:
        """Writes the best screen score and what led to it, for `uflp replay`."""
        if lineage.best_score == self._best_score:
            return
        self._best_score = lineage.best_score
        actions = np.frombuffer(lineage.best_actions(), np.uint8)
        score = np.array(lineage.best_score)
        with writing(self.path / BEST) as path:
            write_arrays(path, {"actions": actions, "screen_score": score})

    def finish(self, summary: dict[str, Any]) -> None:
        """Writes `summary.json`, which says that the run is complete, after all else."""
        self._keep(self._records)
        write_json(self.path / SUMMARY, summary)


def described(settings: RunSettings, stop_at_return: float | None) -> dict[str, Any]:
    """Returns what decides a run's numbers, as `config.json` holds it."""
    return {
        **settings.names(),
        "stop_at_return": stop_at_return,
        "settings": settings.values(),
    }


def completed(config: dict[str, Any], settings: RunSettings) -> dict[str, Any]:
    """Returns a run's record with the settings that did not exist yet when it was written.

    They have the default values of their settings classes, which stand for what was done before;
    settings that were renamed since have their present names.

    Args:
        config: the record.
        settings: of the same run, or of one that it may be the record of.
    """
    values = as_json(settings.defaults()) | present_names(config["settings"])
    return {"variant": None, **config, "settings": values}


def as_json(value: Any) -> Any:
    """Returns what JSON makes of a value, such as lists of tuples."""
    return json.loads(json.dumps(value))


def difference(have: Any, want: Any, key: str = "everything") -> str:
    """Returns a phrase about the first setting that differs."""
    if isinstance(have, dict) and isinstance(want, dict):
        for name in {**want, **have}:
            if have.get(name) != want.get(name):
                return difference(have.get(name), want.get(name), name)
    return f"{key} was {have}, not {want}"


def claim(path: Path) -> None:
    """Makes an empty folder, or says in one sentence why it cannot be had.

    What a run leaves that was ended before it wrote its `config.json` counts for nothing.
    """
    try:
        if path.exists() and not path.is_dir():
            raise UsageError(f"{path} is a file: choose another --out")
        if path.is_dir() and {item.name for item in path.iterdir()} - _NOTHING:
            raise UsageError(f"{path} already holds something: choose another --out, or remove it")
        path.mkdir(parents=True, exist_ok=True)
        probe = path / _PROBE
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error


def summarize(
    settings: RunSettings,
    rows: Sequence[Row],
    seconds: float,
    folder: Path | None,
    stopped: Stopped = "budget",
) -> dict[str, Any]:
    """Returns what a finished run comes to.

    Args:
        settings: of the run.
        rows: its metrics.
        seconds: time that it took.
        folder: where it was written.
        stopped: why it ended: `budget` spent, `goal` (`stop_at_return`) reached, or `callback`.
    """
    target = settings.loop.target_return
    reached = [
        row["queries"] for row in rows if target is not None and row["eval_return_mean"] >= target
    ]
    queries = rows[-1]["queries"] if rows else 0
    returns = [row["eval_return_mean"] for row in rows]
    known = {
        *("queries", "wall_seconds", "rollouts", "restarts", "sgd_steps", "eval_return_mean"),
        *("eval_return_std", "eval_episodes", "train_return_mean", "loss", "history_size"),
        *("replay_size", "positive_rewards"),
    }
    summary = {
        **settings.names(),
        "queries": queries,
        "stopped": stopped,
        "queries_to_target": reached[0] if reached else None,
        "target_return": target,
        "final_return": returns[-1] if returns else None,
        "best_return": max(returns, default=None),
        "positive_rewards": rows[-1]["positive_rewards"] if rows else 0,
        "wall_seconds": round(seconds, 3),
        "queries_per_second": round(queries / seconds, 1) if seconds else None,
        "run_dir": None if folder is None else str(folder),
        **({key: value for key, value in rows[-1].items() if key not in known} if rows else {}),
    }
    return {key: _plain(value) for key, value in summary.items()}


@contextlib.contextmanager
def writing(path: Path) -> Iterator[Path]:
    """Yields the path of a file; where it cannot be written, raises a `RunError` that names it."""
    try:
        yield path
    except OSError as error:
        # The error of a full disk names no file.
        name, reason = error.filename or path, error.strerror or error
        raise RunError(f"{name} cannot be written: {reason}") from error


def write_json(path: Path, value: Any) -> None:
    """Writes a JSON file in one piece: a reader sees the old one or the new one."""
    text = json.dumps(value, indent=2, allow_nan=False) + "\n"
    with writing(path):
        with replacing(path) as temporary, temporary.open("w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        sync_folder(path.parent)


def _cell(value: Any) -> Any:
    return "" if isinstance(value, float) and math.isnan(value) else value


def _plain(value: Any) -> Any:
    """Returns what JSON holds of a number that `metrics.csv` takes as it is."""
    if getattr(value, "shape", None) == ():
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
