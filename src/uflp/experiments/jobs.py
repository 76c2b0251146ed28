"""Many runs, one to a core at a time; finished ones are never run again, others go on."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from uflp.arguments import argument
from uflp.distributed.settings import ClusterSettings
from uflp.distributed.train import trainer
from uflp.progress import protect_streams
from uflp.runs.checkpoints import DEFAULT_SECONDS, move_aside
from uflp.runs.folder import (
    CONFIG,
    METRICS,
    SUMMARY,
    Lock,
    LockedError,
    as_json,
    completed,
    described,
    difference,
    read_object,
)
from uflp.runs.interruption import Interrupted, Interruption
from uflp.simulators.fidelity import glance
from uflp.simulators.guard import unsound
from uflp.training.settings import RunSettings
from uflp.types import RunError, UsageError

_OTHER_SETTINGS = "it was made with other settings"


@dataclass(frozen=True)
class Job:
    """One run to be made.

    Attributes:
        settings: of the run.
        folder: where it goes.
        stop_at_return: ends the run at the first evaluation whose mean return reaches it.
        checkpoint_seconds: wall-clock time from one checkpoint of the run to the next.
        cluster: how the run is spread over processes; None for one process.
    """

    settings: RunSettings
    folder: Path
    stop_at_return: float | None = None
    checkpoint_seconds: float = DEFAULT_SECONDS
    cluster: ClusterSettings | None = None

    def summary(self) -> dict[str, Any] | None:
        """Return the outcome of the finished run, None if it is still to be made."""
        return None if self.unfinished() else read_object(self.folder / SUMMARY)

    def unfinished(self) -> str | None:
        """Return why the run has to be made, None if it is there already."""
        if not self.folder.exists():
            return "it is new"
        config = read_object(self.folder / CONFIG)
        if config is None:
            return "its config.json is missing or damaged"
        if isinstance(config.get("settings"), dict):
            config = completed(config, self.settings)
        wanted = as_json(described(self.settings, self.stop_at_return))
        for key, value in wanted.items():
            if config.get(key) != value:
                return f"{_OTHER_SETTINGS}: {difference(config.get(key), value, key)}"
        cluster = None if self.cluster is None else self.cluster.values()
        if _spread(config.get("cluster")) != _spread(cluster):
            return f"{_OTHER_SETTINGS}: it was spread over other processes"
        if read_object(self.folder / SUMMARY) is None or not (self.folder / METRICS).exists():
            return "it was interrupted"
        return None

    def begun(self) -> bool:
        """Return whether the folder holds part of this very run, so that it can go on."""
        return self.unfinished() == "it was interrupted" and not (self.folder / SUMMARY).exists()


def _spread(cluster: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return how a run is spread, wherever its cluster is."""
    if cluster is None:
        return None
    return {key: value for key, value in cluster.items() if key != "ray"}


class KilledError(RunError):
    """A process was taken away in the middle of its run."""

    def __init__(self, advice: str = "saved; the same command goes on where it stopped"):
        super().__init__(
            "a process was killed in the middle of its run, perhaps for want of memory; "
            f"the last checkpoints are {advice}"
        )


def require_faithful(runs: Iterable[RunSettings]) -> None:
    """Refuse simulators that are seen at a glance to be unsound, or not to go back where they were.

    Runs with online access never go back, so that is not looked at in theirs.
    """
    seen: list[Any] = []  # Not a set: the settings of a simulator may hold what has no hash.
    for settings in runs:
        local = settings.access != "online"
        if (local, settings.simulator) in seen:
            continue
        seen.append((local, settings.simulator))
        wrong = unsound(settings.simulator, seed=settings.seed, restores=local)
        if wrong:
            raise UsageError(
                f"{settings.preset} cannot be trained in: {wrong} "
                f"({argument('force', True)} tries it)"
            )
        if not local:
            continue
        wrong = glance(settings.simulator, seed=settings.seed)
        if wrong:
            raise UsageError(
                f"{settings.preset} does not go back to where it was saved ({wrong}): see "
                f"`uflp check`, train with {argument('access', 'online')}, or go on all the same "
                f"with {argument('force', True)}"
            )


