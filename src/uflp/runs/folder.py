"""Run folders: `config.json`, `metrics.csv`, `summary.json`, records of exploration and events.

One process at a time writes a folder, and nothing in it leads a writer to a file elsewhere.
"""

from __future__ import annotations

import contextlib
import csv
import hashlib
import io
import json
import math
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Literal, Protocol

import numpy as np

from uflp import files
from uflp.arguments import argument
from uflp.arrays import write_arrays
from uflp.runs.events import EventFile
from uflp.runs.provenance import changes, provenance
from uflp.runs.run_protocol import BestTrajectory
from uflp.training.metrics import COLUMNS, Row
from uflp.training.settings import RunSettings, present_names
from uflp.types import RunError, UsageError

try:
    import fcntl
except ImportError:  # Windows refuses to replace files in use, which has to do there.
    fcntl = None  # type: ignore[assignment]

CONFIG, METRICS, SUMMARY = "config.json", "metrics.csv", "summary.json"
CHECKPOINT, HISTORY = "checkpoint", "history"
AGENT = "agent.state"
EVENTS = "events.out.tfevents"
Stopped = Literal["budget", "goal", "callback"]
BEST = "best-actions.npz"
LOCK = ".lock"
_PROBE = ".write-probe"
_NOTHING = {LOCK, CONFIG + files.TEMPORARY, _PROBE}
_CHECKSUM = "checksum"
EARLIER_BUDGETS = "earlier_budgets"

_IDENTITY_KEYS = (
    "preset",
    "agent",
    "uncertainty",
    "access",
    "variant",
    "seed",
    "stop_at_return",
    "settings",
    "simulator",
    "cluster",
)
"""Keys of `config.json` that decide a run's numbers, and have a checksum."""


class LockedError(UsageError):
    """Another process is at work on a folder."""


class Lock:
    """A lock on a folder that the system releases when its process ends, however that happens.

    So the lock of a dead process is never in the way.
    """

    def __init__(self, folder: Path, *, wait: bool = False):
        """Take the lock of a folder.

        Args:
            folder: what is locked.
            wait: whether to wait for a process that has it.

        Raises:
            LockedError: if another process has it.
            UsageError: if the folder cannot be written.
        """
        self._path = folder / LOCK
        while True:
            try:
                self._file = files.update(self._path)
            except files.NotOrdinaryError as error:
                raise UsageError(f"{self._path} cannot be written: {error.strerror}") from error
            except OSError as error:
                raise UsageError(f"{folder} cannot be written: {error.strerror}") from error
            if fcntl is None:
                return
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except BlockingIOError:
                holder = self._file.read(20).decode(errors="replace").strip() or "unknown"
                self._file.close()
                raise LockedError(f"process {holder} is at work on {folder}") from None
            # Whoever held it before may have removed the file that was opened here.
            if self._is_there():
                break
            self._file.close()
        self._file.truncate(0)
        self._file.write(str(os.getpid()).encode())
        self._file.flush()

    def __enter__(self) -> Lock:
        return self

    def __exit__(self, *error: object) -> None:
        self.release()

    def follow(self, folder: Path) -> None:
        """Go along with the folder, which now has another name."""
        self._path = folder / LOCK

    def release(self) -> None:
        """Give up the lock."""
        if not self._file.closed:
            with contextlib.suppress(OSError):
                self._path.unlink(missing_ok=True)
            self._file.close()

    def _is_there(self) -> bool:
        try:
            return os.path.samestat(os.fstat(self._file.fileno()), self._path.lstat())
        except FileNotFoundError:
            return False


class Record(Protocol):
    """A part of a run that writes a file into the folder."""

    @property
    def file(self) -> str:
        """Name of the file."""

    @property
    def due(self) -> bool:
        """Whether it is to be written after the present evaluation; at the end it is anyway."""

    def write(self, path: Path) -> None:
        """Write the file in one piece."""


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
        cluster_config: Mapping[str, Any] | None = None,
        numerics: Mapping[str, Any] | None = None,
        resume: bool = False,
    ):
        """Make the folder; refuse one that holds another run, or that cannot be written.

        Args:
            path: of the folder.
            settings: of the run.
            stop_at_return: see `train`.
            simulator: stamp of the simulator, which records what was drawn for it from the seed.
            records: what the run keeps of where it has been.
            cluster_config: see `RunProtocol`.
            numerics: what the run's numbers depend on besides its settings.
            resume: whether the folder holds part of this very run, which goes on.
        """
        self.path = path
        self._columns: list[str] | None = None
        self._best_score: float | None = None
        self._records = records
        decisive = {**described(settings, stop_at_return), "simulator": simulator}
        if cluster_config is not None:
            decisive["cluster"] = cluster_config
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
                record = decisive | {_CHECKSUM: _checksum(as_json(decisive))} | made_with
                write_json(path / CONFIG, record)
            self._events = EventFile(path)
        except BaseException:
            self._lock.release()
            raise

    def __enter__(self) -> RunFolder:
        return self

    def __exit__(self, *error: object) -> None:
        self._lock.release()

    def _check(self, numerics: Mapping[str, Any]) -> None:
        """Refuse to go on with what is finished; warn where its numbers may change."""
        if (self.path / SUMMARY).exists():
            raise UsageError(
                f"{self.path} holds a finished run: there is nothing to resume, unless "
                f"{argument('queries')} gives it more"
            )
        before = (read_object(self.path / CONFIG) or {}).get("numerics")
        changed = changes(before, numerics)
        if changed:
            warnings.warn(
                f"{self.path} goes on with other libraries or flags than it began with "
                f"({'; '.join(changed)}): from here on its numbers may differ from those of a run "
                "that was never interrupted",
                stacklevel=2,
            )

    def is_earlier_budget(self, queries: Any) -> bool:
        """Return whether the run was to have so many queries before it was given more."""
        return queries in (read_object(self.path / CONFIG) or {}).get(EARLIER_BUDGETS, [])

    def require_unchanged(self) -> None:
        """Refuse a record that was changed, where no checkpoint tells what the run was."""
        config = read_object(self.path / CONFIG) or {}
        decisive = {key: config[key] for key in json.loads(self.identity) if key in config}
        if config.get(_CHECKSUM, _checksum(decisive)) != _checksum(decisive):
            raise UsageError(f"{self.path / CONFIG} was changed since the run began")

    def rewrite(self, rows: Sequence[Row]) -> None:
        """Put the rows of a checkpoint in the place of those that were written since.

        In one piece: who looks at the metrics meanwhile sees the ones or the others.
        """
        with writing(self.path / METRICS) as metrics:
            if not rows:
                metrics.unlink(missing_ok=True)
                return
            with files.replacing(metrics) as file:
                self._write(file, rows)

    def append(self, row: Row) -> None:
        """Add one row to the metrics and events, and now and then the records so far."""
        with writing(self.path / METRICS) as metrics, files.append(metrics) as file:
            self._write(file, [row])
        with writing(self.path / EVENTS):
            self._events.append(row)
        self._keep(record for record in self._records if record.due)

    def _keep(self, records: Iterable[Record]) -> None:
        for record in records:
            with writing(self.path / record.file) as path:
                record.write(path)

    def _write(self, file: BinaryIO, rows: Sequence[Row]) -> None:
        text = io.StringIO()
        for row in rows:
            # The first row names the columns. Another version, with which a run is resumed, or a
            # simulator whose metrics change, may have more or fewer.
            writer = csv.DictWriter(
                text, fieldnames=self._columns or list(row), restval="", extrasaction="ignore"
            )
            if self._columns is None:
                self._columns = list(row)
                writer.writeheader()
            writer.writerow({key: _cell(value) for key, value in row.items()})
        file.write(text.getvalue().encode())

    def keep_best(self, lineage: BestTrajectory) -> None:
        """Write the best screen score and what led to it, for `uflp replay`."""
        if lineage.best_score == self._best_score:
            return
        self._best_score = lineage.best_score
        actions = np.frombuffer(lineage.best_actions(), np.uint8)
        score = np.array(lineage.best_score)
        with writing(self.path / BEST) as path:
            write_arrays(path, {"actions": actions, "screen_score": score})

    def finish(self, summary: dict[str, Any]) -> None:
        """Write `summary.json`, which says that the run is complete, after all else."""
        self._keep(self._records)
        write_json(self.path / SUMMARY, summary)


def described(settings: RunSettings, stop_at_return: float | None) -> dict[str, Any]:
    """Return what decides a run's numbers, as `config.json` holds it."""
    return {
        **settings.names(),
        "stop_at_return": stop_at_return,
        "settings": settings.values(),
    }


def extend(path: Path, settings: RunSettings) -> None:
    """Give the run in a folder a larger budget: it is in the record, and the run is not finished.

    What the run had stays; the record keeps its earlier budgets, with which checkpoints were made.

    Args:
        path: of the folder.
        settings: of the same run, with the new budget.
    """
    queries = settings.evaluation.queries
    with writing(path / LOCK):
        lock = Lock(path)
    with lock:
        config = read_object(path / CONFIG) or {}
        before = completed(config, settings)["settings"]["queries"]
        summary = read_object(path / SUMMARY)
        if summary is not None and summary.get("stopped") == "goal":
            raise UsageError(f"{path} holds a run that reached its goal: there is nothing to add")
        if summary is None and queries == before:
            return  # It has this budget, and goes on.
        # One that was given more and ended before it began has the new budget already.
        spent = before if summary is None else summary.get("queries", before)
        if queries < before or queries <= spent:
            raise UsageError(
                f"{path} holds a run of {max(before, spent):,} queries: more is a larger number, "
                f"not {queries:,}"
            )
        earlier = [*config.get(EARLIER_BUDGETS, []), before]
        config |= {"settings": as_json(settings.values()), EARLIER_BUDGETS: earlier}
        decisive = {key: config[key] for key in _IDENTITY_KEYS if key in config}
        config[_CHECKSUM] = _checksum(decisive)
        write_json(path / CONFIG, config)
        (path / SUMMARY).unlink(missing_ok=True)