def run_jobs(jobs: Sequence[Job]) -> Iterator[dict[str, Any]]:
    """Make runs in processes of their own; yield each summary as it comes in.

    Runs on a cluster are made here, one after the other. A run that was begun
    goes on from its checkpoint; what else is in a folder is moved aside. A signal lets every
    process save its run first, and so does the end of this one, even if it is killed.

    Raises:
        KilledError: if a process was killed; the others saved their runs.
    """
    if any(job.cluster is not None for job in jobs):
        for job in jobs:
            yield run_job(job)
        return
    # A forked child would inherit JAX's threads in an unusable state.
    context = multiprocessing.get_context("spawn")
    workers = max(1, min(len(jobs), len(os.sched_getaffinity(0))))
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_end_with_parent) as pool:
        futures = [pool.submit(_run, job) for job in jobs]
        try:
            with Interruption(at_once=True):
                for future in as_completed(futures):
                    yield future.result()
        except BaseException as error:
            pool.shutdown(wait=False, cancel_futures=True)
            if isinstance(error, KeyboardInterrupt | Interrupted):
                # A signal may have come to this process alone.
                for child in multiprocessing.active_children():
                    if child.pid is not None:
                        os.kill(child.pid, signal.SIGTERM)
            if isinstance(error, BrokenProcessPool):
                raise KilledError from error
            raise


_stopping = False
_running = threading.Lock()


def _end_with_parent() -> None:
    """End this process, its run saved, once the one that began it is gone.

    One that was killed can tell nobody, and its children would wait for work for good.
    """
    protect_streams()
    parent = multiprocessing.parent_process()
    assert parent is not None

    def follow() -> None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)
        with _running:
            os._exit(1)

    threading.Thread(target=follow, daemon=True).start()


@contextlib.contextmanager
def at_work(folder: Path) -> Iterator[None]:
    """Keep others from making the runs below a folder at the same time.

    A folder that was made for this, and that nothing was put into, is removed.

    Raises:
        LockedError: if another process makes them.
    """
    made: list[Path] = []
    try:
        try:
            made += [parent for parent in (folder, *folder.parents) if not parent.exists()]
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"{folder} cannot be written: {error.strerror}") from error
        with Lock(folder):
            yield
    finally:
        with contextlib.suppress(OSError):
            for parent in made:
                parent.rmdir()


def _run(job: Job) -> dict[str, Any]:
    with _running:
        return run_job(job)


def run_job(job: Job) -> dict[str, Any]:
    """Make one run in this process, and return its summary.

    A run that was begun goes on; another one in its folder is moved aside. Where another process
    is at work on this very run, its outcome is waited for.
    """
    while True:
        begun = job.begun()
        try:
            return _run_here(job, begun)
        except LockedError as error:
            if (job.unfinished() or "").startswith(_OTHER_SETTINGS):
                raise
            print(f"uflp: {error}: waiting for it.", file=sys.stderr, flush=True)
            Lock(job.folder, wait=True).release()
        except UsageError:
            if begun or not job.begun():  # Else another process has begun it in the meantime.
                raise
        summary = job.summary()
        if summary is not None:
            return summary


def _run_here(job: Job, resume: bool) -> dict[str, Any]:
    global _stopping
    if _stopping:  # This one was in the queue already when the signal came.
        raise Interrupted
    if job.folder.is_symlink():
        raise UsageError(f"{job.folder} is a link: a run is written into a folder of its own")
    if not resume and job.folder.is_dir() and any(job.folder.iterdir()):
        _make_room(job.folder)
    try:
        return trainer(job.cluster)(
            job.settings,
            out=job.folder,
            stop_at_return=job.stop_at_return,
            checkpoint_seconds=job.checkpoint_seconds,
            resume=resume,
        ).summary
    except (KeyboardInterrupt, Interrupted):
        _stopping = True
        raise


def _make_room(folder: Path) -> None:
    """Move another run aside, unless a process is at work on it."""
    lock = Lock(folder)
    try:
        lock.follow(move_aside(folder, "old"))
    finally:
        lock.release()