def completed(config: dict[str, Any], settings: RunSettings) -> dict[str, Any]:
    """Return a run's record with the settings that did not exist yet when it was written.

    They have the default values of their settings classes, which stand for what was done before;
    settings that were renamed since have their present names.

    Args:
        config: the record.
        settings: of the same run, or of one that it may be the record of.
    """
    values = as_json(settings.defaults()) | present_names(config["settings"])
    return {"variant": None, **config, "settings": values}


def as_json(value: Any) -> Any:
    """Return what JSON makes of a value, such as lists of tuples."""
    return json.loads(json.dumps(value))


def difference(have: Any, want: Any, key: str = "everything") -> str:
    """Return a phrase about every setting that differs, each under its own key.

    The periods of evaluation come last: they often follow from another setting, such as a size.
    """
    if not isinstance(have, dict) or not isinstance(want, dict):
        return f"{key} was {have}, not {want}"
    names = [name for name in {**want, **have} if have.get(name) != want.get(name)]
    names.sort(key=lambda name: name.startswith("eval_"))
    return "; ".join(difference(have.get(name), want.get(name), name) for name in names)


def claim(path: Path) -> None:
    """Make an empty folder, or say in one sentence why it cannot be had.

    What a run leaves that was ended before it wrote its `config.json` counts for nothing.
    """
    try:
        if path.exists() and not path.is_dir():
            raise UsageError(f"{path} is a file: choose another {argument('out')}")
        if path.is_dir() and {item.name for item in path.iterdir()} - _NOTHING:
            raise UsageError(
                f"{path} already holds something: choose another {argument('out')}, or remove it"
            )
        path.mkdir(parents=True, exist_ok=True)
        probe = path / _PROBE
        files.create(probe).close()
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
    """Return what a finished run comes to.

    Args:
        settings: of the run.
        rows: its metrics.
        seconds: time that it took.
        folder: where it was written.
        stopped: why it ended: `budget` spent, `goal` (`stop_at_return`) reached, or `callback`.
    """
    target = settings.evaluation.target_return
    reached = [
        row["queries"] for row in rows if target is not None and row["eval_return_mean"] >= target
    ]
    queries = rows[-1]["queries"] if rows else 0
    returns = [row["eval_return_mean"] for row in rows]
    summary = {
        **settings.names(),
        "queries": queries,
        "stopped": stopped,
        "queries_to_target": reached[0] if reached else None,
        "target_return": target,
        "final_return": returns[-1] if returns else None,
        "best_return": max(returns, default=None),
        "positive_rewards": rows[-1]["positive_rewards"] if rows else 0,
        "queries_to_first_reward": next(
            (row["queries"] for row in rows if row["positive_rewards"] > 0), None
        ),
        "wall_seconds": round(seconds, 3),
        "queries_per_second": round(queries / seconds, 1) if seconds else None,
        "run_dir": None if folder is None else str(folder),
        **({key: value for key, value in rows[-1].items() if key not in COLUMNS} if rows else {}),
    }
    return {key: _plain(value) for key, value in summary.items()}


@contextlib.contextmanager
def writing(path: Path) -> Iterator[Path]:
    """Yield the path of a file; where it cannot be written, raise a `RunError` that names it."""
    try:
        yield path
    except OSError as error:
        # The error of a full disk names no file.
        name, reason = error.filename or path, error.strerror or error
        raise RunError(f"{name} cannot be written: {reason}") from error


def write_json(path: Path, value: Any) -> None:
    """Write a JSON file in one piece: a reader sees the old one or the new one."""
    text = json.dumps(value, indent=2, allow_nan=False) + "\n"
    with writing(path):
        with files.replacing(path) as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        files.sync_folder(path.parent)


def read_object(path: Path) -> dict[str, Any] | None:
    """Return the object that a JSON file holds, None if it is missing or damaged."""
    try:
        value = json.loads(files.read_file(path))
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _checksum(decisive: Any) -> str:
    """Return a checksum of what decides a run, by which a change of it shows."""
    return hashlib.sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()


def _cell(value: Any) -> Any:
    return "" if isinstance(value, float) and math.isnan(value) else value


def _plain(value: Any) -> Any:
    """Return what JSON holds of a number that `metrics.csv` takes as it is."""
    if getattr(value, "shape", None) == ():
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
